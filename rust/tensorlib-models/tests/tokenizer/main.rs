//! Tokenizers with small vocabularies that the tests make, as GGUF files and as hub folders, compared with slow
//! oracles.

mod bounds;
mod byte_pairs;
mod files;
mod hostile;
mod hub;
mod long;
mod longest;
mod memory;
mod normal;
mod ordered_pieces;
mod random;
mod sentencepiece;
mod special;
mod streams;
mod unigram;
mod words;
