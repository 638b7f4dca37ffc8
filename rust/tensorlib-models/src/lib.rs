//! Language models, text encoders and Whisper, from GGUF files and folders of model hubs, computed by [`tensorlib`].
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, missing_debug_implementations)]

mod activity;
mod architecture;
mod batch;
mod convert;
mod counting;
mod decoder;
mod embedder;
mod encoder;
mod error;
mod experts;
pub mod files;
mod generate;
pub mod hub;
mod importance;
mod kind;
mod modules;
mod norm;
mod package;
mod perplexity;
mod placement;
mod reranker;
mod score;
mod sentences;
mod settings;
mod speech;
pub mod tokenizer;
mod tuning;
mod warnings;
mod weight_memory;
mod weights;

pub use activity::{Activity, LayerActivity, Tested};
pub use batch::{Batch, Task, Update};
pub use convert::{Conversion, ConvertedTensor};
pub use decoder::{
    Cost, Decoder, DecoderOptions, PrefixStore, SequenceId, Sequences, SequencesOptions, Session, Step, PROMPT_BLOCK,
};
pub use embedder::{EmbedTexts, Embedder};
#[cfg(feature = "images")]
pub use encoder::Image;
pub use encoder::{Encoder, EncoderOptions, TokenizedText};
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "grammar")]
pub use generate::Constraint;
pub use generate::{
    generate, generate_speculating, AnswerEvent, AnswerParser, CallOptions, Candidate, Chat, ChatOptions, Drafts,
    Ending, Logits, LogitsProcessor, Logprobs, Message, ParsedAnswer, ParsedCall, Piece, Prompt, Reasoning, Role,
    Sampler, SamplerOptions, Segment, Speculation, SpeculationOptions, Tool, ToolCall, ToolChoice, ToolFormat, Tools,
    Totals,
};
pub use importance::Importance;
pub use kind::ModelKind;
pub use perplexity::{perplexity, Perplexity};
pub use placement::{
    fit, fit_neurons, fit_split, hottest, read_split, HotNeurons, Outline, Placed, Placement, SplitLayer,
};
pub use reranker::Reranker;
pub use score::ScorePairs;
pub use sentences::Pooling;
pub use speech::{
    Sound, SpeechTask, Transcriber, TranscriberOptions, Transcript, TranscriptOptions, TranscriptProgress,
    TranscriptSegment,
};
pub use tuning::{Tuning, TuningOptions, TuningSamples, TUNED_PARTS};
pub use weight_memory::Memory;
