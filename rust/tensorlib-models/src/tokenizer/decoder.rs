//! Converts tokens back to bytes of text.

use super::escapes::unescaped;
use super::sentencepiece::byte_token;
use super::vocabulary::Kind;

/// A change to the text of a token; steps run in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Replaces every occurrence of a text with another.
    Replace(String, String),
    /// Replaces `<0xFF>` with that byte.
    ByteTokens,
    /// Replaces characters with the bytes that they stand for in GPT-2's table.
    ByteLevel,
    /// Replaces escapes of Python with the bytes that they stand for.
    Escapes,
    /// A token without the prefix begins a word. With `tidy` there is no space before punctuation.
    Words { prefix: String, tidy: bool },
    /// Every token is a word.
    Spaced,
}

/// Converts tokens to text.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoder {
    pub(super) steps: Vec<Step>,
    /// Whether to remove the space that encoding puts before a text.
    pub(super) strip_start: bool,
    /// Whether to remove the space that the last word's end mark became.
    pub(super) strip_end: bool,
}

/// The byte that a character stands for in GPT-2's table. Printable bytes of Latin-1 stand for themselves; the
/// characters from U+0100 on stand for the others, in order.
pub(super) fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    u8::try_from(match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => code,
        0x100..=0x120 => code - 0x100,
        0x121..=0x142 => code - 0x121 + 0x7f,
        0x143 => 0xad,
        _ => return None,
    })
    .ok()
}

/// Removes the space before punctuation and the endings of English verbs, as the published WordPiece decoders do.
fn tidied(word: &str) -> &str {
    match word {
        " ." | " ?" | " !" | " ," | " n't" | " 'm" | " 's" | " 've" | " 're" => &word[1..],
        word => word,
    }
}

impl Decoder {
    /// Appends the bytes of one token that follows others.
    pub(super) fn append(&self, text: &str, kind: Kind, out: &mut Vec<u8>) {
        let mut text = text.to_string();
        for step in &self.steps {
            match step {
                Step::Replace(from, to) => text = text.replace(from.as_str(), to),
                Step::ByteTokens => {
                    if let Some(byte) = byte_token(&text) {
                        return out.push(byte);
                    }
                }
                Step::ByteLevel => {
                    // Tokens that are cut out before the table is applied stand for their own text.
                    if !kind.is_special() && kind != Kind::UserDefined {
                        if let Some(bytes) = text.chars().map(byte_of).collect::<Option<Vec<u8>>>() {
                            return out.extend(bytes);
                        }
                    }
                }
                Step::Escapes => {
                    if kind == Kind::Normal {
                        if let Some(bytes) = unescaped(&text) {
                            return out.extend(bytes);
                        }
                    }
                }
                Step::Words { prefix, tidy } => {
                    text = match text.strip_prefix(prefix.as_str()) {
                        Some(rest) if !prefix.is_empty() => rest.to_string(),
                        _ if *tidy => tidied(&format!(" {text}")).to_string(),
                        _ => format!(" {text}"),
                    }
                }
                Step::Spaced => text.insert(0, ' '),
            }
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// The text of the bytes of all tokens, with U+FFFD for bytes that are not UTF-8.
    pub(super) fn finish(&self, bytes: &[u8]) -> String {
        let bytes = if self.strip_start { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes };
        let bytes = if self.strip_end { bytes.strip_suffix(b" ").unwrap_or(bytes) } else { bytes };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Takes the whole characters from the start of `pending` and leaves what may begin another one. Invalid bytes become
/// U+FFFD, as in [`String::from_utf8_lossy`].
pub(super) fn take_whole(pending: &mut Vec<u8>) -> String {
    let mut out = String::new();
    let mut done = 0;
    for chunk in pending.utf8_chunks() {
        out.push_str(chunk.valid());
        done += chunk.valid().len();
        let broken = chunk.invalid();
        let may_go_on = done + broken.len() == pending.len() && is_start(broken);
        if broken.is_empty() || may_go_on {
            break;
        }
        out.push(char::REPLACEMENT_CHARACTER);
        done += broken.len();
    }
    pending.drain(..done);
    out
}

/// Whether more bytes could complete these to a character.
fn is_start(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
