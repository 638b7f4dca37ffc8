//! The matrices of an attention block.

use super::shape::Half;
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{Linear, Module, Pass};
use tensorlib::{FlashAttnExtOptions, Tensor};

/// An attention block.
pub struct Attention {
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    half: Half,
}

impl Attention {
    /// Loads the matrices `NAME.q_proj` and so on. `inputs`: the elements of what keys and values are made of.
    pub fn load(weights: &Weights, name: &str, half: Half, inputs: i64) -> Result<Self> {
        let linear = |part: &str, inputs| weights.linear(&format!("{name}.{part}"), inputs, half.width);
        Ok(Attention {
            q: linear("q_proj", half.width)?,
            k: linear("k_proj", inputs)?,
            v: linear("v_proj", inputs)?,
            output: linear("out_proj", half.width)?,
            half,
        })
    }

    /// The keys of x, [width, n]: [head, n, heads].
    pub fn keys(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.by_head(&self.k.forward(x, pass)?, 1)
    }

    /// The values of x, as [`Attention::keys`].
    pub fn values(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.by_head(&self.v.forward(x, pass)?, 1)
    }

    /// The keys and values of x, [width, n batch]: [head, n, heads, batch].
    pub fn keys_and_values(&self, x: &Tensor, batch: i64, pass: &Pass) -> Result<(Tensor, Tensor)> {
        let (k, v) = (self.k.forward(x, pass)?, self.v.forward(x, pass)?);
        Ok((self.by_head(&k, batch)?, self.by_head(&v, batch)?))
    }

    /// The block's result for x, [width, n batch], with keys and values of [head, keys, heads, batch].
    pub fn attend(
        &self,
        x: &Tensor,
        (k, v): (&Tensor, &Tensor),
        mask: Option<&Tensor>,
        batch: i64,
        pass: &Pass,
    ) -> Result<Tensor> {
        let q = self.by_head(&self.q.forward(x, pass)?, batch)?;
        let options = FlashAttnExtOptions::new().scale(1.0 / (self.half.head() as f64).sqrt());
        let c = q.flash_attn_ext(k, v, mask, None, options)?;
        Ok(self.output.forward(&c.reshape([self.half.width, -1])?, pass)?)
    }

    fn by_head(&self, x: &Tensor, batch: i64) -> Result<Tensor> {
        let rows = x.reshape([self.half.head(), self.half.heads, -1, batch])?;
        Ok(rows.permute([0, 2, 1, 3])?)
    }
}
