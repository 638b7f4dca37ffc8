//! Attention whose keys and values follow from a short vector of each token (DeepSeek-AI, DeepSeek-V2, 2024). The cache
//! has this vector and a rotated key, which all heads share. The matrices that would make keys and values are applied to
//! queries and results instead.

use super::cache::NewRows;
use super::run::Run;
use super::shape::{Latent, Shape, Stated};
use crate::weights::{HeadRows, Weights};
use crate::Result;
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{RopeOptions, Tensor};

/// The norms of latent vectors have an epsilon of their own, whatever the settings say of other norms.
const EPS: f64 = 1e-6;

/// What makes queries.
enum Queries {
    Direct(Linear),
    /// By way of a shorter vector.
    Through {
        down: Linear,
        norm: RmsNorm,
        up: Linear,
    },
}

/// A matrix for each head.
struct HeadMatrices {
    /// [inputs, outputs, heads].
    matrices: Tensor,
    exact: bool,
}

impl HeadMatrices {
    fn of(weights: &Weights, matrices: Tensor) -> Self {
        HeadMatrices { exact: weights.is_exact(&matrices), matrices }
    }

    /// The products with x, [inputs, heads, tokens], as [outputs, tokens, heads].
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.permute([0, 2, 1, 3])?.cont()?;
        Ok(if self.exact { self.matrices.mul_mat_exact(&x)? } else { self.matrices.mul_mat(&x)? })
    }
}

/// A layer's weights.
pub struct LatentAttention {
    number: usize,
    latent: Latent,
    queries: Queries,
    /// Makes a latent vector and a key.
    down: Linear,
    norm: RmsNorm,
    /// What latent keys would be made by, transposed: [key, rank, heads].
    keys: HeadMatrices,
    /// [rank, value, heads].
    values: HeadMatrices,
    output: Linear,
    rope: RopeOptions,
    factors: Option<Tensor>,
}

impl LatentAttention {
    /// Loads the tensors of layer `number`; `factors` are the frequency factors of its rotation.
    pub fn load(
        weights: &Weights,
        shape: &Shape,
        latent: &Latent,
        number: usize,
        factors: Option<Tensor>,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let (width, heads, Latent { rank, rotated, plain, value, .. }) = (shape.width, shape.heads, *latent);
        let all_queries = heads * (plain + rotated);
        let queries = match latent.query_rank {
            None => Queries::Direct(weights.linear(&name("attn_q"), width, all_queries)?),
            Some(query_rank) => Queries::Through {
                down: weights.linear(&name("attn_q_a"), width, query_rank)?,
                norm: weights.rms_norm(&name("attn_q_a_norm"), query_rank, EPS)?,
                up: weights.linear(&name("attn_q_b"), query_rank, all_queries)?,
            },
        };
        for part in ["attn_kv_a_mqa.bias", "attn_output.bias"] {
            Stated::check_bias(shape.stated.attention_bias, weights, &name(part))?;
        }
        let both = name("attn_kv_b.weight");
        let (keys, values) = match weights.shape_of(&both).is_some() || weights.is_hub() {
            true => {
                let rows = HeadRows { columns: rank, of_head: plain + value, heads };
                (weights.transposed_rows(&both, rows, plain)?, weights.last_rows(&both, rows, value)?)
            }
            false => (
                weights.get(&name("attn_k_b.weight"), &[plain, rank, heads])?,
                weights.get(&name("attn_v_b.weight"), &[rank, value, heads])?,
            ),
        };
        Ok(LatentAttention {
            number,
            latent: *latent,
            queries,
            down: weights.linear(&name("attn_kv_a_mqa"), width, rank + rotated)?,
            norm: weights.rms_norm(&name("attn_kv_a_norm"), rank, EPS)?,
            keys: HeadMatrices::of(weights, keys),
            values: HeadMatrices::of(weights, values),
            output: weights.linear(&name("attn_output"), heads * value, width)?,
            rope: shape.rope.options(),
            factors,
        })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (n, heads, Latent { rank, rotated, value, .. }) = (run.tokens, run.shape.heads, self.latent);
        let both = self.down.forward(x, &run.pass)?;
        let latent = self.norm.forward(&both.narrow(0, 0, rank)?, &run.pass)?;
        let key = self.turned(run, &both.narrow(0, rank, rotated)?.cont()?.reshape([rotated, 1, n])?)?;
        let row = latent.concat(&key.reshape([rotated, n])?, 0)?;
        let all = run.keys.store(run, self.number, &NewRows::Latent { row: &row, rank })?;
        let c = run.keys.attend(run, false, &self.query(run, x)?, &all, None)?;
        let results = self.values.forward(&c)?.permute([0, 2, 1, 3])?.cont()?;
        Ok(self.output.forward(&results.reshape([value * heads, n])?, &run.pass)?)
    }

    /// Queries of cached rows, [rank + rotated, tokens, heads].
    fn query(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let Latent { rotated, plain, .. } = self.latent;
        let all = match &self.queries {
            Queries::Direct(query) => query.forward(x, &run.pass)?,
            Queries::Through { down, norm, up } => {
                up.forward(&norm.forward(&down.forward(x, &run.pass)?, &run.pass)?, &run.pass)?
            }
        };
        let mut all = all.reshape([plain + rotated, run.shape.heads, run.tokens])?;
        if let Some(factors) = &run.query_factors {
            all = (&all * factors)?;
        }
        let turned = self.turned(run, &all.narrow(0, plain, rotated)?.cont()?)?;
        let absorbed = self.keys.forward(&all.narrow(0, 0, plain)?)?;
        Ok(absorbed.concat(&turned.permute([0, 2, 1, 3])?, 0)?)
    }

    fn turned(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        Ok(x.rope(&run.positions, self.factors.as_ref(), self.rope)?)
    }
}
