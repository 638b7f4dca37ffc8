//! Feed-forward blocks with experts, of which each token uses some.

use super::expert_cache::{Matrices, Way};
use super::run::{gated, Run};
use super::shape::{Experts, Routing, Shape};
use crate::parts::{is_exact, Linear};
use crate::weights::{LowRank, Weights};
use crate::Result;
use tensorlib::{Attr, Tensor};

/// A matrix per expert, and a bias per expert if the model has biases.
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

    /// Multiplies x, [inputs, 1 or used, tokens], to [outputs, used, tokens]. `ids` selects matrices of `weight`, and
    /// `own` those of the adapters, by the experts' own numbers. -1 gives zeros.
    fn forward(&self, run: &Run, weight: &Tensor, x: &Tensor, ids: &Tensor, own: &Tensor) -> Result<Tensor> {
        let product = |weight: &Tensor, x: &Tensor, ids: &Tensor| {
            Ok(match is_exact(weight, run.exact) {
                true => run.ctx.op("mul_mat_id", &[weight, x, ids], &[("exact", Attr::Ints(vec![1]))])?,
                false => run.ctx.mul_mat_id(weight, x, ids)?,
            })
        };
        let mut sum = product(weight, x, ids)?;
        for addition in &self.additions {
            sum = addition.add_to(run.ctx, &sum, x, |weight: &Tensor, x: &Tensor| product(weight, x, own))?;
        }
        Ok(sum)
    }

    fn with_bias(&self, run: &Run, sum: Tensor, ids: &Tensor) -> Result<Tensor> {
        Ok(match &self.bias {
            Some(bias) => run.ctx.add_id(&sum, bias, ids)?,
            None => sum,
        })
    }
}

/// A layer's experts and their router.
pub struct ExpertFfn {
    number: usize,
    experts: Experts,
    router: Linear,
    gate: ExpertLinear,
    up: ExpertLinear,
    down: ExpertLinear,
}

impl ExpertFfn {
    /// Loads the experts of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, experts: &Experts, number: usize) -> Result<Self> {
        let part = |part: &str, inputs, outputs| {
            ExpertLinear::load(weights, &format!("blk.{number}.{part}"), inputs, outputs, experts.count)
        };
        Ok(ExpertFfn {
            number,
            experts: experts.clone(),
            router: Linear::load(weights, &format!("blk.{number}.ffn_gate_inp"), shape.width, experts.count)?,
            gate: part("ffn_gate_exps", shape.width, experts.ffn)?,
            up: part("ffn_up_exps", shape.width, experts.ffn)?,
            down: part("ffn_down_exps", experts.ffn, shape.width)?,
        })
    }

    /// Gate, up and down projections, [.., .., experts].
    pub fn matrices(&self) -> Matrices<'_> {
        [&self.gate.weight, &self.up.weight, &self.down.weight]
    }

    /// The results of the experts that one way computes, [width, used, tokens], without the last bias; zeros for the
    /// others.
    fn part(&self, run: &Run, x: &Tensor, ids: &Tensor, way: &Way) -> Result<Tensor> {
        let of = |part: &ExpertLinear, weight: &Tensor| {
            part.with_bias(run, part.forward(run, weight, x, &way.ids, &way.own)?, ids)
        };
        let [gate, up, down] = way.matrices;
        let hidden = gated(run.ctx, run.shape.activation, &of(&self.gate, gate)?, &of(&self.up, up)?)?;
        self.down.forward(run, down, &hidden, &way.ids, &way.own)
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (ctx, n, Experts { count, used, routing, .. }) = (run.ctx, run.tokens, self.experts.clone());
        let logits = self.router.forward(ctx, x, true)?;
        let ids = ctx.top_k(&logits, used)?;
        let of_all = if routing == Routing::OfUsed { logits } else { ctx.soft_max(&logits)? };
        // A column of single elements for each token, so that rows can be selected from it.
        let of_all = ctx.reshape(&of_all, [1, count, n])?;
        let mut shares = ctx.reshape(&ctx.get_rows(&of_all, &ids)?, [used, n])?;
        match routing {
            Routing::OfUsed => shares = ctx.soft_max(&shares)?,
            Routing::Normalised => shares = ctx.div(&shares, &ctx.sum_rows(&shares)?)?,
            Routing::Plain => {}
        }
        let x = ctx.reshape(x, [run.shape.width, 1, n])?;
        let ways = match run.experts {
            Some(cache) => cache.ways(ctx, self.number, self.matrices(), &ids)?,
            None => vec![Way::in_place(self.matrices(), &ids)],
        };
        if ways.len() > 1 {
            run.chosen.borrow_mut().push((self.number, ids.clone()));
        }
        let mut parts = self.part(run, &x, &ids, &ways[0])?;
        for way in &ways[1..] {
            parts = ctx.add(&parts, &self.part(run, &x, &ids, way)?)?;
        }
        let parts = self.down.with_bias(run, parts, &ids)?;
        let parts = ctx.mul(&parts, &ctx.reshape(&shares, [1, used, n])?)?;
        let part = |i: i64| ctx.narrow(&parts, 1, i, 1);
        let mut sum = ctx.cont(&part(0)?)?;
        for i in 1..used {
            sum = ctx.add(&sum, &part(i)?)?;
        }
        Ok(ctx.reshape(&sum, [run.shape.width, n])?)
    }
}
