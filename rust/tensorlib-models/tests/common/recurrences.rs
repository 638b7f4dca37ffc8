//! Layers with a state in double precision, one token after the other.

use super::decoder::{OfLayer, Spec};
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::DType;

/// Layers that convolve each channel over the last tokens, between two gates.
#[derive(Clone, Copy, Debug)]
pub struct ShortConvolution {
    pub taps: usize,
    pub biased: bool,
    pub layers: OfLayer,
}

/// The sums of a convolution of each channel over the last tokens.
fn convolved(xs: &[Row], kernel: &[f64], bias: Option<&[f64]>) -> Vec<Row> {
    let channels = xs[0].len();
    let taps = kernel.len() / channels;
    let at = |i: usize, channel: usize| {
        let tap = |j: usize| (i + j + 1).checked_sub(taps).map_or(0.0, |from| xs[from][channel]);
        (0..taps).map(|j| kernel[channel * taps + j] * tap(j)).sum::<f64>() + bias.map_or(0.0, |bias| bias[channel])
    };
    (0..xs.len()).map(|i| (0..channels).map(|channel| at(i, channel)).collect()).collect()
}

impl Spec {
    pub fn short_convolution_of(&self, layer: usize) -> Option<ShortConvolution> {
        self.short_convolution.filter(|convolution| (convolution.layers)(layer))
    }

    /// The tensors of such a layer that are no matrices, and the biases.
    pub fn add_short_convolution(&self, random: &mut Random, t: &mut Tensors, layer: usize, of: ShortConvolution) {
        let w = self.width as i64;
        let mut vector = |part: &str, shape: &[i64], center: f64| {
            t.add(random, &format!("blk.{layer}.shortconv.{part}"), shape, center, 0.3, DType::F32);
        };
        vector("conv.weight", &[of.taps as i64, w], 0.3);
        if of.biased {
            vector("in_proj.bias", &[3 * w], 0.0);
            vector("conv.bias", &[w], 0.0);
            vector("out_proj.bias", &[w], 0.0);
        }
    }

    pub fn convolve(&self, t: &Tensors, layer: usize, xs: &[Row]) -> Vec<Row> {
        let (name, w) = (|part: &str| format!("blk.{layer}.shortconv.{part}"), self.width);
        let all: Vec<Row> = xs.iter().map(|x| self.linear(t, &name("in_proj"), x)).collect();
        let times = |a: &[f64], b: &[f64]| -> Row { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let gated: Vec<Row> = all.iter().map(|row| times(&row[..w], &row[2 * w..])).collect();
        let sums = convolved(&gated, t.get(&name("conv.weight")), t.find(&name("conv.bias")));
        let result = |(row, sum): (&Row, &Row)| self.linear(t, &name("out_proj"), &times(&row[w..2 * w], sum));
        all.iter().zip(&sums).map(result).collect()
    }
}
