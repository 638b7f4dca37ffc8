//! A language model and the thread that computes its requests together.

mod worker;

use crate::error::{ApiError, Result};
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tensorlib_models::{Batch, Chat, Decoder, Logprobs, Segment, Task, Totals};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// What becomes of a text.
#[derive(Debug)]
pub enum Event {
    /// Text, with the token that it ends with, if it is not text that was held back.
    Piece {
        /// The token.
        token: Option<u32>,
        /// The text, which is empty if the token ends within a character or may begin a stop.
        text: String,
        /// What the model wrote, with the control tokens that the text leaves out.
        segments: Vec<Segment>,
        /// The channel of the text, for models whose answers have several.
        channel: Option<String>,
        /// The log-probability of the token, if it was asked for.
        logprobs: Option<Logprobs>,
    },
    /// The text is complete.
    Ended(Totals),
    /// The text cannot go on.
    Failed(ApiError),
}

/// A text of a request.
struct Job {
    task: Task,
    /// Its number among those of its request.
    number: usize,
    events: UnboundedSender<(usize, Event)>,
    deadline: Instant,
    /// Held until the last of the request's texts ended.
    place: Arc<Place>,
}

/// Numbers of texts, which the worker updates.
#[derive(Debug, Default)]
struct Load {
    /// Texts that were accepted and have not ended.
    texts: AtomicUsize,
    /// The worker cannot go on.
    is_broken: AtomicBool,
}

/// Places in the queue, which are free again when this is dropped.
pub struct Place {
    load: Arc<Load>,
    n: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.load.texts.fetch_sub(self.n, Ordering::Relaxed);
    }
}

/// A language model that answers requests. A thread of its own computes the texts of all requests together.
pub struct Generator {
    decoder: Decoder,
    /// The model's template, or why it has none.
    chat: std::result::Result<Chat, String>,
    jobs: Jobs<Job>,
    load: Arc<Load>,
    /// The most texts that are accepted at a time.
    most: usize,
    /// The most bytes of a prompt whose tokens may fit into the context.
    most_bytes: usize,
}

/// A text of at most this many bytes for each token of the context is not refused by its length.
const TOKEN_BYTES: usize = 64;

impl Generator {
    /// Starts the thread. `waiting`: how many texts may wait beyond those that are computed together; `prefixes`: where
    /// known beginnings are saved.
    pub fn start(
        name: &str,
        batch: Batch,
        (together, waiting): (usize, usize),
        prefixes: Option<PathBuf>,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Self> {
        let decoder = batch.decoder().clone();
        let chat = Chat::new(decoder.tokenizer()).map_err(|e| e.to_string());
        let (load, metrics) = (Arc::new(Load::default()), metrics.of_model(name));
        let shared = load.clone();
        let work = move |received| worker::Worker::new(batch, received, shared, prefixes, metrics).run();
        let jobs = Jobs::start(format!("batch {name}"), work)?;
        let (tokenizer, n) = (decoder.tokenizer(), decoder.tokenizer().n_tokens() as u32);
        let longest = (0..n).filter_map(|id| tokenizer.token(id)).map(str::len).max().unwrap_or(0);
        let most_bytes = decoder.context().saturating_mul(longest.max(TOKEN_BYTES));
        Ok(Generator { decoder, chat, jobs, load, most: together + waiting, most_bytes })
    }

    /// The model.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The model's template.
    pub fn chat(&self) -> Result<&Chat> {
        self.chat.as_ref().map_err(|error| ApiError::field("messages", error))
    }

    /// Refuses a text that has more tokens than the context whatever they are, before it takes the time to find them.
    pub fn check_length(&self, name: &str, bytes: usize) -> Result<()> {
        match bytes > self.most_bytes {
            false => Ok(()),
            true => {
                let context = self.decoder.context();
                Err(ApiError::too_long(format!(
                    "{name}: {bytes} bytes are more than the context of {context} tokens holds"
                )))
            }
        }
    }

    /// Whether the model answers.
    pub fn is_healthy(&self) -> bool {
        !self.load.is_broken.load(Ordering::Relaxed)
    }

    /// Reserves places for n texts.
    pub fn enter(&self, n: usize) -> Result<Place> {
        let entered = self.load.texts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |texts| {
            Some(texts + n).filter(|texts| *texts <= self.most)
        });
        match entered {
            Ok(_) => Ok(Place { load: self.load.clone(), n }),
            Err(_) if n > self.most => {
                Err(ApiError::invalid(format!("{n} texts: up to {} at a time are valid", self.most)))
            }
            Err(texts) => {
                let most = self.most;
                Err(ApiError::busy(format!("{texts} texts are being generated or wait, of at most {most}: try again")))
            }
        }
    }

    /// Has the worker generate these texts. The events have the numbers of the texts. The texts are cancelled when the
    /// receiver is dropped.
    pub fn submit(
        &self,
        tasks: Vec<Task>,
        place: Place,
        deadline: Instant,
    ) -> Result<UnboundedReceiver<(usize, Event)>> {
        let (events, receiver) = unbounded_channel();
        let place = Arc::new(place);
        let job = |(number, task)| Job { task, number, events: events.clone(), deadline, place: place.clone() };
        let jobs = tasks.into_iter().enumerate().map(job);
        self.jobs.send(jobs)?;
        Ok(receiver)
    }
}
