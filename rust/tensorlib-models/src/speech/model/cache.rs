//! The keys and values of a decoder: of the tokens so far, for several texts at once, and of the window.

use super::shape::Shape;
use crate::weights::DeviceMap;
use crate::{Error, Result};
use tensorlib::{Context, DType, Graph, Tensor};

/// Attention reads a multiple of this many keys, of which those after the last token are masked, so that most steps
/// have a graph like the one before and reuse its plan.
const STEP: i64 = 32;

/// Keys and values of a layer.
pub struct Room {
    pub keys: Tensor,
    pub values: Tensor,
}

/// The rows of all layers.
pub struct Cache {
    /// [head, tokens, heads, texts]
    texts: Vec<Room>,
    /// [head, positions, heads]
    window: Vec<Room>,
    capacity: i64,
    /// The number of each row that was computed, for each text.
    rows: Vec<Vec<u64>>,
    next_row: u64,
}

impl Cache {
    /// A cache for this many texts, with rows of this type.
    pub fn new(shape: &Shape, texts: usize, dtype: DType, devices: &DeviceMap) -> Result<Self> {
        let contexts = devices.contexts("cache")?;
        let ctx = contexts.first().ok_or_else(|| Error::internal("a backend without devices"))?;
        let (half, capacity) = (shape.decoder, whole_steps(shape.tokens));
        let room = |shape: &[i64]| Ok(Room { keys: ctx.zeros(dtype, shape)?, values: ctx.zeros(dtype, shape)? });
        let rooms = |shape: &[i64]| (0..half.layers).map(|_| room(shape)).collect::<Result<Vec<_>>>();
        let cache = Cache {
            texts: rooms(&[half.head(), capacity, half.heads, texts as i64])?,
            window: rooms(&[half.head(), shape.positions, half.heads])?,
            capacity,
            rows: vec![Vec::new(); texts],
            next_row: 0,
        };
        ctx.freeze();
        Ok(cache)
    }

    /// The number of texts that it has room for.
    pub fn texts(&self) -> usize {
        self.rows.len()
    }

    /// A layer's keys and values of the window.
    pub fn window(&self, layer: usize) -> &Room {
        &self.window[layer]
    }

    /// Forgets all texts.
    pub fn clear(&mut self) {
        self.rows.iter_mut().for_each(Vec::clear);
    }

    /// The number of tokens of the first text.
    pub fn used(&self) -> usize {
        self.rows[0].len()
    }

    /// How many keys attention reads once `n` more tokens are in the cache.
    pub fn keys_with(&self, n: usize) -> i64 {
        whole_steps((self.used() + n) as i64).min(self.capacity)
    }

    /// Notes that the rows of `n` tokens of the first `texts` texts are computed.
    pub fn add(&mut self, texts: usize, n: usize) {
        for rows in &mut self.rows[..texts] {
            for _ in 0..n {
                rows.push(self.next_row);
                self.next_row += 1;
            }
        }
    }

    /// Appends nodes that store keys and values, [head, n, heads, texts], at these rows of the first texts. Returns the
    /// first `keys` rows of these texts.
    pub fn store(&self, layer: usize, new: (&Tensor, &Tensor), rows: &Tensor, keys: i64) -> Result<(Tensor, Tensor)> {
        let texts = new.0.shape().get(3).copied().unwrap_or(1);
        let store = |all: &Tensor, new: &Tensor| -> Result<Tensor> {
            Ok(all.narrow(3, 0, texts)?.set_rows(new, rows)?.narrow(1, 0, keys)?)
        };
        let room = &self.texts[layer];
        Ok((store(&room.keys, new.0)?, store(&room.values, new.1)?))
    }

    /// Appends nodes that copy the rows of texts that are continued by another one. `to`: pairs of a text that stays as
    /// it is and one that becomes equal to it. Texts mostly have long beginnings in common, which are not copied.
    pub fn copies(&mut self, ctx: &Context, pairs: &[(usize, usize)]) -> Result<Option<Graph>> {
        let mut copied = Vec::new();
        for (from, to) in pairs {
            let common = self.rows[*from].iter().zip(&self.rows[*to]).take_while(|(a, b)| a == b).count();
            let n = (self.rows[*from].len() - common) as i64;
            self.rows[*to] = self.rows[*from].clone();
            if n == 0 {
                continue;
            }
            let part = |all: &Tensor, text: usize| all.narrow(1, common as i64, n)?.narrow(3, text as i64, 1);
            for room in &self.texts {
                for all in [&room.keys, &room.values] {
                    copied.push(ctx.within(|| part(all, *from)?.cpy(&part(all, *to)?))?);
                }
            }
        }
        match copied.is_empty() {
            true => Ok(None),
            false => Ok(Some(Graph::new(&copied.iter().collect::<Vec<_>>())?)),
        }
    }
}

fn whole_steps(n: i64) -> i64 {
    (n + STEP - 1) / STEP * STEP
}
