//! Text to tokens and back.

use crate::{Error, Result};
use std::path::Path;

/// A vocabulary, and the way between texts and its tokens.
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Of a folder's tokenizer.json.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind).
    pub fn from_hub(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        tokenizers::Tokenizer::from_file(&path)
            .map(Tokenizer)
            .map_err(|e| Error::format(format!("{}: {e}", path.display())))
    }

    /// Of a file's metadata.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind).
    pub fn from_gguf(_: &tensorlib::Gguf) -> Result<Self> {
        Ok(Tokenizer(tokenizers::Tokenizer::new(tokenizers::models::wordlevel::WordLevel::default())))
    }

    /// The tokens of a text.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind).
    pub fn encode(&self, text: &str, add_special: bool, _parse_special: bool) -> Result<Vec<u32>> {
        self.0.encode(text, add_special).map(|e| e.get_ids().to_vec()).map_err(|e| Error::invalid(e.to_string()))
    }
}
