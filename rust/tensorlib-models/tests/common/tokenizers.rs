//! Vocabularies that can write every byte, as the keys of GGUF files.

use super::architectures::{all, Model};
use super::Folder;
use tensorlib::{Backend, DType, Gguf, GgufWriter, Value};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Decoder, DecoderOptions};

pub type Metadata = Vec<(String, Value)>;

/// Tokens longer than a character that JSON and English often have.
const PIECES: [&str; 14] =
    ["{\"", "\":", "\",", "tr", "ue", "true", "nu", "ll", "null", "fa", "ls", "fals", "false", "}]"];

/// Texts, kinds and scores of tokens.
#[derive(Default)]
struct Tokens(Vec<String>, Vec<i32>, Vec<f32>);

impl Tokens {
    fn add(&mut self, text: impl Into<String>, kind: i32) {
        self.0.push(text.into());
        self.1.push(kind);
        self.2.push(-(self.0.len() as f32));
    }

    fn metadata(self, model: &str, begin: u32, end: u32) -> Metadata {
        vec![
            ("tokenizer.ggml.model".into(), model.into()),
            ("tokenizer.ggml.tokens".into(), self.0.into()),
            ("tokenizer.ggml.token_type".into(), self.1.into()),
            ("tokenizer.ggml.scores".into(), self.2.into()),
            ("tokenizer.ggml.bos_token_id".into(), begin.into()),
            ("tokenizer.ggml.eos_token_id".into(), end.into()),
        ]
    }
}

/// The character of a byte in GPT-2's table.
pub fn byte_character(byte: u8) -> char {
    let printable = |b: u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from(byte);
    }
    let others = (0..byte).filter(|b| !printable(*b)).count() as u32;
    char::from_u32(0x100 + others).unwrap()
}

/// Byte pairs: three control tokens, 256 bytes, merges, and text that is cut out first.
pub fn byte_pairs() -> Metadata {
    byte_pairs_with(&[], &[])
}

/// As `byte_pairs`, with further control tokens and further text that is cut out first.
pub fn byte_pairs_with(controls: &[&str], texts: &[&str]) -> Metadata {
    let mut tokens = Tokens::default();
    ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].into_iter().for_each(|text| tokens.add(text, 3));
    (0..=255).for_each(|byte| tokens.add(byte_character(byte).to_string(), 1));
    PIECES.into_iter().for_each(|text| tokens.add(text, 1));
    tokens.add("<tool>", 4);
    controls.iter().for_each(|text| tokens.add(*text, 3));
    texts.iter().for_each(|text| tokens.add(*text, 4));
    let merges =
        ["{ \"", "\" :", "\" ,", "t r", "u e", "tr ue", "n u", "l l", "nu ll", "f a", "l s", "fa ls", "fals e", "} ]"];
    let mut metadata = tokens.metadata("gpt2", 0, 0);
    metadata.push(("tokenizer.ggml.pre".into(), "gpt-2".into()));
    metadata.push(("tokenizer.ggml.merges".into(), merges.map(String::from).to_vec().into()));
    metadata
}

/// SentencePiece: an unknown and two control tokens, 256 byte tokens, marked spaces, letters, and longer pieces.
pub fn sentence_pieces() -> Metadata {
    let mut tokens = Tokens::default();
    tokens.add("<unk>", 2);
    ["<s>", "</s>"].into_iter().for_each(|text| tokens.add(text, 3));
    (0..=255u8).for_each(|byte| tokens.add(format!("<0x{byte:02X}>"), 6));
    PIECES.into_iter().for_each(|text| tokens.add(text, 1));
    ["\u{2581}", "\u{2581}{", "\u{2581}\"", "\u{e9}", "\u{4e16}"].into_iter().for_each(|text| tokens.add(text, 1));
    ('!'..='~').for_each(|letter| tokens.add(letter, 1));
    tokens.metadata("llama", 1, 2)
}

/// The tokenizer of these keys.
pub fn tokenizer(folder: &Folder, metadata: &Metadata) -> Tokenizer {
    let path = folder.path("vocabulary.gguf");
    let mut writer = GgufWriter::create(&path).unwrap();
    metadata.iter().for_each(|(key, value)| writer.set(key, value.clone()).unwrap());
    writer.finish().unwrap();
    Tokenizer::from_gguf(&Gguf::open(&path).unwrap()).unwrap()
}

/// A Llama of random weights with this vocabulary.
pub fn decoder(folder: &Folder, vocabulary: &Metadata, backend: &Backend, options: &DecoderOptions) -> Decoder {
    let Model { name, mut spec, gguf, hub } = all().into_iter().find(|model| model.name == "llama").unwrap();
    spec.vocabulary = tokenizer(folder, vocabulary).n_tokens();
    let (path, tensors) = (folder.path("model.gguf"), spec.tensors(2, DType::F32));
    let mut metadata = Model { name, spec, gguf, hub }.metadata();
    metadata.retain(|(key, _)| !key.starts_with("tokenizer."));
    metadata.extend(vocabulary.iter().cloned());
    tensors.write_gguf(&path, &metadata);
    Decoder::open(&path, backend, options).unwrap()
}
