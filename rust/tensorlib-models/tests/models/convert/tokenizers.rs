//! Tokenizers: a file's gives the tokens that the folder's does.

use super::{convert, write_files};
use crate::common::architectures::all;
use crate::common::tokenizers::byte_character;
use crate::common::Folder;
use serde_json::{json, Value as Json};
use tensorlib::{DType, Gguf};
use tensorlib_models::tokenizer::Tokenizer;

const TEXTS: [&str; 14] = [
    "the thin cat, that is in the hat",
    "  The\tCAT\n\n is 12345 years old!! ",
    "I'll say: it's 3.14159 \u{2581} caf\u{e9} cafe\u{301}",
    "\u{4f60}\u{597d} \u{1f600} na\u{ef}ve",
    "",
    " ",
    "<s> in the </s> text",
    "[CLS] in the [SEP] text",
    "thethethe  hehehe",
    "a",
    "\u{e9}",
    "\n",
    "x = y ** 2  # 10%",
    "hat\u{2014}in\u{2026}the",
];

/// A folder of a tiny Llama with this tokenizer, and the tokenizer of its GGUF file.
fn converted(folder: &Folder, tokenizer: &Json, others: &[(&str, &str)]) -> Result<[Tokenizer; 2], String> {
    let mut model = all().into_iter().find(|model| model.name == "llama of a folder").unwrap();
    let vocab = &tokenizer["model"]["vocab"];
    let listed = vocab.as_array().map(Vec::len).or(vocab.as_object().map(serde_json::Map::len));
    model.spec.vocabulary = listed.unwrap();
    let text = tokenizer.to_string();
    let config = model.config();
    let path = write_files(folder, &[("config.json", config.as_str()), ("tokenizer.json", &text)]);
    others.iter().for_each(|(name, text)| std::fs::write(path.join(name), text).unwrap());
    model.write_safetensors(&path.join("model.safetensors"), &model.spec.tensors(1, DType::F32));
    let out = folder.path("model.gguf");
    convert(&path, None, &out).map_err(|e| e.to_string())?;
    Ok([Tokenizer::from_hub(&path).unwrap(), Tokenizer::from_gguf(&Gguf::open(&out).unwrap()).unwrap()])
}

#[track_caller]
fn expect_same([ours, theirs]: &[Tokenizer; 2]) {
    for text in TEXTS {
        for special in [false, true] {
            let (a, b) = (ours.encode(text, special, false).unwrap(), theirs.encode(text, special, false).unwrap());
            assert_eq!(a, b, "{text:?}");
            assert_eq!(ours.decode(&a, true), theirs.decode(&b, true), "{text:?}");
        }
    }
    assert_eq!(ours.chat_template(), theirs.chat_template());
    assert_eq!((ours.bos(), ours.eos(), ours.begins()), (theirs.bos(), theirs.eos(), theirs.begins()));
    assert_eq!(ours.suppressed(), theirs.suppressed());
}

fn special(id: usize, content: &str) -> Json {
    json!({"id": id, "content": content, "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false})
}

/// A text between a token before it and perhaps one after it.
fn template(first: (&str, usize), last: Option<(&str, usize)>) -> Json {
    let token = |(token, _): (&str, usize)| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let single: Vec<Json> = [token(first), text].into_iter().chain(last.map(token)).collect();
    let tokens: serde_json::Map<String, Json> = std::iter::once(first)
        .chain(last)
        .map(|(token, id)| (token.to_string(), json!({"id": token, "ids": [id], "tokens": [token]})))
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": tokens})
}

/// Numbers of tokens, by their texts.
fn numbered(tokens: &[String]) -> Json {
    tokens.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect::<serde_json::Map<_, _>>().into()
}

const MERGES: [&str; 8] = ["t h", "th e", "h e", "i n", "a t", "h at", "c at", "i s"];

/// Byte pairs whose words are cut by this expression.
fn of_bytes(expression: &str, ignore_merges: bool, nfc: bool) -> Json {
    let bytes = (0..=255u8).map(|byte| byte_character(byte).to_string());
    let pairs = MERGES.iter().map(|merge| merge.replace(' ', ""));
    let tokens: Vec<String> =
        ["<|end|>", "<|start|>"].map(String::from).into_iter().chain(bytes).chain(pairs).collect();
    let split = json!({"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [special(0, "<|end|>"), special(1, "<|start|>")],
        "normalizer": if nfc { json!({"type": "NFC"}) } else { Json::Null },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split,
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]},
        "post_processor": template(("<|start|>", 1), None),
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges, "vocab": numbered(&tokens), "merges": MERGES}
    })
}

const QWEN: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

#[test]
fn byte_pairs_by_the_name_of_their_cuts() {
    let settings = [
        (
            "tokenizer_config.json",
            r#"{"bos_token": "<|start|>", "eos_token": "<|end|>", "chat_template": "{{ messages }}"}"#,
        ),
        ("generation_config.json", r#"{"eos_token_id": [0, 1], "suppress_tokens": [5, 2]}"#),
    ];
    for (i, (expression, ignore, nfc, name)) in
        [(QWEN, false, true, "qwen2"), (LLAMA, true, false, "llama-bpe"), (LLAMA, false, false, "dbrx")]
            .into_iter()
            .enumerate()
    {
        let folder = Folder::new(&format!("convert-bytes-{i}"));
        let both = converted(&folder, &of_bytes(expression, ignore, nfc), &settings).unwrap();
        expect_same(&both);
        let file = Gguf::open(folder.path("model.gguf")).unwrap();
        assert_eq!(file.string("tokenizer.ggml.pre").unwrap(), name);
        assert_eq!(file.u64("tokenizer.ggml.eot_token_id").unwrap(), 1);
        assert!(file.bool("tokenizer.ggml.add_bos_token").unwrap());
        assert_eq!(both.map(|t| t.is_end(1)), [true, true]);
    }
    let folder = Folder::new("convert-bytes-unknown");
    let unknown = converted(&folder, &of_bytes(r"\p{L}{1,7}|.", false, false), &[]).err().unwrap();
    assert!(
        unknown.contains("pre_tokenizer: its steps are those of none of the names") && unknown.contains("qwen2"),
        "{unknown}"
    );
}

/// Pieces with byte tokens, as in Llama 2, and in Gemma without a space before a text.
fn of_pieces(with_space: bool) -> Json {
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let letters = ('!'..='~').map(String::from).chain(["\u{2581}".to_string(), "\u{e9}".to_string()]);
    let mut tokens: Vec<String> =
        ["<unk>", "<s>", "</s>"].map(String::from).into_iter().chain(bytes).chain(letters).collect();
    let mut merges = Vec::new();
    for piece in
        ["th", "he", "\u{2581}t", "the", "\u{2581}th", "\u{2581}the", "in", "at", "hat", "\u{2581}in", "\u{2581}c"]
    {
        // As SentencePiece's models become lists: each way to make a piece.
        let splits = piece.char_indices().skip(1).map(|(at, _)| piece.split_at(at));
        let is_known = |half: &str| tokens.iter().any(|token| token == half);
        let known = splits.filter(|(left, right)| is_known(left) && is_known(right));
        merges.extend(known.map(|(left, right)| format!("{left} {right}")));
        tokens.push(piece.into());
    }
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
    let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
    let back = json!({"type": "Replace", "pattern": {"String": "\u{2581}"}, "content": " "});
    let mut decoders = vec![back, json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
    if with_space {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")],
        "normalizer": if with_space { json!({"type": "Sequence", "normalizers": [prepend, replace]}) } else { replace },
        "pre_tokenizer": null, "post_processor": template(("<s>", 1), None),
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": numbered(&tokens), "merges": merges}
    })
}

#[test]
fn pieces_with_and_without_a_space_before_a_text() {
    let settings = [("tokenizer_config.json", r#"{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}"#)];
    for with_space in [true, false] {
        let folder = Folder::new(&format!("convert-pieces-{with_space}"));
        expect_same(&converted(&folder, &of_pieces(with_space), &settings).unwrap());
        let file = Gguf::open(folder.path("model.gguf")).unwrap();
        assert_eq!(file.string("tokenizer.ggml.model").unwrap(), "llama");
        assert_eq!(file.bool("tokenizer.ggml.add_space_prefix").unwrap(), with_space);
    }
}

#[test]
fn unigrams() {
    let pieces =
        ["<pad>", "</s>", "<unk>", "\u{2581}", "\u{2581}the", "\u{2581}t", "hat", "in", "\u{2581}in", "he", "at"];
    let letters: Vec<String> =
        ('a'..='z').chain("ABCIT.,!0123456789'*#=%:<>/[]PLSE".chars()).map(String::from).collect();
    let all = pieces.iter().map(|piece| piece.to_string()).chain(letters);
    let vocab: Vec<Json> = all.enumerate().map(|(i, piece)| json!([piece, -(i as f64) / 4.0])).collect();
    let marks = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
    let of = |normalizer: Json, cuts: Json| {
        json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [special(0, "<pad>"), special(1, "</s>"), special(2, "<unk>")],
            "normalizer": normalizer, "pre_tokenizer": cuts,
            "post_processor": {"type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
            "decoder": marks,
            "model": {"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": false}
        })
    };
    let settings = [("tokenizer_config.json", r#"{"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}"#)];
    let folder = Folder::new("convert-unigrams");
    let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
    let spaces = json!({"type": "Sequence", "normalizers": [prepend, replace]});
    expect_same(&converted(&folder, &of(spaces, Json::Null), &settings).unwrap());
    let file = Gguf::open(folder.path("model.gguf")).unwrap();
    assert_eq!(file.string("tokenizer.ggml.model").unwrap(), "t5");
    let flag = |key: &str| file.bool(&format!("tokenizer.ggml.{key}")).unwrap();
    assert_eq!((flag("add_space_prefix"), flag("remove_extra_whitespaces")), (true, false));
    drop(file);
    // Line ends are taken for spaces, which files without a table of characters do not say.
    let split = json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, marks]});
    let refusal = converted(&folder, &of(Json::Null, split), &settings).err().unwrap();
    assert!(refusal.contains("GGUF files do not express this tokenizer: the tokens of"), "{refusal}");
}

#[test]
fn words() {
    let words =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "in", "hat", "##s", "##in", "th", "is", "##the"];
    let letters = ('a'..='z').chain("!,.:'*#=%[]<>/0123456789".chars());
    let more = letters.clone().map(|c| format!("##{c}"));
    let tokens: Vec<String> =
        words.map(String::from).into_iter().chain(letters.map(String::from)).chain(more).collect();
    let added: Vec<Json> = words[..5].iter().enumerate().map(|(id, word)| special(id, word)).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": template(("[CLS]", 2), Some(("[SEP]", 3))),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": numbered(&tokens)}
    });
    let settings = [(
        "tokenizer_config.json",
        r#"{"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}"#,
    )];
    let folder = Folder::new("convert-words");
    let [ours, theirs] = converted(&folder, &tokenizer, &settings).unwrap();
    for text in TEXTS {
        let (a, b) = (ours.encode(text, true, false).unwrap(), theirs.encode(text, true, false).unwrap());
        assert_eq!(a, b, "{text:?}");
    }
    let file = Gguf::open(folder.path("model.gguf")).unwrap();
    assert_eq!(file.string("tokenizer.ggml.model").unwrap(), "bert");
    assert_eq!(file.u64("tokenizer.ggml.seperator_token_id").unwrap(), 3);
}
