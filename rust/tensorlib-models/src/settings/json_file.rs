//! JSON files of a model's folder.

use crate::files::{check_size, kind_hint, open_regular};
use crate::{Error, Result};
use serde_json::Value as Json;
use std::io::Read;
use std::path::Path;

/// Some Windows editors put this before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads a JSON file.
pub(crate) fn read_json(path: &Path) -> Result<Json> {
    let text = read_text(path)?;
    parse_json(&text).map_err(|e| {
        let error = Error::format(format!("{}: is no JSON: {e}", path.display()));
        match kind_hint(&text) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

/// Reads a regular file that fits into memory.
pub(crate) fn read_text(path: &Path) -> Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let size = file.metadata().map_err(|e| Error::io(path, "read", &e))?.len();
    check_size(path.display(), size)?;
    let mut text = Vec::new();
    // If the file grows meanwhile, it is read only up to the size that was checked.
    file.by_ref().take(size).read_to_end(&mut text).map_err(|e| Error::io(path, "read", &e))?;
    Ok(text)
}

/// Parses a text as JSON, with or without a byte order mark. Python also writes `Infinity`, `-Infinity` and `NaN`, which
/// become texts.
pub(crate) fn parse_json(text: &[u8]) -> serde_json::Result<Json> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    serde_json::from_slice(text).or_else(|e| serde_json::from_slice(&with_quotes(text)).map_err(|_| e))
}

/// A JSON text with quotes around numbers that JSON does not have.
fn with_quotes(text: &[u8]) -> Vec<u8> {
    const NUMBERS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let (mut made, mut at, mut in_text) = (Vec::with_capacity(text.len()), 0, false);
    while let Some(byte) = text.get(at) {
        let number = NUMBERS.iter().find(|number| !in_text && text[at..].starts_with(number));
        if let Some(number) = number {
            made.extend([b"\"", *number, b"\""].concat());
            at += number.len();
            continue;
        }
        let escaped = usize::from(in_text && *byte == b'\\');
        in_text ^= *byte == b'"';
        made.extend(text[at..].iter().take(1 + escaped));
        at += 1 + escaped;
    }
    made
}

/// Reads a JSON file if it exists.
pub(crate) fn optional_json(path: &Path) -> Result<Option<Json>> {
    path.exists().then(|| read_json(path)).transpose()
}
