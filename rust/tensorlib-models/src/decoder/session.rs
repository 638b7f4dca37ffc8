//! Sessions: texts in the making, with the state that a decoder keeps for them.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::network::Wanted;
use super::{graph_of, Decoder, BATCH};
use crate::activity::Tested;
use crate::{Error, Result};
use std::fmt;
use tensorlib::Context;

/// A text in the making: its tokens' keys and values. It owns its share of the model ([`Decoder`] is a handle), so it
/// can be stored and sent to other threads. One caller feeds it at a time; sessions of one model are independent of
/// each other.
pub struct Session {
    decoder: Decoder,
    cache: Cache,
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
        all.field("decoder", &self.decoder).field("tokens", &self.len()).field("cache_memory", &self.cache_memory());
        all.finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(decoder: Decoder, cache: Cache, experts: ExpertCache) -> Self {
        // Nodes go into the youngest context of their operands, so this one is made after those of weights and caches.
        let ctx = Context::on(decoder.backend());
        Session { decoder, cache, experts, ctx, checked: 0, overflow: None }
    }

    /// The session's model.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The number of tokens so far.
    pub fn len(&self) -> usize {
        usize::try_from(self.cache.used()).unwrap_or(0)
    }

    /// Whether there are no tokens yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of keys and values.
    pub fn cache_memory(&self) -> usize {
        self.cache.nbytes()
    }

    /// Bytes of expert copies on the first device; how often a used expert was among them, and how often not.
    pub fn expert_cache(&self) -> (usize, u64, u64) {
        let (hits, misses) = self.experts.hits();
        (self.experts.nbytes(), hits, misses)
    }

    /// Removes all tokens after the first `n`.
    pub fn truncate(&mut self, n: usize) {
        self.cache.set_used((n as i64).min(self.cache.used()));
        self.overflow = self.overflow.filter(|(_, position)| *position < self.cache.used());
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
        for part in tokens.chunks(BATCH) {
            logits = self.compute(part, Wanted::default(), &mut |_, _| ())?;
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
        for part in tokens.chunks(BATCH) {
            logits.extend(self.compute(part, Wanted { all: true, observed: None }, &mut |_, _| ())?);
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
        let wanted = Wanted { all: false, observed: Some(tested) };
        tokens.chunks(BATCH).try_for_each(|part| self.compute(part, wanted, take).map(drop))
    }

    /// Checks whether [`Session::feed`] would accept these tokens.
    pub(crate) fn check(&self, tokens: &[u32]) -> Result<()> {
        let (n, used, most) = (tokens.len(), self.len(), self.decoder.0.network.context);
        if n == 0 {
            return Err(Error::invalid("no tokens: at least one is valid"));
        }
        if let Some(token) = tokens.iter().find(|token| i64::from(**token) >= self.decoder.0.network.vocabulary) {
            let last = self.decoder.0.network.vocabulary - 1;
            return Err(Error::invalid(format!("token {token}: 0 to {last} are valid")));
        }
        if n > most - used.min(most) {
            let message = format!("{n} tokens after {used}: the context has room for {most}");
            return Err(
                Error::invalid(message).with_hint("a larger context can be asked for, at the cost of its memory")
            );
        }
        Ok(())
    }

    /// An error about the logits that were computed last.
    pub(crate) fn not_finite(&self, what: &str) -> Error {
        let position = self.len().saturating_sub(1);
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

    fn compute(&mut self, tokens: &[u32], wanted: Wanted, observe: &mut dyn FnMut(usize, &[f32])) -> Result<Vec<f32>> {
        self.ctx.reset()?;
        let network = &self.decoder.0.network;
        let run = network.logits(&self.ctx, (&self.cache, Some(&self.experts)), tokens, wanted)?;
        let graph = graph_of(std::slice::from_ref(&run))?;
        let experts = &mut self.experts;
        let values = self.decoder.0.weight_memory.keep(|| {
            graph.compute(&self.decoder.0.backend)?;
            for (layer, ids) in &run.chosen {
                network.used(experts, *layer, &ids.to_vec::<i32>()?)?;
            }
            Ok(run.logits.to_vec::<f32>()?)
        })?;
        self.decoder.0.weight_memory.give_back();
        for (layer, neurons) in &run.neurons {
            observe(*layer, &neurons.to_vec::<f32>()?);
        }
        self.cache.set_used(self.cache.used() + tokens.len() as i64);
        self.look_at_cache()?;
        Ok(values)
    }
}
