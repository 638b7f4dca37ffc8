//! An encoder described by numbers and choices. The files of `architectures` fill it in; no other code knows the names
//! of architectures.

use crate::settings::{Key, Settings};
use crate::Result;
use tensorlib::{GluOp, RopeOptions};

pub const WIDTH: Key = Key("embedding_length", "hidden_size");
pub const LAYERS: Key = Key("block_count", "num_hidden_layers");
pub const HEADS: Key = Key("attention.head_count", "num_attention_heads");
pub const FFN: Key = Key("feed_forward_length", "intermediate_size");
pub const POSITIONS: Key = Key("context_length", "max_position_embeddings");
pub const EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_eps");

/// The activation of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    Gelu,
    GeluErf,
    Relu,
    /// A second product, through the activation, multiplies the first.
    Gated(GluOp),
}

/// How positions enter the model.
#[derive(Clone, Debug)]
pub enum Positions {
    /// A vector per position is added: a row of a matrix with `rows` rows, where the first token has row `first`.
    Rows { rows: i64, first: i64 },
    /// Queries and keys are rotated.
    Turned(RopeOptions),
}

/// Where a layer's norms are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// After each sum: attention, sum, norm; feed-forward, sum, norm.
    After,
    /// Before each block: norm, attention, sum; norm, feed-forward, sum. The first layer has no norm before attention,
    /// and one more norm follows the last layer.
    Before,
}

/// Layers whose tokens attend only to near ones.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The largest distance between a token and one that it attends to.
    pub distance: i64,
    /// Layers whose number is a multiple of this attend to all tokens.
    pub every: i64,
    /// The rotation in the layers with a window.
    pub rope: RopeOptions,
}

/// A text's vector from which a head computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadPooling {
    /// That of the first token.
    First,
    /// The mean of its tokens' vectors.
    Mean,
}

/// What a head computes: a product, an activation and perhaps a norm, then a product with a row for each label.
#[derive(Clone, Copy, Debug)]
pub struct HeadShape {
    pub pooling: HeadPooling,
    pub activation: HeadActivation,
}

/// The activation between the two products of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadActivation {
    Tanh,
    Gelu,
    GeluErf,
    Relu,
    Silu,
}

/// An encoder.
#[derive(Clone, Debug)]
pub struct Shape {
    pub layers: i64,
    pub width: i64,
    /// The number of elements of a token's embedding; a product makes `width` of them if they are fewer.
    pub embedding: i64,
    pub heads: i64,
    pub ffn: i64,
    pub eps: f64,
    pub activation: Activation,
    pub positions: Positions,
    /// The most tokens of a line.
    pub max_tokens: i64,
    /// Rows of the matrix of biases by distance, if attention has them.
    pub buckets: Option<i64>,
    /// One matrix makes queries, keys and values.
    pub fused: bool,
    /// One matrix makes the gate and what it multiplies.
    pub fused_gate: bool,
    pub norms: Norms,
    pub windows: Option<Windows>,
    /// The head of the architecture's classifiers, if it has them.
    pub head: Option<HeadShape>,
}

/// The names of the settings that are counts, in an architecture's files.
pub struct Counts {
    pub width: Key,
    pub layers: Key,
    pub heads: Key,
    pub ffn: Key,
}

impl Counts {
    /// BERT's names, which most architectures share.
    pub const BERT: Counts = Counts { width: WIDTH, layers: LAYERS, heads: HEADS, ffn: FFN };
}

impl Shape {
    /// Reads the settings that all encoders have; everything else as in BERT, with rows for positions from `first` on.
    pub fn read(settings: &Settings, counts: &Counts, eps: Key, rows: Key, first: i64) -> Result<Self> {
        let (width, heads) = (settings.count(counts.width)?, settings.count(counts.heads)?);
        if width % heads != 0 {
            let what = format!("is {width}: a multiple of the {heads} heads is valid");
            return Err(settings.refuse(counts.width, what));
        }
        let rows_of = settings.count(rows)?;
        if rows_of <= first {
            return Err(settings.refuse(rows, format!("is {rows_of}: more than {first} is valid")));
        }
        Ok(Shape {
            layers: settings.count(counts.layers)?,
            width,
            embedding: width,
            heads,
            ffn: settings.count(counts.ffn)?,
            eps: settings.number(eps)?,
            activation: Activation::GeluErf,
            positions: Positions::Rows { rows: rows_of, first },
            max_tokens: rows_of - first,
            buckets: None,
            fused: false,
            fused_gate: false,
            norms: Norms::After,
            windows: None,
            head: Some(HeadShape { pooling: HeadPooling::First, activation: HeadActivation::Tanh }),
        })
    }

    /// The number of elements of a head.
    pub fn head(&self) -> i64 {
        self.width / self.heads
    }
}
