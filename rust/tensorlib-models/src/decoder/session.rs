//! Sessions: sequences of tokens, with the state that a decoder keeps for them.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::network::{Kept, Wanted};
use super::products::{self, Product};
use super::states::States;
use super::{graph_of, session_file, Decoder, PROMPT_BLOCK};
use crate::activity::Tested;
use crate::{Error, Result};
use std::fmt;
use std::path::Path;
use tensorlib::{Context, DType};

/// The most bytes of states that are kept after the last tokens of a run, so that a session goes back to each of them.
const RECENT_BYTES: usize = 1 << 28;

/// A sequence of tokens with their keys and values, and with the states of recurrent layers. It owns its share of the model ([`Decoder`] is a handle), so it can
/// be stored and sent to other threads. One caller feeds it at a time; sessions of one model are independent of each
/// other.
///
/// The logits after a token depend on the tokens up to it, and not on how they got into the session: fed at once, in
/// parts, after [`rewind`](Session::rewind), in a [`fork`](Session::fork), or [restored](Session::restore) from a file.
/// Of a decoder that is [reproducible](crate::DecoderOptions::reproducible) they have equal bits. Of any other decoder
/// they have equal bits where each part ended at a multiple of [`PROMPT_BLOCK`] tokens, or at the same token as before, and
/// differ by rounding elsewhere: kernels for one column and for many add in different orders.
pub struct Session {
    pub(super) decoder: Decoder,
    tokens: Vec<u32>,
    pub(super) cache: Cache,
    pub(super) states: Option<States>,
    experts: ExpertCache,
    ctx: Context,
    /// The number of tokens whose keys and values were checked for overflow.
    checked: i64,
    /// The layer and position of the first key or value that is not finite.
    overflow: Option<(usize, i64)>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Session");
        all.field("decoder", &self.decoder).field("position", &self.position());
        all.field("cache_memory", &self.cache_memory()).finish_non_exhaustive()
    }
}

/// What a run is to be asked for besides its results.
enum Observer<'a> {
    None,
    /// The values of each layer's neurons.
    Neurons(&'a mut dyn FnMut(usize, &[f32])),
    /// What is multiplied with the matrices.
    Products(&'a mut dyn FnMut(&Product)),
}

impl Session {
    pub(super) fn new(decoder: Decoder, cache: DType) -> Result<Self> {
        let opened = &decoder.0;
        let cache = Cache::new(&opened.network.shape, opened.network.context as i64, cache, &opened.devices)?;
        let states = States::new(&opened.network.shape, &opened.devices)?;
        let experts = opened.network.expert_cache(opened.expert_slots, &opened.devices)?;
        // Nodes go into the youngest context of their operands, so this one is made after those of weights and caches.
        let ctx = Context::on(decoder.backend());
        Ok(Session { decoder, tokens: Vec::new(), cache, states, experts, ctx, checked: 0, overflow: None })
    }

    /// The session's model.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The number of tokens so far, which is the position of the next one.
    pub fn position(&self) -> usize {
        self.tokens.len()
    }

    /// Removes the tokens from this position on and returns the position reached, which is that of the next token. A
    /// position after the last token changes nothing. Models whose layers keep a row for each token reach every position
    /// before it. Models with recurrent layers go back further, to the last position up to this one whose state they
    /// have: one of [`Session::checkpoint`], a multiple of [`PROMPT_BLOCK`] of the last few, the beginning of the last
    /// call that fed tokens, or 0.
    pub fn rewind(&mut self, position: usize) -> usize {
        let position = match &mut self.states {
            Some(states) => states.rewind(position),
            None => position,
        };
        self.tokens.truncate(position);
        self.cache.set_used(self.tokens.len() as i64);
        self.overflow = self.overflow.filter(|(_, position)| *position < self.cache.used());
        self.position()
    }

    /// Goes back to this position. Tokens before it that [`Session::rewind`] removes are computed again.
    pub(crate) fn rewind_exactly(&mut self, position: usize) -> Result<()> {
        if !self.is_recurrent() {
            self.rewind(position);
            return Ok(());
        }
        let tokens = self.tokens.clone();
        let reached = self.rewind(position);
        match tokens.get(reached..position) {
            Some([]) | None => Ok(()),
            Some(lost) => self.feed(lost).map(drop),
        }
    }

    /// Makes the current position one to which [`Session::rewind`] returns exactly, and returns it. For models whose
    /// layers keep a row for each token it takes neither time nor memory: all positions are such positions. Models with
    /// recurrent layers copy their state, which takes [`Session::state_memory`] bytes. They keep the last 8 copies. If a
    /// device cannot be read, the position returned is that of the last copy.
    pub fn checkpoint(&mut self) -> usize {
        let position = self.position();
        let Some(states) = &mut self.states else { return position };
        match states.checkpoint() {
            Ok(()) => position,
            Err(_) => states.last_checkpoint(),
        }
    }

    /// Whether some layers of the model are recurrent, so that [`Session::rewind`] does not reach every position.
    pub(crate) fn is_recurrent(&self) -> bool {
        self.states.is_some()
    }

    /// Bytes of the state of the model's recurrent layers after a token; 0 without such layers.
    pub fn state_memory(&self) -> usize {
        self.states.as_ref().map_or(0, States::state_bytes)
    }

    /// Makes an independent session with the same tokens, keys and values. Both continue with the bits with which one
    /// would. Its cache takes [`Session::cache_memory`] again; forks of [`Sequences`](crate::Sequences::fork) share pages.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn fork(&self) -> Result<Self> {
        let mut fork = Self::new(self.decoder.clone(), self.cache.dtype())?;
        fork.cache.copy_rows(&self.cache)?;
        if let (Some(to), Some(from)) = (&mut fork.states, &self.states) {
            to.take(from.list()?);
        }
        fork.tokens.clone_from(&self.tokens);
        (fork.checked, fork.overflow) = (self.checked, self.overflow);
        Ok(fork)
    }

    /// Writes the tokens, keys and values to a file, for [`Session::restore`]. The file is a safetensors file. It gets
    /// its name when it is complete and on the disk; an older file of that name exists until then.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) naming the file; [`ErrorKind::Memory`](crate::ErrorKind): a layer's rows are
    /// held while they are written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        session_file::write(path.as_ref(), &self.decoder, &self.tokens, &self.cache, self.states.as_ref())
    }

    /// Replaces the session's tokens, keys and values by those of a file that [`Session::save`] wrote. The session
    /// continues with the bits with which the saved one would have: a file of another model, cache type, version of this
    /// library, device or ISA is refused, as are other settings of [`DecoderOptions`](crate::DecoderOptions) that change
    /// results. The context may have another size, if the tokens fit.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind); [`ErrorKind::Format`](crate::ErrorKind) for a damaged file and for a file of
    /// another kind; [`ErrorKind::Invalid`](crate::ErrorKind) naming the difference for a file that does not fit. The
    /// session does not change then. If the file cannot be read any more after it was checked, the session is empty.
    pub fn restore(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let file = session_file::Saved::open(path.as_ref(), &self.decoder, &self.cache, self.state_memory())?;
        self.rewind(0);
        file.read_rows(&self.cache)?;
        if let Some(states) = &mut self.states {
            states.take(file.read_states()?);
        }
        self.tokens = file.tokens;
        self.cache.set_used(self.tokens.len() as i64);
        self.checked = 0;
        self.look_at_cache()
    }

    /// Bytes of keys and values, and of the states of recurrent layers with their copies.
    pub fn cache_memory(&self) -> usize {
        self.cache.nbytes() + self.states.as_ref().map_or(0, States::nbytes)
    }

    /// Bytes of expert copies on the first device; how often a used expert was among them, and how often not.
    pub fn expert_cache(&self) -> (usize, u64, u64) {
        let (hits, misses) = self.experts.hits();
        (self.experts.nbytes(), hits, misses)
    }

    /// Appends these tokens and returns the logits of the token after the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for no tokens, an invalid token, or more tokens than the context holds;
    /// the session does not change then. [`ErrorKind::Memory`](crate::ErrorKind),
    /// [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn feed(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        let mut logits = Vec::new();
        for part in self.parts(tokens) {
            logits = self.compute(part, Wanted::default(), Observer::None)?;
        }
        Ok(logits)
    }

    /// Appends these tokens and returns the logits after each of them, [`Decoder::vocabulary`] values per token.
    ///
    /// # Errors
    /// As [`Session::feed`].
    pub fn feed_all(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        let mut logits = Vec::new();
        for part in self.parts(tokens) {
            logits.extend(self.compute(part, Wanted { all: true, ..Wanted::default() }, Observer::None)?);
        }
        Ok(logits)
    }

    /// Appends these tokens and calls `take(layer, values of its neurons for each token)` for each layer.
    pub(crate) fn feed_observed(
        &mut self,
        tokens: &[u32],
        tested: Tested,
        take: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<()> {
        self.check(tokens)?;
        let wanted = Wanted { observed: Some(tested), ..Wanted::default() };
        self.parts(tokens).try_for_each(|part| self.compute(part, wanted, Observer::Neurons(take)).map(drop))
    }

    /// Appends these tokens and calls `take` for each product with a matrix of a layer.
    pub(crate) fn feed_products(&mut self, tokens: &[u32], take: &mut dyn FnMut(&Product)) -> Result<()> {
        self.check(tokens)?;
        self.parts(tokens)
            .try_for_each(|part| self.compute(part, Wanted::default(), Observer::Products(take)).map(drop))
    }

    /// Divides coming tokens into those that are computed together: up to each multiple of [`PROMPT_BLOCK`].
    pub(crate) fn parts<'a>(&self, tokens: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
        let room = PROMPT_BLOCK - self.position() % PROMPT_BLOCK;
        let (first, rest) = tokens.split_at(room.min(tokens.len()));
        std::iter::once(first).filter(|first| !first.is_empty()).chain(rest.chunks(PROMPT_BLOCK))
    }

    /// Makes these the tokens from position `first` on, with these rows ([`Cache::read_rows`]). Tokens before it stay.
    pub(super) fn take_rows(&mut self, first: usize, tokens: &[u32], rows: &[u8]) -> Result<()> {
        self.rewind(first);
        self.cache.write_rows(first, tokens.len(), rows)?;
        self.tokens.extend_from_slice(tokens);
        self.cache.set_used(self.tokens.len() as i64);
        self.look_at_cache()
    }

    /// Checks whether [`Session::feed`] would accept these tokens.
    pub(crate) fn check(&self, tokens: &[u32]) -> Result<()> {
        self.decoder.check_tokens(self.position(), tokens)
    }

    /// An error about the logits that were computed last.
    pub(crate) fn not_finite(&self, what: &str) -> Error {
        let position = self.position().saturating_sub(1);
        let weight = self.decoder.0.weight_memory.not_finite();
        let because = weight.map_or(String::new(), |weight| format!("; {weight}"));
        let message = format!("position {position}: {what}, and nothing can be drawn from that{because}");
        let error = Error::invalid(message);
        match self.overflow {
            Some((layer, position)) => error.with_hint(format!(
                "keys or values of layer {layer} are beyond what a cache of f16 holds, first at position {position}: take one of f32 (--cache)"
            )),
            None => error.with_hint("a weight is damaged, or values are beyond F32's range: compare the file with its source"),
        }
    }

    /// Whether keys or values overflowed a cache of F16.
    pub(crate) fn has_overflow(&self) -> bool {
        self.overflow.is_some()
    }

    /// Warnings for the caller: keys or values that overflowed a cache of F16.
    pub fn warnings(&self) -> Vec<String> {
        let warning = self.overflow.map(|(layer, position)| {
            format!(
                "keys or values of layer {layer} at position {position} are beyond 65504, which a cache of f16 holds: results may be wrong \
                 (--cache f32 is not)"
            )
        });
        warning.into_iter().collect()
    }

    /// Checks the rows of the cache that were not checked yet. Each check takes time on a GPU, so it covers several
    /// rows.
    fn look_at_cache(&mut self) -> Result<()> {
        const ROWS: i64 = 64;
        let (used, on_cpu) = (self.cache.used(), self.decoder.0.backend.devices().iter().all(|device| device == "cpu"));
        self.checked = self.checked.min(used);
        if self.overflow.is_some() || (!on_cpu && used - self.checked < ROWS) {
            return Ok(());
        }
        self.overflow = self.cache.not_finite(self.checked, used)?;
        self.checked = used;
        Ok(())
    }

    /// How many states of the last tokens are kept of a run after which the session may have to go back to any of them:
    /// as many as fit.
    fn recent_states(&self, tokens: usize) -> usize {
        match self.state_memory() {
            0 => 1,
            bytes => tokens.min(RECENT_BYTES / bytes).max(1),
        }
    }

    fn compute(&mut self, tokens: &[u32], wanted: Wanted, mut observer: Observer) -> Result<Vec<f32>> {
        /// Longer runs are no drafts.
        const LONGEST_DRAFT: usize = 32;
        let wanted = match wanted.all && tokens.len() <= LONGEST_DRAFT {
            true => Wanted { states: self.recent_states(tokens.len()), ..wanted },
            false => wanted,
        };
        self.ctx.reset()?;
        let (network, devices) = (&self.decoder.0.network, &self.decoder.0.devices);
        if let Some(states) = &mut self.states {
            if states.prepare(wanted.states, &network.shape, devices)? {
                self.ctx = Context::on(self.decoder.backend());
            }
        }
        let kept = Kept { cache: &self.cache, states: self.states.as_ref(), experts: &self.experts };
        let run = network.logits(&self.ctx, &kept, tokens, wanted)?;
        let graph = graph_of(std::slice::from_ref(&run))?;
        graph.set_batch_invariant(self.decoder.0.reproducible)?;
        let experts = &mut self.experts;
        let values = self.decoder.0.weight_memory.keep(|| {
            match &mut observer {
                Observer::Products(take) => products::compute(&graph, &self.decoder.0.backend, take)?,
                _ => graph.compute(&self.decoder.0.backend)?,
            }
            for (layer, ids) in &run.chosen {
                network.used(experts, *layer, &ids.to_vec::<i32>()?)?;
            }
            Ok(run.logits.to_vec::<f32>()?)
        })?;
        self.decoder.0.weight_memory.give_back();
        if let Observer::Neurons(take) = observer {
            for (layer, neurons) in &run.neurons {
                take(*layer, &neurons.to_vec::<f32>()?);
            }
        }
        self.tokens.extend_from_slice(tokens);
        self.cache.set_used(self.tokens.len() as i64);
        if let Some(states) = &mut self.states {
            states.advance(tokens.len(), wanted.states);
            if self.tokens.len() % PROMPT_BLOCK == 0 {
                states.checkpoint()?;
            }
        }
        self.look_at_cache()?;
        Ok(values)
    }
}
