//! Several texts generated together.

use crate::generate::{answer::Answer, no_choice, Ending, Piece, Sampler, Totals};
use crate::{Decoder, Error, Result, SequenceId, Sequences, SequencesOptions};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A text to generate.
#[derive(Debug)]
pub struct Task {
    /// The tokens that the text continues.
    pub prompt: Vec<u32>,
    /// Draws the text's tokens.
    pub sampler: Sampler,
    /// The most tokens to generate; `None`: until another ending.
    pub limit: Option<usize>,
    /// The text ends before these, and before those that the model's files name.
    pub stops: Vec<String>,
}

/// What becomes of a task.
#[derive(Debug)]
pub enum Update<'a> {
    /// A token, or text that was held back.
    Piece(Piece<'a>),
    /// The text is complete. This is the task's last update.
    Ended(Totals),
    /// The text cannot go on. This is the task's last update.
    Failed(Error),
}

/// Generates the texts of several tasks together, as [`generate`](crate::generate()) generates one. Each step computes
/// the next token of every text and some tokens of prompts ([`Sequences`]).
///
/// With a [reproducible](crate::DecoderOptions::reproducible) decoder a task's text is the one that it has alone,
/// whatever the other tasks are. Otherwise logits differ by rounding, so texts may differ.
///
/// One caller at a time; it may be sent to other threads.
pub struct Batch {
    sequences: Sequences,
    tasks: HashMap<SequenceId, Running>,
}

/// A task and its text so far.
struct Running {
    sampler: Sampler,
    answer: Answer,
    prompt_tokens: usize,
    added: Instant,
    /// When the prompt was computed.
    began: Option<Instant>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("sequences", &self.sequences).field("tasks", &self.tasks.len()).finish()
    }
}

impl Batch {
    /// Makes room for tasks.
    ///
    /// # Errors
    /// As [`Sequences::new`].
    pub fn new(decoder: &Decoder, options: &SequencesOptions) -> Result<Self> {
        Ok(Batch { sequences: Sequences::new(decoder, options)?, tasks: HashMap::new() })
    }

    /// The tasks' model.
    pub fn decoder(&self) -> &Decoder {
        self.sequences.decoder()
    }

    /// The sequences that the tasks are computed as.
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// Writes the beginnings that are known to a file, as [`Sequences::save_prefixes`] does.
    ///
    /// # Errors
    /// As [`Sequences::save_prefixes`].
    pub fn save_prefixes(&self, path: impl AsRef<Path>) -> Result<usize> {
        self.sequences.save_prefixes(path)
    }

    /// Takes over the beginnings of a file, as [`Sequences::restore_prefixes`] does.
    ///
    /// # Errors
    /// As [`Sequences::restore_prefixes`].
    pub fn restore_prefixes(&mut self, path: impl AsRef<Path>) -> Result<usize> {
        self.sequences.restore_prefixes(path)
    }

    /// Adds a task, which the coming steps compute.
    ///
    /// # Errors
    /// As [`Sequences::add`]: nothing is added then.
    pub fn add(&mut self, task: Task) -> Result<SequenceId> {
        let Task { prompt, mut sampler, limit, stops } = task;
        let id = self.sequences.add(&prompt)?;
        sampler.begin(&prompt);
        let answer = Answer::new(self.decoder().tokenizer(), limit, &stops);
        let (prompt_tokens, added) = (prompt.len(), Instant::now());
        self.tasks.insert(id, Running { sampler, answer, prompt_tokens, added, began: None });
        Ok(id)
    }

    /// Removes a task, which gets no further update; false if it is not there.
    pub fn cancel(&mut self, id: SequenceId) -> bool {
        self.tasks.remove(&id).is_some() && self.sequences.remove(id)
    }

    /// Whether a task was added and has not ended.
    pub fn has(&self, id: SequenceId) -> bool {
        self.tasks.contains_key(&id)
    }

    /// The number of tasks that have not ended.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Computes a step and calls `show` with each task's updates. A task ends where `show` returns `false`.
    ///
    /// # Errors
    /// As [`Sequences::step`]. What concerns one task alone is an [`Update::Failed`].
    pub fn step(&mut self, mut show: impl FnMut(SequenceId, Update) -> bool) -> Result<()> {
        let step = self.sequences.step()?;
        for (id, error) in step.refused {
            self.tasks.remove(&id);
            show(id, Update::Failed(error));
        }
        for (id, logits) in step.ready {
            let Some(task) = self.tasks.get_mut(&id) else { continue };
            task.began.get_or_insert_with(Instant::now);
            let ending = task.go_on(&mut self.sequences, id, &logits, &mut show);
            if let Ok(None) = ending {
                continue;
            }
            if let Some(task) = self.tasks.remove(&id) {
                let cached = self.sequences.cached_tokens(id).unwrap_or(0);
                task.end(id, ending, cached, &mut show);
            }
            self.sequences.remove(id);
        }
        Ok(())
    }
}

impl Running {
    /// Draws the next token, or takes those that the constraint leaves no choice about.
    fn go_on(
        &mut self,
        sequences: &mut Sequences,
        id: SequenceId,
        logits: &[f32],
        show: &mut impl FnMut(SequenceId, Update) -> bool,
    ) -> Result<Option<Ending>> {
        if let Some(ending) = self.answer.ended(&self.sampler) {
            return Ok(Some(ending));
        }
        let position = sequences.tokens(id).map_or(0, <[u32]>::len);
        let room = sequences.decoder().context() - position + 1;
        let most = self.answer.left(room);
        // The log-probabilities of a token take the logits before it.
        let most = if self.sampler.logprobs().is_some() { most.min(1) } else { most };
        let mut tokens = self.sampler.forced(most)?;
        if tokens.is_empty() {
            if let Some(what) = no_choice(logits) {
                let message = format!("position {}: {what}, and nothing can be drawn from that", position - 1);
                let hint = "a weight is damaged, or keys and values are beyond F16: try a cache of f32";
                return Err(Error::invalid(message).with_hint(hint));
            }
            tokens.push(self.sampler.next(logits)?);
        }
        let last = tokens.len() - 1;
        for (i, token) in tokens.into_iter().enumerate() {
            let mut piece = |piece: Piece| show(id, Update::Piece(piece));
            let tokenizer = sequences.decoder().tokenizer();
            if let Some(ending) = self.answer.write(tokenizer, (token, logits), &self.sampler, &mut piece) {
                return Ok(Some(ending));
            }
            // Tokens that must follow each other were accepted together, so only the last one can end the text.
            if let Some(ending) = self.answer.ended(&self.sampler).filter(|_| i == last) {
                return Ok(Some(ending));
            }
            if sequences.tokens(id).map_or(0, <[u32]>::len) >= sequences.decoder().context() {
                return Ok(Some(Ending::Context));
            }
            sequences.push(id, token)?;
        }
        Ok(None)
    }

    /// Shows the text that was held back, and the end.
    fn end(
        mut self,
        id: SequenceId,
        ending: Result<Option<Ending>>,
        cached_tokens: usize,
        show: &mut impl FnMut(SequenceId, Update) -> bool,
    ) {
        let ending = match ending {
            Ok(Some(ending)) => ending,
            Ok(None) => return,
            Err(error) => {
                show(id, Update::Failed(error));
                return;
            }
        };
        self.answer.finish(&ending, &mut |piece| show(id, Update::Piece(piece)));
        let (now, tokens) = (Instant::now(), self.answer.tokens());
        let (prompt_time, time) = match self.began {
            Some(began) => (began - self.added, now - began),
            None => (now - self.added, Duration::ZERO),
        };
        let prompt_tokens = self.prompt_tokens.saturating_sub(cached_tokens);
        show(
            id,
            Update::Ended(Totals { prompt_tokens, cached_tokens, prompt_time, tokens, time, drafted: (0, 0), ending }),
        );
    }
}
