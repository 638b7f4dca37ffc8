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
    /// Keys and values of each layer; `None` for a layer that keeps a state instead, or reads another layer's.
    layers: Vec<Option<LayerRows>>,
    dtype: DType,
    capacity: i64,
    used: i64,
}

/// The rows of a layer.
struct LayerRows {
    keys: Tensor,
    /// Without them, values are a part of the keys.
    values: Option<Tensor>,
}

impl Cache {
    /// Makes a cache for `context` tokens. The rows of a head lie one after the other: attention reads them head by head.
    /// A layer's rows lie on the device of the matrix that makes its keys.
    pub fn new(shape: &Shape, context: i64, dtype: DType, devices: &DeviceMap) -> Result<Self> {
        Self::check(shape, dtype)?;
        let capacity = whole_steps(context);
        let contexts = devices.contexts("cache")?;
        let matrix = match shape.latent {
            Some(_) => "attn_kv_a_mqa",
            None if shape.fused_attention => "attn_qkv",
            None => "attn_k",
        };
        let of_layer = |layer: usize| {
            if !shape.has_rows(layer) || shape.own_heads(layer).is_empty() {
                return Ok(None);
            }
            let ctx = &contexts[devices.device(&format!("blk.{layer}.{matrix}.weight"))];
            let heads = shape.own_keys_of(layer);
            let rows = |head: i64| ctx.zeros(dtype, [head, capacity, heads.count]);
            let values = (heads.value > 0).then(|| rows(heads.value)).transpose()?;
            Ok(Some(LayerRows { keys: rows(heads.key)?, values }))
        };
        let layers = (0..usize::try_from(shape.layers).unwrap_or(0)).map(of_layer).collect::<Result<_>>()?;
        Ok(Cache { layers, dtype, capacity, used: 0 })
    }

    /// Refuses types that attention does not take for this model.
    fn check(shape: &Shape, dtype: DType) -> Result<()> {
        if !TYPES.contains(&dtype) {
            let [a, b, c] = TYPES;
            return Err(Error::invalid(format!("a cache of {dtype}: {a}, {b} and {c} are valid")));
        }
        let block = dtype.block_size();
        let heads = shape.window_keys.iter().chain([&shape.keys]).flat_map(|heads| [heads.key, heads.value]);
        if let Some(head) = heads.into_iter().find(|head| head % block != 0) {
            let message = format!("a cache of {dtype}: heads of {head} elements: multiples of {block} are valid");
            return Err(Error::unsupported(message).with_hint("f16 and f32 take any head"));
        }
        Ok(())
    }

    /// Bytes of a token's keys and values in all layers, on all ranks together.
    pub fn row_bytes(shape: &Shape, dtype: DType) -> Result<usize> {
        Self::check(shape, dtype)?;
        let of_layer = |layer: usize| {
            let heads = shape.keys_of(layer);
            (heads.key + heads.value) * heads.count
        };
        let layers = (0..usize::try_from(shape.layers).unwrap_or(0)).filter(|layer| shape.has_rows(*layer));
        let elements: i64 = layers.map(of_layer).sum();
        Ok(usize::try_from(elements).unwrap_or(0) / dtype.block_size() as usize * dtype.size())
    }

    /// The rows of `n` tokens, in the order of [`Cache::all_rows`].
    pub fn read_rows(&self, first: usize, n: usize) -> Result<Vec<u8>> {
        let mut all = vec![0; n * self.all_rows().map(Rows::row_bytes).sum::<usize>()];
        let mut left = &mut all[..];
        for rows in self.all_rows() {
            let (part, rest) = left.split_at_mut(n * rows.row_bytes());
            rows.read(first, part)?;
            left = rest;
        }
        Ok(all)
    }

    /// Sets the rows of `n` tokens to what [`Cache::read_rows`] returned.
    pub fn write_rows(&self, first: usize, n: usize, mut bytes: &[u8]) -> Result<()> {
        for rows in self.all_rows() {
            let (part, rest) = bytes.split_at(n * rows.row_bytes());
            rows.write(first, part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Takes over the rows of another cache of this type and capacity.
    pub fn copy_rows(&mut self, other: &Cache) -> Result<()> {
        for (to, from) in self.all_rows().zip(other.all_rows()) {
            let mut bytes = vec![0; from.row_bytes() * usize::try_from(other.used).unwrap_or(0)];
            from.read(0, &mut bytes)?;
            to.write(0, &bytes)?;
        }
        self.used = other.used;
        Ok(())
    }

    /// The type of keys and values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The rows of all layers, keys before values.
    pub fn all_rows(&self) -> impl Iterator<Item = Rows<'_>> {
        self.rows_of_layers().flat_map(|(_, keys, values)| std::iter::once(keys).chain(values))
    }

    /// The number of each layer that has rows, its keys, and its values if they are rows of their own.
    pub fn rows_of_layers(&self) -> impl Iterator<Item = (usize, Rows<'_>, Option<Rows<'_>>)> {
        let numbered = self.layers.iter().enumerate();
        numbered.filter_map(|(layer, rows)| {
            rows.as_ref().map(|LayerRows { keys, values }| (layer, Rows(keys), values.as_ref().map(Rows)))
        })
    }

    /// Bytes of the cache.
    pub fn nbytes(&self) -> usize {
        self.all_rows().map(|rows| rows.0.nbytes()).sum()
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
        let (first, n) = (usize::try_from(from).unwrap_or(0), usize::try_from(to - from).unwrap_or(0));
        let all = self.rows_of_layers();
        let all = all.flat_map(|(layer, keys, values)| [Some(keys), values].map(|rows| (layer, rows)));
        let all = all.filter_map(|(layer, rows)| rows.map(|rows| (layer, rows)));
        for (layer, rows) in all.filter(|(_, rows)| rows.0.dtype() == DType::F16) {
            let mut bytes = vec![0; rows.row_bytes() * n];
            rows.read(first, &mut bytes)?;
            // Infinities and NaN have all exponent bits set.
            let is_wrong = |bytes: &[u8]| bytes[1] & 0x7C == 0x7C;
            let wrong = bytes.chunks_exact(rows.head_row_bytes()).enumerate();
            let wrong = wrong.filter(|(_, row)| row.chunks_exact(2).any(is_wrong));
            if let Some(position) = wrong.map(|(i, _)| i % n).min() {
                return Ok(Some((layer, from + position as i64)));
            }
        }
        Ok(None)
    }

    /// Appends nodes that store keys and values of some tokens in these rows. Returns the layer's keys and values as
    /// attention takes them: [head, keys, heads].
    pub fn put(&self, layer: usize, new: &NewRows, rows: &Tensor, keys: i64) -> Result<(Tensor, Tensor)> {
        let (k, v) = self.set(layer, new, rows)?;
        Ok((k.narrow(1, 0, keys)?, v.narrow(1, 0, keys)?))
    }

    /// As [`Cache::put`], for attention over pages: all rows, as [head, heads, rows].
    pub fn put_rows(&self, layer: usize, new: &NewRows, rows: &Tensor) -> Result<(Tensor, Tensor)> {
        let (k, v) = self.set(layer, new, rows)?;
        Ok((k.permute([0, 2, 1, 3])?, v.permute([0, 2, 1, 3])?))
    }

    fn set(&self, layer: usize, new: &NewRows, rows: &Tensor) -> Result<(Tensor, Tensor)> {
        let set = |all: &Tensor, new: &Tensor| -> Result<Tensor> {
            let by_head = new.reshape([all.shape()[0], all.shape()[2], new.shape()[1]])?;
            Ok(all.set_rows(&by_head.permute([0, 2, 1, 3])?, rows)?)
        };
        let missing = || Error::internal(format!("layer {layer} has no such rows"));
        let own = self.layers.get(layer).and_then(Option::as_ref).ok_or_else(missing)?;
        match (new, &own.values) {
            (NewRows::Apart(keys, values), Some(all)) => Ok((set(&own.keys, keys)?, set(all, values)?)),
            (NewRows::Latent { row, rank }, None) => {
                let keys = set(&own.keys, row)?;
                let values = keys.narrow(0, 0, *rank)?;
                Ok((keys, values))
            }
            _ => Err(missing()),
        }
    }
}

/// New rows of a layer, [elements of all heads, tokens].
pub enum NewRows<'a> {
    /// Keys and values.
    Apart(&'a Tensor, &'a Tensor),
    /// Keys whose first `rank` elements are values too.
    Latent { row: &'a Tensor, rank: i64 },
}

/// The keys or values of a layer: [head, tokens, heads].
#[derive(Clone, Copy)]
pub struct Rows<'a>(&'a Tensor);

impl Rows<'_> {
    /// Bytes of a token's row of one head.
    pub fn head_row_bytes(self) -> usize {
        self.0.strides()[1]
    }

    /// The number of heads.
    pub fn heads(self) -> usize {
        usize::try_from(self.0.shape()[2]).unwrap_or(0)
    }

    /// Bytes of a token's rows of all heads.
    pub fn row_bytes(self) -> usize {
        self.head_row_bytes() * self.heads()
    }

    /// Reads the rows of as many tokens as there is room for, from token `first` on: head after head.
    pub fn read(self, first: usize, to: &mut [u8]) -> Result<()> {
        let of_head = to.len() / self.heads().max(1);
        for (head, part) in to.chunks_exact_mut(of_head.max(1)).enumerate() {
            self.0.read_bytes(self.place(head, first), part)?;
        }
        Ok(())
    }

    /// Sets rows to what [`Rows::read`] read.
    pub fn write(self, first: usize, bytes: &[u8]) -> Result<()> {
        let of_head = bytes.len() / self.heads().max(1);
        for (head, part) in bytes.chunks_exact(of_head.max(1)).enumerate() {
            self.0.write_bytes(self.place(head, first), part)?;
        }
        Ok(())
    }

    fn place(self, head: usize, token: usize) -> usize {
        head * self.0.strides()[2] + token * self.head_row_bytes()
    }
}

/// The number of keys that attention reads for `n` keys.
fn whole_steps(n: i64) -> i64 {
    (n + STEP - 1) / STEP * STEP
}
