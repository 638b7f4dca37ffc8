//! The encoder: two convolutions, of which the second one halves the number of frames, then layers.

use super::attention::Attention;
use super::layer::{Feed, EPS};
use super::shape::{Half, Shape};
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{LayerNorm, Module, Pass};
use tensorlib::{Context, DType, Tensor};

/// Taps of a convolution.
const TAPS: i64 = 3;

/// A convolution over time, as a product: the inputs at three times that follow each other are one row.
struct Convolution {
    /// [3 inputs, outputs]
    weight: Tensor,
    bias: Tensor,
    inputs: i64,
}

impl Convolution {
    fn load(weights: &Weights, name: &str, inputs: i64, outputs: i64) -> Result<Self> {
        let (row, inner, taps) = ((TAPS * inputs) as usize, inputs as usize, TAPS as usize);
        // Files have the taps of an input next to each other; rows have the inputs of a tap.
        let source = |i: usize| {
            let (output, column) = (i / row, i % row);
            output * row + column % inner * taps + column / inner
        };
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        // Files for whisper.cpp have a dimension of 1 before the others.
        let is_column = weights.shape_of(&bias).is_some_and(|shape| shape == [1, outputs]);
        let stored: &[i64] = if is_column { &[1, outputs] } else { &[outputs] };
        Ok(Convolution {
            weight: weights.rearranged(&weight, &[TAPS, inputs, outputs], &[TAPS * inputs, outputs], source)?,
            bias: weights.rearranged(&bias, stored, &[outputs], |i| i)?,
            inputs,
        })
    }

    /// The results at `n` times, each `stride` times after the last: of x, [inputs, times], from its first time on.
    fn forward(&self, x: &Tensor, n: i64, stride: i64) -> Result<Tensor> {
        let time = x.strides()[1];
        let rows = x.view([TAPS * self.inputs, n], &[time * stride as usize], 0)?;
        let sum = (&self.weight.mul_mat_exact(&rows)? + &self.bias)?;
        Ok(sum.gelu_erf()?)
    }
}

struct Layer {
    norm: LayerNorm,
    attention: Attention,
    feed: Feed,
}

/// The encoder's weights.
pub struct Encoder {
    convolutions: [Convolution; 2],
    /// [width, positions]
    positions: Tensor,
    layers: Vec<Layer>,
    norm: LayerNorm,
    shape: Shape,
}

impl Encoder {
    /// Loads the tensors `encoder.*`.
    pub fn load(weights: &Weights, shape: &Shape) -> Result<Self> {
        let half @ Half { width, .. } = shape.encoder;
        let layer = |i: i64| {
            let name = format!("encoder.layers.{i}");
            Ok(Layer {
                norm: weights.layer_norm(&format!("{name}.self_attn_layer_norm"), width, EPS)?,
                attention: Attention::load(weights, &format!("{name}.self_attn"), half, width)?,
                feed: Feed::load(weights, &name, half)?,
            })
        };
        let size = [width, shape.positions];
        Ok(Encoder {
            convolutions: [
                Convolution::load(weights, "encoder.conv1", shape.mels, width)?,
                Convolution::load(weights, "encoder.conv2", width, width)?,
            ],
            positions: weights.rearranged("encoder.embed_positions.weight", &size, &size, |i| i)?,
            layers: (0..half.layers).map(layer).collect::<Result<_>>()?,
            norm: weights.layer_norm("encoder.layer_norm", width, EPS)?,
            shape: *shape,
        })
    }

    /// What the encoder makes of a window, [width, positions]. `features`: those of its frames, [mels, frames].
    pub fn forward(&self, ctx: &Context, features: &[f32], pass: &Pass) -> Result<Tensor> {
        let (mels, frames, width) = (self.shape.mels, 2 * self.shape.positions, self.shape.encoder.width);
        // Convolutions see zeros before the first time and after the last.
        let x = ctx.zeros(DType::F32, [mels, frames + 2])?;
        let bytes: Vec<u8> = features.iter().flat_map(|x| x.to_ne_bytes()).collect();
        x.write_bytes(x.strides()[1], &bytes)?;
        let x = self.convolutions[0].forward(&x, frames, 1)?;
        // The second one starts at the zeros before the first time, and ends at the last.
        let x = ctx.zeros(DType::F32, [width, 1])?.concat(&x, 1)?;
        let mut x = (&self.convolutions[1].forward(&x, self.shape.positions, 2)? + &self.positions)?;
        for Layer { norm, attention, feed } in &self.layers {
            let normed = norm.forward(&x, pass)?;
            let (k, v) = attention.keys_and_values(&normed, 1, pass)?;
            x = (&x + &attention.attend(&normed, (&k, &v), None, 1, pass)?)?;
            x = feed.forward(&x, pass)?;
        }
        Ok(self.norm.forward(&x, pass)?)
    }
}
