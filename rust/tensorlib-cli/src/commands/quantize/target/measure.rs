//! What storing a tensor as each of some types costs: bytes, and the share of its products that is lost.
//!
//! The error of a type is the sum of w (x - stored)^2 over that of w x^2, where w is the importance of the column: the
//! share of the power of a product that is wrong. It is measured on some rows, spread over the tensor, because encoding
//! all of a model as each type would take hours.

use super::optimum::Cost;
use crate::commands::quantize::importance::Importance;
use crate::failure::{Exit, Failure, Outcome};
use crate::files::types::is_quantised;
use tensorlib::DType;
use tensorlib_models::files::{nbytes, Entry, Piece, Source};

/// The elements of a tensor that are measured.
const SAMPLE: usize = 1 << 16;

/// Types with blocks of 256 elements, for rows of such.
const LARGE: [DType; 13] = [
    DType::IQ1_S,
    DType::IQ1_M,
    DType::IQ2_XXS,
    DType::IQ2_XS,
    DType::IQ2_S,
    DType::IQ3_XXS,
    DType::Q2_K,
    DType::IQ3_S,
    DType::Q3_K,
    DType::IQ4_XS,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
];
/// Types with blocks of 32 elements.
const SMALL: [DType; 5] = [DType::Q4_0, DType::IQ4_NL, DType::Q5_0, DType::Q5_1, DType::Q8_0];

/// The types that a tensor may be stored as: that of the file is one.
pub fn types(entry: &Entry, from: DType) -> Vec<DType> {
    let row = entry.row() as i64;
    let large: &[DType] = if row % 256 == 0 { &LARGE } else { &[] };
    let small: &[DType] = if row % 32 == 0 { &SMALL } else { &[] };
    let all = large.iter().chain(small).copied();
    // A quantised tensor gains nothing from a type with more bits.
    let most = if is_quantised(from) { nbytes(from, entry.elements()) } else { u64::MAX };
    let mut types: Vec<DType> = all.filter(|t| *t != from && nbytes(*t, entry.elements()) < most).collect();
    if from == DType::F32 {
        types.push(DType::BF16);
    }
    types.push(from);
    types
}

/// Some rows of a tensor, and the weights of their columns.
struct Sample {
    values: Vec<f32>,
    weights: Option<Vec<f32>>,
    row: usize,
}

/// The costs of the types, in their order, on this number of threads. `align`: what a tensor's bytes are rounded up to.
pub fn costs(
    source: &Source,
    entry: &Entry,
    types: &[DType],
    importance: &Importance,
    (align, threads): (u64, usize),
) -> Outcome<Vec<Cost>> {
    let samples = samples(source, entry, importance)?;
    let bytes = |dtype: DType| nbytes(dtype, entry.elements()).next_multiple_of(align);
    let mut errors = vec![0.0; types.len()];
    let per_thread = types.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = types.chunks(per_thread).zip(errors.chunks_mut(per_thread));
        let threads: Vec<_> = parts
            .map(|(types, errors)| {
                let samples = &samples;
                scope.spawn(move || {
                    types.iter().zip(errors).try_for_each(|(dtype, error)| {
                        *error = error_of(samples, *dtype, entry)?;
                        Ok(())
                    })
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::new(Exit::Internal, "a thread that measured ended")))
        })
    })?;
    Ok(types.iter().zip(errors).map(|(dtype, error)| Cost { bytes: bytes(*dtype), error }).collect())
}

/// Rows that are spread over the tensor; those of a matrix of a stack with its own weights.
fn samples(source: &Source, entry: &Entry, importance: &Importance) -> Outcome<Vec<Sample>> {
    let row = entry.row().max(1);
    let rows = entry.elements() / row as u64;
    let groups = importance.groups(entry) as u64;
    let wanted = (SAMPLE / row).max(1) as u64;
    // A longer row is cut where blocks end.
    let n = row.min(SAMPLE);
    let mut samples: Vec<(usize, Sample)> = Vec::new();
    for i in 0..wanted.min(rows) {
        let number = i * rows / wanted.min(rows);
        let group = usize::try_from(number * groups / rows.max(1)).unwrap_or(0);
        let piece = Piece { start: number * row as u64, n, row: n, column: 0, group };
        let values = source.values(entry, &piece)?;
        match samples.last_mut().filter(|(last, _)| *last == group) {
            Some((_, sample)) => sample.values.extend(values),
            None => {
                let weights = importance.of(entry, group, 0, n).map(<[f32]>::to_vec);
                samples.push((group, Sample { values, weights, row: n }));
            }
        }
    }
    Ok(samples.into_iter().map(|(_, sample)| sample).collect())
}

/// The share of the products that a type loses.
fn error_of(samples: &[Sample], dtype: DType, entry: &Entry) -> Outcome<f64> {
    let (mut lost, mut all) = (0.0, 0.0);
    for Sample { values, weights, row } in samples {
        let stored = dtype.quantize(values, *row, weights.as_deref()).and_then(|blocks| dtype.dequantize(&blocks));
        let stored = stored.map_err(|e| Failure::from(e).about(format_args!("tensor '{}'", entry.name)))?;
        for (i, (x, y)) in values.iter().zip(&stored).enumerate() {
            let weight = weights.as_ref().map_or(1.0, |weights| f64::from(weights[i % row]));
            lost += weight * f64::from(x - y).powi(2);
            all += weight * f64::from(*x).powi(2);
        }
    }
    Ok(if all > 0.0 { lost / all } else { 0.0 })
}
