//! Runs the language-neutral cases through the safe API. Grammar: tests/cases/README.md.

mod case_attrs;
mod gen {
    pub mod case_ops;
}

use case_attrs::{CaseAttrs, CaseOperands};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use tensorlib::{Backend, BackendOptions, Context, Error, Index, Result, Tensor};

fn generated(seed: u32, i: u32, type_name: &str) -> f32 {
    let mut x = i ^ seed.wrapping_mul(0x9E37_79B1);
    x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
    x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
    x ^= x >> 16;
    x >>= 8;
    match type_name {
        "bool" => (x % 2) as f32,
        "u8" => (x % 200) as f32,
        _ if type_name.starts_with('i') => (x % 200) as f32 - 100.0,
        _ => ((x % 4096) as i32 - 2048) as f32 / 512.0,
    }
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("'{word}' is not a number"))
}

fn status_name(error: &Error) -> &'static str {
    match error {
        Error::InvalidArgument(_) => "INVALID_ARGUMENT",
        Error::ShapeMismatch(_) => "SHAPE_MISMATCH",
        Error::TypeMismatch(_) => "TYPE_MISMATCH",
        Error::ContextMismatch(_) => "CONTEXT_MISMATCH",
        Error::Unsupported(_) => "UNSUPPORTED",
        Error::OutOfMemory(_) => "OUT_OF_MEMORY",
        _ => "another status",
    }
}

/// Why a case did not pass.
enum Trouble {
    Failed(String),
    /// A device may lack kernels; the CPU has all of them.
    Skipped(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Runs one case. Failures come back as text.
struct Runner<'a> {
    backend: &'a Backend,
    ctx: Context,
    /// The contexts of leafs, one per device; a single device uses `ctx`.
    leafs: Vec<Context>,
    n_leafs: usize,
    tensors: HashMap<String, Tensor>,
    data: HashMap<String, Vec<f32>>,
    raw: HashMap<String, Vec<u8>>,
    error: Option<Error>,
    cpu_only: bool,
    /// The case has passed; the rest of it is for the CPU only.
    done: bool,
    result: Vec<f32>,
    tol: (f64, f64),
}

impl<'a> Runner<'a> {
    /// `parts`: the backends that were joined, or the backend itself.
    fn new(backend: &'a Backend, parts: &[Backend]) -> Self {
        let leafs: Vec<Context> = parts.iter().map(Context::on).collect();
        // The youngest context, because nodes go into the youngest of their operands' contexts.
        let ctx = if parts.len() == 1 { leafs[0].clone() } else { Context::on(&parts[0]) };
        Self {
            backend,
            ctx,
            leafs,
            n_leafs: 0,
            tensors: HashMap::new(),
            data: HashMap::new(),
            raw: HashMap::new(),
            error: None,
            cpu_only: false,
            done: false,
            result: Vec::new(),
            tol: (0.0, 0.0),
        }
    }

    fn line(&mut self, line: &str) -> std::result::Result<(), Trouble> {
        let w: Vec<&str> = line.split(' ').collect();
        if self.done {
            return Ok(());
        }
        match w[0] {
            "cpu_only" => {
                self.cpu_only = true;
                Ok(())
            }
            "leaf" => Ok(self.leaf(&w).map_err(|e| e.to_string())?),
            "blocks" => {
                let shape: Vec<i64> = w[3..7].iter().map(|n| number(n)).collect();
                let made = self.new_leaf(w[2], &shape);
                self.tensors.insert(w[1].into(), made.map_err(|e| e.to_string())?);
                self.raw.insert(w[1].into(), Vec::new());
                Ok(())
            }
            "hex" => {
                let digits = |i| u8::from_str_radix(&w[2][i..i + 2], 16).expect("hex digits");
                let bytes = (0..w[2].len()).step_by(2).map(digits);
                self.raw.get_mut(w[1]).expect("a leaf with blocks").extend(bytes);
                Ok(())
            }
            "fails" => self.fails(&w),
            "set" => {
                self.data.get_mut(w[1]).expect("a leaf")[number::<usize>(w[2])] = number(w[3]);
                Ok(())
            }
            "op" => {
                match self.op(&w) {
                    Ok(tensor) => drop(self.tensors.insert(w[1].into(), tensor)),
                    Err(error) => drop(self.error.get_or_insert(error)),
                }
                Ok(())
            }
            "out" => self.out(&w),
            "tol" => {
                self.tol = (number(w[1]), number(w[2]));
                Ok(())
            }
            "at" => Ok(self.at(&w)?),
            "error" => match &self.error {
                Some(error) if status_name(error) == w[1] => Ok(()),
                other => Err(format!("expected {}, got {other:?}", w[1]).into()),
            },
            "word" => {
                let text = self.error.as_ref().map(ToString::to_string).unwrap_or_default();
                let word = &line[5..];
                Ok(text.contains(word).then_some(()).ok_or(format!("'{word}' is not in: {text}"))?)
            }
            other => panic!("not in the grammar: {other}"),
        }
    }

    fn new_leaf(&mut self, dtype: &str, shape: &[i64]) -> Result<Tensor> {
        self.n_leafs += 1;
        self.leafs[(self.n_leafs - 1) % self.leafs.len()].zeros(dtype.parse()?, shape)
    }

    fn leaf(&mut self, w: &[&str]) -> Result<()> {
        let shape: Vec<i64> = w[3..7].iter().map(|n| number(n)).collect();
        let tensor = self.new_leaf(w[2], &shape)?;
        let values = (0..tensor.n_elements()).map(|i| generated(number(w[7]), i as u32, w[2])).collect();
        self.tensors.insert(w[1].into(), tensor);
        self.data.insert(w[1].into(), values);
        Ok(())
    }

    fn op(&self, w: &[&str]) -> Result<Tensor> {
        let (attrs, sources): (Vec<&str>, Vec<&str>) = w[3..].iter().partition(|word| word.contains('='));
        let given = |id: &&str| if *id == "none" { None } else { Some(&self.tensors[*id]) };
        let s = CaseOperands { context: &self.ctx, operands: sources.iter().map(given).collect() };
        let attrs = CaseAttrs::new(&attrs);
        if let Some(made) = gen::case_ops::build(w[2], &s, &attrs) {
            return made;
        }
        match w[2] {
            "mul_mat" => s[0].mul_mat(&s[1]),
            "mul_mat_exact" => s[0].mul_mat_exact(&s[1]),
            "mul_mat_id" => s[0].mul_mat_id(&s[1], &s[2]),
            "gradient" => {
                let made = self.ctx.gradients(&[&s[0]], &[s.operands[1]], &[&s[2]])?;
                Ok(made.into_iter().next().expect("one for each"))
            }
            "cat" => Tensor::cat(&s.all(), attrs.integer("dim")),
            "stack" => Tensor::stack(&s.all(), attrs.integer("dim")),
            "einsum" => Tensor::einsum(attrs.text("equation"), &s.all()),
            "index" => indexed(&s[0], &attrs),
            "reshape" => s[0].reshape(attrs.ints("ne")),
            "cast" => s[0].cast(attrs.dtype("to")),
            "permute" => {
                let axes: [i64; 4] = attrs.list("axes");
                s[0].permute(axes.map(|axis| axis as i32))
            }
            "view" => {
                let nb: Vec<usize> = attrs.ints("nb").into_iter().map(|n| n as usize).collect();
                s[0].view(attrs.ints("ne"), &nb, attrs.integer("offset") as usize)
            }
            other => panic!("no such operation: {other}"),
        }
    }

    fn out(&mut self, w: &[&str]) -> std::result::Result<(), Trouble> {
        if let Some(error) = &self.error {
            return Err(error.to_string().into());
        }
        let run = || -> Result<Vec<f32>> {
            self.write_leafs()?;
            self.backend.compute(&[&self.tensors[w[1]]])?;
            self.tensors[w[1]].to_f32_vec()
        };
        let elsewhere = self.backend.device() != "cpu";
        self.result = match run() {
            Err(Error::Unsupported(_)) if elsewhere && self.cpu_only => {
                self.done = true;
                return Ok(());
            }
            Err(e @ Error::Unsupported(_)) if elsewhere => return Err(Trouble::Skipped(e.to_string())),
            Ok(_) if self.cpu_only && !self.backend.device().contains("cpu") => {
                return Err("computed, though it is for the CPU alone".to_string().into())
            }
            other => other.map_err(|e| e.to_string())?,
        };
        let tensor = &self.tensors[w[1]];
        let mut shape = tensor.shape();
        shape.resize(4, 1);
        let expected: Vec<i64> = w[3..7].iter().map(|n| number(n)).collect();
        if tensor.dtype().name() != w[2] || shape != expected {
            return Err(format!("is {shape:?} {}, expected {expected:?} {}", tensor.dtype(), w[2]).into());
        }
        Ok(())
    }

    fn write_leafs(&self) -> Result<()> {
        for (id, values) in &self.data {
            self.tensors[id].write_f32(values)?;
        }
        for (id, bytes) in &self.raw {
            self.tensors[id].write_bytes(0, bytes)?;
        }
        Ok(())
    }

    fn fails(&mut self, w: &[&str]) -> std::result::Result<(), Trouble> {
        if let Some(error) = &self.error {
            return Err(error.to_string().into());
        }
        self.write_leafs().map_err(|e| e.to_string())?;
        match self.backend.compute(&[&self.tensors[w[1]]]) {
            Err(error) if status_name(&error) == w[2] => {
                self.error = Some(error);
                Ok(())
            }
            other => Err(format!("expected {}, got {other:?}", w[2]).into()),
        }
    }

    fn at(&self, w: &[&str]) -> std::result::Result<(), String> {
        let first: usize = number(w[1]);
        for (i, word) in (first..).zip(&w[2..]) {
            let (got, want) = (f64::from(self.result[i]), number::<f64>(word));
            let near =
                || got.is_finite() && want.is_finite() && (got - want).abs() <= self.tol.0 + self.tol.1 * want.abs();
            if !(got == want || (got.is_nan() && want.is_nan()) || near()) {
                return Err(format!("element {i} is {got}, expected {want}"));
            }
        }
        Ok(())
    }
}

#[test]
fn cases() {
    let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let folder = variable("TENSORLIB_CASES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases"), PathBuf::from);
    let threads = variable("TENSORLIB_TEST_THREADS").map_or(2, |n| number(&n));
    let device = variable("TENSORLIB_DEVICE").unwrap_or("cpu".into());
    // A joined device such as "cuda:0+cpu" places leafs on each of its devices in turn.
    let options = BackendOptions::new().threads(threads);
    let parts: Vec<Backend> = device.split('+').map(|name| options.open(name).unwrap()).collect();
    let backend = if let [only] = &parts[..] { only.clone() } else { Backend::join(&parts).unwrap() };
    if let Some(asked) = variable("TENSORLIB_ISA") {
        assert_eq!(parts[0].isa(), asked);
    }
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension() == Some("cases".as_ref()))
        .collect();
    files.sort();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut name = "";
        let mut runner = Runner::new(&backend, &parts);
        let mut outcome = Ok(());
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            if let Some(next) = line.strip_prefix("case ") {
                (name, runner, outcome) = (next, Runner::new(&backend, &parts), Ok(()));
            } else if line != "end" {
                outcome = outcome.and_then(|()| runner.line(line));
            } else {
                match &outcome {
                    Ok(()) => passed += 1,
                    Err(Trouble::Failed(why)) => {
                        println!("FAIL {name}: {why}");
                        failed += 1;
                    }
                    Err(Trouble::Skipped(why)) => {
                        println!("SKIP {name}: {why}");
                        skipped += 1;
                    }
                }
            }
        }
    }
    println!("cases rust {device} {}: {passed} passed, {failed} failed, {skipped} skipped", parts[0].isa());
    assert!(failed == 0 && passed > 0);
}

fn indexed(a: &Tensor, attrs: &CaseAttrs) -> Result<Tensor> {
    let dropped = attrs.ints("dropped");
    let index = |(d, (begin, end)): (i64, (i64, i64))| match dropped.contains(&d) {
        true => Index::from(begin),
        false if end == i64::MAX => Index::from(begin..),
        false => Index::from(begin..end),
    };
    let ranges = (0..).zip(attrs.ints("begin").into_iter().zip(attrs.ints("end")));
    a.i(ranges.map(index).collect::<Vec<_>>())
}
