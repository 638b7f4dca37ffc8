//! A gated feed-forward block with a transposed down projection: each neuron is a row of each matrix, so the rows of
//! inactive neurons need not be read, and neurons may lie on two devices.
//!
//! Sparse products compute few tokens. The tokens of a prompt together activate nearly all neurons, so its products are
//! dense and set inactive neurons to 0. Both compute the same sum.

use super::run::Run;
use super::shape::{Activation, Shape};
use crate::activity::{Activity, Tested};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, LowRank, Module};
use tensorlib::{AxpyOptions, ScaleOptions, SparseBy, SparseFfnActivation, SparseFfnOptions, Tensor};

/// Up to this many tokens in a run sparse products are faster, even if all neurons are active
/// (docs/performance/models.md).
const FEW_TOKENS: i64 = 16;

/// Which neurons of a layer are active.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// All neurons: the model has neither zeros nor thresholds.
    All,
    /// Neurons with a gate above 0: a ReLU sets all others to 0.
    Positive,
    /// Neurons whose activated gate reaches this magnitude (CATS: Lee and others, 2024,
    /// <https://arxiv.org/abs/2404.08763>).
    Gate(f32),
    /// Neurons whose product reaches this magnitude (TEAL: Liu and others, 2024, <https://arxiv.org/abs/2408.14690>).
    Hidden(f32),
}

/// Some neurons, on one device.
struct NeuronShard {
    gate: Linear,
    up: Linear,
    /// [width, neurons].
    down_t: Tensor,
}

/// A layer's feed-forward block.
pub struct NeuronFfn {
    number: usize,
    parts: Vec<NeuronShard>,
    rule: Rule,
    /// Adapters of the down projection.
    adapters: Vec<LowRank>,
    bias: Option<Tensor>,
}

impl NeuronFfn {
    /// The name of a layer's transposed down projection.
    pub fn down_of(number: usize) -> String {
        format!("blk.{number}.ffn_down_t.weight")
    }

    /// Loads the neurons of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let Shape { width, ffn, activation, fused, .. } = *shape;
        let (down, transposed) = (format!("blk.{number}.ffn_down"), Self::down_of(number));
        if fused || activation == Activation::SwigluOai {
            let message = format!("tensor '{transposed}': models of this kind have no transposed down projections");
            return Err(Error::unsupported(message).with_hint("take the file that it was made of"));
        }
        let name = |part: &str| format!("blk.{number}.{part}");
        let part = |rows| -> Result<NeuronShard> {
            let linear = |part: &str| weights.linear_rows(&name(part), width, ffn, rows);
            let down_t = weights.rows(&transposed, &[width, ffn], rows)?;
            Ok(NeuronShard { gate: linear("ffn_gate")?, up: linear("ffn_up")?, down_t })
        };
        let parts = match weights.neurons(number, ffn)? {
            Some([hot, cold]) => vec![part(Some(&hot))?, part(Some(&cold))?],
            None => vec![part(None)?],
        };
        let rule = match activity.map(|activity| (activity.tested(), activity.layers()[number].threshold)) {
            Some((Tested::Gate, threshold)) => Rule::Gate(threshold),
            Some((Tested::Hidden, threshold)) => Rule::Hidden(threshold),
            _ if activation == Activation::Relu => Rule::Positive,
            _ => Rule::All,
        };
        let adapters = weights.adapters(&format!("{down}.weight"), &[ffn, width])?;
        let added = |part: &NeuronShard| !part.gate.adapters.is_empty() || !part.up.adapters.is_empty();
        if parts.len() > 1 && (!adapters.is_empty() || parts.iter().any(added)) {
            let message = format!("layer {number}: adapters of feed-forward matrices whose neurons lie on two devices");
            return Err(Error::unsupported(message).with_hint("put the layer on one device, or leave the adapter out"));
        }
        Ok(NeuronFfn { number, parts, rule, adapters, bias: weights.find(&format!("{down}.bias"), &[width])? })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let mut sum = self.part(run, &self.parts[0], x)?;
        for part in &self.parts[1..] {
            sum = (&sum + &self.part(run, part, x)?)?;
        }
        Ok(match &self.bias {
            Some(bias) => (&sum + bias)?,
            None => sum,
        })
    }

    fn part(&self, run: &Run, part: &NeuronShard, x: &Tensor) -> Result<Tensor> {
        let few = run.tokens <= FEW_TOKENS;
        let plain = plain(&part.gate).zip(plain(&part.up));
        let plain = plain.filter(|_| self.adapters.is_empty() && run.observed.is_none());
        if let (true, Some((gate, up)), Some(options)) = (few, plain, self.options(run.shape.activation)) {
            return Ok(x.sparse_ffn(gate, up, &part.down_t, None, None, options)?);
        }
        let hidden = self.hidden(run, part, x)?;
        let mut sum = match few {
            // Inactive neurons are 0, and products skip zeros.
            true => part.down_t.axpy(&hidden, None, None, AxpyOptions::new().by(SparseBy::Magnitude))?,
            false => part.down_t.out_prod(&hidden.transpose()?)?,
        };
        for adapter in &self.adapters {
            sum = (&sum + &adapter.forward(&hidden, &run.pass)?)?;
        }
        Ok(sum)
    }

    /// The options of the operation that computes the whole block, if the gate decides which neurons are active.
    fn options(&self, activation: Activation) -> Option<SparseFfnOptions> {
        let activation = match activation {
            Activation::Silu => SparseFfnActivation::Silu,
            Activation::Gelu => SparseFfnActivation::Gelu,
            Activation::Relu => SparseFfnActivation::Relu,
            Activation::SwigluOai => return None,
        };
        let options = SparseFfnOptions::new().activation(activation);
        match self.rule {
            Rule::Positive => Some(options.by(SparseBy::Positive)),
            Rule::Gate(threshold) => Some(options.by(SparseBy::Magnitude).threshold(threshold.into())),
            Rule::All | Rule::Hidden(_) => None,
        }
    }

    /// The down projection's input for all tokens, [neurons, tokens]; 0 for inactive neurons.
    fn hidden(&self, run: &Run, part: &NeuronShard, x: &Tensor) -> Result<Tensor> {
        let (gate, up) = (part.gate.forward(x, &run.pass)?, part.up.forward(x, &run.pass)?);
        let activation = run.shape.activation;
        match self.rule {
            Rule::All | Rule::Positive => {
                let hidden = activation.gated(&gate, &up)?;
                run.observe(self.number, &gate, &hidden)?;
                Ok(hidden)
            }
            Rule::Gate(threshold) => Ok((&large(&activation.of(&gate)?, threshold)? * &up)?),
            Rule::Hidden(threshold) => large(&activation.gated(&gate, &up)?, threshold),
        }
    }
}

/// The layer's matrix, if its product is the whole result and may round x.
fn plain(layer: &Linear) -> Option<&Tensor> {
    (layer.adapters.is_empty() && layer.bias.is_none() && !layer.exact).then_some(&layer.weight)
}

/// x where |x| is at least the threshold, 0 elsewhere.
fn large(x: &Tensor, threshold: f32) -> Result<Tensor> {
    if threshold == 0.0 {
        return Ok(x.clone());
    }
    // step() is 1 above 0; subtracting the next float below the threshold makes that 1 from the threshold on.
    let below = ScaleOptions::new().bias(-f64::from(f32::from_bits(threshold.to_bits() - 1)));
    let is_large = x.abs()?.scale(1.0, below)?.step()?;
    Ok((x * &is_large)?)
}
