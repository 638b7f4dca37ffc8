//! The cache: keys and values of tokens that were computed before.

use super::shape::Shape;
use crate::weights::DeviceMap;
use crate::{Error, Result};
use tensorlib::{DType, Tensor};

/// Attention reads a multiple of this many keys, with keys after the last token masked. A graph with the same number of
/// keys reuses its plan, so a new plan is needed only every 64 tokens.
const STEP: i64 = 64;

/// The types that attention accepts for keys and values.
const TYPES: [DType; 3] = [DType::F16, DType::Q8_0, DType::F32];

/// Memory for the keys and values of a number of tokens, layer by layer.
pub struct Cache {
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    heads: i64,
    capacity: i64,
    used: i64,
}

impl Cache {
    /// Makes a cache for `context` tokens. A row holds the heads of one token, one after the other. A layer's rows lie
    /// on the device of the matrix that makes its keys.
    pub fn new(shape: &Shape, context: i64, dtype: DType, devices: &DeviceMap) -> Result<Self> {
        Self::check(shape, dtype)?;
        let capacity = whole_steps(context);
        let contexts = devices.contexts("cache")?;
        let matrix = if shape.fused { "attn_qkv" } else { "attn_k" };
        let rows = |head: i64| {
            (0..shape.layers)
                .map(|layer| {
                    let ctx = &contexts[devices.device(&format!("blk.{layer}.{matrix}.weight"))];
                    Ok(ctx.zeros(dtype, [head * shape.kv_heads, capacity])?)
                })
                .collect::<Result<Vec<_>>>()
        };
        Ok(Cache { keys: rows(shape.head)?, values: rows(shape.value_head)?, heads: shape.kv_heads, capacity, used: 0 })
    }

    /// Refuses types that attention does not take for this model.
    fn check(shape: &Shape, dtype: DType) -> Result<()> {
        if !TYPES.contains(&dtype) {
            let [a, b, c] = TYPES;
            return Err(Error::invalid(format!("a cache of {dtype}: {a}, {b} and {c} are valid")));
        }
        let (block, heads) = (dtype.block_size(), [shape.head, shape.value_head]);
        if heads.iter().any(|head| head % block != 0) {
            let message =
                format!("a cache of {dtype}: heads of {} elements: multiples of {block} are valid", shape.head);
            return Err(Error::unsupported(message).with_hint("f16 and f32 take any head"));
        }
        Ok(())
    }

    /// Bytes of a token's keys and values in all layers.
    pub fn row_bytes(shape: &Shape, dtype: DType) -> Result<usize> {
        Self::check(shape, dtype)?;
        let elements = shape.layers * (shape.head + shape.value_head) * shape.kv_heads;
        Ok(usize::try_from(elements).unwrap_or(0) / dtype.block_size() as usize * dtype.size())
    }

    /// The rows of `n` tokens, in the order of [`Cache::tensors`].
    pub fn read_rows(&self, first: usize, n: usize) -> Result<Vec<u8>> {
        let mut all = vec![0; n * self.tensors().map(|(_, row)| row).sum::<usize>()];
        let mut left = &mut all[..];
        for (tensor, row) in self.tensors() {
            let (part, rest) = left.split_at_mut(n * row);
            tensor.read_bytes(first * row, part)?;
            left = rest;
        }
        Ok(all)
    }

    /// Sets the rows of `n` tokens to what [`Cache::read_rows`] returned.
    pub fn write_rows(&self, first: usize, n: usize, mut bytes: &[u8]) -> Result<()> {
        for (tensor, row) in self.tensors() {
            let (part, rest) = bytes.split_at(n * row);
            tensor.write_bytes(first * row, part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Takes over the rows of another cache of this type and capacity.
    pub fn copy_rows(&mut self, other: &Cache) -> Result<()> {
        for ((to, row), (from, _)) in self.tensors().zip(other.tensors()) {
            let mut bytes = vec![0; row * usize::try_from(other.used).unwrap_or(0)];
            from.read_bytes(0, &mut bytes)?;
            to.write_bytes(0, &bytes)?;
        }
        self.used = other.used;
        Ok(())
    }

    /// The type of keys and values.
    pub fn dtype(&self) -> DType {
        self.keys.first().map_or(DType::F16, Tensor::dtype)
    }

    /// The tensors of all layers, keys before values, each with the bytes of a token's row.
    pub fn tensors(&self) -> impl Iterator<Item = (&Tensor, usize)> {
        let both = self.keys.iter().zip(&self.values).flat_map(|(keys, values)| [keys, values]);
        both.map(|tensor| (tensor, tensor.strides()[1]))
    }

    /// Bytes of the cache.
    pub fn nbytes(&self) -> usize {
        self.keys.iter().chain(&self.values).map(Tensor::nbytes).sum()
    }

    /// The number of tokens in the cache.
    pub fn used(&self) -> i64 {
        self.used
    }

    /// Sets the number of tokens in the cache, lower or higher than before.
    pub fn set_used(&mut self, used: i64) {
        self.used = used;
    }

    /// How many keys attention reads once `n` more tokens are in the cache.
    pub fn keys_with(&self, n: i64) -> i64 {
        whole_steps(self.used + n).min(self.capacity)
    }

    /// The layer and position of the first key or value in these rows that overflowed F16.
    pub fn not_finite(&self, from: i64, to: i64) -> Result<Option<(usize, i64)>> {
        for (layer, (keys, values)) in self.keys.iter().zip(&self.values).enumerate() {
            for tensor in [keys, values].into_iter().filter(|tensor| tensor.dtype() == DType::F16) {
                let row = tensor.strides()[1];
                let (first, n) = (usize::try_from(from).unwrap_or(0), usize::try_from(to - from).unwrap_or(0));
                let mut bytes = vec![0; row * n];
                tensor.read_bytes(row * first, &mut bytes)?;
                // Infinities and NaN have all exponent bits set.
                let is_wrong = |bytes: &[u8]| bytes[1] & 0x7C == 0x7C;
                if let Some(at) = bytes.chunks_exact(2).position(is_wrong) {
                    return Ok(Some((layer, from + (2 * at / row.max(1)) as i64)));
                }
            }
        }
        Ok(None)
    }

    /// Appends nodes that store keys and values of some tokens in these rows. Returns the layer's keys and values as
    /// attention takes them: [head, keys, heads].
    pub fn put(&self, layer: usize, kv: (&Tensor, &Tensor), rows: &Tensor, keys: i64) -> Result<(Tensor, Tensor)> {
        let seen = |stored: Tensor| -> Result<Tensor> {
            let (row, row_bytes) = (stored.shape()[0], stored.strides()[1]);
            let head_bytes = row_bytes / usize::try_from(self.heads).unwrap_or(1);
            Ok(stored.view([row / self.heads, keys, self.heads], &[row_bytes, head_bytes], 0)?)
        };
        let (k, v) = self.set(layer, kv, rows)?;
        Ok((seen(k)?, seen(v)?))
    }

    /// As [`Cache::put`], for attention over pages: all rows, as [head, heads, rows].
    pub fn put_rows(&self, layer: usize, kv: (&Tensor, &Tensor), rows: &Tensor) -> Result<(Tensor, Tensor)> {
        let by_head = |t: Tensor| t.reshape([t.shape()[0] / self.heads, self.heads, t.shape()[1]]);
        let (k, v) = self.set(layer, kv, rows)?;
        Ok((by_head(k)?, by_head(v)?))
    }

    fn set(&self, layer: usize, (k, v): (&Tensor, &Tensor), rows: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((self.keys[layer].set_rows(k, rows)?, self.values[layer].set_rows(v, rows)?))
    }
}

/// The number of keys that attention reads for `n` keys.
fn whole_steps(n: i64) -> i64 {
    (n + STEP - 1) / STEP * STEP
}
