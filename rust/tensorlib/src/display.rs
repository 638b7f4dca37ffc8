//! Tensors as small tables.

use crate::Tensor;
use std::fmt;

/// More rows or columns than this are elided in the middle.
const SHOWN: usize = 8;

impl fmt::Display for Tensor {
    /// A line per row, matrices apart, elided in the middle where it is long. What cannot be read is said instead of
    /// printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.shape(), self.dtype())?;
        let values = match self.to_f32_vec() {
            Ok(values) => values,
            Err(error) => return write!(f, " <{error}>"),
        };
        let shape: Vec<usize> = self.shape().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        let (columns, rows) = (shape[0], shape.get(1).copied().unwrap_or(1));
        if values.is_empty() {
            return write!(f, " (no elements)");
        }
        let width = f.precision().unwrap_or(4) + 7;
        let precision = f.precision().unwrap_or(4);
        for (number, matrix) in values.chunks(columns * rows).enumerate() {
            if number == SHOWN {
                return write!(f, "\n... {} more matrices", values.len() / (columns * rows) - SHOWN);
            }
            if number > 0 {
                writeln!(f)?;
            }
            for row in shown(rows) {
                let Some(row) = row else {
                    write!(f, "\n  ...")?;
                    continue;
                };
                f.write_str("\n ")?;
                for column in shown(columns) {
                    match column {
                        Some(column) => write!(f, " {:>width$.precision$}", matrix[row * columns + column])?,
                        None => f.write_str(" ...")?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// The indices to show of n, with None for the gap.
fn shown(n: usize) -> impl Iterator<Item = Option<usize>> {
    let elided = n > SHOWN;
    let head = if elided { SHOWN / 2 } else { n };
    let tail = if elided { n - SHOWN / 2 } else { n };
    (0..head).map(Some).chain(elided.then_some(None)).chain((tail..n).map(Some))
}
