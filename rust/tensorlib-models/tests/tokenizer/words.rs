//! Vocabularies of the model `bert`.

use crate::files::*;
use crate::random::{self, class, Class, Random};
use serde_json::{json, Map};
use tensorlib_models::tokenizer::Tokenizer;

/// Pieces as hubs write them: continuations of words have the prefix ##.
fn pieces(cased: bool) -> Vec<String> {
    let mut pieces: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."].map(String::from).to_vec();
    let letters = if cased { "abcdestlmvrABCDEÉ漢ж1" } else { "abcdestlmvr漢字ωж12ℝ" };
    for letter in letters.chars() {
        // Some only begin words and some only continue them.
        for piece in [format!("{letter}"), format!("##{letter}")] {
            if piece != "##v" && piece != "r" {
                pieces.push(piece);
            }
        }
    }
    let mut random = Random::new(5);
    let letters: Vec<char> = letters.chars().collect();
    while pieces.len() < 150 {
        let text: String = (0..2 + random.below(3)).map(|_| random.pick(&letters)).collect();
        let piece = format!("{}{text}", random.pick(&["", "##"]));
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    pieces
}

fn gguf(pieces: &[String]) -> Metadata {
    // These files mark the beginnings of words instead.
    let texts: Vec<(String, i32)> = pieces
        .iter()
        .map(|piece| match piece.strip_prefix("##") {
            _ if piece.starts_with('[') => (piece.clone(), CONTROL),
            Some(rest) => (rest.to_string(), NORMAL),
            None => (format!("\u{2581}{piece}"), NORMAL),
        })
        .collect();
    Metadata::new("bert")
        .tokens(texts.iter().map(|(text, kind)| (text.as_str(), *kind)))
        .with("unknown_token_id", 1u32)
        .with("cls_token_id", 2u32)
        .with("seperator_token_id", 3u32)
        .with("padding_token_id", 0u32)
        .with("mask_token_id", 4u32)
}

fn folder(pieces: &[String], lowercase: bool) -> Tokenizer {
    let vocab: Map<_, _> = pieces.iter().enumerate().map(|(i, text)| (text.clone(), json!(i))).collect();
    let added: Vec<_> = (0..5)
        .map(|i| {
            json!({"id": i, "content": pieces[i], "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})
        })
        .collect();
    let special = |name: &str, id: u32| json!({"id": name, "ids": [id], "tokens": [name]});
    let one = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let tokenizer = json!({
        "version": "1.0",
        // The settings of sentence encoders; here the caller cuts and pads.
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [one("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, one("[SEP]")],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    });
    let settings = json!({"cls_token": "[CLS]", "unk_token": {"content": "[UNK]"}, "pad_token": "[PAD]"});
    hub(&tokenizer, &[("tokenizer_config.json", settings)]).unwrap()
}

/// Words as BERT cuts them: at spaces; punctuation, all of ASCII's signs and Chinese characters are separate words;
/// control characters vanish; without case, accents vanish too.
fn bert_words(text: &str, lowercase: bool) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let kind = class(c);
        let spacing = "\u{903}\u{20dd}".contains(c);
        match kind {
            // Line ends and tabs are spaces; other controls below U+0020 vanish, even the two that are spaces
            // elsewhere.
            Class::Space if "\u{b}\u{c}\u{85}".contains(c) => {}
            Class::Space => words.push(String::new()),
            // The crate has no class of unassigned characters; Python, which BERT was written in, treats this one as a
            // control character.
            Class::Control if c == '\u{fffe}' => words.last_mut().unwrap().push(c),
            Class::Control => {}
            Class::Mark if lowercase && !spacing => {}
            _ if kind == Class::Punctuation || kind == Class::Symbol && c.is_ascii() || "漢字日本語𠀀".contains(c) =>
            {
                words.extend([c.to_string(), String::new()]);
            }
            _ => {
                let word = words.last_mut().unwrap();
                match c {
                    c if !lowercase => word.push(c),
                    'É' | 'é' => word.push('e'),
                    'ñ' => word.push('n'),
                    '한' => word.push_str("\u{1112}\u{1161}\u{11ab}"),
                    '글' => word.push_str("\u{1100}\u{1173}\u{11af}"),
                    c => word.extend(c.to_lowercase()),
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The longest piece that the rest of the word begins with; without one the whole word is unknown.
fn longest_first(pieces: &[String], word: &str) -> Vec<u32> {
    if word.chars().count() > 100 {
        return vec![1];
    }
    let mut ids = Vec::new();
    let mut rest: Vec<char> = word.chars().collect();
    while !rest.is_empty() {
        let prefix = if ids.is_empty() { "" } else { "##" };
        let found = (1..=rest.len()).rev().find_map(|n| {
            let piece = format!("{prefix}{}", rest[..n].iter().collect::<String>());
            Some((n, pieces.iter().position(|p| *p == piece && !p.starts_with('['))?))
        });
        let Some((n, id)) = found else { return vec![1] };
        ids.push(id as u32);
        rest.drain(..n);
    }
    ids
}

#[test]
fn ids_are_those_of_the_definition_from_both_files() {
    for cased in [false, true] {
        let pieces = pieces(cased);
        let (gguf, hub) = (gguf(&pieces).read().unwrap(), folder(&pieces, !cased));
        let texts = random::texts(3, 600, 30);
        for text in &texts {
            let words = bert_words(text, !cased);
            let mut ids: Vec<u32> = words.iter().flat_map(|word| longest_first(&pieces, word)).collect();
            ids.insert(0, 2);
            ids.push(3);
            assert_eq!(gguf.encode(text, true, false).unwrap(), ids, "{cased} {text:?}");
            assert_eq!(hub.encode(text, true, false).unwrap(), ids, "{cased} {text:?}");
            assert_eq!(gguf.decode(&ids, true), hub.decode(&ids, true), "{text:?}");
        }
        assert_eq!((hub.bos(), hub.pad(), hub.unknown()), (gguf.bos(), gguf.pad(), gguf.unknown()));
    }
}

#[test]
fn tokens_are_written_as_hubs_write_them() {
    let pieces = pieces(false);
    let tokenizer = gguf(&pieces).read().unwrap();
    for (id, piece) in pieces.iter().enumerate() {
        assert_eq!(tokenizer.token(id as u32), Some(piece.as_str()));
        assert_eq!(tokenizer.id(piece), Some(id as u32));
    }
    assert_eq!((tokenizer.pad(), tokenizer.unknown(), tokenizer.bos()), (Some(0), Some(1), Some(2)));
    let id = |text: &str| tokenizer.id(text).unwrap();
    assert_eq!(tokenizer.decode(&[2, id("a"), id("##b"), id("c"), id("."), 3], true), "ab c.");
    assert_eq!(tokenizer.decode(&[2, id("a"), 3], false), "[CLS] a [SEP]");
}

/// Without ids in the file, the tokens of the beginning and the end are found by name.
#[test]
fn names_in_place_of_ids() {
    let mut file = gguf(&pieces(false));
    for key in ["unknown_token_id", "cls_token_id", "seperator_token_id"] {
        file = file.without(key);
    }
    let tokenizer = file.read().unwrap();
    let id = |text: &str| tokenizer.id(text).unwrap();
    assert_eq!(tokenizer.encode("a ?", true, false).unwrap(), [2, id("a"), 1, 3]);
    assert_eq!(tokenizer.encode("[SEP]", false, true).unwrap(), [3]);
    assert_eq!(tokenizer.encode("a[SEP]", true, true).unwrap(), [2, id("a"), 3]);
}
