//! Files that would make a text grow without bound, or take forever: they are refused, or end soon.

use crate::byte_pairs::Pairs;
use crate::files::*;
use crate::memory::most_of;
use serde_json::{json, Value as Json};
use std::time::{Duration, Instant};

fn file(change: impl FnOnce(&mut Json)) -> Json {
    let mut json = Pairs::grow(0, 1).json();
    change(&mut json);
    json
}

fn normalizers(list: Vec<Json>) -> Json {
    file(|json| json["normalizer"] = json!({"type": "Sequence", "normalizers": list}))
}

fn pre_tokenizers(list: Vec<Json>) -> Json {
    file(|json| json["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": list}))
}

fn replace(pattern: Json, content: &str) -> Json {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn regex(pattern: &str) -> Json {
    json!({"Regex": pattern})
}

fn split(pattern: &str) -> Json {
    json!({"type": "Split", "pattern": regex(pattern), "behavior": "Isolated", "invert": false})
}

pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let of = |three: &[u8]| {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        let digit = |i: usize| char::from(DIGITS[(bits >> (18 - 6 * i)) as usize & 63]);
        (0..4).map(|i| if i <= three.len() { digit(i) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(of).collect()
}

/// The error of reading the file, or of encoding this text with it. Each may take a second and 64 MiB.
fn ended(json: &Json, text: &str) -> String {
    let start = Instant::now();
    let (error, most) = most_of(|| match hub(json, &[]) {
        Ok(tokenizer) => match tokenizer.encode(text, false, false) {
            Ok(ids) => panic!("{} tokens for {} bytes: {:?}", ids.len(), text.len(), &ids[..ids.len().min(9)]),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    });
    // The limit for unoptimised code on a busy machine; otherwise it takes well under a second.
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });
    assert!(start.elapsed() < limit, "{:?}: {error}", start.elapsed());
    assert!(most < 64 << 20, "{most} bytes: {error}");
    error
}

#[test]
fn texts_that_would_grow() {
    let long = "a".repeat(1000);
    let doubled = |n: usize| normalizers(vec![replace(json!({"String": "a"}), "aa"); n]);
    let many = "b".repeat(1 << 20);
    let table = |n: usize| {
        let table = crate::unigram::table(&[("a", &"x".repeat(n))]);
        normalizers(vec![json!({"type": "Precompiled", "precompiled_charsmap": base64(&table)}); 3])
    };
    let level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
    let mark = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": false});
    let decoder = |list: Vec<Json>| file(|json| json["decoder"] = json!({"type": "Sequence", "decoders": list}));
    let cases = [
        (doubled(30), "the normalizer makes 64000 bytes of 1000: up to 33024 are valid"),
        (doubled(33), "normalizer: more than 32 steps"),
        (normalizers(vec![replace(json!({"String": "a"}), &many)]), "the normalizer makes 1048576000 bytes of 1000"),
        (normalizers(vec![replace(regex(""), &many)]), "the normalizer makes 1049625576 bytes of 1000"),
        (
            normalizers(vec![json!({"type": "Prepend", "prepend": many})]),
            "Prepend of 1048576 bytes: up to 64 are valid",
        ),
        (normalizers(vec![json!({"type": "ByteLevel"}); 40]), "more than 32 steps"),
        (
            normalizers(vec![normalizers(vec![json!({"type": "NFC"}); 20])["normalizer"].clone(); 2]),
            "more than 32 steps",
        ),
        (table(10_000), "a character becomes 10000 bytes: up to 64 are valid"),
        (table(64), "the normalizer makes 64000 bytes of 1000: up to 33024 are valid"),
        (pre_tokenizers(vec![level.clone(); 3]), "more than 2 of ByteLevel and Metaspace"),
        (pre_tokenizers(vec![mark, level.clone(), level]), "more than 2 of ByteLevel and Metaspace"),
        (pre_tokenizers(vec![split("a"); 33]), "pre_tokenizer: more than 32 steps"),
        (file(|json| json["normalizer"] = json!({"normalizers": []})), "normalizer: a step has no 'type'"),
        (file(|json| json["pre_tokenizer"] = json!({"type": "Sequence"})), "a Sequence has no list 'pretokenizers'"),
        (decoder(vec![replace(json!({"String": "a"}), "aa"); 7]), "decoder: its steps make a text more than 64 times"),
        (decoder(vec![json!({"type": "ByteFallback"}); 33]), "decoder: more than 32 steps"),
    ];
    for (json, words) in cases {
        let error = ended(&json, &long);
        assert!(error.contains(words), "'{words}' is not in: {error}");
    }
    // Text between tokens is bounded piece by piece.
    let mut pieces = doubled(30);
    pieces["added_tokens"] = json!([{"id": 300, "content": "|", "single_word": false, "lstrip": false, "rstrip": false,
                                     "normalized": false, "special": false}]);
    assert!(ended(&pieces, &"aaaa|".repeat(200)).contains("the normalizer makes 2048 bytes of 4"));
    // So are tokens that are normalised themselves.
    let mut tokens = doubled(30);
    tokens["added_tokens"] = json!([{"id": 300, "content": "aa", "single_word": false, "lstrip": false, "rstrip": false,
                                     "normalized": true, "special": false}]);
    assert!(ended(&tokens, "b").contains("the normalizer makes 2048 bytes of 2"));
}

#[test]
fn expressions_that_would_take_for_ever() {
    let one = format!("{}b", "a".repeat(5000));
    // Each search is within the limit, all together are not.
    let many = format!("{} ", "a".repeat(400)).repeat(30);
    let cases = [
        (r"^(?:(?=a)a|(?=a)aa)+$", &one),
        (r"(?:(?=a)a*)*(?=a)c", &one),
        (r"(?:(?=a)a)*(?:(?=a)a)*(?:(?=a)a)*c", &one),
        (r"(a+)\1*\1*\1*c", &one),
        (r"(?:(?=a)a)*(?:(?=a)a)*c|a", &one),
        (r"(?:(?=a)a)*(?:(?=a)a)*c|a", &many),
    ];
    for (pattern, text) in cases {
        for json in [pre_tokenizers(vec![split(pattern)]), normalizers(vec![replace(regex(pattern), "x")])] {
            let error = ended(&json, text);
            let words = format!("takes too many steps for a text of {} bytes", text.len());
            assert!(error.contains(&words), "{pattern}: {error}");
        }
    }
}

#[test]
fn expressions_that_are_too_large() {
    let too_many = "it and those before it have too many classes of characters, or repeat them too often";
    let cases = [
        ("a".repeat(9000), "an expression of 9000 bytes: up to 8192 are valid"),
        (r"(?:\w{1000}){1000}".into(), too_many),
        (r"\p{L}{1,99999999999999999999}".into(), too_many),
        (r"(?=\p{L})".repeat(800), too_many),
        (r"(?=[a-z]{9}){9}{9}{9}".into(), too_many),
        ("(".into(), "the expression '('"),
        (r"(?<=a+)b)".into(), "the expression"),
    ];
    for (pattern, words) in cases {
        for json in [pre_tokenizers(vec![split(&pattern)]), normalizers(vec![replace(regex(&pattern), "x")])] {
            let error = ended(&json, "abc");
            assert!(error.contains("tokenizer.json: ") && error.contains(words), "{error}");
        }
    }
    // Each expression is small enough, all together are not.
    let error = ended(&pre_tokenizers(vec![split(&r"\p{L}".repeat(50)); 20]), "abc");
    assert!(error.contains(too_many), "{error}");
}
