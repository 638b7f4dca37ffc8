//! The texts of all tokens, in one piece of memory.

use super::Tokenizer;

/// The bytes of each token's text. Control tokens have the text that the vocabulary writes.
#[derive(Clone, Debug)]
pub(crate) struct TokenTexts {
    bytes: Vec<u8>,
    /// Where each token's text ends.
    ends: Vec<usize>,
}

impl TokenTexts {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let mut bytes = Vec::new();
        let end = |id| {
            tokenizer.append(id, false, &mut bytes);
            bytes.len()
        };
        let ends = (0..tokenizer.n_tokens() as u32).map(end).collect();
        TokenTexts { bytes, ends }
    }

    /// The bytes of a token's text: none for a token that does not exist.
    pub(crate) fn get(&self, token: u32) -> &[u8] {
        let token = token as usize;
        let Some(end) = self.ends.get(token) else { return &[] };
        let begin = if token == 0 { 0 } else { self.ends[token - 1] };
        &self.bytes[begin..*end]
    }
}
