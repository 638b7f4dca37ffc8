//! Normalizers and pre-tokenizers of published files: the ids are those of the crate `tokenizers` alone.

use crate::files::hub;
use crate::random;
use serde_json::{json, Value as Json};

/// Each character is a token, so that ids show the text.
fn characters() -> Json {
    let characters = (' '..='~').chain("\u{2581}éñßø漢字가각ⅷ½²'\u{fffd}".chars()).chain('\u{a1}'..='\u{17f}');
    let mut vocab = serde_json::Map::new();
    for character in characters {
        let id = vocab.len();
        vocab.entry(character.to_string()).or_insert(id.into());
    }
    let unknown = vocab.len();
    vocab.insert("<unk>".into(), unknown.into());
    json!({"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": null,
           "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []})
}

/// Whole words are tokens or unknown, so that ids show where a text is cut.
fn words() -> Json {
    json!({"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1, "b": 2, " ": 3, "\u{2581}a": 4, "Ġa": 5}})
}

fn sequence(list: &str, steps: &[Json]) -> Json {
    json!({"type": "Sequence", list: steps})
}

fn replace(kind: &str, pattern: &str, content: &str) -> Json {
    json!({"type": "Replace", "pattern": {kind: pattern}, "content": content})
}

fn split(kind: &str, pattern: &str, behavior: &str, invert: bool) -> Json {
    json!({"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert})
}

/// Normalizers and pre-tokenizers of published files, and some that test an option.
fn files() -> Vec<(&'static str, Json, Json)> {
    let bert = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                      "lowercase": true});
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let gpt2 = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    let mark = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
    let table = crate::unigram::table(&[("Ａ", "a"), ("ﬆ", "st"), ("\t", " "), ("\u{fdfa}", &"x".repeat(33))]);
    let precompiled = json!({"type": "Precompiled", "precompiled_charsmap": crate::bounds::base64(&table)});
    let gpt4 = concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|",
        r"\s+(?!\S)|\s+"
    );
    let (normal, cuts) = ("normalizers", "pretokenizers");
    vec![
        ("BERT", bert, json!({"type": "BertPreTokenizer"})),
        (
            "Llama 2",
            sequence(normal, &[json!({"type": "Prepend", "prepend": "\u{2581}"}), replace("String", " ", "\u{2581}")]),
            json!(null),
        ),
        ("Gemma", replace("String", " ", "\u{2581}"), split("String", " ", "MergedWithPrevious", false)),
        ("XLM-R", sequence(normal, &[precompiled.clone(), replace("Regex", " {2,}", "\u{2581}")]), mark.clone()),
        (
            "ALBERT",
            sequence(
                normal,
                &[
                    replace("String", "``", "\""),
                    replace("String", "''", "\""),
                    json!({"type": "NFKD"}),
                    json!({"type": "StripAccents"}),
                    json!({"type": "Lowercase"}),
                    precompiled,
                    replace("Regex", " {2,}", " "),
                ],
            ),
            sequence(cuts, &[json!({"type": "WhitespaceSplit"}), mark]),
        ),
        ("GPT-2", json!(null), gpt2),
        ("Llama 3", json!({"type": "NFC"}), sequence(cuts, &[split("Regex", gpt4, "Isolated", false), level.clone()])),
        ("inverted", json!(null), sequence(cuts, &[split("Regex", gpt4, "Removed", true), level])),
        ("contiguous", json!({"type": "NFKC"}), split("Regex", r"\d", "Contiguous", false)),
        // `(?:^|$)`, because this build of the crate reads classes of words differently (see oniguruma.rs).
        ("with next", replace("Regex", r"(?:^|$)", "|"), split("Regex", r"(?=a)|(?<=b)\s*", "MergedWithNext", false)),
        ("nothing", replace("String", "", "-"), split("Regex", r"x*", "Isolated", false)),
    ]
}

#[test]
fn ids_are_those_of_the_crate() {
    for (name, normalizer, pre_tokenizer) in files() {
        for model in [characters(), words()] {
            let json = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
                              "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": null,
                              "decoder": null, "model": model});
            let theirs: tokenizers::Tokenizer = json.to_string().parse().unwrap();
            let ours = hub(&json, &[]).unwrap();
            let long = ["a  b ".repeat(3000), " ".repeat(20_000), "\u{fdfa}".repeat(300), "don't ".repeat(2000)];
            for text in random::texts(7, 300, 60).iter().chain(&long).filter(|text| !text.is_empty()) {
                let want = theirs.encode(text.as_str(), false).unwrap();
                assert_eq!(ours.encode(text, false, false).unwrap(), want.get_ids(), "{name}: {text:?}");
            }
        }
    }
}
