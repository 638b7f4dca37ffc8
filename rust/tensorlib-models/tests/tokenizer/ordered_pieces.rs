//! Vocabularies of the model `gemma4`: pieces with marks for spaces, joined in the order of a list.

use crate::files::*;
use crate::random::{self, Random};
use std::collections::HashMap;

struct Pieces {
    tokens: Vec<(String, i32)>,
    merges: Vec<(String, String)>,
}

/// Pieces of random texts. The ids of bytes follow the special tokens.
fn pieces() -> Pieces {
    let special = [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", UNKNOWN)];
    let mut tokens: Vec<(String, i32)> = special.map(|(text, kind)| (text.to_string(), kind)).to_vec();
    tokens.extend(byte_tokens().into_iter().map(|text| (text, BYTE)));
    let mut pieces = Pieces { tokens, merges: Vec::new() };
    "abcdefghijklmnopqrstuvwxyz0123456789.,!?'\u{2581}\n漢é".chars().for_each(|c| pieces.add(c.to_string()));
    let mut random = Random::new(21);
    while pieces.merges.len() < 250 {
        let parts = pieces.join(&random::text(&mut random, 30));
        let pairs = parts.windows(2).filter(|pair| pair.iter().all(|part| pieces.has(part)));
        let pairs: Vec<_> = pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        if pairs.is_empty() {
            continue;
        }
        let (left, right) = pairs[random.below(pairs.len())].clone();
        pieces.add(format!("{left}{right}"));
        pieces.merges.push((left, right));
    }
    pieces.tokens.push(("<|turn>".into(), CONTROL));
    pieces.tokens.push(("<|mark|>\u{2581}x".into(), USER_DEFINED));
    pieces
}

impl Pieces {
    fn has(&self, text: &str) -> bool {
        self.tokens.iter().any(|(other, _)| other == text)
    }

    fn add(&mut self, text: String) {
        if !self.has(&text) {
            self.tokens.push((text, NORMAL));
        }
    }

    /// Joins the neighbours that come first in the list, the leftmost of equals, until none is left.
    fn join(&self, text: &str) -> Vec<String> {
        let ranks: HashMap<_, _> = self.merges.iter().enumerate().map(|(rank, pair)| (pair.clone(), rank)).collect();
        let mut parts: Vec<String> = text.replace(' ', "\u{2581}").chars().map(String::from).collect();
        loop {
            let rank = |i: usize| ranks.get(&(parts[i].clone(), parts[i + 1].clone())).copied();
            let best = (0..parts.len().saturating_sub(1)).filter_map(|i| Some((rank(i)?, i))).min();
            let Some((_, at)) = best else { return parts };
            let right = parts.remove(at + 1);
            parts[at] += &right;
        }
    }

    /// The ids of a text without special tokens; those of its bytes where no piece fits.
    fn ids(&self, text: &str) -> Vec<u32> {
        let id = |text: &str| self.tokens.iter().position(|(other, _)| other == text).map(|id| id as u32);
        let of = |part: String| match id(&part) {
            Some(id) => vec![id],
            None => part.bytes().map(|byte| 4 + u32::from(byte)).collect(),
        };
        self.join(text).into_iter().flat_map(of).collect()
    }

    fn metadata(&self) -> Metadata {
        Metadata::new("gemma4")
            .tokens(self.tokens.iter().map(|(text, kind)| (text.as_str(), *kind)))
            .merges(&self.merges)
            .with("unknown_token_id", 3u32)
            .with("bos_token_id", 2u32)
            .with("eos_token_id", 1u32)
            .with("padding_token_id", 0u32)
            .with("add_space_prefix", false)
            .with("add_bos_token", true)
    }
}

#[test]
fn texts_are_joined_in_the_order_of_the_list() {
    let pieces = pieces();
    let tokenizer = pieces.metadata().read().unwrap();
    let texts = ["", " ", "a", "  two  spaces ", "\n\n\n", "漢字 é ☃ \u{2581}", "<0x41>", "a<bos>b"].map(String::from);
    for text in texts.into_iter().chain(random::texts(22, 400, 60)) {
        let ids = tokenizer.encode(&text, false, false).unwrap();
        assert_eq!(ids, pieces.ids(&text), "{text:?}");
        // A mark in the text is a space afterwards.
        assert_eq!(tokenizer.decode(&ids, false), text.replace('\u{2581}', " "), "{text:?}");
        let with_begin = tokenizer.encode(&text, true, false).unwrap();
        assert_eq!(with_begin, [&[2], &ids[..]].concat());
    }
}

#[test]
fn special_tokens_are_cut_out() {
    let pieces = pieces();
    let tokenizer = pieces.metadata().read().unwrap();
    let n = pieces.tokens.len() as u32;
    let ids = tokenizer.encode("a<|turn> b<|mark|> x", false, true).unwrap();
    assert_eq!(ids, [pieces.ids("a"), vec![n - 2], pieces.ids(" b"), vec![n - 1]].concat());
}

#[test]
fn what_is_missing_is_named() {
    let metadata = pieces().metadata();
    let refused = |metadata: Metadata| metadata.read().err().unwrap().to_string();
    assert!(refused(metadata.clone().without("merges")).contains("tokenizer.ggml.merges"));
    assert!(refused(metadata.clone().with("add_space_prefix", true)).contains("add_space_prefix: is true"));
    assert!(refused(metadata.merges(&[("a".into(), "☃".into())])).contains("no token '☃'"));
}
