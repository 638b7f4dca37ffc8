//! Long texts. What takes time by the square of the length would take hours for these.

use crate::byte_pairs::Pairs;
use crate::files::*;
use std::time::{Duration, Instant};
use tensorlib_models::tokenizer::Tokenizer;

const LONG: usize = 1 << 20;

fn check(name: &str, tokenizer: &Tokenizer, exact: bool) {
    for (what, unit) in
        [("letters", "abcab"), ("spaces", " "), ("lines", "\n"), ("digits", "7"), ("words", "ab c1. "), ("marks", "!")]
    {
        let text = unit.repeat(LONG / unit.len());
        let start = Instant::now();
        let ids = tokenizer.encode(&text, true, true).unwrap();
        let decoded = tokenizer.decode(&ids, true);
        let took = start.elapsed();
        // Some seconds without optimisation on a busy machine.
        assert!(took < Duration::from_secs(60), "{name}: {what}: {took:?}");
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
    for pre in ["gpt-2", "llama-bpe", "gpt-4o", "deepseek-llm", "default"] {
        check(pre, &file.clone().with("pre", pre).read().unwrap(), true);
    }
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
