//! Metadata that is wrong, by accident or on purpose: an error that names the key.

use crate::byte_pairs::Pairs;
use crate::files::*;
use tensorlib::{Array, Value};

fn llama() -> Metadata {
    let tokens = [("<unk>", UNKNOWN), ("a", NORMAL), ("b", NORMAL), ("ab", NORMAL)];
    Metadata::new("llama").tokens(tokens).with("scores", vec![0f32, -1., -2., -3.]).with("unknown_token_id", 0u32)
}

fn gpt2() -> Metadata {
    let mut pairs = Pairs::grow(20, 41);
    pairs.add("a", "b");
    pairs.metadata()
}

fn bert() -> Metadata {
    Metadata::new("bert").tokens([("[UNK]", CONTROL), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("\u{2581}a", NORMAL)])
}

fn t5() -> Metadata {
    Metadata::new("t5").tokens([("<unk>", UNKNOWN), ("\u{2581}a", NORMAL)]).with("scores", vec![0f32, -1.])
}

fn texts(texts: &[&str]) -> Value {
    Value::Array(Array::String(texts.iter().map(|text| (*text).to_string()).collect()))
}

/// Files that are refused, and words of the error.
fn wrong_files() -> Vec<(Metadata, &'static [&'static str])> {
    vec![
        (llama().without("model"), &["tokenizer.ggml.model", "missing"]),
        (llama().with("model", "plamo2"), &["tokenizer.ggml.model", "'plamo2'", "llama, gpt2, bert, t5"]),
        (llama().with("model", 3u32), &["tokenizer.ggml.model", "a string is expected", "an integer"]),
        (llama().without("tokens"), &["tokenizer.ggml.tokens", "missing", "array of strings"]),
        (llama().with("tokens", vec![1i32]), &["tokenizer.ggml.tokens", "array of strings"]),
        (
            llama()
                .with("tokens", texts(&[]))
                .with("scores", Vec::<f32>::new())
                .without("token_type")
                .without("unknown_token_id"),
            &["0 tokens"],
        ),
        (llama().with("token_type", vec![1i32]), &["tokenizer.ggml.token_type", "1 elements for 4 tokens"]),
        (llama().with("token_type", vec![1i32, 1, 9, 1]), &["token_type", "token 2", "type 9"]),
        (llama().with("token_type", vec![1f32; 4]), &["token_type", "array with an integer"]),
        (llama().without("scores"), &["tokenizer.ggml.scores", "missing"]),
        (llama().with("scores", vec![0f32; 3]), &["tokenizer.ggml.scores", "3 elements for 4 tokens"]),
        (llama().with("scores", vec![0f32, f32::NAN, 0., 0.]), &["scores", "token 1", "not a number"]),
        (llama().with("scores", vec![0i32; 4]), &["scores", "float"]),
        (llama().with("bos_token_id", 4u32), &["tokenizer.ggml.bos_token_id", "no token 4", "0 to 3"]),
        (llama().with("eos_token_id", -2i32), &["tokenizer.ggml.eos_token_id", "no token -2"]),
        (llama().with("eot_token_id", u64::MAX - 1), &["tokenizer.ggml.eot_token_id"]),
        (llama().with("padding_token_id", "0"), &["padding_token_id", "id of a token", "a string"]),
        (llama().with("mask_token_id", 4u32), &["mask_token_id", "no token 4"]),
        (llama().with("suppress_tokens", vec![1i32, 4]), &["tokenizer.ggml.suppress_tokens", "no token 4", "0 to 3"]),
        (llama().with("suppress_tokens", vec![-1i32]), &["suppress_tokens", "no token -1"]),
        (llama().with("suppress_tokens", 1u32), &["suppress_tokens", "array of ids"]),
        (llama().with("add_bos_token", 1u32), &["add_bos_token", "a bool is expected"]),
        (llama().with("tokenizer.chat_template", 1u32), &["tokenizer.chat_template", "a string"]),
        (
            llama().without("unknown_token_id").with("token_type", vec![1i32; 4]),
            &["0 of the 256 byte tokens", "unknown_token_id"],
        ),
        (gpt2().with("pre", "new-one"), &["tokenizer.ggml.pre", "'new-one'", "gpt-2", "llama-bpe", "qwen2", "falcon"]),
        (gpt2().without("merges"), &["tokenizer.ggml.merges", "missing"]),
        (gpt2().with("merges", vec![0f32]), &["tokenizer.ggml.merges", "array of strings"]),
        (gpt2().with("merges", texts(&["a b", "ab"])), &["merges", "element 1", "'ab'", "two tokens"]),
        (gpt2().with("merges", texts(&[""])), &["merges", "element 0", "two tokens"]),
        (gpt2().with("merges", texts(&["a "])), &["merges", "element 0", "two tokens"]),
        (gpt2().with("merges", texts(&[" a"])), &["merges", "element 0", "two tokens"]),
        (gpt2().with("merges", texts(&["a b", "xyz b"])), &["merges", "element 1", "no token 'xyz'"]),
        (gpt2().with("merges", texts(&["ab ab"])), &["merges", "element 0", "no token 'abab'"]),
        (bert().with("tokens", texts(&["x", "y"])).without("token_type"), &["unknown_token_id", "missing", "[UNK]"]),
        (t5().without("scores"), &["tokenizer.ggml.scores"]),
        (t5().with("token_type", vec![1i32, 1]), &["unknown_token_id", "missing"]),
        (t5().with("precompiled_charsmap", vec![1i32]), &["precompiled_charsmap", "array of bytes"]),
        (t5().with("precompiled_charsmap", vec![1u8, 2]), &["precompiled_charsmap", "2 bytes"]),
        // The table would be of four gigabytes.
        (t5().with("precompiled_charsmap", vec![0xffu8; 12]), &["precompiled_charsmap", "12 bytes"]),
        // Its replacements are no UTF-8.
        (t5().with("precompiled_charsmap", vec![4u8, 0, 0, 0, 0, 0, 0, 0, 0xff]), &["precompiled_charsmap"]),
    ]
}

#[test]
fn what_is_wrong_is_named() {
    for (file, words) in wrong_files() {
        let error = file.read().expect_err(words[0]).to_string();
        for word in words {
            assert!(error.contains(word), "'{word}' is not in: {error}");
        }
    }
    for file in [llama(), gpt2(), bert(), t5()] {
        file.read().unwrap();
    }
}

/// A table that leads out of itself is found when a text comes: an error, no panic.
#[test]
fn a_table_that_leads_nowhere() {
    let mut table = vec![4u8, 0, 0, 0];
    table.extend(0xffff_fc00u32.to_le_bytes());
    let tokenizer = t5().with("precompiled_charsmap", table).read().unwrap();
    let error = tokenizer.encode("a", false, false).unwrap_err().to_string();
    assert!(error.contains("contradicts itself"), "{error}");
    assert!(tokenizer.encode("", false, false).unwrap().is_empty());
}

/// How many bytes there may be is a matter of memory; as many entries as no tokenizer has are refused all the same.
#[test]
fn more_entries_than_any_tokenizer_has() {
    for file in [
        llama().with("tokens", Array::String(vec![String::new(); 5_000_000])),
        llama().with("scores", vec![0f32; 20_000_000]),
        gpt2().with("merges", Array::String(vec![String::new(); 5_000_000])),
    ] {
        let error = file.read().unwrap_err().to_string();
        let words = ["elements for", "two tokens", "the memory that is free suffices"];
        assert!(words.iter().any(|word| error.contains(word)), "{error}");
    }
}

/// Scores that make no sense have a defined order, and every piece of a long chain is taken apart again.
#[test]
fn scores_and_pieces_that_make_no_sense() {
    let endless = llama().with("scores", vec![f32::INFINITY, f32::NEG_INFINITY, 0., -0.]);
    assert_eq!(endless.with("add_space_prefix", false).read().unwrap().encode("abab", false, false).unwrap(), [3, 3]);
    let likely = t5().with("scores", vec![f32::INFINITY, f32::NEG_INFINITY]).read().unwrap();
    assert_eq!(likely.encode("a", false, false).unwrap().len(), 1);

    let n = 3000;
    let chain: Vec<String> = (1..=n).map(|n| "a".repeat(n)).collect();
    let tokens = chain.iter().enumerate().map(|(i, text)| (text.as_str(), if i == 0 { NORMAL } else { UNUSED }));
    let file = Metadata::new("llama").tokens(tokens).with("scores", (0..n).map(|i| i as f32).collect::<Vec<_>>());
    let tokenizer = file.with("unknown_token_id", 0u32).with("add_space_prefix", false).read().unwrap();
    assert_eq!(tokenizer.encode(&"a".repeat(n), false, false).unwrap(), vec![0; n]);
}
