//! Convolutions of each channel over the last tokens of a sequence, in recurrent layers.

use super::run::Run;
use super::state_slots::{Group, RunStates};
use crate::weights::Weights;
use crate::Result;
use tensorlib::{DType, Tensor};

/// A kernel of a few taps for each channel.
pub struct Convolution {
    /// [channels, taps].
    kernel: Tensor,
    bias: Option<Tensor>,
}

impl Convolution {
    /// Loads `NAME.weight` and, if it exists, `NAME.bias`.
    pub fn load(weights: &Weights, name: &str, taps: i64, channels: i64) -> Result<Self> {
        // A folder stores the kernel of a convolution over one channel.
        let kernel = if weights.is_hub() { vec![taps, 1, channels] } else { vec![taps, channels] };
        Ok(Convolution {
            kernel: weights.transposed(&format!("{name}.weight"), &kernel)?,
            bias: weights.find(&format!("{name}.bias"), &[channels])?,
        })
    }

    /// The sums for a group's tokens, [channels, tokens of all sequences], of x, [channels, tokens of the run]. Stores the
    /// columns that layer `number` needs next.
    ///
    /// For few taps a sum of products is faster than an operation that reads each channel by itself.
    pub fn forward(
        &self,
        run: &Run,
        number: usize,
        (states, group): (&RunStates, &Group),
        x: &Tensor,
    ) -> Result<Tensor> {
        let (channels, taps) = (self.kernel.shape()[0], self.kernel.shape()[1]);
        let (t, sequences) = (group.tokens, group.sequences());
        let read = run.read_columns((number, 0), (states, group), x)?;
        let product =
            |tap: i64| -> Result<Tensor> { Ok((&read.narrow(1, tap, t)? * &self.kernel.narrow(1, tap, 1)?)?) };
        let mut sum = product(0)?;
        for tap in 1..taps {
            sum = (&sum + &product(tap)?)?;
        }
        let sum = sum.reshape([channels, t * sequences])?;
        match &self.bias {
            Some(bias) => Ok((&sum + &bias.cast(DType::F32)?)?),
            None => Ok(sum),
        }
    }
}
