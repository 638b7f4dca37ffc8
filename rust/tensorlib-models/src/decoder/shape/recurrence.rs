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
    Mamba(Mamba),
    Rwkv(Rwkv),
}

impl Recurrence {
    /// The columns of the last tokens that a layer of this width keeps: for each of its parts that reads such columns, the
    /// channels and the number of columns.
    pub fn columns(&self, width: i64) -> Vec<[i64; 2]> {
        match self {
            Recurrence::Delta(delta) => vec![[delta.channels(), delta.taps - 1]],
            Recurrence::ShortConvolution { taps } => vec![[width, taps - 1]],
            Recurrence::Mamba(mamba) => vec![[mamba.channels(), mamba.taps - 1]],
            Recurrence::Rwkv(rwkv) => vec![[width, 1]; if rwkv.mixes_channels { 2 } else { 1 }],
        }
    }

    /// The extents of a layer's matrices, if its state has some.
    pub fn matrices(&self) -> Option<[i64; 3]> {
        match self {
            Recurrence::Delta(delta) => Some([delta.head, delta.head, delta.value_heads]),
            Recurrence::ShortConvolution { .. } => None,
            Recurrence::Mamba(mamba) => Some([mamba.state, mamba.head, mamba.heads]),
            Recurrence::Rwkv(rwkv) => Some([rwkv.head, rwkv.head, rwkv.heads]),
        }
    }

    /// The part of a layer on whose device its states lie.
    pub fn part(&self) -> &'static str {
        match self {
            Recurrence::Delta(_) => "attn_qkv",
            Recurrence::ShortConvolution { .. } => "shortconv.in_proj",
            Recurrence::Mamba(_) => "ssm_in",
            Recurrence::Rwkv(_) => "time_mix_key",
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

/// Selective state spaces, as in Mamba 2.
#[derive(Clone, Debug)]
pub struct Mamba {
    pub heads: i64,
    /// Elements of a head.
    pub head: i64,
    /// Numbers that the state has for each element.
    pub state: i64,
    /// Groups of heads, which share what is written to states and read from them.
    pub groups: i64,
    /// The tokens that the convolution reads, with the token's own.
    pub taps: i64,
    /// Whether results have norms, group by group, if the settings say it.
    pub normed: Option<bool>,
    /// Gates multiply results after their norm, not before it.
    pub gates_last: bool,
    /// The least and the most of steps.
    pub limits: (f64, f64),
    /// Factors of the block's input and result.
    pub input_scale: f64,
    pub output_scale: f64,
    /// Factors of gates, of inputs of states, of what is written and what is read, and of steps.
    pub factors: Option<[f64; 5]>,
}

impl Mamba {
    /// Elements of all heads.
    pub fn inner(&self) -> i64 {
        self.heads * self.head
    }

    /// The channels of the convolution.
    pub fn channels(&self) -> i64 {
        self.inner() + 2 * self.groups * self.state
    }

    /// A factor for each row of the matrix of inputs.
    pub fn spread(&self, factors: &[f64; 5]) -> Vec<f32> {
        let of_groups = self.groups * self.state;
        let counts = [self.inner(), self.inner(), of_groups, of_groups, self.heads];
        let rows = factors.iter().zip(counts);
        rows.flat_map(|(factor, n)| std::iter::repeat_n(*factor as f32, usize::try_from(n).unwrap_or(0))).collect()
    }
}

/// Time mixing of RWKV 7.
#[derive(Clone, Debug)]
pub struct Rwkv {
    pub heads: i64,
    /// Elements of a head.
    pub head: i64,
    /// Elements between the two small matrices that make decays.
    pub decay_rank: i64,
    /// Those of the matrices that make rates, by which a key replaces what the state has for it.
    pub rate_rank: i64,
    /// Those of the matrices that make shares of the first layer's values.
    pub value_rank: i64,
    /// Those of the matrices that make gates, if results have gates.
    pub gate_rank: Option<i64>,
    /// Whether a head's results have a norm, if the settings say it.
    pub normed: Option<bool>,
    /// Added to the variance of a head's results.
    pub head_eps: f64,
    /// Channel mixing takes the place of feed-forward blocks. It reads the token before, too.
    pub mixes_channels: bool,
}

/// The number of tokens that a convolution reads.
pub fn taps(settings: &Settings, key: Key) -> Result<i64> {
    let taps = settings.count(key)?;
    match taps < 2 {
        true => Err(settings.refuse(key, format!("is {taps}: 2 or more is valid"))),
        false => Ok(taps),
    }
}
