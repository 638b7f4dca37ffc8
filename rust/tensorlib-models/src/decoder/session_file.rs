//! Files of sessions ([`Kind`]): the tokens, and a layer's keys and values as bytes.
//!
//! | entry | contents |
//! |---|---|
//! | `tokens` | U32 [tokens] |
//! | `blk.N.keys`, `blk.N.values` | U8 [heads, tokens, bytes of a head's row], in the cache's type |
//! | metadata `sha256` | of the tokens' bytes and the rows, in the order of layers, keys before values |

use super::cache::{Cache, Rows};
use super::fingerprint::digits;
use super::saved_file::{Entries, Entry, Kind};
use super::Decoder;
use crate::files::SafeFile;
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::Path;

const KIND: Kind = Kind {
    format: "tensorlib session",
    version: 2,
    what: "a session",
    writer: "Session::save",
    instead: "feed the tokens again and save them",
};

/// The rows of a cache with their names.
fn named(cache: &Cache) -> impl Iterator<Item = (String, Rows<'_>)> {
    let name = |i: usize| format!("blk.{}.{}", i / 2, if i % 2 == 0 { "keys" } else { "values" });
    cache.all_rows().enumerate().map(move |(i, rows)| (name(i), rows))
}

/// Writes a file, which gets its name when it is complete.
pub fn write(path: &Path, decoder: &Decoder, tokens: &[u32], cache: &Cache) -> Result<()> {
    let mut hash = Sha256::new();
    tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
    let n = tokens.len();
    for rows in cache.all_rows() {
        hash.update(first_of(rows, n)?);
    }
    let mut entries = vec![("tokens".to_string(), Entry::numbers(&[n], tokens.iter().copied()))];
    for (name, rows) in named(cache) {
        let shape = [rows.heads(), n, rows.head_row_bytes()];
        entries.push((name, Entry::bytes(&shape, move || first_of(rows, n))));
    }
    KIND.write(path, (decoder, cache.dtype()), entries, digits(hash))
}

/// The rows of the first `n` tokens.
fn first_of(rows: Rows, n: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; rows.row_bytes() * n];
    rows.read(0, &mut bytes)?;
    Ok(bytes)
}

/// A file whose contents were checked.
pub struct Saved {
    file: SafeFile,
    /// The tokens of the session.
    pub tokens: Vec<u32>,
    /// The offsets of the rows, in the order of [`Cache::all_rows`].
    offsets: Vec<u64>,
    sha256: String,
}

impl Saved {
    /// Reads and checks a file for a session of this decoder and this cache. Nothing of its size is allocated before
    /// the size was found right.
    pub fn open(path: &Path, decoder: &Decoder, cache: &Cache) -> Result<Self> {
        let file = SafeFile::open(path)?;
        let about = |error: Error| match error.hint() {
            Some(_) => error.about(path.display()),
            None => error.about(path.display()).with_hint("the file is damaged: feed the tokens again and save them"),
        };
        let sha256 = KIND.check(&file, decoder, cache.dtype()).map_err(about)?;
        let mut entries = Entries::new(&file);
        let entry = entries.take("tokens", "u32", &[-1]).map_err(about)?;
        let (n, most) = (entry.shape[0], decoder.context());
        if n > most as i64 {
            let what = format!("a session of {n} tokens: the context has room for {most}");
            return Err(about(Error::invalid(what).with_hint("open the model with a larger context (--ctx)")));
        }
        let mut offsets = Vec::new();
        for (name, rows) in named(cache) {
            let shape = [rows.head_row_bytes() as i64, n, rows.heads() as i64];
            offsets.push(entries.take(&name, "u8", &shape).map_err(about)?.offset);
        }
        entries.end(&KIND).map_err(about)?;
        let bytes = file.read(entry.offset, 4 * n as usize)?;
        let token = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let tokens: Vec<u32> = bytes.chunks_exact(4).map(token).collect();
        if let Some(token) = tokens.iter().find(|token| **token as usize >= decoder.vocabulary()) {
            let last = decoder.vocabulary() - 1;
            return Err(about(Error::format(format!("token {token}: 0 to {last} are valid"))));
        }
        let saved = Saved { file, tokens, offsets, sha256 };
        saved.each_row(cache, |_, _| Ok(())).map_err(about)?;
        Ok(saved)
    }

    /// Copies the rows to the cache.
    pub fn read_rows(&self, cache: &Cache) -> Result<()> {
        self.each_row(cache, |rows, bytes| rows.write(0, bytes))
    }

    /// Calls `take` with the saved rows of each layer's keys and values, and compares the digest.
    fn each_row(&self, cache: &Cache, take: impl Fn(Rows, &[u8]) -> Result<()>) -> Result<()> {
        let mut hash = Sha256::new();
        self.tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        for (rows, offset) in cache.all_rows().zip(&self.offsets) {
            let bytes = self.file.read(*offset, rows.row_bytes() * self.tokens.len())?;
            hash.update(&bytes);
            take(rows, &bytes)?;
        }
        if digits(hash) != self.sha256 {
            let what = "its tokens or rows are not those that were saved: the digest 'sha256' is another";
            return Err(Error::format(what));
        }
        Ok(())
    }
}
