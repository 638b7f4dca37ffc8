//! Decodes text as it is generated, token by token.

use super::decoder::take_whole;
use super::Tokenizer;

/// Converts a sequence of tokens to text. A token may end within a character, which comes out when it is complete.
///
/// A stream continues a text, so it keeps the space before its first word. [`Tokenizer::decode`] removes that space if
/// encoding added it.
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    tokenizer: &'a Tokenizer,
    pending: Pending,
    skip_special: bool,
}

/// The bytes of a stream that are no whole character yet, without its tokenizer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(Vec<u8>);

impl Pending {
    /// As [`Stream::push`].
    pub(crate) fn push(&mut self, tokenizer: &Tokenizer, id: u32, skip_special: bool) -> String {
        tokenizer.append(id, skip_special, &mut self.0);
        take_whole(&mut self.0)
    }

    /// As [`Stream::finish`].
    pub(crate) fn finish(&mut self) -> String {
        let left = String::from_utf8_lossy(&self.0).into_owned();
        self.0.clear();
        left
    }
}

impl<'a> Stream<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer) -> Self {
        Stream { tokenizer, pending: Pending::default(), skip_special: true }
    }

    /// Shows control tokens as the vocabulary writes them; by default a stream leaves them out.
    #[must_use]
    pub fn show_special(mut self) -> Self {
        self.skip_special = false;
        self
    }

    /// The text that this token completes: empty if the token ends within a character, or is a control token or
    /// unknown. Bytes that cannot become a character are U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        self.pending.push(self.tokenizer, id, self.skip_special)
    }

    /// The rest: nothing, or U+FFFD for an incomplete character. The stream can be used again.
    pub fn finish(&mut self) -> String {
        self.pending.finish()
    }
}
