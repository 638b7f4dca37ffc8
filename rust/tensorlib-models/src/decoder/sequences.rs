//! Several sequences of one decoder, computed together.

use super::network::Part;
use super::pool::{Page, Pool};
use super::prefix_file;
use super::prefix_tree::{PrefixTree, PAGE};
use super::sequence_states::{Kept, SequenceStates, Slot};
use super::state_slots::RunStates;
use super::{graph_of, Decoder, PROMPT_BLOCK};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tensorlib::{Context, DType};

/// While a sequence generates, a step takes at most this many tokens of prompts, so that it does not wait long for its
/// next token.
const PROMPT_BETWEEN: usize = 128;

/// The least tokens of a page that are copied instead of computed.
const LEAST_COPIED: usize = 8;

/// Options for [`Sequences`].
#[derive(Clone, Debug)]
pub struct SequencesOptions {
    /// The type of keys and values, as of [`Decoder::session`]. The default is F16.
    pub cache: DType,
    /// The tokens of all sequences together for which the pool has room, in whole pages of 64. The default is 0: the
    /// context of the decoder, four times.
    pub tokens: usize,
    /// The most sequences that are computed together; the others wait. The default is 16.
    pub together: usize,
    /// The most tokens of prompts in a step. The default is 512.
    pub prompt_tokens: usize,
}

impl Default for SequencesOptions {
    fn default() -> Self {
        SequencesOptions { cache: DType::F16, tokens: 0, together: 16, prompt_tokens: PROMPT_BLOCK }
    }
}

/// The number of a sequence among those of a [`Sequences`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(u64);

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The results of a step.
#[derive(Debug, Default)]
pub struct Step {
    /// Sequences whose tokens have all been computed, with the logits of the token after the last one. They go on with
    /// [`Sequences::push`].
    pub ready: Vec<(SequenceId, Vec<f32>)>,
    /// Sequences that cannot go on. They are removed.
    pub refused: Vec<(SequenceId, Error)>,
    /// The tokens that were computed.
    pub tokens: usize,
}

/// A sequence and what was computed of it.
struct Sequence {
    id: SequenceId,
    tokens: Vec<u32>,
    /// The number of tokens whose keys and values are in the pages.
    computed: usize,
    pages: Vec<Arc<Page>>,
    /// The states of recurrent layers, while the sequence has pages.
    slot: Option<Slot>,
    /// Tokens that were taken over from earlier sequences.
    cached: usize,
    /// The number of tokens after which the caller has the logits: of a fork, its source gave them.
    told: usize,
}

/// A page of known tokens, and the states of recurrent layers after it.
#[derive(Clone)]
pub struct Known {
    pub page: Arc<Page>,
    pub state: Option<Arc<Kept>>,
}

impl Sequence {
    fn new(id: SequenceId, tokens: &[u32]) -> Self {
        Sequence { id, tokens: tokens.to_vec(), computed: 0, pages: Vec::new(), slot: None, cached: 0, told: 0 }
    }

    fn pending(&self) -> usize {
        self.tokens.len() - self.computed
    }

    /// Gives pages back. Everything is computed again.
    fn forget(&mut self) {
        self.pages.clear();
        self.computed = 0;
    }
}

/// Several sequences of one decoder, whose next tokens are computed together: each step takes the next token of every
/// sequence that generates, and some tokens of every prompt.
///
/// Keys and values lie in pages of 64 tokens, which all sequences take from one pool of a fixed size. Beginnings that
/// sequences have in common are computed once, in whole pages: a sequence that begins like one that is being computed
/// waits for it. Pages of finished sequences stay until others need the room. A sequence that cannot get a page waits. If all wait, the one that was added last gives its pages back and is computed again
/// later. A sequence that is too long for the whole pool is refused. No sequence is ever truncated.
///
/// The logits of a sequence are those that a [`Session`](crate::Session) gives: with equal bits if the decoder is
/// [reproducible](crate::DecoderOptions::reproducible), otherwise up to rounding.
///
/// One caller at a time; it may be sent to other threads.
pub struct Sequences {
    decoder: Decoder,
    options: SequencesOptions,
    pool: Pool,
    states: Option<SequenceStates>,
    ctx: Context,
    known: PrefixTree<Known>,
    /// Sequences without pages, in the order in which they will get some.
    waiting: VecDeque<Sequence>,
    /// Sequences with pages, in the order in which they got the first one.
    live: Vec<Sequence>,
    /// The prompt that comes first in the next step.
    turn: usize,
    /// Whether a sequence had to give its pages back since the last one was removed.
    is_full: bool,
    next: u64,
}

impl fmt::Debug for Sequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pages, free) = self.pool.pages();
        let mut all = f.debug_struct("Sequences");
        all.field("decoder", &self.decoder).field("waiting", &self.waiting.len()).field("live", &self.live.len());
        all.field("pages", &pages).field("free_pages", &free).finish_non_exhaustive()
    }
}

impl Sequences {
    /// Makes room for sequences.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for options of 0 and a pool without room for a page;
    /// [`ErrorKind::Memory`](crate::ErrorKind); as [`Decoder::session`].
    pub fn new(decoder: &Decoder, options: &SequencesOptions) -> Result<Self> {
        let mut options = options.clone();
        let (opened, context) = (&decoder.0, decoder.context());
        for (name, value) in [("together", options.together), ("prompt_tokens", options.prompt_tokens)] {
            if value == 0 {
                return Err(Error::invalid(format!("{name} is 0: 1 or more is valid")));
            }
        }
        if options.tokens == 0 {
            options.tokens = 4 * context;
        }
        let most = i32::MAX as usize / PAGE * PAGE;
        if options.tokens > most {
            return Err(Error::invalid(format!("a pool for {} tokens: up to {most} are valid", options.tokens)));
        }
        if let Some(chunk) = opened.network.shape.chunk().filter(|chunk| chunk % PAGE != 0) {
            return Err(Error::unsupported(format!(
                "attention in chunks of {chunk} tokens: multiples of {PAGE} are valid"
            ))
            .with_hint("a session takes chunks of any size"));
        }
        let pool = Pool::new(&opened.network.shape, options.tokens, options.cache, &opened.devices)?;
        let (shape, devices) = (&opened.network.shape, &opened.devices);
        // The pool of all ranks, so that all keep the same states.
        let pool_bytes = pool.pages().0 * PAGE * super::cache::Cache::row_bytes(shape, options.cache)?;
        let states = SequenceStates::new(shape, options.together, pool_bytes, devices)?;
        // Nodes go into the youngest context of their operands, so this one is made after those of weights and the pool.
        let ctx = Context::on(decoder.backend());
        Ok(Sequences {
            decoder: decoder.clone(),
            options,
            pool,
            states,
            ctx,
            known: PrefixTree::new(),
            waiting: VecDeque::new(),
            live: Vec::new(),
            turn: 0,
            is_full: false,
            next: 0,
        })
    }

    /// The sequences' model.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The options, with the size of the pool that 0 stood for.
    pub fn options(&self) -> &SequencesOptions {
        &self.options
    }

    /// Adds a sequence that begins with these tokens. The coming steps compute it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for no tokens, an invalid token, or more tokens than the context or the
    /// pool holds. Nothing is added then.
    pub fn add(&mut self, prompt: &[u32]) -> Result<SequenceId> {
        self.decoder.check_tokens(0, prompt)?;
        self.check_pool(prompt.len())?;
        let sequence = Sequence::new(self.new_id(), prompt);
        let id = sequence.id;
        self.waiting.push_back(sequence);
        Ok(id)
    }

    /// Adds a sequence with the tokens of another one, from which both go on by themselves. They share the pages that are
    /// full, and the fork gets a copy of the last one, so it takes at most one page, whatever the number of tokens. If
    /// there is no room for it now, it waits like a sequence of [`Sequences::add`]. Logits that a step has returned for
    /// the tokens are not returned for the fork: it is ready again after [`Sequences::push`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a sequence that is not there;
    /// [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind). Nothing is added then.
    pub fn fork(&mut self, id: SequenceId) -> Result<SequenceId> {
        let source = self.get(id).ok_or_else(|| absent(id))?;
        let told = if source.pending() == 0 { source.tokens.len() } else { source.told };
        let mut fork = Sequence { told, ..Sequence::new(SequenceId(self.next), &source.tokens) };
        let has_room = self.live.len() < self.options.together && !self.is_full;
        let source = self.live.iter().position(|sequence| sequence.id == id);
        match source.filter(|_| has_room) {
            Some(source) if self.share(source, &mut fork)? => self.live.push(fork),
            _ => {
                // The pages are known when its turn comes.
                source.into_iter().for_each(|source| keep(&mut self.known, &self.live[source]));
                self.waiting.push_back(fork);
            }
        }
        Ok(self.new_id())
    }

    /// Appends a token to a sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a sequence that is not there, an invalid token, and if the context or
    /// the pool has no room for it. The sequence does not change then.
    pub fn push(&mut self, id: SequenceId, token: u32) -> Result<()> {
        let n = self.tokens(id).ok_or_else(|| absent(id))?.len();
        self.decoder.check_tokens(n, &[token])?;
        self.check_pool(n + 1)?;
        let all = self.live.iter_mut().chain(&mut self.waiting);
        all.filter(|sequence| sequence.id == id).for_each(|sequence| sequence.tokens.push(token));
        Ok(())
    }

    /// Removes a sequence; false if it is not there. Its whole pages are kept for sequences that begin like it.
    pub fn remove(&mut self, id: SequenceId) -> bool {
        if let Some(i) = self.waiting.iter().position(|sequence| sequence.id == id) {
            self.waiting.remove(i);
            return true;
        }
        let Some(i) = self.live.iter().position(|sequence| sequence.id == id) else { return false };
        let sequence = self.live.remove(i);
        keep(&mut self.known, &sequence);
        self.is_full = false;
        true
    }

    /// A sequence's tokens so far.
    pub fn tokens(&self, id: SequenceId) -> Option<&[u32]> {
        self.get(id).map(|sequence| &sequence.tokens[..])
    }

    /// The number of a sequence's first tokens that were taken over from earlier sequences; 0 while it waits.
    pub fn cached_tokens(&self, id: SequenceId) -> Option<usize> {
        self.get(id).map(|sequence| sequence.cached)
    }

    /// Whether no sequence has tokens to compute.
    pub fn is_idle(&self) -> bool {
        self.live.iter().chain(&self.waiting).all(|sequence| sequence.pending() == 0)
    }

    /// The number of sequences that have pages, and of those that wait for some.
    pub fn counts(&self) -> (usize, usize) {
        (self.live.len(), self.waiting.len())
    }

    /// Bytes of the pool, and of the states of recurrent layers; the number of its pages, and of those that are free.
    pub fn pool(&self) -> (usize, usize, usize) {
        let (pages, free) = self.pool.pages();
        (self.pool.nbytes() + self.states.as_ref().map_or(0, SequenceStates::nbytes), pages, free)
    }

    /// Writes the beginnings that are known, with their keys and values, to a file, which gets its name when it is
    /// complete. Returns how many tokens they have. The file contains what its texts say.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind). The file does not change then.
    pub fn save_prefixes(&self, path: impl AsRef<Path>) -> Result<usize> {
        Ok(PAGE * prefix_file::write(path.as_ref(), &self.decoder, &self.pool, &self.known)?)
    }

    /// Takes over the beginnings that [`Sequences::save_prefixes`] wrote, as many as there is room for, those used last
    /// first. Returns how many tokens they have.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) for a file that is damaged or of
    /// another kind, and [`ErrorKind::Invalid`](crate::ErrorKind) if the model, the type of the cache, the version of
    /// tensorlib, the device or the ISA is another one, naming it. Nothing is taken over then.
    pub fn restore_prefixes(&mut self, path: impl AsRef<Path>) -> Result<usize> {
        let state_bytes = self.states.as_ref().map_or(0, SequenceStates::state_bytes);
        let saved = prefix_file::Saved::open(path.as_ref(), &self.decoder, &self.pool, state_bytes)?;
        Ok(PAGE * saved.restore(&self.pool, self.states.as_mut(), &mut self.known)?)
    }

    /// Computes the next tokens of all sequences, or as many as there is room for.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind): nothing was computed, and the
    /// same step may be tried again. What concerns one sequence alone is in [`Step::refused`].
    pub fn step(&mut self) -> Result<Step> {
        let mut step = Step::default();
        loop {
            self.admit();
            let parts = self.schedule();
            if !parts.is_empty() {
                self.compute(&parts, &mut step)?;
                return Ok(step);
            }
            if !self.make_room(&mut step) {
                return Ok(step);
            }
        }
    }

    fn new_id(&mut self) -> SequenceId {
        let id = SequenceId(self.next);
        self.next += 1;
        id
    }

    /// Gives a new sequence the full pages of a live one, and copies of its last page and its state. False if no page or
    /// no place for a state is free.
    fn share(&mut self, source: usize, fork: &mut Sequence) -> Result<bool> {
        let slot = match &self.states {
            Some(states) => match states.take() {
                Some(slot) => Some(slot),
                None => return Ok(false),
            },
            None => None,
        };
        let computed = self.live[source].computed;
        let (full, rest) = (computed / PAGE, computed % PAGE);
        let copy = match rest {
            0 => None,
            _ => match self.pool.take().or_else(|| self.take_known()) {
                Some(page) => Some(page),
                None => return Ok(false),
            },
        };
        let source = &self.live[source];
        fork.pages = source.pages[..full].to_vec();
        if let Some(copy) = copy {
            self.pool.copy(&source.pages[full], &copy, rest)?;
            fork.pages.push(Arc::new(copy));
        }
        // Without a token there is no state.
        if let (Some(states), Some(from), Some(to)) = (&self.states, &source.slot, &slot) {
            if computed > 0 {
                states.copy(from, to)?;
            }
        }
        (fork.slot, fork.computed, fork.cached) = (slot, computed, computed);
        Ok(true)
    }

    /// Whether a live sequence is about to compute full pages of this one's beginning that are not known yet.
    fn is_being_computed(&self, sequence: &Sequence) -> bool {
        let wanted = &sequence.tokens[..sequence.tokens.len() - 1];
        let has_states = self.states.is_some();
        let will_share = |live: &Sequence| {
            let same = wanted.iter().zip(&live.tokens).take_while(|(a, b)| a == b).count();
            let common = same / PAGE * PAGE;
            // States are kept after the last full page of a prompt alone.
            let end = if has_states { last_full_page(live.tokens.len()) } else { common };
            (live.computed < end && end <= common).then_some(end)
        };
        let prompts = self.live.iter().filter(|live| live.pending() > 1);
        let end = prompts.filter_map(will_share).max();
        end.is_some_and(|end| self.known.known_pages(wanted) * PAGE < end)
    }

    fn get(&self, id: SequenceId) -> Option<&Sequence> {
        self.live.iter().chain(&self.waiting).find(|sequence| sequence.id == id)
    }

    fn check_pool(&self, n: usize) -> Result<()> {
        let most = self.pool.pages().0 * PAGE;
        if n > most {
            let message = format!("a sequence of {n} tokens: the pool has room for {most}");
            return Err(Error::invalid(message).with_hint("a larger pool can be asked for, at the cost of its memory"));
        }
        Ok(())
    }

    /// Gives the pages of known beginnings to the sequences that waited longest. Those whose beginning is being computed
    /// let others pass.
    fn admit(&mut self) {
        let mut passed = 0;
        while self.live.len() < self.options.together && (!self.is_full || self.live.is_empty()) {
            let Some(mut sequence) = self.waiting.remove(passed) else { return };
            if self.is_being_computed(&sequence) {
                self.waiting.insert(passed, sequence);
                passed += 1;
                continue;
            }
            // The last token is computed for its logits.
            let known = &sequence.tokens[..sequence.tokens.len() - 1];
            let mut pages = self.known.find(known);
            if let Some(states) = &mut self.states {
                // There is a slot for each sequence that has pages.
                let Some(slot) = states.take() else {
                    self.waiting.insert(passed, sequence);
                    return;
                };
                pages.truncate(with_state(states, &slot, &pages));
                sequence.slot = Some(slot);
            }
            sequence.pages = pages.into_iter().map(|known| known.page).collect();
            sequence.computed = sequence.pages.len() * PAGE;
            // A page that goes on otherwise gives a copy of its beginning, if that costs no other page. States are known
            // after whole pages alone.
            let part = self.known.find_part(known).filter(|(_, n)| *n >= LEAST_COPIED && self.states.is_none());
            if let Some(((known, n), copy)) = part.and_then(|part| Some((part, self.pool.take()?))) {
                if self.pool.copy(&known.page, &copy, n).is_ok() {
                    sequence.pages.push(Arc::new(copy));
                    sequence.computed += n;
                }
            }
            sequence.cached = sequence.computed;
            self.live.push(sequence);
        }
    }

    /// Chooses tokens to compute, as (index among the live sequences, number of tokens), and takes pages for them.
    fn schedule(&mut self) -> Vec<(usize, usize)> {
        let (mut parts, mut prompts) = (Vec::new(), Vec::new());
        for i in 0..self.live.len() {
            match self.live[i].pending() {
                0 => {}
                1 if self.reserve(i, 1) == 1 => parts.push((i, 1)),
                1 => {}
                _ => prompts.push(i),
            }
        }
        let most = self.options.prompt_tokens;
        let mut left = if parts.is_empty() { most } else { most.min(PROMPT_BETWEEN) };
        if !prompts.is_empty() {
            let first = self.turn % prompts.len();
            prompts.rotate_left(first);
            self.turn = self.turn.wrapping_add(1);
        }
        let n = prompts.len();
        for (k, i) in prompts.into_iter().enumerate() {
            // What shorter prompts leave goes to those after them.
            let share = (left / (n - k)).max(1).min(left);
            let taken = self.reserve(i, self.up_to_state(i, share.min(self.live[i].pending())));
            if taken > 0 {
                parts.push((i, taken));
                left -= taken;
            }
        }
        parts
    }

    /// How many of the next `n` tokens of a prompt are computed together: those up to the end of its last whole page, after
    /// which the state is kept, if the model has one.
    fn up_to_state(&self, i: usize, n: usize) -> usize {
        let Sequence { computed, ref tokens, .. } = self.live[i];
        let last = last_full_page(tokens.len());
        match self.states.is_some() && computed < last {
            true => n.min(last - computed),
            false => n,
        }
    }

    /// Takes pages for the next `n` tokens of a live sequence, and returns for how many it has some now.
    fn reserve(&mut self, i: usize, n: usize) -> usize {
        let computed = self.live[i].computed;
        while self.live[i].pages.len() * PAGE < computed + n {
            let Some(page) = self.pool.take().or_else(|| self.take_known()) else { break };
            self.live[i].pages.push(Arc::new(page));
        }
        n.min(self.live[i].pages.len() * PAGE - computed)
    }

    /// Forgets beginnings, those used longest ago first, until a page is free.
    fn take_known(&mut self) -> Option<Page> {
        while self.known.remove_oldest() {
            if let Some(page) = self.pool.take() {
                return Some(page);
            }
        }
        None
    }

    /// No live sequence has a page for its next token: the last one that needs one gives its pages back and is computed
    /// again later. If it is alone, the pool is too small for it. False if there is nothing to compute, or if all pages
    /// are those of sequences that wait for their caller.
    fn make_room(&mut self, step: &mut Step) -> bool {
        let needs_page = |sequence: &Sequence| sequence.pending() > 0;
        let needy = self.live.iter().filter(|sequence| needs_page(sequence)).count();
        let Some(last) = self.live.iter().rposition(needs_page) else { return false };
        if needy == 1 && self.live.len() > 1 {
            return false;
        }
        let mut sequence = self.live.remove(last);
        if needy == 1 {
            let (n, most) = (sequence.tokens.len(), self.pool.pages().0 * PAGE);
            let message = format!("a sequence of {n} tokens: the pool has room for {most}");
            let hint = "a larger pool can be asked for, at the cost of its memory";
            step.refused.push((sequence.id, Error::memory(message).with_hint(hint)));
            return true;
        }
        sequence.forget();
        sequence.slot = None;
        self.is_full = true;
        self.waiting.push_front(sequence);
        true
    }

    fn compute(&mut self, parts: &[(usize, usize)], step: &mut Step) -> Result<()> {
        self.ctx.reset()?;
        let opened = &self.decoder.0;
        let numbers: Vec<Vec<u32>> =
            parts.iter().map(|(i, _)| self.live[*i].pages.iter().map(|page| page.number()).collect()).collect();
        let given: Vec<Part> = parts
            .iter()
            .zip(&numbers)
            .map(|((i, n), pages)| {
                let sequence = &self.live[*i];
                let (first, end) = (sequence.computed, sequence.computed + n);
                let wants_logits = end == sequence.tokens.len();
                Part { tokens: &sequence.tokens[first..end], first, pages, wants_logits }
            })
            .collect();
        let most = opened.network.context.div_ceil(PAGE);
        let states = match &self.states {
            Some(states) => {
                let slots: Vec<_> = parts
                    .iter()
                    .filter_map(|(i, n)| self.live[*i].slot.as_ref().map(|slot| (self.live[*i].computed, *n, slot)))
                    .collect();
                Some(RunStates::new(states.slots(), SequenceStates::groups(&self.ctx, &slots)?))
            }
            None => None,
        };
        let run = opened.network.batch_logits(&self.ctx, (&self.pool, states), &given, most)?;
        let graph = graph_of(std::slice::from_ref(&run))?;
        graph.set_batch_invariant(opened.reproducible)?;
        let computed = opened.weight_memory.keep(|| {
            graph.compute(&opened.backend)?;
            Ok(run.logits.to_vec::<f32>()?)
        });
        let logits = computed.inspect_err(|_| {
            // Some states may be those after these tokens already, so everything is computed again.
            for (i, _) in parts.iter().filter(|_| self.states.is_some()) {
                self.live[*i].forget();
            }
        })?;
        opened.weight_memory.give_back();
        let mut rows = logits.chunks_exact(self.decoder.n_logits());
        for (i, n) in parts {
            step.tokens += n;
            let sequence = &mut self.live[*i];
            sequence.computed += n;
            if sequence.pending() == 0 {
                let logits = rows.next().unwrap_or_default();
                if sequence.tokens.len() > sequence.told {
                    step.ready.push((sequence.id, logits.to_vec()));
                }
            }
            if sequence.pending() == 0 || !self.waiting.is_empty() {
                keep(&mut self.known, sequence);
            }
            keep_state(&mut self.known, self.states.as_mut(), sequence);
        }
        Ok(())
    }
}

/// The number of these pages up to the last one whose state is known, which becomes the sequence's.
fn with_state(states: &mut SequenceStates, slot: &Slot, pages: &[Known]) -> usize {
    for (i, known) in pages.iter().enumerate().rev() {
        if let Some(kept) = &known.state {
            if states.restore(slot, kept).unwrap_or(false) {
                return i + 1;
            }
        }
    }
    0
}

/// Keeps the states after a sequence's last whole page, if all its tokens end there or the rest of a prompt does not fill
/// another page.
fn keep_state(known: &mut PrefixTree<Known>, states: Option<&mut SequenceStates>, sequence: &Sequence) {
    let (Some(states), Some(slot)) = (states, &sequence.slot) else { return };
    if sequence.computed % PAGE != 0 || sequence.pending() > PAGE {
        return;
    }
    keep(known, sequence);
    let Some(known) = known.page_mut(&sequence.tokens[..sequence.computed]) else { return };
    if known.state.as_ref().is_none_or(|kept| kept.bytes().is_none()) {
        // Without the state, sequences that begin like it are computed from an earlier page on.
        known.state = states.keep(slot).ok();
    }
}

/// The end of the last full page of a prompt before its last token, which is computed for its logits.
fn last_full_page(tokens: usize) -> usize {
    tokens.saturating_sub(1) / PAGE * PAGE
}

/// Keeps a sequence's whole pages for those that begin like it.
fn keep(known: &mut PrefixTree<Known>, sequence: &Sequence) {
    let page = |i: usize| Ok::<_, std::convert::Infallible>(Known { page: sequence.pages[i].clone(), state: None });
    let Ok(_) = known.insert(&sequence.tokens[..sequence.computed], usize::MAX, page);
}

fn absent(id: SequenceId) -> Error {
    Error::invalid(format!("sequence {id} is not there: it was removed or refused"))
}
