//! An encoder described by numbers and choices. The files of `architectures` fill it in; no other code knows the names
//! of architectures.

use super::convolution::ConvolutionShape;
use crate::norm::NormKind;
use crate::sentences::Pooling;
use crate::settings::{Key, Settings};
use crate::weights::Tasks;
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
    GeluQuick,
    Relu,
    /// A second product, through the activation, multiplies the first.
    Gated(GluOp),
    /// [`Activation::Gated`] in files with a matrix for the second product; ReLU in others.
    GatedIfStored(GluOp),
}

/// How positions enter the model.
#[derive(Clone, Debug)]
pub enum Positions {
    /// A vector per position is added: a row of a matrix with `rows` rows, where the first token has row `first`.
    Rows { rows: i64, first: i64 },
    /// Queries and keys are rotated.
    Turned(RopeOptions),
    /// Products of queries and keys are lowered by their distance times a slope, which falls from head to head; the
    /// number says how steeply (Press, Smith and Lewis, 2022).
    Slopes(f64),
    /// Attention alone depends on them, by biases or vectors for distances.
    Distances,
}

/// Which queries and keys are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryNorms {
    None,
    /// Those of each head.
    Heads,
    /// Those of all heads together, if the files have such norms. The gate is the second half of its matrix then, and
    /// another norm follows attention.
    WholeIfStored,
}

/// Layers with several feed-forward blocks, of which each token uses some.
#[derive(Clone, Copy, Debug)]
pub struct Experts {
    pub count: i64,
    pub used: i64,
    /// The second of each of this many layers has experts.
    pub every: i64,
}

impl Experts {
    /// Whether this layer has experts.
    pub fn are_in(&self, layer: i64) -> bool {
        layer % self.every == 1
    }
}

/// The matrix that makes the gate of a feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateRows {
    /// One of its own.
    Own,
    /// The first half of the matrix that makes both factors.
    First,
    /// The second half of that matrix.
    Second,
}

/// Where a layer's norms are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// After each sum: attention, sum, norm; feed-forward, sum, norm.
    After,
    /// Before each block: norm, attention, sum; norm, feed-forward, sum. One more norm follows the last layer. The first
    /// layer has a norm before attention if `first`.
    Before { first: bool },
    /// Before and after each block: norm, attention, norm, sum; norm, feed-forward, norm, sum. One more norm follows the
    /// last layer.
    Around,
}

/// Attention that adds products of contents with vectors for distances (He and others, DeBERTa, 2021).
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    /// The matrix has this many rows for each direction.
    pub span: i64,
    /// Distances above half the span share rows, so that this one has the last row; None: each distance has a row.
    pub farthest: Option<i64>,
    /// Queries are multiplied with the keys of distances.
    pub keys: bool,
    /// Keys are multiplied with the queries of distances.
    pub queries: bool,
    /// The layers' matrices make them, instead of matrices of their own.
    pub shared: bool,
    /// A norm follows the matrix.
    pub norm: bool,
}

/// An image encoder, whose vectors are compared with those of texts.
#[derive(Clone, Debug)]
pub struct Images {
    /// Its layers.
    pub shape: Shape,
    pub sizes: ImageSizes,
    /// The pixels of a side of a patch, of which each is a token.
    pub patch: i64,
    pub pooling: ImagePooling,
}

/// The sizes of the images that a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSizes {
    /// Squares whose sides have this number of pixels.
    Square(i64),
    /// Any sizes: patches are a list, and the vectors of positions are a square grid with this number of them on a side,
    /// which is resized to each image.
    Any { across: i64 },
}

impl Images {
    /// The number of positions.
    pub fn positions(&self) -> i64 {
        match self.sizes {
            ImageSizes::Square(side) => (side / self.patch).pow(2) + self.other_tokens(),
            ImageSizes::Any { across } => across.pow(2),
        }
    }

    /// The number of tokens that are no patches.
    pub fn other_tokens(&self) -> i64 {
        i64::from(self.pooling == ImagePooling::Token)
    }
}

/// The vector that stands for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePooling {
    /// That of a token before the patches. A norm follows the embeddings.
    Token,
    /// What a learned query attends to, after another feed-forward block.
    Attention,
}

/// Layers whose tokens attend only to near ones.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The largest distance between a token and one that it attends to.
    pub distance: i64,
    /// Which layers have the window.
    pub layers: Vec<bool>,
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

/// The activation between the two products of a head, or after a convolution.
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
    /// Heads of keys and values, each of which serves the same number of heads of queries.
    pub kv_heads: i64,
    /// Elements of a head.
    pub head: i64,
    /// The factor of products of queries and keys.
    pub attention_scale: f64,
    pub query_norms: QueryNorms,
    pub ffn: i64,
    pub norm: NormKind,
    pub eps: f64,
    /// The factor of embeddings.
    pub embedding_scale: f64,
    /// A norm follows the embeddings.
    pub embedding_norm: bool,
    /// It follows the product that makes `width` elements of them.
    pub norm_after_project: bool,
    pub activation: Activation,
    pub positions: Positions,
    /// The most tokens of a line.
    pub max_tokens: i64,
    /// Rows of the matrix of biases by distance, if attention has them.
    pub buckets: Option<i64>,
    pub relative: Option<Relative>,
    /// The convolution that follows the first layer.
    pub convolution: Option<ConvolutionShape>,
    /// One matrix makes queries, keys and values.
    pub fused: bool,
    pub gate: GateRows,
    pub experts: Option<Experts>,
    pub norms: Norms,
    pub windows: Option<Windows>,
    /// The head of the architecture's classifiers, if it has them.
    pub classifier: Option<HeadShape>,
    /// Modules with weights follow the pooling of each published model.
    pub has_modules: bool,
    /// The start of the tensors' names.
    pub prefix: &'static str,
    /// Tokens attend only to themselves and those before them.
    pub causal: bool,
    /// The pooling, if the files do not say otherwise.
    pub pooling: Option<Pooling>,
    /// The elements of a product that follows the pooling.
    pub projection: Option<i64>,
    /// All lines have this number of tokens: shorter ones end with this token.
    pub padding: Option<(usize, u32)>,
    pub images: Option<Box<Images>>,
    /// The tasks that a folder has additions to its matrices for.
    pub tasks: Option<Tasks>,
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

impl Windows {
    /// Whether a layer has the window.
    pub fn has(&self, layer: i64) -> bool {
        usize::try_from(layer).is_ok_and(|layer| self.layers.get(layer).copied().unwrap_or(false))
    }
}

impl Shape {
    /// Reads the settings that all encoders have; everything else as in BERT, with rows for positions from `first` on.
    pub fn read(settings: &Settings, counts: &Counts, eps: Key, rows: Key, first: i64) -> Result<Self> {
        let (width, heads) = (settings.count(counts.width)?, settings.count(counts.heads)?);
        if width % heads != 0 {
            let what = format!("is {width}: a multiple of the {heads} heads is valid");
            return Err(settings.refuse(counts.width, what));
        }
        Self::with_heads(settings, counts, eps, (rows, first), width / heads)
    }

    /// [`Shape::read`] for a model whose heads have this number of elements.
    pub fn with_heads(
        settings: &Settings,
        counts: &Counts,
        eps: Key,
        (rows, first): (Key, i64),
        head: i64,
    ) -> Result<Self> {
        let (width, heads) = (settings.count(counts.width)?, settings.count(counts.heads)?);
        let rows_of = settings.count(rows)?;
        if rows_of <= first {
            return Err(settings.refuse(rows, format!("is {rows_of}: more than {first} is valid")));
        }
        Ok(Shape {
            layers: settings.count(counts.layers)?,
            width,
            embedding: width,
            heads,
            kv_heads: heads,
            head,
            attention_scale: 1.0 / (head as f64).sqrt(),
            query_norms: QueryNorms::None,
            ffn: settings.count(counts.ffn)?,
            norm: NormKind::Layer,
            eps: settings.number(eps)?,
            embedding_scale: 1.0,
            embedding_norm: true,
            norm_after_project: false,
            activation: Activation::GeluErf,
            positions: Positions::Rows { rows: rows_of, first },
            max_tokens: rows_of - first,
            buckets: None,
            relative: None,
            convolution: None,
            fused: false,
            gate: GateRows::Own,
            experts: None,
            norms: Norms::After,
            windows: None,
            classifier: Some(HeadShape { pooling: HeadPooling::First, activation: HeadActivation::Tanh }),
            has_modules: false,
            prefix: "",
            causal: false,
            pooling: None,
            projection: None,
            padding: None,
            images: None,
            tasks: None,
        })
    }

    /// The name of a part of a layer.
    pub fn name(&self, layer: i64, part: &str) -> String {
        format!("{}blk.{layer}.{part}", self.prefix)
    }
}
