//! Text as it is generated, token by token.

use super::decoder::take_whole;
use super::Tokenizer;

/// Makes text of tokens that come one after the other. Tokens may end within a character; it comes out when it is
/// whole.
///
/// A stream goes on where a text was, so the space before its first word stays, which [`Tokenizer::decode`] takes away
/// where encoding has put it there.
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    tokenizer: &'a Tokenizer,
    pending: Vec<u8>,
    skip_special: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer) -> Self {
        Stream { tokenizer, pending: Vec::new(), skip_special: true }
    }

    /// Shows control tokens as they are written in the vocabulary; a stream leaves them out from the start.
    #[must_use]
    pub fn show_special(mut self) -> Self {
        self.skip_special = false;
        self
    }

    /// The text that this token makes whole: nothing where it ends within a character, or is a control token or none.
    /// Bytes that cannot become a character are U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        self.tokenizer.append(id, self.skip_special, &mut self.pending);
        take_whole(&mut self.pending)
    }

    /// What is left: nothing, or U+FFFD for a character that was not finished. The stream may be used again.
    pub fn finish(&mut self) -> String {
        let left = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        left
    }
}
