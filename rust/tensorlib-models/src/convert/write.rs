//! Reads a folder's tensors and writes them as those of a GGUF file.

use super::layout::{Order, Planned, Reading};
use super::ConvertedTensor;
use crate::weights::{check_range, Weights};
use crate::{Error, Result};
use tensorlib::{Backend, DType, GgufWriter, Tensor};

/// About how many elements are converted at a time.
const PIECE: usize = 1 << 22;

/// Writes the data of a tensor, which is the next one that the writer expects.
pub fn tensor(
    weights: &Weights,
    planned: &Planned,
    tensor: &ConvertedTensor,
    backend: &Backend,
    writer: &mut GgufWriter,
) -> Result<()> {
    let leaf = match &planned.reading {
        Reading::Values(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            return Ok(writer.write(&bytes)?);
        }
        Reading::Tensor { name, shape } => weights.get(name, shape)?,
        Reading::FirstRows { name, rows, n } => weights.transposed_rows(name, *rows, *n)?,
        Reading::LastRows { name, rows, n } => weights.last_rows(name, *rows, *n)?,
    };
    let row = usize::try_from(leaf.shape().first().copied().unwrap_or(1)).unwrap_or(1).max(1);
    let rows = leaf.nbytes() / row_bytes(leaf.dtype(), row).max(1);
    let count = match &planned.order {
        Order::Rows(rows) => rows.len(),
        Order::All | Order::Elements(_) => rows,
    };
    let at_once = (PIECE / row).max(1);
    for first in (0..count).step_by(at_once) {
        let numbers = first..(first + at_once).min(count);
        let bytes = read_rows(&leaf, row, &planned.order, numbers.clone())?;
        let is_changed =
            planned.minus_exp || !planned.factors.is_empty() || matches!(planned.order, Order::Elements(_));
        let is_plain = leaf.dtype() == tensor.to && !is_changed;
        match is_plain {
            true => writer.write(&bytes)?,
            false => {
                let mut values = changed(planned, leaf.dtype().dequantize(&bytes)?, row);
                multiply(&planned.factors, &mut values, row, numbers.start);
                check_range(&tensor.name, tensor.to, &values)?;
                let length = usize::try_from(tensor.shape[0]).unwrap_or(1).max(1);
                let about = |e: tensorlib::Error| Error::from(e).about(format_args!("tensor '{}'", tensor.name));
                writer.write(&backend.quantize(tensor.to, &values, length, None).map_err(about)?)?;
            }
        }
    }
    Ok(())
}

fn row_bytes(dtype: DType, row: usize) -> usize {
    usize::try_from(crate::files::nbytes(dtype, row as u64)).unwrap_or(0)
}

/// The stored bytes of some rows, by their numbers in the file.
fn read_rows(leaf: &Tensor, row: usize, order: &Order, numbers: std::ops::Range<usize>) -> Result<Vec<u8>> {
    let size = row_bytes(leaf.dtype(), row);
    let read = |first: usize, n: usize| -> Result<Vec<u8>> {
        let mut bytes = vec![0; n * size];
        leaf.read_bytes(first * size, &mut bytes)?;
        Ok(bytes)
    };
    let Order::Rows(rows) = order else { return read(numbers.start, numbers.len()) };
    let mut all = Vec::with_capacity(numbers.len() * size);
    for run in rows[numbers].chunk_by(|a, b| a + 1 == *b) {
        all.extend(read(run[0], run.len())?);
    }
    Ok(all)
}

/// These values in the file's order, of rows of this length.
fn changed(planned: &Planned, values: Vec<f32>, row: usize) -> Vec<f32> {
    let values = match &planned.order {
        Order::Elements(order) => {
            values.chunks_exact(row).flat_map(|of_row| order.iter().map(|i| of_row[*i])).collect()
        }
        Order::All | Order::Rows(_) => values,
    };
    match planned.minus_exp {
        true => values.into_iter().map(|x| -x.exp()).collect(),
        false => values,
    }
}

/// Multiplies rows of this length, from the row with this number on, by their factors.
fn multiply(factors: &[f32], values: &mut [f32], row: usize, first: usize) {
    let of_row = |number: usize| if factors.len() == 1 { factors.first() } else { factors.get(number) };
    for (number, of) in (first..).zip(values.chunks_mut(row)) {
        if let Some(factor) = of_row(number) {
            of.iter_mut().for_each(|x| *x *= factor);
        }
    }
}
