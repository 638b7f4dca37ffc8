//! Long texts. Algorithms of quadratic time would take hours for them.

use crate::byte_pairs::Pairs;
use crate::files::*;
use std::time::{Duration, Instant};
use tensorlib_models::tokenizer::Tokenizer;

/// Encodes and decodes a megabyte without a space, and fewer bytes of a text that is cut into more parts.
fn check(name: &str, tokenizer: &Tokenizer, exact: bool) {
    let long = ("letters", "abcab", 1 << 20);
    let others = [("spaces", " "), ("lines", "\n"), ("digits", "7"), ("words", "ab c1. "), ("marks", "!")];
    for (what, unit, size) in others.map(|(what, unit)| (what, unit, 1 << 15)).into_iter().chain([long]) {
        let text = unit.repeat(size / unit.len());
        let start = Instant::now();
        let ids = tokenizer.encode(&text, true, true).unwrap();
        let decoded = tokenizer.decode(&ids, true);
        let took = start.elapsed();
        // The limit for unoptimised code on a busy machine; otherwise it takes a second.
        assert!(took < Duration::from_secs(300), "{name}: {what}: {took:?}");
        assert!(!exact || decoded == text, "{name}: {what}");
    }
}

#[test]
fn pieces_by_score() {
    let tokens =
        ["<unk>", "a", "b", "c", "ab", "abc", "abca", "\u{2581}", "\u{2581}\u{2581}", "1", ".", "7", "77", "!"];
    let tokens: Vec<String> = tokens.into_iter().map(String::from).chain(byte_tokens()).collect();
    let file = Metadata::new("llama").tokens(tokens.iter().map(|text| (text.as_str(), NORMAL)));
    let scores: Vec<f32> = (0..tokens.len()).map(|i| (i % 7) as f32).collect();
    check("llama", &file.with("scores", scores).read().unwrap(), true);
}

#[test]
fn byte_pairs() {
    let file = Pairs::grow(60, 31).metadata();
    for pre in ["gpt-2", "llama-bpe"] {
        check(pre, &file.clone().with("pre", pre).read().unwrap(), true);
    }
}

/// An error, because the crate's expressions would silently cut nothing after this many spaces.
#[test]
fn a_million_spaces_in_a_row() {
    let tokenizer = Pairs::grow(0, 1).metadata().read().unwrap();
    let error = tokenizer.encode(&" ".repeat(900_001), false, false).unwrap_err().to_string();
    assert!(error.contains("900001 spaces"), "{error}");
}

#[test]
fn likely_pieces() {
    let tokens = ["<unk>", "\u{2581}", "a", "b", "c", "\u{2581}ab", "abc", "1", ".", "7", "!", "\n"];
    let file = Metadata::new("t5").tokens(tokens.map(|text| (text, NORMAL))).with("unknown_token_id", 0u32);
    let scores: Vec<f32> = (0..tokens.len()).map(|i| -(i as f32)).collect();
    check("t5", &file.with("scores", scores).with("remove_extra_whitespaces", false).read().unwrap(), true);
}

#[test]
fn longest_words() {
    let tokens = ["[UNK]", "[CLS]", "[SEP]", "\u{2581}ab", "\u{2581}c", "1", "\u{2581}.", "\u{2581}!"];
    check("bert", &Metadata::new("bert").tokens(tokens.map(|text| (text, NORMAL))).read().unwrap(), false);
}
