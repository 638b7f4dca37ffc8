//! Files that contain tokenizers.

use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tensorlib::{Array, Gguf, GgufWriter, Value};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::Result;

/// A temporary folder, removed when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tensorlib-tokenizer-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn write(&self, name: &str, contents: &str) {
        std::fs::write(self.0.join(name), contents).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub const NORMAL: i32 = 1;
pub const UNKNOWN: i32 = 2;
pub const CONTROL: i32 = 3;
pub const USER_DEFINED: i32 = 4;
pub const UNUSED: i32 = 5;
pub const BYTE: i32 = 6;

/// The metadata of a tokenizer, which tests change before it is read.
#[derive(Clone, Default)]
pub struct Metadata(Vec<(String, Value)>);

impl Metadata {
    pub fn new(model: &str) -> Self {
        Metadata::default().with("model", model)
    }

    /// Sets `tokenizer.ggml.KEY`, or a key with a dot in it as it is.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let key = if key.contains('.') { key.to_string() } else { format!("tokenizer.ggml.{key}") };
        self.0.retain(|(name, _)| *name != key);
        self.0.push((key, value.into()));
        self
    }

    pub fn without(mut self, key: &str) -> Self {
        self.0.retain(|(name, _)| *name != format!("tokenizer.ggml.{key}"));
        self
    }

    /// Tokens with types.
    pub fn tokens<'a>(self, tokens: impl IntoIterator<Item = (&'a str, i32)>) -> Self {
        let (texts, types): (Vec<String>, Vec<i32>) = tokens.into_iter().map(|(t, kind)| (t.to_string(), kind)).unzip();
        self.with("tokens", Array::String(texts)).with("token_type", types)
    }

    pub fn merges(self, merges: &[(String, String)]) -> Self {
        let merges = merges.iter().map(|(left, right)| format!("{left} {right}")).collect();
        self.with("merges", Array::String(merges))
    }

    pub fn read(&self) -> Result<Tokenizer> {
        let folder = Folder::new();
        let path = folder.0.join("vocabulary.gguf");
        let mut writer = GgufWriter::create(&path).unwrap();
        for (key, value) in &self.0 {
            writer.set(key, value.clone()).unwrap();
        }
        writer.finish().unwrap();
        Tokenizer::from_gguf(&Gguf::open(&path).unwrap())
    }
}

/// A folder with this `tokenizer.json` and other files, read.
pub fn hub(tokenizer: &Json, others: &[(&str, Json)]) -> Result<Tokenizer> {
    let folder = Folder::new();
    folder.write("tokenizer.json", &tokenizer.to_string());
    for (name, contents) in others {
        folder.write(name, &contents.to_string());
    }
    Tokenizer::from_hub(&folder.0)
}

/// The 256 tokens for bytes of SentencePiece.
pub fn byte_tokens() -> Vec<String> {
    (0..256).map(|byte| format!("<0x{byte:02X}>")).collect()
}

/// The character that stands for a byte in GPT-2's table, worked out from its definition: bytes that are printable in
/// Latin-1 stand for themselves, the others get the characters from 256 on.
pub fn byte_character(byte: u8) -> char {
    let printable = |b: u8| matches!(b, 33..=126 | 161..=172 | 174..=255);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|b| !printable(*b)).count();
    char::from_u32(256 + before as u32).unwrap()
}

pub fn byte_level(text: &str) -> String {
    text.bytes().map(byte_character).collect()
}
