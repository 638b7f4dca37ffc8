//! Layers with a state that each token changes.

use crate::settings::{Key, Settings};
use crate::Result;

/// How a token changes the state of a layer and reads it.
#[derive(Clone, Debug)]
pub enum Recurrence {
    Delta(Delta),
    /// A convolution of each channel over the last tokens, as many as this, between two gates.
    ShortConvolution {
        taps: i64,
    },
}

impl Recurrence {
    /// The channels of the convolution over the last tokens, for layers of this width.
    pub fn channels(&self, width: i64) -> i64 {
        match self {
            Recurrence::Delta(delta) => delta.channels(),
            Recurrence::ShortConvolution { .. } => width,
        }
    }

    /// The tokens that the convolution reads, with the token's own.
    pub fn taps(&self) -> i64 {
        match self {
            Recurrence::Delta(delta) => delta.taps,
            Recurrence::ShortConvolution { taps } => *taps,
        }
    }

    /// The extents of a layer's matrices, if its state has some.
    pub fn matrices(&self) -> Option<[i64; 3]> {
        match self {
            Recurrence::Delta(delta) => Some([delta.head, delta.head, delta.value_heads]),
            Recurrence::ShortConvolution { .. } => None,
        }
    }

    /// The part of a layer on whose device its states lie.
    pub fn part(&self) -> &'static str {
        match self {
            Recurrence::Delta(_) => "attn_qkv",
            Recurrence::ShortConvolution { .. } => "shortconv.in_proj",
        }
    }
}

/// States that each token changes by the gated delta rule.
#[derive(Clone, Debug)]
pub struct Delta {
    /// The number of heads of queries and keys, and of values. Each head of values has a state.
    pub key_heads: i64,
    pub value_heads: i64,
    /// Elements of a head's queries, keys and values.
    pub head: i64,
    /// The tokens that the convolution of queries, keys and values reads, with the token's own.
    pub taps: i64,
    /// The value heads of a key head are neighbours, as in folders. In GGUF they are `key_heads` apart.
    pub grouped: bool,
}

impl Delta {
    /// Elements of a token's queries, keys and values.
    pub fn channels(&self) -> i64 {
        (2 * self.key_heads + self.value_heads) * self.head
    }
}

/// The number of tokens that a convolution reads.
pub fn taps(settings: &Settings, key: Key) -> Result<i64> {
    let taps = settings.count(key)?;
    match taps < 2 {
        true => Err(settings.refuse(key, format!("is {taps}: 2 or more is valid"))),
        false => Ok(taps),
    }
}
