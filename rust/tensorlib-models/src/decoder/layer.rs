//! One layer of a decoder: attention and feed-forward.

use super::experts::ExpertFfn;
use super::neurons::NeuronFfn;
use super::run::Run;
use super::shape::{Shape, Stated};
use crate::activity::Activity;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{RopeOptions, Tensor};

enum Projections {
    Apart { query: Linear, key: Linear, value: Linear },
    Fused(Linear),
}

impl Projections {
    fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let Shape { width, heads, kv_heads, head, value_head, .. } = *shape;
        let (queries, keys, values) = (heads * head, kv_heads * head, kv_heads * value_head);
        Ok(match shape.fused {
            true => Projections::Fused(linear("attn_qkv", width, queries + keys + values)?),
            false => Projections::Apart {
                query: linear("attn_q", width, queries)?,
                key: linear("attn_k", width, keys)?,
                value: linear("attn_v", width, values)?,
            },
        })
    }
}

enum Ffn {
    Gated { gate: Linear, up: Linear, down: Linear },
    Fused { gate_up: Linear, down: Linear },
    Neurons(Box<NeuronFfn>),
    Experts(Box<ExpertFfn>),
}

impl Ffn {
    fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let Shape { width, ffn, .. } = *shape;
        Ok(match (&shape.experts, shape.fused) {
            (Some(experts), _) => Ffn::Experts(Box::new(ExpertFfn::load(weights, shape, experts, number)?)),
            _ if weights.shape_of(&NeuronFfn::down_of(number)).is_some() => {
                Ffn::Neurons(Box::new(NeuronFfn::load(weights, shape, number, activity)?))
            }
            _ if activity.is_some() => {
                let down = NeuronFfn::down_of(number);
                let message = format!("tensor '{down}' is missing, of which active neurons' rows would be read");
                return Err(Error::unsupported(message).with_hint("`tensorlib transpose-down` makes such a model"));
            }
            (None, true) => {
                Ffn::Fused { gate_up: linear("ffn_up", width, 2 * ffn)?, down: linear("ffn_down", ffn, width)? }
            }
            (None, false) => Ffn::Gated {
                gate: linear("ffn_gate", width, ffn)?,
                up: linear("ffn_up", width, ffn)?,
                down: linear("ffn_down", ffn, width)?,
            },
        })
    }
}

/// A layer's weights.
pub struct Layer {
    number: usize,
    norm: RmsNorm,
    projections: Projections,
    head_norms: Option<(RmsNorm, RmsNorm)>,
    sinks: Option<Tensor>,
    output: Linear,
    post_norm: Option<RmsNorm>,
    ffn_norm: RmsNorm,
    ffn: Ffn,
    post_ffn_norm: Option<RmsNorm>,
    rope: RopeOptions,
    factors: Option<Tensor>,
    windowed: bool,
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`; `factors` are the frequency factors of its rotation.
    pub fn load(
        weights: &Weights,
        shape: &Shape,
        number: usize,
        factors: Option<Tensor>,
        activity: Option<&Activity>,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let norm = |part: &str, n| weights.rms_norm(&name(part), n, shape.eps);
        let Shape { width, heads, head, value_head, .. } = *shape;
        let projections = Projections::load(weights, shape, number)?;
        let query = if shape.fused { "attn_qkv" } else { "attn_q" };
        Stated::check_bias(shape.stated.attention_bias, weights, &name(&format!("{query}.bias")))?;
        Stated::check_bias(shape.stated.ffn_bias, weights, &name("ffn_up.bias"))?;
        let ffn = Ffn::load(weights, shape, number, activity)?;
        let post = |part: &str| shape.post_norms.then(|| norm(part, width)).transpose();
        let windowed = shape.is_windowed(number);
        let rope = shape.window_rope.as_ref().filter(|_| windowed).unwrap_or(&shape.rope).options();
        Ok(Layer {
            number,
            norm: norm("attn_norm", width)?,
            projections,
            head_norms: match shape.head_norms {
                true => Some((norm("attn_q_norm", head)?, norm("attn_k_norm", head)?)),
                false => None,
            },
            sinks: shape.sinks.then(|| weights.get(&name("attn_sinks.weight"), &[heads])).transpose()?,
            output: weights.linear(&name("attn_output"), heads * value_head, width)?,
            post_norm: post("post_attention_norm")?,
            ffn_norm: norm(shape.ffn_norm, width)?,
            ffn,
            post_ffn_norm: post("post_ffw_norm")?,
            rope,
            factors,
            windowed,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let mut attended = self.attention(run, &self.norm.forward(x, &run.pass)?)?;
        if let Some(norm) = &self.post_norm {
            attended = norm.forward(&attended, &run.pass)?;
        }
        let x = (&attended + x)?;
        let mut fed = self.feed(run, &self.ffn_norm.forward(&x, &run.pass)?)?;
        if let Some(norm) = &self.post_ffn_norm {
            fed = norm.forward(&fed, &run.pass)?;
        }
        Ok((&fed + &x)?)
    }

    /// Whether the layer's down projection is transposed.
    pub fn has_neurons(&self) -> bool {
        matches!(self.ffn, Ffn::Neurons(_))
    }

    /// The layer's experts, if it has any.
    pub fn experts(&self) -> Option<&ExpertFfn> {
        match &self.ffn {
            Ffn::Experts(experts) => Some(experts),
            _ => None,
        }
    }

    fn attention(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let shape = run.shape;
        let (mut q, mut k, v) = self.project(run, x)?;
        if let Some((query, key)) = &self.head_norms {
            (q, k) = (query.forward(&q, &run.pass)?, key.forward(&k, &run.pass)?);
        }
        let turned = |t: &Tensor| t.rope(&run.positions, self.factors.as_ref(), self.rope);
        let q = turned(&q)?.permute([0, 2, 1, 3])?;
        let k = turned(&k)?.reshape([shape.kv_heads * shape.head, run.tokens])?;
        let c = run.keys.attend(run, (self.number, self.windowed), (&q, &k, &v), self.sinks.as_ref())?;
        let c = c.reshape([shape.heads * shape.value_head, run.tokens])?;
        Ok(self.output.forward(&c, &run.pass)?)
    }

    /// Queries and keys as [head, heads, tokens], values as [heads * head, tokens].
    fn project(&self, run: &Run, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let (shape, n) = (run.shape, run.tokens);
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let q = query.forward(x, &run.pass)?.reshape([shape.head, shape.heads, n])?;
                let k = key.forward(x, &run.pass)?.reshape([shape.head, shape.kv_heads, n])?;
                Ok((q, k, value.forward(x, &run.pass)?))
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?;
                let (row, head) = (all.strides()[1], shape.head as usize * all.dtype().size());
                let heads =
                    |first: i64, n_heads: i64| all.view([shape.head, n_heads, n], &[head, row], first as usize * head);
                let (q, k) = (heads(0, shape.heads)?, heads(shape.heads, shape.kv_heads)?);
                let first = (shape.heads + shape.kv_heads) * shape.head;
                let v = all.narrow(0, first, shape.kv_heads * shape.value_head)?;
                Ok((q, k, v))
            }
        }
    }

    fn feed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let activation = run.shape.activation;
        match &self.ffn {
            Ffn::Gated { gate, up, down } => {
                let (gate, up) = (gate.forward(x, &run.pass)?, up.forward(x, &run.pass)?);
                let hidden = activation.gated(&gate, &up)?;
                run.observe(self.number, &gate, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Fused { gate_up, down } => {
                let both = gate_up.forward(x, &run.pass)?;
                let hidden = activation.gated_halves(&both)?;
                run.observe(self.number, &both.narrow(0, 0, run.shape.ffn)?, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Neurons(neurons) => neurons.forward(run, x),
            Ffn::Experts(experts) => experts.forward(run, x),
        }
    }
}
