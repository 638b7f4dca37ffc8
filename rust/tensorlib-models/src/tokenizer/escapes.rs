//! Bytes written as Python writes them: in vocabularies of RWKV, whose tokens need not be text.

use std::fmt::Write;
use std::str::Chars;

/// Bytes as `repr` of Python writes them between its quotes, which is how GGUF files have such tokens.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let has = |quote: u8| bytes.contains(&quote);
    // Python takes the quotes that it does not have to escape.
    let quote = if has(b'\'') && !has(b'"') { b'"' } else { b'\'' };
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match *byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            byte if byte == quote => text.extend(['\\', char::from(byte)]),
            byte @ 0x20..=0x7e => text.push(char::from(byte)),
            byte => drop(write!(text, "\\x{byte:02x}")), // a string takes everything
        }
    }
    text
}

/// The bytes of a token as GGUF files have it; `None` if an escape is not complete.
pub(super) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next()? {
                'x' => bytes.push(u8::try_from(hexadecimal(&mut rest, 2)?).ok()?),
                other => push(&mut bytes, after_backslash(other)),
            },
            other => push(&mut bytes, other),
        }
    }
    Some(bytes)
}

/// The bytes of a literal of Python, a text or bytes; `None` if it is none.
pub(super) fn literal(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('b');
    let (is_text, quoted) = (inner.is_none(), inner.unwrap_or(text));
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let mut rest = quoted.strip_prefix(quote)?.strip_suffix(quote)?.chars();
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next()? {
                known @ ('t' | 'n' | 'r' | '\\' | '\'' | '"') => push(&mut bytes, after_backslash(known)),
                'x' if !is_text => bytes.push(u8::try_from(hexadecimal(&mut rest, 2)?).ok()?),
                'x' => push(&mut bytes, char::from_u32(hexadecimal(&mut rest, 2)?)?),
                'u' if is_text => push(&mut bytes, char::from_u32(hexadecimal(&mut rest, 4)?)?),
                'U' if is_text => push(&mut bytes, char::from_u32(hexadecimal(&mut rest, 8)?)?),
                _ => return None,
            },
            end if end == quote => return None,
            other if is_text || other.is_ascii() => push(&mut bytes, other),
            _ => return None,
        }
    }
    Some(bytes)
}

/// What a character stands for after a backslash.
fn after_backslash(character: char) -> char {
    match character {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        other => other,
    }
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// A number of this many digits.
fn hexadecimal(rest: &mut Chars, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0, |number, _| Some(number * 16 + rest.next()?.to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_python_writes_them() {
        for (bytes, text) in [
            (&b"plain text"[..], "plain text"),
            (b"\t\n\r\\", "\\t\\n\\r\\\\"),
            (b"\x00\x1f\x7f\xff", "\\x00\\x1f\\x7f\\xff"),
            (b"it's", "it's"),
            (b"\"", "\""),
            (b"'\"", "\\'\""),
            ("\u{e9}".as_bytes(), "\\xc3\\xa9"),
        ] {
            assert_eq!(escaped(bytes), text);
            assert_eq!(unescaped(text).unwrap(), bytes, "{text}");
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&all)).unwrap(), all);
        // Characters that are written as they are.
        assert_eq!(unescaped("\u{e9}\\q").unwrap(), "\u{e9}q".as_bytes());
        for broken in ["\\", "a\\x", "\\x1", "\\xg0", "\\x0\u{e9}"] {
            assert_eq!(unescaped(broken), None, "{broken}");
        }
    }

    #[test]
    fn literals_of_python() {
        for (text, bytes) in [
            ("'a b'", &b"a b"[..]),
            ("\"it's\"", b"it's"),
            ("b'\\xff\\n'", b"\xff\n"),
            ("'\\xff'", "\u{ff}".as_bytes()),
            ("'\\u4f60\\U0001f600'", "\u{4f60}\u{1f600}".as_bytes()),
            ("'\u{4f60}\\\\\\''", "\u{4f60}\\'".as_bytes()),
            ("''", b""),
        ] {
            assert_eq!(literal(text).as_deref(), Some(bytes), "{text}");
        }
        for broken in [
            "",
            "'",
            "b",
            "b'",
            "a",
            "'a",
            "a'",
            "'a\"",
            "'a'b'",
            "'\\'",
            "b'\u{e9}'",
            "b'\\u0041'",
            "'\\q'",
            "'\\ud800'",
        ] {
            assert_eq!(literal(broken), None, "{broken}");
        }
    }
}
