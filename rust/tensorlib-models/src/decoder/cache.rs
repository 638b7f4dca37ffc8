//! The keys and values of tokens that were computed already.

use super::shape::Shape;
use crate::{Error, Result};
use tensorlib::{Backend, Context, DType, Tensor};

/// Attention reads whole steps of so many keys, those behind the last token's masked: a graph of the same number of keys
/// takes the plan that is there, so one is made every 64 tokens.
const STEP: i64 = 64;

/// Room for keys and values of so many tokens, layer by layer.
pub struct Cache {
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    capacity: i64,
    used: i64,
}

impl Cache {
    /// For `context` tokens. A row is a token's heads, one behind the other.
    pub fn new(shape: &Shape, context: i64, dtype: DType, backend: &Backend) -> Result<Self> {
        let (block, heads) = (dtype.block_size(), [shape.head, shape.value_head]);
        if heads.iter().any(|head| head % block != 0) {
            let message =
                format!("a cache of {dtype}: heads of {} elements: multiples of {block} are valid", shape.head);
            return Err(Error::unsupported(message).with_hint("f16 and f32 take any head"));
        }
        let capacity = (context + STEP - 1) / STEP * STEP;
        let ctx = Context::on(backend);
        ctx.set_name("cache")?;
        let rows = |head: i64| {
            (0..shape.layers)
                .map(|_| Ok(ctx.zeros(dtype, [head * shape.kv_heads, capacity])?))
                .collect::<Result<Vec<_>>>()
        };
        Ok(Cache { keys: rows(shape.head)?, values: rows(shape.value_head)?, capacity, used: 0 })
    }

    /// Tokens that are in it.
    pub fn used(&self) -> i64 {
        self.used
    }

    /// From now on so many are, fewer or more.
    pub fn set_used(&mut self, used: i64) {
        self.used = used;
    }

    /// How many keys attention reads once `n` more tokens are in.
    pub fn keys_with(&self, n: i64) -> i64 {
        ((self.used + n + STEP - 1) / STEP * STEP).min(self.capacity)
    }

    /// A layer's keys or values after these rows were put in, as attention takes them: [head, keys, heads].
    fn put(ctx: &Context, all: &Tensor, new: &Tensor, rows: &Tensor, heads: i64, keys: i64) -> Result<Tensor> {
        let stored = ctx.set_rows(all, new, rows)?;
        let row = all.shape()[0];
        let strides = all.strides();
        let head_bytes = strides[1] / usize::try_from(heads).unwrap_or(1);
        Ok(ctx.view(&stored, [row / heads, keys, heads], &[strides[1], head_bytes], 0)?)
    }

    /// [`Cache::put`] of a layer's keys.
    pub fn put_keys(
        &self,
        ctx: &Context,
        layer: usize,
        new: &Tensor,
        rows: &Tensor,
        heads: i64,
        keys: i64,
    ) -> Result<Tensor> {
        Self::put(ctx, &self.keys[layer], new, rows, heads, keys)
    }

    /// [`Cache::put`] of a layer's values.
    pub fn put_values(
        &self,
        ctx: &Context,
        layer: usize,
        new: &Tensor,
        rows: &Tensor,
        heads: i64,
        keys: i64,
    ) -> Result<Tensor> {
        Self::put(ctx, &self.values[layer], new, rows, heads, keys)
    }
}
