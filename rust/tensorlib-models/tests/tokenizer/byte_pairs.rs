//! Vocabularies of the model `gpt2`.

use crate::files::*;
use crate::random::{self, class, Class, Random};
use serde_json::{json, Map, Value as Json};
use std::collections::{HashMap, HashSet};

pub struct Pairs {
    tokens: Vec<String>,
    merges: Vec<(String, String)>,
}

/// GPT-2's words, read off the definition of its expression: an ending of English, or a run of letters, of numbers or
/// of anything else except spaces, each with at most one space before it; of other spaces all except the last before a
/// word.
fn gpt2_words(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let kind = |c: char| match class(c) {
        Class::Letter => 0,
        Class::Number => 1,
        Class::Space => 2,
        _ => 3,
    };
    let mut words = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let rest: String = characters[at..].iter().take(3).collect();
        let ending = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"].into_iter().find(|ending| rest.starts_with(ending));
        let space = usize::from(characters[at] == ' ');
        let run = |from: usize| {
            let first = kind(characters[from]);
            characters[from..].iter().take_while(|c| kind(**c) == first).count()
        };
        let follows = characters.get(at + space).is_some_and(|c| kind(*c) != 2);
        let n = match ending {
            Some(ending) => ending.len(),
            None if follows => space + run(at + space),
            None => {
                let spaces = run(at);
                if at + spaces == characters.len() || spaces == 1 {
                    spaces
                } else {
                    spaces - 1
                }
            }
        };
        words.push(characters[at..at + n].iter().collect());
        at += n;
    }
    words
}

impl Pairs {
    /// Pairs from random texts, as training finds them.
    pub fn grow(n: usize, seed: u64) -> Self {
        let tokens = (0..=255).map(|byte| byte_character(byte).to_string()).collect();
        let mut pairs = Pairs { tokens, merges: Vec::new() };
        let mut random = Random::new(seed);
        while pairs.merges.len() < n {
            let words = gpt2_words(&random::text(&mut random, 30));
            if words.is_empty() {
                continue;
            }
            let parts = pairs.join(&words[random.below(words.len())]);
            if parts.len() > 1 {
                let at = random.below(parts.len() - 1);
                pairs.add(&parts[at], &parts[at + 1]);
            }
        }
        pairs
    }

    pub fn add(&mut self, left: &str, right: &str) {
        let joined = format!("{left}{right}");
        if !self.tokens.contains(&joined) {
            self.tokens.push(joined);
        }
        self.merges.push((left.into(), right.into()));
    }

    /// By definition: join the first pair of the list everywhere, then the next one that exists.
    fn join(&self, word: &str) -> Vec<String> {
        let ranks: HashMap<_, _> = self.merges.iter().enumerate().rev().map(|(rank, pair)| (pair, rank)).collect();
        let mut parts: Vec<String> = byte_level(word).chars().map(String::from).collect();
        loop {
            let rank = |i: usize| ranks.get(&(parts[i].clone(), parts[i + 1].clone())).copied();
            let Some((_, i)) = (0..parts.len().saturating_sub(1)).filter_map(|i| Some((rank(i)?, i))).min() else {
                return parts;
            };
            let right = parts.remove(i + 1);
            parts[i].push_str(&right);
        }
    }

    fn oracle(&self, text: &str) -> Vec<u32> {
        let id = |part: &String| self.tokens.iter().position(|token| token == part).unwrap() as u32;
        gpt2_words(text).iter().flat_map(|word| self.join(word)).map(|part| id(&part)).collect()
    }

    pub fn metadata(&self) -> Metadata {
        let tokens = self.tokens.iter().map(|text| (text.as_str(), NORMAL));
        Metadata::new("gpt2").tokens(tokens).merges(&self.merges).with("pre", "gpt-2")
    }

    pub fn json(&self) -> Json {
        let vocab: Map<_, _> = self.tokens.iter().enumerate().map(|(i, text)| (text.clone(), json!(i))).collect();
        let merges: Vec<_> = self.merges.iter().map(|(left, right)| json!(format!("{left} {right}"))).collect();
        json!({
            "version": "1.0",
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        })
    }
}

#[test]
fn ids_are_those_of_the_definition_from_both_files() {
    let pairs = Pairs::grow(250, 1);
    let (gguf, hub) = (pairs.metadata().read().unwrap(), hub(&pairs.json(), &[]).unwrap());
    for text in &random::texts(2, 600, 40) {
        let ids = gguf.encode(text, true, false).unwrap();
        assert_eq!(ids, pairs.oracle(text), "{text:?}");
        assert_eq!(ids, hub.encode(text, true, false).unwrap(), "{text:?}");
        assert_eq!(gguf.decode(&ids, false), *text);
        assert_eq!(hub.decode(&ids, false), *text);
    }
}

#[test]
fn a_space_before_the_text() {
    let pairs = Pairs::grow(60, 3);
    let tokenizer = pairs.metadata().with("add_space_prefix", true).read().unwrap();
    for text in ["a", " a", "", "seal", "\n"] {
        let with_space = if text.starts_with(' ') || text.is_empty() { text.into() } else { format!(" {text}") };
        let ids = tokenizer.encode(text, false, false).unwrap();
        assert_eq!(ids, pairs.oracle(&with_space), "{text:?}");
        assert_eq!(tokenizer.decode(&ids, false), text.strip_prefix(' ').unwrap_or(text));
    }
}

/// Text without a token becomes the unknown token, or is left out if there is none.
#[test]
fn bytes_that_are_not_in_the_vocabulary() {
    let tokens: Vec<String> = "abc".chars().map(String::from).collect();
    let file = Pairs { tokens, merges: Vec::new() }.metadata();
    let ids = |file: Metadata, text: &str| file.read().unwrap().encode(text, false, false).unwrap();
    assert_eq!(ids(file.clone(), "aébx"), [0, 1]);
    assert!(ids(file.clone(), "xyz").is_empty());
    assert_eq!(ids(file.with("unknown_token_id", 2u32), "axb"), [0, 2, 1]);
}

/// A word that is a token takes precedence over pairs in the rules of llama-bpe, but not in those of gpt-2.
#[test]
fn whole_words_before_pairs() {
    let mut pairs = Pairs::grow(0, 1);
    pairs.tokens.push("abc".into());
    let id = pairs.tokens.len() as u32 - 1;
    let ids = |pre: &str| pairs.metadata().with("pre", pre).read().unwrap().encode("abc", false, false).unwrap();
    assert_eq!(ids("llama-bpe"), [id]);
    assert_eq!(ids("gpt-2"), [97, 98, 99]);
    // Text never becomes a mark for the model, even if it is a whole word.
    pairs.tokens.push("end".into());
    let types: HashSet<u32> = [id + 1].into();
    let kind = |i: usize| if types.contains(&(i as u32)) { CONTROL } else { NORMAL };
    let tokens = pairs.tokens.iter().enumerate().map(|(i, text)| (text.as_str(), kind(i)));
    let tokenizer = pairs.metadata().tokens(tokens).with("pre", "llama-bpe").read().unwrap();
    assert_eq!(tokenizer.encode("end", false, false).unwrap(), [101, 110, 100]);
    assert_eq!(tokenizer.encode("end", false, true).unwrap(), [id + 1]);
}

/// Composed and decomposed letters are equal in models whose tokenizer.json normalises.
#[test]
fn normal_form_c_where_the_models_have_it() {
    let file = Pairs::grow(0, 1).metadata();
    for (pre, same) in [("qwen2", true), ("command-r", true), ("llama-bpe", false), ("gpt-2", false)] {
        let tokenizer = file.clone().with("pre", pre).read().unwrap();
        let [composed, decomposed] = ["é", "e\u{301}"].map(|text| tokenizer.encode(text, false, false).unwrap());
        assert_eq!(composed == decomposed, same, "{pre}");
    }
}

#[test]
fn a_file_without_a_pre_tokenizer_has_the_default() {
    let mut pairs = Pairs::grow(0, 1);
    pairs.add("1", "2");
    pairs.add("12", "3");
    pairs.add("123", "4");
    let ids = |file: Metadata| file.read().unwrap().encode("1234", false, false).unwrap();
    // This rule cuts numbers into three digits.
    assert_eq!(ids(pairs.metadata().without("pre")), [257, 52]);
    assert_eq!(ids(pairs.metadata().with("pre", "default")), [257, 52]);
    assert_eq!(ids(pairs.metadata()), [258]);
}
