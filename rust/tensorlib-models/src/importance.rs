//! The importance of the columns of a model's matrices: the mean square of what each column is multiplied with, on a
//! text. Rounding a column by e changes the product by e times its input, so the mean square is the weight of the
//! column's squared error.
//!
//! Files have the format of llama.cpp's tool `imatrix`: GGUF of the type `imatrix`, with `NAME.in_sum2`, the sums of
//! squares, and `NAME.counts`, how many inputs there were, for each matrix of a stack of experts.

use crate::decoder::Product;
use crate::{Decoder, Error, Result};
use std::collections::BTreeMap;
use std::path::Path;
use tensorlib::{DType, GgufWriter};

/// The sums of a tensor.
#[derive(Clone, Debug, PartialEq)]
struct Sums {
    /// The sum of squares of each column, matrix by matrix.
    squares: Vec<f64>,
    /// The inputs of each matrix.
    counts: Vec<u64>,
}

/// The importance of the columns of all matrices of a model's layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    sums: BTreeMap<String, Sums>,
    windows: usize,
    window: usize,
}

impl Importance {
    /// Runs tokens through a model in independent windows of `window` tokens. If texts of the model begin with a special
    /// token, it replaces a window's first token. Tokens after the last whole window are left out. `progress(windows
    /// done, of all)` is called after each window; `false` stops.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a window above the model's context, fewer tokens than one window,
    /// inputs that are not finite, or a stop; [`ErrorKind::Unsupported`](crate::ErrorKind) for a model with a matrix
    /// whose inputs cannot be seen; as [`Session::feed`](crate::Session::feed).
    pub fn measure(
        decoder: &Decoder,
        tokens: &[u32],
        window: usize,
        mut progress: impl FnMut(usize, usize) -> bool,
    ) -> Result<Self> {
        decoder.check_whole("what is multiplied with each matrix")?;
        decoder.check_window(tokens.len(), window, 1)?;
        let windows = tokens.len() / window;
        let mut importance = Importance { sums: BTreeMap::new(), windows, window };
        let mut session = decoder.session(DType::F32)?;
        for (i, part) in tokens.chunks_exact(window).enumerate() {
            let mut part = part.to_vec();
            if let Some(bos) = decoder.tokenizer().begins() {
                part[0] = bos;
            }
            session.rewind(0);
            session.feed_products(&part, &mut |product| importance.add(product))?;
            let odd = importance.sums.iter().find(|(_, sums)| sums.squares.iter().any(|square| !square.is_finite()));
            if let Some((name, _)) = odd {
                return Err(session.not_finite(&format!("what is multiplied with '{name}' is not finite")));
            }
            if !progress(i + 1, windows) {
                return Err(Error::invalid(format!("stopped after {} of {windows} windows", i + 1)));
            }
        }
        Ok(importance)
    }

    fn add(&mut self, product: &Product) {
        let row = product.row;
        let sums = self
            .sums
            .entry(product.name.to_string())
            .or_insert_with(|| Sums { squares: vec![0.0; row * product.matrices], counts: vec![0; product.matrices] });
        for (matrix, input) in &product.uses {
            let (Some(count), Some(squares)) =
                (sums.counts.get_mut(*matrix), sums.squares.chunks_exact_mut(row).nth(*matrix))
            else {
                continue;
            };
            *count += 1;
            let values = product.inputs[input * row..].iter().map(|x| f64::from(*x));
            squares.iter_mut().zip(values).for_each(|(square, x)| *square += x * x);
        }
    }

    /// The names of the tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sums.keys().map(String::as_str)
    }

    /// The sums of squares of a tensor's columns, and the number of inputs, for each of its matrices.
    pub fn get(&self, name: &str) -> Option<(&[f64], &[u64])> {
        self.sums.get(name).map(|sums| (&sums.squares[..], &sums.counts[..]))
    }

    /// The number of windows.
    pub fn windows(&self) -> usize {
        self.windows
    }

    /// How many experts of all layers got no input.
    pub fn unused(&self) -> usize {
        let gates = self.sums.iter().filter(|(name, _)| name.contains("ffn_down"));
        gates.flat_map(|(_, sums)| &sums.counts).filter(|count| **count == 0).count()
    }

    /// Writes a file; `text` names the text. The file appears under its name only when it is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> Result<()> {
        let mut writer = GgufWriter::create(path)?;
        writer.set("general.type", "imatrix")?;
        writer.set("imatrix.datasets", vec![text.to_string()])?;
        writer.set("imatrix.chunk_count", u32::try_from(self.windows).unwrap_or(u32::MAX))?;
        writer.set("imatrix.chunk_size", u32::try_from(self.window).unwrap_or(u32::MAX))?;
        for (name, sums) in &self.sums {
            let matrices = sums.counts.len();
            writer.declare(
                &format!("{name}.in_sum2"),
                DType::F32,
                [(sums.squares.len() / matrices) as i64, matrices as i64],
            )?;
            writer.declare(&format!("{name}.counts"), DType::F32, [1, matrices as i64])?;
        }
        let bytes = |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        for sums in self.sums.values() {
            writer.write(&bytes(&mut sums.squares.iter().map(|square| *square as f32)))?;
            writer.write(&bytes(&mut sums.counts.iter().map(|count| *count as f32)))?;
        }
        writer.finish()?;
        Ok(())
    }
}
