//! Models of random weights, compared with double precision, with themselves under other conditions, and with bad input.
//!
//! One program, because each program would compile `common` and be linked once more.

mod adapters;
mod arguments;
mod batch;
mod classifiers;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "grammar")]
mod constraints;
mod convert;
mod decoders;
mod embedders;
mod encoders;
mod families;
mod fields;
mod generation;
mod hybrids;
#[cfg(feature = "images")]
mod images;
mod importance;
mod memory;
mod mixtures;
mod modules;
mod prefix_files;
mod ranks;
mod recurrent;
mod rerankers;
mod rwkv;
mod sampling;
mod sequences;
mod sessions;
mod speculation;
mod speech;
mod speech_files;
mod streams;
mod tasks;
mod templates;
mod token_heads;
mod tools;
mod tuning;
