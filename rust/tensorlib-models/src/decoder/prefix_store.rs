//! Keys and values of the beginnings of sequences.

use super::prefix_tree::{PrefixTree, PAGE};
use super::{Decoder, Session};
use crate::{Error, Result};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tensorlib::DType;

/// Keys and values of the beginnings of sequences, which sessions of one model take over instead of computing them
/// again: a system prompt, a document, the turns of a conversation so far. They are kept in pages of 64 tokens. When
/// the store is full, the pages that were used longest ago make room.
///
/// A session that took pages over gives the logits that it would give if it had computed them: with equal bits if the
/// decoder is [reproducible](crate::DecoderOptions::reproducible), otherwise up to rounding.
///
/// Any number of threads may use a store.
pub struct PrefixStore {
    decoder: Decoder,
    cache: DType,
    page_bytes: usize,
    most: usize,
    /// The rows of a page, layer by layer, keys before values.
    tree: Mutex<PrefixTree<Arc<[u8]>>>,
}

impl fmt::Debug for PrefixStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("PrefixStore");
        all.field("decoder", &self.decoder).field("cache", &self.cache).field("memory", &self.memory());
        all.field("most_memory", &self.most_memory()).finish_non_exhaustive()
    }
}

impl PrefixStore {
    /// Makes an empty store for sessions of this decoder with this type of cache. It takes at most `bytes` bytes of main
    /// memory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for less than a page; as [`Decoder::session`].
    pub fn new(decoder: &Decoder, cache: DType, bytes: usize) -> Result<Self> {
        if decoder.0.network.shape.recurrence.is_some() {
            let message = format!("a store for '{}': models with recurrent layers", decoder.architecture());
            let hint = "their sessions go back by `checkpoint` and `rewind`, and continue in other processes by `save`";
            return Err(Error::unsupported(message + " have no rows to share").with_hint(hint));
        }
        let page_bytes = PAGE * super::Cache::row_bytes(&decoder.0.network.shape, cache)?;
        if bytes < page_bytes {
            let message =
                format!("a store of {bytes} bytes: {page_bytes}, the keys and values of {PAGE} tokens, is the least");
            return Err(Error::invalid(message));
        }
        let (decoder, most, tree) = (decoder.clone(), bytes / page_bytes, Mutex::new(PrefixTree::new()));
        Ok(PrefixStore { decoder, cache, page_bytes, most, tree })
    }

    /// Bytes of the pages.
    pub fn memory(&self) -> usize {
        self.tree().len() * self.page_bytes
    }

    /// The most bytes of pages.
    pub fn most_memory(&self) -> usize {
        self.most * self.page_bytes
    }

    /// Keeps the session's whole pages. Returns how many of its first tokens are in the store now: fewer than it has
    /// whole pages of if the store is too small for them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a session of another decoder or type of cache;
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn keep(&self, session: &Session) -> Result<usize> {
        self.check(session)?;
        let page = |i: usize| Ok::<_, Error>(Arc::from(session.cache.read_rows(i * PAGE, PAGE)?));
        Ok(PAGE * self.tree().insert(session.tokens(), self.most, page)?)
    }

    /// Prepares a session for a prompt, which is the whole sequence from its first token on. Tokens of the session with
    /// which the prompt does not begin are removed. Pages that the store has of the prompt are copied to the session.
    /// Returns the number of the prompt's tokens that need not be computed, which are the session's tokens now:
    /// `session.feed(&prompt[n..])` comes next. At least the last token is left, for its logits.
    ///
    /// # Errors
    /// As [`PrefixStore::keep`]; for a prompt that [`Session::feed`] would refuse after rewinding to 0. The session does
    /// not change then.
    pub fn prepare(&self, session: &mut Session, prompt: &[u32]) -> Result<usize> {
        self.check(session)?;
        self.decoder.check_tokens(0, prompt)?;
        let known = &prompt[..prompt.len() - 1];
        let same = known.iter().zip(session.tokens()).take_while(|(a, b)| a == b).count();
        let pages = self.tree().find(known);
        session.rewind(same);
        for (i, page) in pages.iter().enumerate().skip(same / PAGE) {
            session.take_rows(i * PAGE, &prompt[i * PAGE..(i + 1) * PAGE], page)?;
        }
        Ok(session.position())
    }

    /// Forgets all pages.
    pub fn clear(&self) {
        *self.tree() = PrefixTree::new();
    }

    fn tree(&self) -> MutexGuard<'_, PrefixTree<Arc<[u8]>>> {
        // Only a panic of the allocator could interrupt a change, and that ends the process.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, session: &Session) -> Result<()> {
        if !Arc::ptr_eq(&session.decoder.0, &self.decoder.0) {
            let message = "a session of another decoder: those of the store's own are valid";
            return Err(Error::invalid(message).with_hint("open a model once, and clone its Decoder"));
        }
        let (have, want) = (session.cache.dtype(), self.cache);
        if have != want {
            return Err(Error::invalid(format!("a session with a cache of {have}: {want}, as the store's, is valid")));
        }
        Ok(())
    }
}
