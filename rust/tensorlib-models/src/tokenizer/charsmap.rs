//! Checks SentencePiece's tables of characters before the crate `tokenizers` reads them.

use crate::{Error, Result};

/// The most bytes that replace a character; Unicode's longest mapping has 33.
const LONGEST: usize = 64;

/// A table has the size of a tree in bytes, the tree, and texts that each end with a zero. The crate allocates memory
/// of that size before it checks that the bytes exist.
pub(super) fn check_charsmap(name: &str, bytes: &[u8]) -> Result<()> {
    let rest = bytes.split_first_chunk().map(|(size, rest)| (u32::from_le_bytes(*size) as usize, rest));
    let Some(texts) = rest.and_then(|(size, rest)| rest.get(size..)) else {
        let message = format!("{name}: {} bytes, fewer than the table in it has", bytes.len());
        return Err(Error::format(message));
    };
    let longest = texts.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(0);
    if longest > LONGEST {
        return Err(Error::format(format!("{name}: a character becomes {longest} bytes: up to {LONGEST} are valid")));
    }
    Ok(())
}

/// Decodes base64, up to the first character that is not valid.
pub(super) fn from_base64(text: &str) -> Vec<u8> {
    let digit = |c: &u8| {
        Some(match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for value in text.as_bytes().iter().map_while(digit) {
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
