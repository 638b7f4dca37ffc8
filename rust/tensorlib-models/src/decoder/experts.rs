//! Feed-forward parts of which each token uses some.

use super::run::{gated, Run};
use super::shape::{Experts, Routing, Shape};
use crate::adapter::LowRank;
use crate::parts::{is_exact, Linear};
use crate::weights::Weights;
use crate::Result;
use tensorlib::{Attr, Tensor};

/// A matrix for each expert, and a bias for each where there are some.
struct ExpertLinear {
    weight: Tensor,
    additions: Vec<LowRank>,
    bias: Option<Tensor>,
}

impl ExpertLinear {
    fn load(weights: &Weights, name: &str, inputs: i64, outputs: i64, experts: i64) -> Result<Self> {
        let (matrices, shape) = (format!("{name}.weight"), [inputs, outputs, experts]);
        Ok(ExpertLinear {
            weight: weights.get(&matrices, &shape)?,
            additions: weights.additions(&matrices, &shape)?,
            bias: weights.find(&format!("{name}.bias"), &[outputs, experts])?,
        })
    }

    /// Of x, [inputs, 1 or used, tokens]; [outputs, used, tokens].
    fn of(&self, run: &Run, x: &Tensor, ids: &Tensor) -> Result<Tensor> {
        let product = |weight: &Tensor, x: &Tensor| {
            Ok(match is_exact(weight, run.exact) {
                true => run.ctx.op("mul_mat_id", &[weight, x, ids], &[("exact", Attr::Ints(vec![1]))])?,
                false => run.ctx.mul_mat_id(weight, x, ids)?,
            })
        };
        let mut sum = product(&self.weight, x)?;
        for addition in &self.additions {
            sum = addition.add_to(run.ctx, &sum, x, product)?;
        }
        Ok(match &self.bias {
            Some(bias) => run.ctx.add_id(&sum, bias, ids)?,
            None => sum,
        })
    }
}

/// A layer's experts and their router.
pub struct ExpertFfn {
    experts: Experts,
    router: Linear,
    gate: ExpertLinear,
    up: ExpertLinear,
    down: ExpertLinear,
}

impl ExpertFfn {
    /// Those of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, experts: &Experts, number: usize) -> Result<Self> {
        let part = |part: &str, inputs, outputs| {
            ExpertLinear::load(weights, &format!("blk.{number}.{part}"), inputs, outputs, experts.count)
        };
        Ok(ExpertFfn {
            experts: experts.clone(),
            router: Linear::load(weights, &format!("blk.{number}.ffn_gate_inp"), shape.width, experts.count)?,
            gate: part("ffn_gate_exps", shape.width, experts.ffn)?,
            up: part("ffn_up_exps", shape.width, experts.ffn)?,
            down: part("ffn_down_exps", experts.ffn, shape.width)?,
        })
    }

    /// Of x, [width, tokens].
    pub fn of(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (ctx, n, Experts { count, used, routing, .. }) = (run.ctx, run.tokens, self.experts.clone());
        let logits = self.router.of(ctx, x, true)?;
        let ids = ctx.top_k(&logits, used)?;
        let of_all = if routing == Routing::OfUsed { logits } else { ctx.soft_max(&logits)? };
        // Each token's numbers as a column of single elements, of which rows are taken.
        let of_all = ctx.reshape(&of_all, [1, count, n])?;
        let mut shares = ctx.reshape(&ctx.get_rows(&of_all, &ids)?, [used, n])?;
        match routing {
            Routing::OfUsed => shares = ctx.soft_max(&shares)?,
            Routing::Normalised => shares = ctx.div(&shares, &ctx.sum_rows(&shares)?)?,
            Routing::Plain => {}
        }
        let x = ctx.reshape(x, [run.shape.width, 1, n])?;
        let (gate, up) = (self.gate.of(run, &x, &ids)?, self.up.of(run, &x, &ids)?);
        let hidden = gated(ctx, run.shape.activation, &gate, &up)?;
        let parts = ctx.mul(&self.down.of(run, &hidden, &ids)?, &ctx.reshape(&shares, [1, used, n])?)?;
        let part = |i: i64| ctx.narrow(&parts, 1, i, 1);
        let mut sum = ctx.cont(&part(0)?)?;
        for i in 1..used {
            sum = ctx.add(&sum, &part(i)?)?;
        }
        Ok(ctx.reshape(&sum, [run.shape.width, n])?)
    }
}
