//! Prints tensors as small tables.

use crate::{DType, Result, Tensor};
use std::fmt;

/// Matrices with more rows or columns than this are elided in the middle.
const SHOWN: usize = 8;

impl fmt::Display for Tensor {
    /// Prints a line per row with a gap between matrices, elided in the middle where a dimension is long. Integers are
    /// printed with all their digits. A tensor that cannot be read prints the reason instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.shape(), self.dtype())?;
        // An empty read checks that the tensor is readable; only the printed elements are read after that.
        if let Err(error) = self.read_bytes(0, &mut []) {
            return write!(f, " <{error}>");
        }
        if self.n_elements() == 0 {
            return write!(f, " (no elements)");
        }
        let shape: Vec<usize> = self.shape().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        let extent = |dim: usize| shape.get(dim).copied().unwrap_or(1);
        let (columns, rows, matrices) = (extent(0), extent(1), extent(2) * extent(3));
        let precision = f.precision().unwrap_or(4);
        let width = precision + 7;
        for number in 0..matrices {
            if number == SHOWN {
                return write!(f, "\n... {} more matrices", matrices - SHOWN);
            }
            let (i2, i3) = (number % extent(2), number / extent(2));
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
                        Some(column) => match self.element_text([column, row, i2, i3], precision) {
                            Ok(text) => write!(f, " {text:>width$}")?,
                            Err(error) => return write!(f, " <{error}>"),
                        },
                        None => f.write_str(" ...")?,
                    }
                }
            }
        }
        Ok(())
    }
}

impl Tensor {
    /// An element as text: an integer with all its digits, other numbers with `precision` digits after the point.
    fn element_text(&self, index: [usize; 4], precision: usize) -> Result<String> {
        let position =
            index.iter().zip(self.shape()).rev().fold(0, |at, (&i, n)| at * usize::try_from(n).unwrap_or(0) + i);
        Ok(match self.dtype() {
            DType::I8 => i8::from_ne_bytes(self.bytes_at(position)?).to_string(),
            DType::I16 => i16::from_ne_bytes(self.bytes_at(position)?).to_string(),
            DType::I32 => i32::from_ne_bytes(self.bytes_at(position)?).to_string(),
            DType::I64 => i64::from_ne_bytes(self.bytes_at(position)?).to_string(),
            DType::U8 => u8::from_ne_bytes(self.bytes_at(position)?).to_string(),
            DType::Bool => (self.bytes_at::<1>(position)? != [0]).to_string(),
            DType::F64 => format!("{:.precision$}", f64::from_ne_bytes(self.bytes_at(position)?)),
            _ => format!("{:.precision$}", self.get(&index.map(|i| i as i64))?),
        })
    }

    /// The bytes of the element at a position in the order of the shape.
    fn bytes_at<const N: usize>(&self, position: usize) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_bytes(position * N, &mut bytes)?;
        Ok(bytes)
    }
}

/// The indices to print out of n; `None` marks the gap.
fn shown(n: usize) -> impl Iterator<Item = Option<usize>> {
    let elided = n > SHOWN;
    let head = if elided { SHOWN / 2 } else { n };
    let tail = if elided { n - SHOWN / 2 } else { n };
    (0..head).map(Some).chain(elided.then_some(None)).chain((tail..n).map(Some))
}
