//! The commands, one file or folder each; each has `run(options, out)`.

pub mod activity;
pub mod bench;
pub mod chat;
pub mod classify;
pub mod compare;
pub mod convert;
pub mod devices;
pub mod embed;
pub mod generate;
pub mod imatrix;
pub mod inspect;
pub mod logits;
pub mod perplexity;
pub mod place;
pub mod prompts;
pub mod quantize;
pub mod rerank;
#[cfg(feature = "server")]
pub mod serve;
pub mod transcribe;
pub mod transpose_down;
pub mod tune;
