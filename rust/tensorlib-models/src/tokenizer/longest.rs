//! The longest token that a text goes on with, again and again: how RWKV's tokenizers cut texts, whose tokens are bytes.

use crate::{Error, Result};

/// The most bytes of a token. Published ones have up to 128.
const LONGEST: usize = 1024;

/// A vocabulary of bytes.
pub(super) struct LongestMatch {
    /// In the order of their bytes, so that those with one beginning are neighbours and the shortest comes first.
    tokens: Vec<(Box<[u8]>, u32)>,
    /// The token for a byte with which none begins.
    unknown: Option<u32>,
}

impl LongestMatch {
    /// The first of several tokens with the same bytes counts. `what` is the start of messages.
    pub(super) fn new(what: &str, mut tokens: Vec<(Box<[u8]>, u32)>, unknown: Option<u32>) -> Result<Self> {
        if let Some((bytes, id)) = tokens.iter().find(|(bytes, _)| bytes.is_empty() || bytes.len() > LONGEST) {
            let n = bytes.len();
            return Err(Error::format(format!("{what}: token {id} has {n} bytes: 1 to {LONGEST} are valid")));
        }
        tokens.sort();
        tokens.dedup_by(|later, first| later.0 == first.0);
        let made = LongestMatch { tokens, unknown };
        match (0..=255).find(|byte| made.longest(&[*byte]).is_none()) {
            Some(byte) if unknown.is_none() => {
                Err(Error::format(format!("{what}: no token for the byte 0x{byte:02x}, and none for what is unknown")))
            }
            _ => Ok(made),
        }
    }

    /// Appends the ids of a text.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (id, n) = self.longest(rest).map_or((self.unknown, 1), |(id, n)| (Some(id), n));
            ids.extend(id);
            rest = &rest[n..];
        }
    }

    /// The longest token at the beginning of these bytes, and its length.
    fn longest(&self, bytes: &[u8]) -> Option<(u32, usize)> {
        let (mut left, mut found) = (&self.tokens[..], None);
        for (depth, byte) in bytes.iter().enumerate() {
            // Those left have the bytes before this one in common. None of them is as short as that but the one found.
            let first = left.partition_point(|(token, _)| token.get(depth).is_none_or(|other| other < byte));
            let count = left[first..].partition_point(|(token, _)| token.get(depth) == Some(byte));
            left = &left[first..first + count];
            match left.first() {
                None => break,
                Some((token, id)) if token.len() == depth + 1 => found = Some((*id, depth + 1)),
                Some(_) => {}
            }
        }
        found
    }
}
