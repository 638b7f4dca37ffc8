//! The feed-forward block of a layer: two products, or experts of which each token uses some.

use super::layer::Run;
use super::shape::{Activation, Experts, GateRows, Shape};
use crate::experts::{product, sum, weighted};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module};
use tensorlib::{GluOptions, Tensor};

/// What makes the gate of the feed-forward block.
enum Gate {
    None,
    Own(Linear),
    /// A half of what `up` makes, the second one if `swapped`.
    Half {
        swapped: bool,
    },
}

impl Gate {
    fn load(weights: &Weights, shape: &Shape, name: &str, rows: GateRows) -> Result<Self> {
        // Converters also store both halves of a matrix apart.
        let is_stored = weights.shape_of(&format!("{name}.weight")).is_some();
        let own = || Ok(Gate::Own(weights.linear(name, shape.width, shape.ffn)?));
        match shape.activation {
            Activation::Gated(_) if rows == GateRows::Own || is_stored => own(),
            Activation::Gated(_) => Ok(Gate::Half { swapped: rows == GateRows::Second }),
            Activation::GatedIfStored(_) if is_stored => own(),
            _ => Ok(Gate::None),
        }
    }
}

/// A block's weights.
pub enum Feed {
    Dense(Dense),
    Mixture(Mixture),
}

/// A block that all tokens use.
pub struct Dense {
    up: Linear,
    gate: Gate,
    down: Linear,
}

impl Feed {
    /// Loads the tensors `blk.NUMBER.ffn_*`. `rows` make the gate.
    pub fn load(weights: &Weights, shape: &Shape, number: i64, rows: GateRows) -> Result<Self> {
        if let Some(experts) = shape.experts.filter(|experts| experts.are_in(number)) {
            return Ok(Feed::Mixture(Mixture::load(weights, shape, number, experts)?));
        }
        let name = |part: &str| shape.name(number, part);
        let gate = Gate::load(weights, shape, &name("ffn_gate"), rows)?;
        let up = if matches!(gate, Gate::Half { .. }) { 2 * shape.ffn } else { shape.ffn };
        Ok(Feed::Dense(Dense {
            up: weights.linear(&name("ffn_up"), shape.width, up)?,
            gate,
            down: weights.linear(&name("ffn_down"), shape.ffn, shape.width)?,
        }))
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        match self {
            Feed::Dense(dense) => dense.forward(run, x),
            Feed::Mixture(mixture) => mixture.forward(run, x),
        }
    }
}

impl Dense {
    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let up = self.up.forward(x, &run.pass)?;
        let hidden = match (run.shape.activation, &self.gate) {
            (Activation::Gated(op) | Activation::GatedIfStored(op), Gate::Own(gate)) => {
                gate.forward(x, &run.pass)?.glu(Some(&up), op, GluOptions::new().split(true))?
            }
            (Activation::Gated(op), Gate::Half { swapped }) => up.glu(None, op, GluOptions::new().swapped(*swapped))?,
            (activation, _) => activated(&up, activation)?,
        };
        Ok(self.down.forward(&hidden, &run.pass)?)
    }
}

/// A function of each element, for blocks without a gate.
pub fn activated(x: &Tensor, activation: Activation) -> Result<Tensor> {
    Ok(match activation {
        Activation::Gelu => x.gelu()?,
        Activation::GeluErf => x.gelu_erf()?,
        Activation::GeluQuick => x.gelu_quick()?,
        Activation::Relu | Activation::GatedIfStored(_) => x.relu()?,
        Activation::Gated(_) => return Err(Error::internal("a layer without its gate")),
    })
}

/// Experts without gates, and their router.
pub struct Mixture {
    experts: Experts,
    router: Linear,
    up: Tensor,
    down: Tensor,
    /// Added to the sum of the experts' results.
    bias: Option<Tensor>,
    exact: bool,
}

impl Mixture {
    fn load(weights: &Weights, shape: &Shape, number: i64, experts: Experts) -> Result<Self> {
        let name = |part: &str| shape.name(number, part);
        let Shape { width, ffn, .. } = *shape;
        let up = weights.get(&name("ffn_up_exps.weight"), &[width, ffn, experts.count])?;
        let down = weights.get(&name("ffn_down_exps.weight"), &[ffn, width, experts.count])?;
        Ok(Mixture {
            experts,
            // A router that rounds may choose other experts.
            router: weights.linear(&name("ffn_gate_inp"), width, experts.count)?.exact(true),
            exact: weights.is_exact(&up) || weights.is_exact(&down),
            up,
            down,
            bias: weights.find(&name("ffn_exps.bias"), &[width])?,
        })
    }

    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (width, n) = (run.shape.width, x.shape()[1]);
        let Experts { count, used, .. } = self.experts;
        let logits = self.router.forward(x, &run.pass)?;
        let ids = logits.top_k(used)?;
        // A column of single elements for each token, so that rows can be selected from it.
        let shares = logits.soft_max()?.reshape([1, count, n])?.get_rows(&ids)?.reshape([used, n])?;
        let hidden =
            activated(&product(&self.up, &x.reshape([width, 1, n])?, &ids, self.exact)?, run.shape.activation)?;
        let results = product(&self.down, &hidden, &ids, self.exact)?;
        let sum = sum(&weighted(&results, &shares)?)?;
        Ok(match &self.bias {
            Some(bias) => (&sum + bias)?,
            None => sum,
        })
    }
}
