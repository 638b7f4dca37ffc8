//! Files of sessions ([`Kind`]): the tokens, and a layer's keys and values as bytes.
//!
//! | entry | contents |
//! |---|---|
//! | `tokens` | U32 [tokens] |
//! | `blk.N.keys`, `blk.N.values` | U8 [heads, tokens, bytes of a head's row], in the cache's type |
//! | `state.P` | U8 [bytes]: the state of recurrent layers after P tokens, layer by layer, columns of the convolution before matrices; the last P is the number of tokens |
//! | metadata `sha256` | of the tokens' bytes, the rows in the order of layers, keys before values, and the states by ascending P |

use super::cache::{Cache, Rows};
use super::fingerprint::digits;
use super::saved_file::{Entries, Entry, Kind};
use super::states::States;
use super::Decoder;
use crate::files::SafeFile;
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

const KIND: Kind = Kind {
    format: "tensorlib session",
    version: 2,
    what: "a session",
    writer: "Session::save",
    instead: "feed the tokens again and save them",
};

/// The rows of a cache with their names.
fn named(cache: &Cache) -> impl Iterator<Item = (String, Rows<'_>)> {
    cache.rows_of_layers().flat_map(|(layer, keys, values)| {
        let values = values.map(|values| (format!("blk.{layer}.values"), values));
        std::iter::once((format!("blk.{layer}.keys"), keys)).chain(values)
    })
}

/// Writes a file, which gets its name when it is complete.
pub fn write(path: &Path, decoder: &Decoder, tokens: &[u32], cache: &Cache, states: Option<&States>) -> Result<()> {
    let mut hash = Sha256::new();
    tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
    let n = tokens.len();
    for rows in cache.all_rows() {
        hash.update(first_of(rows, n)?);
    }
    let states = states.map_or_else(|| Ok(Vec::new()), States::list)?;
    states.iter().for_each(|(_, bytes)| hash.update(bytes));
    let mut entries = vec![("tokens".to_string(), Entry::numbers(&[n], tokens.iter().copied()))];
    for (position, bytes) in &states {
        entries.push((format!("state.{position}"), Entry::bytes(&[bytes.len()], move || Ok(bytes.to_vec()))));
    }
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
    /// The states' positions, which ascend, and offsets.
    states: Vec<(usize, u64)>,
    state_bytes: usize,
    sha256: String,
}

impl Saved {
    /// Reads and checks a file for a session of this decoder, with this cache and states of this size. Nothing of its
    /// size is allocated before the size was found right.
    pub fn open(path: &Path, decoder: &Decoder, cache: &Cache, state_bytes: usize) -> Result<Self> {
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
        let states = states_of(&mut entries, n, state_bytes).map_err(about)?;
        entries.end(&KIND).map_err(about)?;
        let bytes = file.read(entry.offset, 4 * n as usize)?;
        let token = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let tokens: Vec<u32> = bytes.chunks_exact(4).map(token).collect();
        if let Some(token) = tokens.iter().find(|token| **token as usize >= decoder.vocabulary()) {
            let last = decoder.vocabulary() - 1;
            return Err(about(Error::format(format!("token {token}: 0 to {last} are valid"))));
        }
        let saved = Saved { file, tokens, offsets, states, state_bytes, sha256 };
        saved.each_row(cache, |_, _| Ok(())).map_err(about)?;
        Ok(saved)
    }

    /// Copies the rows to the cache.
    pub fn read_rows(&self, cache: &Cache) -> Result<()> {
        self.each_row(cache, |rows, bytes| rows.write(0, bytes))
    }

    /// The states with their positions, as [`States::list`] gave them.
    pub fn read_states(&self) -> Result<Vec<(usize, Arc<[u8]>)>> {
        let read =
            |(position, offset): &(usize, u64)| Ok((*position, self.file.read(*offset, self.state_bytes)?.into()));
        self.states.iter().map(read).collect()
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
        for (_, bytes) in self.read_states()? {
            hash.update(bytes);
        }
        if digits(hash) != self.sha256 {
            let what = "its tokens or rows are not those that were saved: the digest 'sha256' is another";
            return Err(Error::format(what));
        }
        Ok(())
    }
}

/// The positions and offsets of states; none for a model without recurrent layers.
fn states_of(entries: &mut Entries, tokens: i64, state_bytes: usize) -> Result<Vec<(usize, u64)>> {
    if state_bytes == 0 {
        return Ok(Vec::new());
    }
    let names = entries.names().filter_map(|name| name.strip_prefix("state."));
    let mut positions: Vec<usize> = names.filter_map(|position| position.parse().ok()).collect();
    positions.sort_unstable();
    if positions.last().map(|last| *last as i64) != Some(tokens) {
        return Err(Error::format(format!("tensor 'state.{tokens}' is missing, the last of those of this name")));
    }
    let state = |position: usize| {
        let entry = entries.take(&format!("state.{position}"), "u8", &[state_bytes as i64])?;
        Ok((position, entry.offset))
    };
    positions.into_iter().map(state).collect()
}
