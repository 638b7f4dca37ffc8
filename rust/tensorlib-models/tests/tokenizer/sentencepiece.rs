//! Vocabularies of the model `llama`.

use crate::files::*;
use crate::random::{self, Random};
use serde_json::{json, Map};
use std::collections::HashMap;
use tensorlib_models::tokenizer::Tokenizer;

struct Pieces {
    tokens: Vec<(String, i32)>,
    scores: Vec<f32>,
}

impl Pieces {
    fn new(bytes: bool) -> Self {
        let mut pieces = Pieces { tokens: Vec::new(), scores: Vec::new() };
        for (text, kind) in [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)] {
            pieces.add(text, kind, 0.);
        }
        for text in byte_tokens().into_iter().filter(|_| bytes) {
            pieces.add(&text, BYTE, 0.);
        }
        pieces
    }

    fn add(&mut self, text: &str, kind: i32, score: f32) {
        self.tokens.push((text.to_string(), kind));
        self.scores.push(score);
    }

    /// Pieces that joining pieces at random has made, with falling scores, and single characters, as in training.
    fn grow(mut self, alphabet: &str, n: usize, seed: u64, score: impl Fn(usize) -> f32) -> Self {
        let mut random = Random::new(seed);
        let mut texts: Vec<String> = alphabet.chars().map(String::from).collect();
        let single = texts.len();
        while texts.len() < single + n {
            let joined = format!("{}{}", texts[random.below(texts.len())], texts[random.below(texts.len())]);
            if joined.chars().count() <= 8 && !texts.contains(&joined) {
                texts.push(joined);
            }
        }
        for (i, text) in texts.iter().enumerate().skip(single) {
            self.add(text, NORMAL, score(i - single));
        }
        for (i, text) in texts.iter().take(single).enumerate() {
            self.add(text, NORMAL, -1000. - i as f32);
        }
        self
    }

    fn metadata(&self) -> Metadata {
        let ids = Metadata::new("llama").with("bos_token_id", 1u32).with("eos_token_id", 2u32);
        ids.with("unknown_token_id", 0u32)
            .tokens(self.tokens.iter().map(|(text, kind)| (text.as_str(), *kind)))
            .with("scores", self.scores.clone())
    }

    fn ids(&self) -> HashMap<&str, (u32, f32)> {
        let scores = self.tokens.iter().zip(&self.scores).enumerate();
        scores
            .filter(|(_, ((_, kind), _))| *kind == NORMAL)
            .map(|(i, ((t, _), s))| (t.as_str(), (i as u32, *s)))
            .collect()
    }

    /// The algorithm by definition: join the two neighbours whose piece has the best score, the leftmost of equals, and
    /// repeat.
    fn oracle(&self, text: &str, prefix: bool) -> Vec<u32> {
        let pieces = self.ids();
        if text.is_empty() {
            return Vec::new();
        }
        let text = format!("{}{text}", if prefix { " " } else { "" }).replace(' ', "\u{2581}");
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        loop {
            let mut best: Option<(usize, f32)> = None;
            for i in 1..parts.len() {
                if let Some((_, score)) = pieces.get(format!("{}{}", parts[i - 1], parts[i]).as_str()) {
                    if best.is_none_or(|(_, other)| *score > other) {
                        best = Some((i, *score));
                    }
                }
            }
            let Some((i, _)) = best else { break };
            let right = parts.remove(i);
            parts[i - 1].push_str(&right);
        }
        let mut ids: Vec<u32> = Vec::new();
        let has_bytes = self.tokens.iter().any(|(_, kind)| *kind == BYTE);
        let mut after_unknown = false;
        for part in &parts {
            match pieces.get(part.as_str()) {
                Some((id, _)) => ids.push(*id),
                None if has_bytes => ids.extend(part.bytes().map(|byte| 3 + u32::from(byte))),
                None if after_unknown => {}
                None => ids.push(0),
            }
            after_unknown = !pieces.contains_key(part.as_str()) && !has_bytes;
        }
        ids
    }

    /// This vocabulary for the `tokenizers` crate. Merges follow from the scores: every piece, divided into two pieces
    /// at every place.
    fn hub(&self) -> Tokenizer {
        let pieces = self.ids();
        let mut merges: Vec<(f32, String, String)> = Vec::new();
        for (piece, (_, score)) in &pieces {
            for (at, _) in piece.char_indices().skip(1) {
                let (left, right) = piece.split_at(at);
                if pieces.contains_key(left) && pieces.contains_key(right) {
                    merges.push((*score, left.into(), right.into()));
                }
            }
        }
        merges.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())));
        let vocab: Map<_, _> = self.tokens.iter().enumerate().map(|(i, (text, _))| (text.clone(), json!(i))).collect();
        let special = |id: usize, content: &str| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})
        };
        let merges: Vec<_> = merges.iter().map(|(_, left, right)| json!([left, right])).collect();
        let tokenizer = json!({
            "version": "1.0",
            "added_tokens": [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "\u{2581}"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"}]},
            "pre_tokenizer": null,
            "post_processor": {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "\u{2581}"}, "content": " "},
                {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
                      "vocab": vocab, "merges": merges},
        });
        hub(&tokenizer, &[]).unwrap()
    }
}

const ALPHABET: &str = "\u{2581}abcdestlmé漢\n'1";

#[test]
fn ids_are_those_of_the_definition() {
    for seed in 1..=6 {
        // Every third score occurs twice, so that the position in the text decides.
        let pieces = Pieces::new(seed % 2 == 0).grow(ALPHABET, 120, seed, |i| -((i - i % 3 / 2) as f32));
        let prefix = seed % 3 != 0;
        let tokenizer = pieces.metadata().with("add_space_prefix", prefix).read().unwrap();
        for text in random::texts(seed, 400, 40) {
            let ids = tokenizer.encode(&text, false, false).unwrap();
            assert_eq!(ids, pieces.oracle(&text, prefix), "{seed}: {text:?}");
            if seed % 2 == 0 {
                // With all bytes nothing is lost, but a mark in the text cannot be told from a space.
                assert_eq!(tokenizer.decode(&ids, true), text.replace('\u{2581}', " "), "{seed}: {text:?}");
            }
        }
    }
}

#[test]
fn both_files_give_the_same() {
    for bytes in [true, false] {
        let pieces = Pieces::new(bytes).grow(ALPHABET, 100, 7, |i| -(i as f32));
        let (gguf, hub) = (pieces.metadata().read().unwrap(), pieces.hub());
        for text in random::texts(8, 300, 30) {
            for special in [false, true] {
                let ids = gguf.encode(&text, special, special).unwrap();
                assert_eq!(ids, hub.encode(&text, special, special).unwrap(), "{text:?}");
                assert_eq!(gguf.decode(&ids, special), hub.decode(&ids, special), "{text:?}");
            }
        }
        assert_eq!((gguf.bos(), gguf.n_tokens()), (Some(1), hub.n_tokens()));
        assert_eq!(hub.token(5), gguf.token(5));
    }
}

/// A piece may contain a character that is not a piece itself. A list of merges would miss it.
#[test]
fn a_character_that_is_only_in_longer_pieces() {
    let mut pieces = Pieces::new(true);
    pieces.add("n", NORMAL, -3.);
    pieces.add("né", NORMAL, -1.);
    pieces.add("éé", NORMAL, -2.);
    let tokenizer = pieces.metadata().with("add_space_prefix", false).read().unwrap();
    assert_eq!(tokenizer.encode("né", false, false).unwrap(), [260]);
    assert_eq!(tokenizer.encode("nééén", false, false).unwrap(), [260, 261, 259]);
    assert_eq!(tokenizer.encode("é", false, false).unwrap(), [3 + 0xc3, 3 + 0xa9]);
}

/// An unused piece is a step to a longer one; if it remains it is split as it was made.
#[test]
fn unused_pieces_are_taken_apart() {
    let mut pieces = Pieces::new(true);
    for (text, kind, score) in [
        ("a", NORMAL, -9.),
        ("b", NORMAL, -9.),
        ("c", NORMAL, -9.),
        ("ab", UNUSED, -1.),
        ("abc", NORMAL, -2.),
        ("abab", UNUSED, -3.),
    ] {
        pieces.add(text, kind, score);
    }
    let tokenizer = pieces.metadata().with("add_space_prefix", false).read().unwrap();
    assert_eq!(tokenizer.encode("ab", false, false).unwrap(), [259, 260]);
    assert_eq!(tokenizer.encode("abc", false, false).unwrap(), [263]);
    assert_eq!(tokenizer.encode("abab", false, false).unwrap(), [259, 260, 259, 260]);
    assert_eq!(tokenizer.decode(&[262], true), "ab");
}

#[test]
fn spaces_as_the_file_says() {
    let pieces = Pieces::new(true).grow("\u{2581}ab", 0, 1, |_| 0.);
    let (space, a, b) = (259, 260, 261);
    let with = |prefix: bool, collapse: bool| {
        let flags = pieces.metadata().with("add_space_prefix", prefix).with("remove_extra_whitespaces", collapse);
        flags.read().unwrap()
    };
    let ids = |prefix, collapse, text: &str| with(prefix, collapse).encode(text, false, true).unwrap();
    assert_eq!(ids(true, false, " a  b"), [space, space, a, space, space, b]);
    assert_eq!(ids(false, false, " a  b "), [space, a, space, space, b, space]);
    assert_eq!(ids(true, true, "  a  b "), [space, a, space, b]);
    assert_eq!(ids(false, true, "  a  b "), [a, space, b]);
    assert!(ids(true, true, "   ").is_empty());
    // After a special token a text begins again, and gets its space there too.
    assert_eq!(ids(true, false, "a<s>b"), [space, a, 1, space, b]);
    assert_eq!(ids(false, false, "a<s>b"), [a, 1, b]);
    assert_eq!(with(true, false).decode(&[space, a, space, b], true), "a b");
    assert_eq!(with(false, false).decode(&[space, a, space, b], true), " a b");
    // If the file does not say, a space is added and none removed.
    let silent = pieces.metadata().read().unwrap();
    assert_eq!(silent.encode("a  b", false, false).unwrap(), [space, a, space, space, b]);
}

/// Tokens that the file does not name are found by SentencePiece's names.
#[test]
fn names_in_place_of_ids() {
    let file = Pieces::new(false).grow("\u{2581}ab", 0, 1, |_| 0.).metadata();
    let file = file.without("bos_token_id").without("eos_token_id").without("unknown_token_id");
    let tokenizer = file.read().unwrap();
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.unknown()), (Some(1), Some(2), Some(0)));
    assert_eq!(tokenizer.encode("axb", true, false).unwrap(), [1, 3, 4, 0, 5]);
    assert!(tokenizer.is_end(2));
}

/// gemma's files: no space before a text; runs of spaces and line ends are tokens that are never divided.
#[test]
fn user_defined_tokens_are_cut_out_first() {
    let mut pieces = Pieces::new(true).grow("\u{2581}ab", 0, 1, |_| 0.);
    pieces.add("  ", USER_DEFINED, 0.);
    pieces.add("\u{2581}\u{2581}\u{2581}", USER_DEFINED, 0.);
    pieces.add("\n\n", USER_DEFINED, 0.);
    pieces.add("<start_of_turn>", CONTROL, 0.);
    let tokenizer = pieces.metadata().with("add_space_prefix", false).read().unwrap();
    let (space, a, b, two, three, lines, turn) = (259, 260, 261, 262, 263, 264, 265);
    for parse in [false, true] {
        let ids = |text: &str| tokenizer.encode(text, false, parse).unwrap();
        assert_eq!(ids("a  b"), [a, two, b]);
        assert_eq!(ids("a    b"), [a, three, space, b]);
        assert_eq!(ids("a\n\n\n\nb"), [a, lines, lines, b]);
        assert_eq!(ids("a\nb"), [a, 3 + 10, b]);
        assert_eq!(tokenizer.decode(&ids("a     b\n\n"), true), "a     b\n\n");
        assert_eq!(ids("<start_of_turn>a").len(), if parse { 2 } else { 16 });
    }
    assert_eq!(tokenizer.encode("<start_of_turn>a", true, true).unwrap(), [1, turn, a]);
}

/// Phi-3 was trained so that spaces after its marks belong to them.
#[test]
fn phi3_takes_spaces_after_its_marks() {
    let mut pieces = Pieces::new(true).grow("\u{2581}ab", 0, 1, |_| 0.);
    pieces.add("<|end|>", CONTROL, 0.);
    let file = pieces.metadata().with("add_space_prefix", false);
    let phi3 = file.clone().with("general.architecture", "phi3").read().unwrap();
    assert_eq!(phi3.encode("a<|end|>\n b<s> a", false, true).unwrap(), [260, 262, 261, 1, 259, 260]);
    let llama = file.with("general.architecture", "llama").read().unwrap();
    assert_eq!(llama.encode("<|end|> b", false, true).unwrap(), [262, 259, 261]);
}
