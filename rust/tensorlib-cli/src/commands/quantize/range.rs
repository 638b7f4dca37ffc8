//! Finds numbers that are not finite, before or after `quantize` has stored them. Plain types accept them without an
//! error, but a model with such weights gives no useful results.

use super::plan::Step;
use crate::failure::warn;
use tensorlib::{DType, Kind};

/// F32 values of at least this are rounded to infinity in F16.
const F16_END: f32 = 65520.0;
/// The most tensors that are named.
const NAMED: usize = 8;

/// The findings of a tensor.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Values that are NaN or infinite in the source.
    not_finite: u64,
    /// Finite values that overflow the new type.
    overflow: u64,
}

/// The findings of all tensors.
pub struct Ranges(Vec<Seen>);

impl Ranges {
    /// No findings yet for this number of tensors.
    pub fn new(tensors: usize) -> Self {
        Ranges(vec![Seen::default(); tensors])
    }

    /// Checks values that are converted to the step's type.
    pub fn look(&mut self, step: usize, to: DType, values: &[f32]) {
        let seen = &mut self.0[step];
        for value in values {
            if !value.is_finite() {
                seen.not_finite += 1;
            } else if to == DType::F16 && value.abs() >= F16_END {
                seen.overflow += 1;
            }
        }
    }

    /// Checks bytes that are copied. Blocks are skipped: their encoders accept finite numbers only.
    pub fn look_at_bytes(&mut self, step: usize, dtype: DType, bytes: &[u8]) {
        if dtype.kind() == Kind::Floating {
            if let Ok(values) = dtype.dequantize(bytes) {
                self.look(step, dtype, &values);
            }
        }
    }

    /// Prints a line per tensor to standard error.
    pub fn report(&self, steps: &[Step]) {
        let odd = self.0.iter().zip(steps).filter(|(seen, _)| seen.not_finite + seen.overflow > 0);
        for (seen, step) in odd.clone().take(NAMED) {
            let (name, n, to) = (&step.entry.name, step.entry.elements(), step.to);
            if seen.overflow > 0 {
                let count = seen.overflow;
                warn(format_args!(
                    "tensor '{name}': {count} of {n} values are out of the range of {to} and became infinity (inf)"
                ));
            }
            if seen.not_finite > 0 {
                warn(format_args!("tensor '{name}': {} of {n} values are NaN or infinite", seen.not_finite));
            }
        }
        let more = odd.count().saturating_sub(NAMED);
        if more > 0 {
            warn(format_args!("{more} more tensors have values that are not finite"));
        }
    }
}
