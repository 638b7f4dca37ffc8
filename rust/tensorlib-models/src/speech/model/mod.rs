//! Whisper's network: an encoder of features, and a decoder of tokens that attends to what the encoder made of them.

mod attention;
mod cache;
mod decoder;
mod encoder;
mod layer;
mod names;
mod shape;

pub use cache::Cache;
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use names::{ggml_names, hub_names};
pub use shape::{Half, Shape, LEAST_TOKENS};
