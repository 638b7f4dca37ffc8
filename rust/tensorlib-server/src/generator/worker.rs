//! The thread that computes the texts of all requests to a model.

use super::{Event, Job, Load, Place};
use crate::error::ApiError;
use crate::metrics::ModelMetrics;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tensorlib_models::{Batch, SequenceId, SequencesOptions, Update};
use tokio::sync::mpsc::UnboundedSender;

/// How long a model has nothing to do before known beginnings are saved, and how long after they were saved last.
const IDLE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(60);

/// A text that is computed.
struct Running {
    number: usize,
    events: UnboundedSender<(usize, Event)>,
    deadline: Instant,
    accepted: Instant,
    /// Whether the first token has come.
    has_begun: bool,
    _place: Arc<Place>,
}

impl Running {
    /// Sends an event; false if nobody waits for it any more.
    fn send(&self, event: Event) -> bool {
        self.events.send((self.number, event)).is_ok()
    }

    fn fail(self, error: ApiError) {
        self.send(Event::Failed(error)); // if nobody waits any more, nobody misses it
    }
}

pub struct Worker {
    batch: Batch,
    options: SequencesOptions,
    jobs: Receiver<Job>,
    running: HashMap<SequenceId, Running>,
    load: Arc<Load>,
    prefixes: Option<PrefixFile>,
    metrics: ModelMetrics,
}

impl Worker {
    /// A worker; `prefixes` is the file of known beginnings.
    pub fn new(
        batch: Batch,
        jobs: Receiver<Job>,
        load: Arc<Load>,
        prefixes: Option<PathBuf>,
        metrics: ModelMetrics,
    ) -> Self {
        let options = batch.sequences().options().clone();
        let prefixes = prefixes.map(PrefixFile::new);
        Worker { batch, options, jobs, running: HashMap::new(), load, prefixes, metrics }
    }

    /// Computes until nobody can send jobs any more and all texts have ended.
    pub fn run(mut self) {
        loop {
            self.show_load();
            if self.running.is_empty() {
                match self.wait() {
                    Some(job) => self.accept(job),
                    None => return,
                }
            }
            while let Ok(job) = self.jobs.try_recv() {
                self.accept(job);
            }
            self.cancel();
            if !self.running.is_empty() {
                self.step();
            }
        }
    }

    /// The next job; none if nobody can send one any more. Known beginnings are saved in the meantime.
    fn wait(&mut self) -> Option<Job> {
        loop {
            let Some(file) = &mut self.prefixes else { return self.jobs.recv().ok() };
            match self.jobs.recv_timeout(IDLE) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => file.save_sometimes(&self.batch),
                Err(RecvTimeoutError::Disconnected) => {
                    file.save(&self.batch);
                    return None;
                }
            }
        }
    }

    fn accept(&mut self, job: Job) {
        let Job { task, number, events, deadline, place } = job;
        let running = Running { number, events, deadline, accepted: Instant::now(), has_begun: false, _place: place };
        if self.load.is_broken.load(Ordering::Relaxed) {
            running.fail(broken());
            return;
        }
        match self.batch.add(task) {
            Ok(id) => _ = self.running.insert(id, running),
            Err(error) => running.fail(error.into()),
        }
    }

    /// Ends the texts that nobody waits for any more, or whose time is over.
    fn cancel(&mut self) {
        let now = Instant::now();
        let over = |text: &Running| text.events.is_closed() || text.deadline <= now;
        let ended: Vec<SequenceId> = self.running.iter().filter(|(_, text)| over(text)).map(|(id, _)| *id).collect();
        for id in ended {
            self.batch.cancel(id);
            if let Some(text) = self.running.remove(&id) {
                self.metrics.cancelled.inc();
                text.fail(ApiError::timeout("the text took longer than the server allows a request"));
            }
        }
    }

    fn step(&mut self) {
        let (batch, running, metrics) = (&mut self.batch, &mut self.running, &self.metrics);
        let begin = Instant::now();
        if let Some(file) = &mut self.prefixes {
            file.has_changed = true;
        }
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            batch.step(|id, update| {
                let Some(text) = running.get_mut(&id) else { return false };
                let event = match update {
                    Update::Piece(piece) => {
                        metrics.generated.inc_by(u64::from(piece.token.is_some()));
                        if !std::mem::replace(&mut text.has_begun, true) {
                            metrics.first_token.observe(text.accepted.elapsed().as_secs_f64());
                        }
                        let (text, channel) = (piece.text.to_string(), piece.channel.map(String::from));
                        let (segments, logprobs) = (piece.segments.to_vec(), piece.logprobs.cloned());
                        Event::Piece { token: piece.token, text, segments, channel, logprobs }
                    }
                    Update::Ended(totals) => {
                        metrics.prompt.inc_by(totals.prompt_tokens as u64);
                        metrics.cached.inc_by(totals.cached_tokens as u64);
                        Event::Ended(totals)
                    }
                    Update::Failed(error) => Event::Failed(error.into()),
                };
                let is_last = !matches!(event, Event::Piece { .. });
                let is_sent = text.send(event);
                metrics.cancelled.inc_by(u64::from(!is_sent && !is_last));
                is_sent && !is_last
            })
        }));
        metrics.step.observe(begin.elapsed().as_secs_f64());
        match stepped {
            Ok(Ok(())) => self.running.retain(|id, _| self.batch.has(*id)),
            // Nothing was computed. Other requests may have more luck with the memory that these give back.
            Ok(Err(error)) => self.fail_all(&ApiError::from(&error)),
            Err(_) => {
                self.fail_all(&ApiError::internal("a defect of the server ended this text: please report it"));
                self.begin_again();
            }
        }
    }

    fn fail_all(&mut self, error: &ApiError) {
        for (id, text) in std::mem::take(&mut self.running) {
            self.batch.cancel(id);
            text.fail(error.clone());
        }
    }

    /// Makes a new batch after a panic, which may have left the old one in any state.
    fn begin_again(&mut self) {
        match Batch::new(self.batch.decoder(), &self.options) {
            Ok(batch) => self.batch = batch,
            Err(_) => self.load.is_broken.store(true, Ordering::Relaxed),
        }
    }

    fn show_load(&self) {
        let sequences = self.batch.sequences();
        let ((live, waiting), (_, pages, free)) = (sequences.counts(), sequences.pool());
        self.metrics.show((live, waiting), (pages, free));
    }
}

/// The file of known beginnings.
struct PrefixFile {
    path: PathBuf,
    /// Whether anything was computed since it was saved.
    has_changed: bool,
    saved: Instant,
}

impl PrefixFile {
    fn new(path: PathBuf) -> Self {
        PrefixFile { path, has_changed: false, saved: Instant::now() }
    }

    /// Saves what has changed, but not often.
    fn save_sometimes(&mut self, batch: &Batch) {
        if self.saved.elapsed() >= INTERVAL {
            self.save(batch);
        }
    }

    fn save(&mut self, batch: &Batch) {
        if !std::mem::take(&mut self.has_changed) {
            return;
        }
        self.saved = Instant::now();
        if let Err(error) = batch.save_prefixes(&self.path) {
            // The server goes on without: prompts are computed again after its next start.
            eprintln!("tensorlib: warning: {}: {error}", self.path.display());
        }
    }
}

fn broken() -> ApiError {
    ApiError::internal("the model failed and could not be started again: restart the server")
}
