//! The examples that learn, compared with independent results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::build_cache;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::expect::expect;
use crate::suites::training::accuracy_of;
use crate::tools;
use crate::workspace::{make_dir, Workspace};

const SEEDS: [&str; 5] = ["1", "2", "3", "4", "5"];
/// Correct answers that an established library gets out of 284 (linear, radial), and below, by how many ours may
/// differ.
const RIGHT: [f64; 2] = [272.0, 273.0];
const OFF: f64 = 2.0;
/// Limits for `sparse_transformer`: bits per character, and percent of each layer's neurons.
const BITS: f64 = 2.55;
const ACTIVE: f64 = 6.0;

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    let quick = ["linear_regression", "support_vector_machine", "digits_network", "digits_conv", "sparse_transformer"];
    build(run, &quick)?;
    isas::for_each(run, |run, isa| {
        let regression = linear_regression(ws, isa);
        run.check(&format!("linear_regression {isa}: least squares"), regression);
        let machines = support_vector_machine(ws, isa);
        run.check(&format!("support_vector_machine {isa}"), machines);
        above(run, "digits_network", &SEEDS, isa, 94.0);
        let joined = [("TENSORLIB_ISA", isa), ("TENSORLIB_CPU_VIRTUAL_DEVICES", "2")];
        let program = ws.cmd(example(ws, "sparse_transformer")).envs(&joined);
        sparse_transformer(run, &format!("sparse_transformer {isa}"), program, "cpu:0+cpu:1");
        Ok(())
    })?;
    let best = isas::all(run)?;
    above(run, "digits_conv", &SEEDS[..1], &best[0], 98.0);
    refusals(run);
    pictures(run)
}

/// Runs that take minutes: five seeds of the convolutional network on each ISA, and a transformer from scratch to its
/// text.
pub fn all(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    build(run, &["digits_conv", "text_transformer", "text_adapter", "sparse_transformer"])?;
    isas::for_each(run, |run, isa| {
        above(run, "digits_conv", &SEEDS, isa, 98.0);
        Ok(())
    })?;
    let dir = ws.out.join("learning");
    make_dir(&dir)?;
    let (whole, adapter) = (dir.join("plays-f32.gguf"), dir.join("capitals.gguf"));
    let learnt = run.step(ws.cmd(example(ws, "text_transformer")).arg("--out").arg(&whole)).and_then(|out| {
        let bits = number_before(&out.text, "bits a character").ok_or("it prints no bits a character")?;
        if bits < 2.45 {
            Ok(())
        } else {
            Err(format!("{bits} bits a character: below 2.45 is wanted"))
        }
    });
    run.check("text_transformer: below 2.45 bits a character", learnt);
    let adapted = run.step(ws.cmd(example(ws, "text_adapter")).arg(quantised(ws)).arg(&adapter)).and_then(|out| {
        let (before, after) =
            (number_before(&out.text, "bits a capital"), number_before(&out.text, "bits with an adapter"));
        match before.zip(after) {
            Some((before, after)) if after < 0.7 * before => Ok(()),
            found => Err(format!("{found:?}: a third less is wanted of\n{}", out.text)),
        }
    });
    run.check("text_adapter: a quantised model learns capitals", adapted);
    let generate = ["run", "--release", "--package", "tensorlib-cli", "--", "generate"];
    let text =
        build_cache::cargo(ws).args(generate).arg(quantised(ws)).args(["ROMEO:", "-n", "100", "--temp", "0", "--lora"]);
    let capitals = text.arg(&adapter).capture().and_then(|text| {
        let letters: Vec<char> = text.chars().filter(|c| c.is_ascii_alphabetic()).collect();
        let large = letters.iter().filter(|c| c.is_ascii_uppercase()).count();
        if letters.len() > 20 && 10 * large > 9 * letters.len() {
            Ok(())
        } else {
            Err(format!("{large} of {} letters are capitals: {text}", letters.len()))
        }
    });
    run.check("generate --lora with that adapter writes capitals", capitals);
    let relu = dir.join("relu.gguf");
    let learn = ws.cmd(example(ws, "sparse_transformer")).arg("--out").arg(&relu);
    let sparse = run.step(learn).and_then(|out| {
        let number = |words: &str| number_before(&out.text, words).ok_or(format!("it prints no number {words:?}"));
        let bits = number("bits a character")?;
        let active = [number("% of layer 0's neurons")?, number("% of layer 1's neurons")?];
        if bits < BITS && active.iter().all(|share| *share < ACTIVE) {
            Ok(())
        } else {
            Err(format!("{bits} bits, {active:?} % active: below {BITS} and {ACTIVE} are wanted"))
        }
    });
    run.check(&format!("sparse_transformer: below {BITS} bits a character and {ACTIVE} % active"), sparse);
    let foretold = the_same_by_neurons(ws, &relu);
    run.check("its file foretells the same with transposed down projections, by its activity", foretold);
    Ok(())
}

/// A model with ReLU, with all neurons and without those that its activity leaves out.
fn the_same_by_neurons(ws: &Workspace, model: &Path) -> Result<(), String> {
    let tool = |args: &[&OsStr]| {
        let tool = build_cache::cargo(ws).args(["run", "--release", "--package", "tensorlib-cli", "--"]);
        args.iter().fold(tool, |tool, arg| tool.arg(arg)).capture()
    };
    let (turned, activity) = (model.with_extension("turned.gguf"), model.with_extension("json"));
    // Sixty thousand characters, because all of the plays take minutes.
    let text = model.with_extension("txt");
    let plays = std::fs::read(ws.root.join("examples/data/plays.txt")).map_err(|e| format!("plays.txt: {e}"))?;
    std::fs::write(&text, &plays[..plays.len().min(60_000)]).map_err(|e| format!("{}: {e}", text.display()))?;
    let [model, turned, activity, text] = [model, &turned, &activity, &text].map(Path::as_os_str);
    let word = OsStr::new;
    tool(&[word("transpose-down"), model, turned, word("--force")])?;
    tool(&[word("activity"), turned, text, activity, word("--force"), word("-n"), word("4096")])?;
    let perplexity = |model, more: &[&OsStr]| {
        let text = tool(&[&[word("perplexity"), model, text, word("--ctx"), word("256")][..], more].concat())?;
        let number = text.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
        number.ok_or_else(|| format!("it prints no perplexity: {text}"))
    };
    let (dense, sparse) = (perplexity(model, &[])?, perplexity(turned, &[word("--activity"), activity])?);
    match (dense - sparse).abs() < 1e-3 * dense {
        true => Ok(()),
        false => Err(format!("perplexity {dense} of all neurons, {sparse} of the active ones")),
    }
}

/// `sparse_transformer` after a few steps: dense, sparse and on two devices it writes the same text, or ends with an
/// error.
pub fn sparse_transformer(run: &mut Run, title: &str, program: Cmd, devices: &str) {
    let said =
        run.step(program.args(["--characters", "5200", "--repeats", "1", "--device", devices])).and_then(|out| {
            let same = [("dense", "the trained model"), ("sparse", "dense"), (devices, "sparse")];
            same.iter().try_for_each(|(name, than)| {
                expect(&out.text, &format!("{name}: logits are within "))?;
                expect(&out.text, &format!(" of those of {than}, of the largest"))
            })?;
            ["% of layer 1's neurons", "bits a character"].iter().try_for_each(|words| expect(&out.text, words))?;
            expect(&out.text, "blocks alone: ")
        });
    run.check(&format!("{title}: the same logits dense, sparse and on {devices}"), said);
}

/// The arguments that `sparse_transformer` refuses.
fn refusals(run: &mut Run) {
    let ws = run.ws;
    let cases: [(&[&str], &str); 6] = [
        (&["--colour", "red"], "unknown option --colour: --seed, "),
        (&["--seed"], "--seed needs a value"),
        (&["--repeats", "0"], "--repeats 0: "),
        (&["--characters", "100"], "--characters 100: 5120 or more are valid"),
        (&["--device", "abacus"], "abacus"),
        (&["--device", "cpu:0+cpu:1+cpu:2"], "one or two are valid"),
    ];
    let refused = cases.iter().try_for_each(|(args, words)| {
        let program = ws.cmd(example(ws, "sparse_transformer")).env("TENSORLIB_CPU_VIRTUAL_DEVICES", "3");
        match program.args(*args).capture() {
            Ok(text) => Err(format!("{args:?} is no error:\n{text}")),
            // The first line is the command, with its arguments and exit status.
            Err(message) => {
                let (status, said) = message.split_once('\n').unwrap_or((&message, ""));
                expect(status, "exit status: 1").and_then(|()| expect(said, words))
            }
        }
    });
    run.check("sparse_transformer: bad options", refused);
}

fn build(run: &mut Run, names: &[&str]) -> Result<(), String> {
    tools::native(run.ws)?;
    let examples = names.iter().flat_map(|name| ["--example", name]);
    run.step(build_cache::cargo(run.ws).args(["build", "--release", "--package", "tensorlib"]).args(examples)).map(drop)
}

fn example(ws: &Workspace, name: &str) -> PathBuf {
    ws.out.join("rust/release/examples").join(name)
}

fn quantised(ws: &Workspace) -> PathBuf {
    ws.root.join("examples/data/plays.gguf")
}

/// Checks the median accuracy of these seeds.
fn above(run: &mut Run, name: &str, seeds: &[&str], isa: &str, least: f64) {
    let accuracy = |seed: &&str| -> Result<f64, String> {
        let text = run.ws.cmd(example(run.ws, name)).arg(seed).env("TENSORLIB_ISA", isa).capture()?;
        accuracy_of(&text).ok_or_else(|| format!("{name} prints no accuracy:\n{text}"))
    };
    let outcome = seeds.iter().map(accuracy).collect::<Result<Vec<f64>, String>>().and_then(|mut all| {
        all.sort_by(f64::total_cmp);
        let median = all[all.len() / 2];
        if median > least {
            Ok(())
        } else {
            Err(format!("the median of {all:?} is {median}: above {least} is wanted"))
        }
    });
    run.check(&format!("{name} {isa}: above {least} %"), outcome);
}

/// All pictures of the quick examples begin and end as SVG does.
fn pictures(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    let dir = ws.out.join("learning");
    make_dir(&dir)?;
    for (name, before) in [("linear_regression", None), ("support_vector_machine", None), ("digits_network", Some("1"))]
    {
        let file = dir.join(format!("{name}.svg"));
        let drawn = run.step(ws.cmd(example(ws, name)).args(before).arg(&file)).and_then(|_| {
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let is_whole = text.starts_with("<svg") && text.ends_with("</svg>\n");
            if is_whole && !text.contains("NaN") {
                Ok(())
            } else {
                Err(format!("{} is no picture", file.display()))
            }
        });
        run.check(&format!("{name}: picture"), drawn);
    }
    Ok(())
}

/// The number before these words.
fn number_before(text: &str, words: &str) -> Option<f64> {
    text.lines().find_map(|line| line.trim().split_once(words)?.0.trim().parse().ok())
}

fn support_vector_machine(ws: &Workspace, isa: &str) -> Result<(), String> {
    let text = ws.cmd(example(ws, "support_vector_machine")).env("TENSORLIB_ISA", isa).capture()?;
    for (name, wanted) in ["linear: ", "radial: "].into_iter().zip(RIGHT) {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.split(' ').next()?.parse::<f64>().ok());
        match found {
            Some(found) if (found - wanted).abs() <= OFF => {}
            _ => return Err(format!("{name}{found:?}: {wanted} or up to {OFF} more or less is wanted of\n{text}")),
        }
    }
    Ok(())
}

/// Both solutions of the table, and that of `--json`, compared with the closed solution in double precision.
fn linear_regression(ws: &Workspace, isa: &str) -> Result<(), String> {
    let wanted = least_squares(ws)?;
    let program = || ws.cmd(example(ws, "linear_regression")).env("TENSORLIB_ISA", isa);
    let text = program().arg("--json").capture()?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| format!("{text}: {e}"))?;
    let coefficients = json["coefficients"].as_array().ok_or("no coefficients")?;
    let numbers =
        |values: &mut dyn Iterator<Item = &serde_json::Value>| values.filter_map(serde_json::Value::as_f64).collect();
    compare("--json", numbers(&mut coefficients.iter().chain([&json["intercept"]])), &wanted)?;
    let table = program().capture()?;
    for (column, name) in [(1, "descent"), (2, "L-BFGS")] {
        let rows = table.lines().skip(1).take(wanted.len());
        let found = rows.filter_map(|row| row.split_whitespace().nth(column)?.parse().ok()).collect();
        compare(name, found, &wanted)?;
    }
    Ok(())
}

fn compare(what: &str, found: Vec<f64>, wanted: &[f64]) -> Result<(), String> {
    let largest = wanted[..wanted.len() - 1].iter().fold(0f64, |most, x| most.max(x.abs()));
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * largest;
    if found.len() == wanted.len() && found.iter().zip(wanted).all(is_near) {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, not {wanted:?}"))
}

/// Coefficients, then the intercept: normal equations of centred columns, solved by elimination.
fn least_squares(ws: &Workspace) -> Result<Vec<f64>, String> {
    let path = ws.root.join("examples/data/diabetes.csv");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let row = |line: &str| line.split(',').map(|x| x.trim().parse().ok()).collect::<Option<Vec<f64>>>();
    let rows: Vec<Vec<f64>> = text.lines().filter_map(row).collect();
    let (n, width) = (rows.len() as f64, rows.first().ok_or("no rows")?.len());
    let means: Vec<f64> = (0..width).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n).collect();
    let product = |a: usize, b: usize| rows.iter().map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum::<f64>();
    let k = width - 1;
    let mut m: Vec<Vec<f64>> = (0..k).map(|a| (0..width).map(|b| product(a, b)).collect()).collect();
    for pivot in 0..k {
        let best = (pivot..k).max_by(|a, b| m[*a][pivot].abs().total_cmp(&m[*b][pivot].abs())).unwrap_or(pivot);
        m.swap(pivot, best);
        let of_pivot = m[pivot].clone();
        for (_, row) in m.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot] / of_pivot[pivot];
            row.iter_mut().zip(&of_pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    let mut solution: Vec<f64> = (0..k).map(|i| m[i][k] / m[i][i]).collect();
    let shift: f64 = solution.iter().zip(&means).map(|(c, mean)| c * mean).sum();
    solution.push(means[k] - shift);
    Ok(solution)
}
