//! Feed-forward blocks with experts, of which each token uses some.

use super::expert_cache::{Matrices, Way};
use super::run::Run;
use super::shape::{Experts, Routing, Shape};
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{Linear, LowRank, Module};
use tensorlib::{Attr, DType, ScaleOptions, Tensor};

/// A matrix per expert, and a bias per expert if the model has biases.
struct ExpertLinear {
    weight: Tensor,
    /// Adapters, whose matrices are stacks too: one per expert.
    adapters: Vec<LowRank>,
    bias: Option<Tensor>,
    exact: bool,
}

impl ExpertLinear {
    fn load(weights: &Weights, name: &str, inputs: i64, outputs: i64, experts: i64) -> Result<Self> {
        let (matrices, shape) = (format!("{name}.weight"), [inputs, outputs, experts]);
        let weight = weights.get(&matrices, &shape)?;
        Ok(ExpertLinear {
            adapters: weights.adapters(&matrices, &shape)?,
            bias: weights.find(&format!("{name}.bias"), &[outputs, experts])?,
            exact: weights.is_exact(&weight),
            weight,
        })
    }

    /// Multiplies x, [inputs, 1 or used, tokens], to [outputs, used, tokens], without the bias. `way.ids` selects
    /// matrices of `weight`, and `way.own` those of the adapters, by the experts' own numbers.
    fn forward(&self, weight: &Tensor, x: &Tensor, way: &Way) -> Result<Tensor> {
        let mut sum = product(weight, x, &way.ids, self.exact)?;
        for LowRank { a, b, scale, exact } in &self.adapters {
            let inner = product(a, x, &way.own, *exact)?.scale(*scale, ScaleOptions::new())?;
            sum = (&sum + &product(b, &inner, &way.own, *exact)?)?;
        }
        Ok(sum)
    }

    fn with_bias(&self, sum: Tensor, ids: &Tensor) -> Result<Tensor> {
        Ok(match &self.bias {
            Some(bias) => sum.add_id(bias, ids)?,
            None => sum,
        })
    }
}

/// The product of each column of x and the matrix that its index selects; -1 gives zeros.
fn product(matrices: &Tensor, x: &Tensor, ids: &Tensor, exact: bool) -> Result<Tensor> {
    Ok(match exact {
        true => x.context().op("mul_mat_id", &[matrices, x, ids], &[("exact", Attr::Ints(vec![1]))])?,
        false => matrices.mul_mat_id(x, ids)?,
    })
}

/// The expert that all tokens use.
struct SharedExpert {
    gate: Linear,
    up: Linear,
    down: Linear,
    /// The row of a matrix whose product is the gate of the result: [width, 1].
    scale: Linear,
}

impl SharedExpert {
    fn load(weights: &Weights, shape: &Shape, ffn: i64, number: usize) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        Ok(SharedExpert {
            gate: linear("ffn_gate_shexp", shape.width, ffn)?,
            up: linear("ffn_up_shexp", shape.width, ffn)?,
            down: linear("ffn_down_shexp", ffn, shape.width)?,
            scale: linear("ffn_gate_inp_shexp", shape.width, 1)?,
        })
    }

    /// The expert's result for x, [width, tokens], times its gate.
    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (gate, up) = (self.gate.forward(x, &run.pass)?, self.up.forward(x, &run.pass)?);
        let result = self.down.forward(&run.shape.activation.gated(&gate, &up)?, &run.pass)?;
        Ok((&result * &self.scale.forward(x, &run.pass)?.sigmoid()?)?)
    }
}

/// A layer's experts and their router.
pub struct ExpertFfn {
    number: usize,
    experts: Experts,
    router: Linear,
    /// The factors of the router's input, whose norm has none: [width].
    router_factors: Option<Tensor>,
    /// The factors of the experts' results: [experts].
    factors: Option<Tensor>,
    gate: ExpertLinear,
    up: ExpertLinear,
    down: ExpertLinear,
    shared: Option<SharedExpert>,
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
            // A router that rounds may choose other experts.
            router: weights.linear(&format!("blk.{number}.ffn_gate_inp"), shape.width, experts.count)?.exact(true),
            router_factors: match experts.with_dense {
                true => Some(weights.get(&format!("blk.{number}.ffn_gate_inp.scale"), &[shape.width])?),
                false => None,
            },
            factors: match experts.with_dense {
                true => weights.find(&format!("blk.{number}.ffn_down_exps.scale"), &[experts.count])?,
                false => None,
            },
            gate: part("ffn_gate_exps", shape.width, experts.ffn)?,
            up: part("ffn_up_exps", shape.width, experts.ffn)?,
            down: part("ffn_down_exps", experts.ffn, shape.width)?,
            shared: experts.shared.map(|ffn| SharedExpert::load(weights, shape, ffn, number)).transpose()?,
        })
    }

    /// Gate, up and down projections, [.., .., experts].
    pub fn matrices(&self) -> Matrices<'_> {
        [&self.gate.weight, &self.up.weight, &self.down.weight]
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        self.forward_routed(run, x, x)
    }

    /// The block's result for x, whose experts the router chooses by `routed`.
    pub fn forward_routed(&self, run: &Run, x: &Tensor, routed: &Tensor) -> Result<Tensor> {
        let (n, used) = (run.tokens, self.experts.used);
        let (ids, shares) = self.route(run, routed)?;
        let ways = match run.experts {
            Some(cache) => cache.ways(self.number, self.matrices(), &ids)?,
            None => vec![Way::in_place(self.matrices(), &ids)],
        };
        if ways.len() > 1 {
            run.chosen.borrow_mut().push((self.number, ids.clone()));
        }
        let shared = self.shared.as_ref().map(|shared| shared.forward(run, x)).transpose()?;
        let x = x.reshape([run.shape.width, 1, n])?;
        let mut results = self.results(run, &x, &ids, &ways[0])?;
        for way in &ways[1..] {
            results = (&results + &self.results(run, &x, &ids, way)?)?;
        }
        let results = self.down.with_bias(results, &ids)?;
        let weighted = (&results * &shares.reshape([1, used, n])?)?;
        let of_expert = |i: i64| weighted.narrow(1, i, 1);
        let mut sum = of_expert(0)?.cont()?;
        for i in 1..used {
            sum = (&sum + &of_expert(i)?)?;
        }
        let sum = sum.reshape([run.shape.width, n])?;
        match shared {
            Some(shared) => Ok((&sum + &shared)?),
            None => Ok(sum),
        }
    }

    /// The experts that each token uses, and their shares of the result, both [used, tokens].
    fn route(&self, run: &Run, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let (n, Experts { count, used, routing, .. }) = (run.tokens, self.experts.clone());
        let normed = match &self.router_factors {
            Some(factors) => {
                let scaled =
                    x.rms_norm(run.shape.eps)?.scale(1.0 / (run.shape.width as f64).sqrt(), ScaleOptions::new())?;
                (&scaled * &factors.cast(DType::F32)?)?
            }
            None => x.clone(),
        };
        let logits = self.router.forward(&normed, &run.pass)?;
        let ids = logits.top_k(used)?;
        let of_all = if routing == Routing::OfUsed { logits } else { logits.soft_max()? };
        // A column of single elements for each token, so that rows can be selected from it.
        let shares = of_all.reshape([1, count, n])?.get_rows(&ids)?.reshape([used, n])?;
        let shares = match routing {
            Routing::OfUsed => shares.soft_max()?,
            Routing::Normalised => (&shares / &shares.sum_rows()?)?,
            Routing::Plain => shares,
        };
        let shares = match &self.factors {
            // Their row of single elements is read as the logits are.
            Some(factors) => {
                let all = factors.cast(DType::F32)?.reshape([1, count])?;
                let own = all.get_rows(&ids.reshape([used * n])?)?.reshape([used, n])?;
                (&shares * &own)?
            }
            None => shares,
        };
        Ok((ids, shares))
    }

    /// The results of the experts that one way computes, [width, used, tokens], without the last bias; zeros for the
    /// others.
    fn results(&self, run: &Run, x: &Tensor, ids: &Tensor, way: &Way) -> Result<Tensor> {
        let [gate, up, down] = way.matrices;
        let project = |layer: &ExpertLinear, weight| layer.with_bias(layer.forward(weight, x, way)?, ids);
        let hidden = run.shape.activation.gated(&project(&self.gate, gate)?, &project(&self.up, up)?)?;
        self.down.forward(down, &hidden, way)
    }
}
