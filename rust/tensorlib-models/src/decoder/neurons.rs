//! A gated feed-forward block with a transposed down projection: each neuron is a row of each matrix, so the rows of
//! inactive neurons need not be read, and neurons may lie on two devices.

use super::activation::Activation;
use super::run::Run;
use super::shape::Shape;
use crate::activity::{Activity, Tested};
use crate::weights::{Rows, Weights};
use crate::{Error, Result};
use tensorlib::nn::{Linear, LowRank, Module};
use tensorlib::{AxpyOptions, ScaleOptions, SparseBy, SparseFfnActivation, SparseFfnOptions, Tensor};

/// Up to this many tokens in a run sparse products are faster, even if all neurons are active
/// (docs/performance/models.md). The tokens of a longer prompt together activate nearly all neurons.
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

impl Rule {
    fn new(layer: usize, activation: Activation, activity: Option<&Activity>) -> Self {
        match activity.map(|activity| (activity.tested(), activity.layers()[layer].threshold)) {
            Some((Tested::Gate, threshold)) => Rule::Gate(threshold),
            Some((Tested::Hidden, threshold)) => Rule::Hidden(threshold),
            _ if activation == Activation::Relu => Rule::Positive,
            _ => Rule::All,
        }
    }
}

/// How a run computes a shard. All three compute the same sum.
enum Method {
    /// One operation computes gates first, and reads the other rows of active neurons only.
    SparseBlock(SparseFfnOptions),
    /// Gate and up projections are dense. The down projection reads the rows of active neurons only.
    SparseDown,
    /// All products are dense. Inactive neurons are 0.
    Dense,
}

/// Some neurons, on one device.
struct NeuronShard {
    gate: Linear,
    up: Linear,
    /// [width, neurons].
    down_t: Tensor,
}

impl NeuronShard {
    /// Loads all neurons of a layer, or the neurons with these rows.
    fn load(weights: &Weights, shape: &Shape, number: usize, rows: Option<&Rows>) -> Result<Self> {
        let (width, ffn) = (shape.width, shape.ffn_of(number));
        let linear = |part: &str| weights.linear_rows(&format!("blk.{number}.{part}"), width, ffn, rows);
        let down_t = weights.rows(&NeuronFfn::down_of(number), &[width, ffn], rows)?;
        Ok(NeuronShard { gate: linear("ffn_gate")?, up: linear("ffn_up")?, down_t })
    }

    fn has_adapters(&self) -> bool {
        [&self.gate, &self.up].iter().any(|layer| !layer.adapters.is_empty())
    }

    /// Whether gate and up projections are products with their matrices alone, which may round x.
    fn is_plain(&self) -> bool {
        let is_plain = |layer: &Linear| layer.adapters.is_empty() && layer.bias.is_none() && !layer.exact;
        is_plain(&self.gate) && is_plain(&self.up)
    }
}

/// A layer's feed-forward block.
pub struct NeuronFfn {
    number: usize,
    shards: Vec<NeuronShard>,
    rule: Rule,
    /// The operation of [`Method::SparseBlock`], if it can apply the rule.
    sparse_block: Option<SparseFfnOptions>,
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
        let (&Shape { width, activation, fused_ffn, gated_ffn, .. }, ffn) = (shape, shape.ffn_of(number));
        // Neurons by themselves have neither norms nor bounds that follow from all of them.
        let alone = !fused_ffn && gated_ffn && !shape.inner_norms && shape.altup.is_none();
        if !alone || shape.ffn_factors != [1.0; 2] || activation == Activation::SwigluOai {
            let message =
                format!("tensor '{}': models of this kind have no transposed down projections", Self::down_of(number));
            return Err(Error::unsupported(message).with_hint("take the file that it was made of"));
        }
        let shard = |rows| NeuronShard::load(weights, shape, number, rows);
        let shards = match weights.neurons(number, ffn)? {
            Some([hot, cold]) => vec![shard(Some(&hot))?, shard(Some(&cold))?],
            None => vec![shard(None)?],
        };
        let down = format!("blk.{number}.ffn_down");
        let adapters = weights.adapters(&format!("{down}.weight"), &[ffn, width])?;
        if shards.len() > 1 && (!adapters.is_empty() || shards.iter().any(NeuronShard::has_adapters)) {
            let message = format!("layer {number}: adapters of feed-forward matrices whose neurons lie on two devices");
            return Err(Error::unsupported(message).with_hint("put the layer on one device, or leave the adapter out"));
        }
        let rule = Rule::new(number, activation, activity);
        let bias = weights.find(&format!("{down}.bias"), &[width])?;
        Ok(NeuronFfn { number, shards, rule, sparse_block: sparse_block(activation, rule), adapters, bias })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let mut sum = self.shard(run, &self.shards[0], x)?;
        for shard in &self.shards[1..] {
            sum = (&sum + &self.shard(run, shard, x)?)?;
        }
        Ok(match &self.bias {
            Some(bias) => (&sum + bias)?,
            None => sum,
        })
    }

    /// What a shard's neurons add to the result.
    fn shard(&self, run: &Run, shard: &NeuronShard, x: &Tensor) -> Result<Tensor> {
        let NeuronShard { gate, up, down_t } = shard;
        match self.method(run, shard) {
            Method::SparseBlock(options) => Ok(x.sparse_ffn(&gate.weight, &up.weight, down_t, None, None, options)?),
            Method::SparseDown => {
                let hidden = self.hidden(run, shard, x)?;
                // Inactive neurons are 0, and products skip zeros.
                let options = AxpyOptions::new().by(SparseBy::Magnitude);
                self.with_adapters(run, down_t.axpy(&hidden, None, None, options)?, &hidden)
            }
            Method::Dense => {
                let hidden = self.hidden(run, shard, x)?;
                self.with_adapters(run, down_t.out_prod(&hidden.transpose()?)?, &hidden)
            }
        }
    }

    fn method(&self, run: &Run, shard: &NeuronShard) -> Method {
        if run.tokens > FEW_TOKENS {
            return Method::Dense;
        }
        // One operation has no place for adapters, biases or observers.
        let is_plain = shard.is_plain() && self.adapters.is_empty() && run.observed.is_none();
        match self.sparse_block {
            Some(options) if is_plain => Method::SparseBlock(options),
            _ => Method::SparseDown,
        }
    }

    /// The down projection's input for all tokens, [neurons, tokens]; 0 for inactive neurons.
    fn hidden(&self, run: &Run, shard: &NeuronShard, x: &Tensor) -> Result<Tensor> {
        let (gate, up) = (shard.gate.forward(x, &run.pass)?, shard.up.forward(x, &run.pass)?);
        let activation = run.shape.activation;
        match self.rule {
            Rule::Gate(threshold) => Ok((&large(&activation.of(&gate)?, threshold)? * &up)?),
            Rule::Hidden(threshold) => large(&activation.gated(&gate, &up)?, threshold),
            Rule::All | Rule::Positive => {
                let hidden = activation.gated(&gate, &up)?;
                run.observe(self.number, &gate, &hidden)?;
                Ok(hidden)
            }
        }
    }

    /// The down projection's product and what its adapters add.
    fn with_adapters(&self, run: &Run, product: Tensor, hidden: &Tensor) -> Result<Tensor> {
        self.adapters.iter().try_fold(product, |sum, adapter| Ok((&sum + &adapter.forward(hidden, &run.pass)?)?))
    }
}

/// The options of the operation that computes a whole block, if the gate alone decides which neurons are active.
fn sparse_block(activation: Activation, rule: Rule) -> Option<SparseFfnOptions> {
    let options = SparseFfnOptions::new().activation(match activation {
        Activation::Silu => SparseFfnActivation::Silu,
        Activation::Gelu => SparseFfnActivation::Gelu,
        Activation::Relu => SparseFfnActivation::Relu,
        Activation::ReluSquared | Activation::SwigluOai => return None,
    });
    match rule {
        Rule::Positive => Some(options.by(SparseBy::Positive)),
        Rule::Gate(threshold) => Some(options.by(SparseBy::Magnitude).threshold(threshold.into())),
        Rule::All | Rule::Hidden(_) => None,
    }
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
