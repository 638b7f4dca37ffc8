//! Files of known beginnings ([`Kind`]): pages of tokens with their keys and values. Pages that were used last come
//! first, and each after the one before it in its sequences.
//!
//! | entry | contents |
//! |---|---|
//! | `tokens` | U32 [pages, 64] |
//! | `before` | U32 [pages]: the number of the page before, plus 1; 0 for the first page of a sequence |
//! | `page.N` | U8 [bytes of a page]: rows layer by layer, keys before values, head by head |
//! | `state.N` | U8 [bytes]: the state of recurrent layers after page N, for some of the pages of models that have such layers |
//! | metadata `sha256` | of `tokens`, `before`, the pages and the states in their order |

use super::fingerprint::digits;
use super::pool::Pool;
use super::prefix_tree::{PrefixTree, PAGE};
use super::saved_file::{Entries, Entry, Kind};
use super::sequence_states::SequenceStates;
use super::sequences::Known;
use super::Decoder;
use crate::files::SafeFile;
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const KIND: Kind = Kind {
    format: "tensorlib prefixes",
    version: 2,
    what: "a store of prefixes",
    writer: "Sequences::save_prefixes",
    instead: "compute the prompts again and save them",
};

/// Writes a file of all known pages, which gets its name when it is complete. Returns the number of pages.
pub fn write(path: &Path, decoder: &Decoder, pool: &Pool, known: &PrefixTree<Known>) -> Result<usize> {
    let pages = known.list();
    let n = pages.len();
    let tokens = || pages.iter().flat_map(|(tokens, _, _)| tokens.iter().copied());
    let before = || pages.iter().map(|(_, _, before)| before.map_or(0, |i| i as u32 + 1));
    let mut hash = Sha256::new();
    tokens().chain(before()).for_each(|number| hash.update(number.to_le_bytes()));
    for (_, known, _) in &pages {
        hash.update(pool.read(&known.page)?);
    }
    let numbered = pages.iter().enumerate();
    let states = numbered.filter_map(|(i, (_, known, _))| Some((i, known.state.as_ref()?.bytes()?)));
    let states: Vec<(usize, Arc<[u8]>)> = states.collect();
    states.iter().for_each(|(_, bytes)| hash.update(bytes));
    let mut entries = vec![
        ("tokens".to_string(), Entry::numbers(&[n, PAGE], tokens())),
        ("before".to_string(), Entry::numbers(&[n], before())),
    ];
    for (i, (_, known, _)) in pages.iter().enumerate() {
        entries.push((format!("page.{i}"), Entry::bytes(&[pool.page_bytes()], move || pool.read(&known.page))));
    }
    for (i, bytes) in &states {
        entries.push((format!("state.{i}"), Entry::bytes(&[bytes.len()], move || Ok(bytes.to_vec()))));
    }
    KIND.write(path, (decoder, pool.dtype()), entries, digits(hash))?;
    Ok(n)
}

/// A file whose contents were checked.
pub struct Saved {
    file: SafeFile,
    tokens: Vec<u32>,
    before: Vec<u32>,
    offsets: Vec<u64>,
    page_bytes: usize,
    /// The offset of the state after each page, if the file has it.
    states: Vec<Option<u64>>,
    state_bytes: usize,
}

impl Saved {
    /// Reads and checks a file for this pool and states of this size. Nothing of its size is allocated before the size was
    /// found right.
    pub fn open(path: &Path, decoder: &Decoder, pool: &Pool, state_bytes: usize) -> Result<Self> {
        let file = SafeFile::open(path)?;
        let about = |error: Error| match error.hint() {
            Some(_) => error.about(path.display()),
            None => error.about(path.display()).with_hint("the file is damaged: remove it"),
        };
        let sha256 = KIND.check(&file, decoder, pool.dtype()).map_err(about)?;
        Self::read(file, decoder, (pool, state_bytes), &sha256).map_err(about)
    }

    fn read(file: SafeFile, decoder: &Decoder, (pool, state_bytes): (&Pool, usize), sha256: &str) -> Result<Self> {
        let mut entries = Entries::new(&file);
        let before = entries.take("before", "u32", &[-1])?;
        let n = before.shape[0];
        let tokens = entries.take("tokens", "u32", &[PAGE as i64, n])?;
        let page_bytes = pool.page_bytes();
        let page = |i: i64| Ok(entries.take(&format!("page.{i}"), "u8", &[page_bytes as i64])?.offset);
        let offsets = (0..n).map(page).collect::<Result<Vec<u64>>>()?;
        let with_state: HashSet<String> = match state_bytes {
            0 => HashSet::new(),
            _ => entries.names().filter(|name| name.starts_with("state.")).map(String::from).collect(),
        };
        let state = |i: i64| match with_state.get(&format!("state.{i}")) {
            Some(name) => Ok(Some(entries.take(name, "u8", &[state_bytes as i64])?.offset)),
            None => Ok(None),
        };
        let states = (0..n).map(state).collect::<Result<Vec<Option<u64>>>>()?;
        entries.end(&KIND)?;
        let n = offsets.len();
        let (tokens, before) = (file.read(tokens.offset, 4 * PAGE * n)?, file.read(before.offset, 4 * n)?);
        let mut hash = Sha256::new();
        hash.update(&tokens);
        hash.update(&before);
        for offset in &offsets {
            hash.update(file.read(*offset, page_bytes)?);
        }
        for offset in states.iter().flatten() {
            hash.update(file.read(*offset, state_bytes)?);
        }
        if digits(hash) != sha256 {
            let what = "its tokens or pages are not those that were saved: the digest 'sha256' is another";
            return Err(Error::format(what));
        }
        let (tokens, before) = (numbers(&tokens), numbers(&before));
        check(&tokens, &before, decoder)?;
        Ok(Saved { file, tokens, before, offsets, page_bytes, states, state_bytes })
    }

    /// Has a pool take the pages over, as far as it has room, those used last first. Returns how many it took.
    pub fn restore(
        &self,
        pool: &Pool,
        mut states: Option<&mut SequenceStates>,
        known: &mut PrefixTree<Known>,
    ) -> Result<usize> {
        let mut n = 0;
        for (i, offset) in self.offsets.iter().enumerate() {
            let Some(page) = pool.take() else { break };
            pool.write(&page, &self.file.read(*offset, self.page_bytes)?)?;
            let state = match (&mut states, self.states[i]) {
                (Some(states), Some(offset)) => {
                    Some(states.keep_bytes(self.file.read(offset, self.state_bytes)?.into()))
                }
                _ => None,
            };
            let page = Known { page: Arc::new(page), state };
            let Ok(_) =
                known.insert(&self.sequence(i), usize::MAX, |_| Ok::<_, std::convert::Infallible>(page.clone()));
            n += 1;
        }
        // What was used last is used last again.
        for i in (0..n).rev() {
            known.find(&self.sequence(i));
        }
        Ok(n)
    }

    /// The sequence that ends with a page.
    fn sequence(&self, i: usize) -> Vec<u32> {
        let (mut pages, mut at) = (Vec::new(), i + 1);
        while at > 0 {
            pages.push(&self.tokens[(at - 1) * PAGE..at * PAGE]);
            at = self.before[at - 1] as usize;
        }
        pages.into_iter().rev().flatten().copied().collect()
    }
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Refuses tokens that the model does not have, and pages in another order than their sequences'.
fn check(tokens: &[u32], before: &[u32], decoder: &Decoder) -> Result<()> {
    if let Some(token) = tokens.iter().find(|token| **token as usize >= decoder.vocabulary()) {
        let last = decoder.vocabulary() - 1;
        return Err(Error::format(format!("token {token}: 0 to {last} are valid")));
    }
    let (context, mut lengths) = (decoder.context(), Vec::with_capacity(before.len()));
    for (i, before) in before.iter().enumerate() {
        let length = match *before as usize {
            0 => PAGE,
            n if n <= i => lengths[n - 1] + PAGE,
            n => return Err(Error::format(format!("page {i} comes after page {}, which is not before it", n - 1))),
        };
        if length > context.next_multiple_of(PAGE) {
            let message = format!("a sequence of {length} tokens: the context has room for {context}");
            return Err(Error::invalid(message).with_hint("open the model with a larger context (--ctx)"));
        }
        lengths.push(length);
    }
    Ok(())
}
