//! A model that turns lines into numbers, and the thread that computes its requests in turn.

use crate::error::{ApiError, Result};
use crate::jobs::{self, Jobs};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Instant;
use tensorlib_models::{EmbedTexts, Encoder, Reranker, ScorePairs, TokenizedText};
use tokio::sync::oneshot;

/// The most lines of a request that are computed before it is the next one's turn.
const LINES: usize = 16;

/// The numbers of each of a request's lines.
type Numbers = Result<Vec<Vec<f32>>>;

/// What computes lines.
pub enum LineModel {
    /// A text encoder, with or without a head.
    Encoder(Box<Encoder>),
    /// A language model that makes vectors.
    Embedder(Box<tensorlib_models::Embedder>),
    /// A language model that ranks texts.
    Reranker(Box<Reranker>),
}

impl LineModel {
    /// The model as one that gives vectors.
    pub fn embedder(&self) -> Option<&dyn EmbedTexts> {
        match self {
            LineModel::Encoder(encoder) => Some(&**encoder),
            LineModel::Embedder(embedder) => Some(&**embedder),
            LineModel::Reranker(_) => None,
        }
    }

    /// The model as one that gives the scores of labels.
    pub fn classifier(&self) -> Option<&Encoder> {
        match self {
            LineModel::Encoder(encoder) if !encoder.labels().is_empty() => Some(encoder),
            _ => None,
        }
    }

    /// The model as one that scores pairs of texts.
    pub fn scorer(&self) -> Option<&dyn ScorePairs> {
        match self {
            LineModel::Encoder(encoder) if encoder.labels().len() == 1 => Some(&**encoder),
            LineModel::Encoder(_) | LineModel::Embedder(_) => None,
            LineModel::Reranker(reranker) => Some(&**reranker),
        }
    }

    /// The most tokens of a line.
    pub fn max_tokens(&self) -> usize {
        match self {
            LineModel::Encoder(encoder) => encoder.max_tokens(),
            LineModel::Embedder(embedder) => embedder.max_tokens(),
            LineModel::Reranker(reranker) => reranker.max_tokens(),
        }
    }

    /// The numbers of lines, of which errors number the first one so.
    fn compute(
        &self,
        wanted: Wanted,
        first: usize,
        lines: &[TokenizedText],
    ) -> tensorlib_models::Result<Vec<Vec<f32>>> {
        let unable = || tensorlib_models::Error::invalid("the model does not compute this");
        match wanted {
            Wanted::Vectors => {
                let lines: Vec<Vec<u32>> = lines.iter().map(|line| line.ids.clone()).collect();
                self.embedder().ok_or_else(unable)?.embed_lines(first, &lines, &mut |_| true)
            }
            Wanted::Classes => self.classifier().ok_or_else(unable)?.classify_lines(first, lines, |_| true),
            Wanted::Scores => {
                let scores = self.scorer().ok_or_else(unable)?.score_lines(first, lines, &mut |_| true)?;
                Ok(scores.into_iter().map(|score| vec![score]).collect())
            }
        }
    }
}

/// What a request wants of each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Its vector.
    Vectors,
    /// The score of each label.
    Classes,
    /// The score of a pair.
    Scores,
}

struct Job {
    wanted: Wanted,
    lines: Vec<TokenizedText>,
    numbers: Vec<Vec<f32>>,
    answer: oneshot::Sender<Numbers>,
    deadline: Instant,
    _place: Place,
}

/// A place in the queue, which is free again when this is dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A model that answers requests. A thread of its own computes some lines of each in turn.
pub struct Embedder {
    model: Arc<LineModel>,
    jobs: Jobs<Job>,
    requests: Arc<AtomicUsize>,
    most: usize,
}

impl Embedder {
    /// Starts the thread. `most`: how many requests are accepted at a time.
    pub fn start(name: &str, model: LineModel, most: usize) -> std::io::Result<Self> {
        let model = Arc::new(model);
        let shared = model.clone();
        let jobs = Jobs::start(format!("encoder {name}"), move |received| work(&shared, &received))?;
        Ok(Embedder { model, jobs, requests: Arc::default(), most })
    }

    /// The model.
    pub fn model(&self) -> &LineModel {
        &self.model
    }

    /// The numbers of these lines, in their order.
    pub async fn compute(&self, wanted: Wanted, lines: Vec<TokenizedText>, deadline: Instant) -> Numbers {
        let entered = self
            .requests
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n + 1).filter(|n| *n <= self.most));
        if let Err(n) = entered {
            return Err(ApiError::busy(format!("{n} requests are computed or wait, which is the most: try again")));
        }
        let place = Place(self.requests.clone());
        let (answer, answered) = oneshot::channel();
        self.jobs.send([Job { wanted, lines, numbers: Vec::new(), answer, deadline, _place: place }])?;
        answered.await.map_err(|_| jobs::ended())?
    }
}

/// Computes until nobody can send jobs any more and all are answered.
fn work(model: &LineModel, received: &Receiver<Job>) {
    let mut jobs: VecDeque<Job> = VecDeque::new();
    loop {
        if jobs.is_empty() {
            match received.recv() {
                Ok(job) => jobs.push_back(job),
                Err(_) => return,
            }
        }
        jobs.extend(received.try_iter());
        let Some(mut job) = jobs.pop_front() else { continue };
        if job.answer.is_closed() {
            continue;
        }
        match advance(model, &mut job) {
            Ok(false) => jobs.push_back(job),
            Ok(true) => _ = job.answer.send(Ok(job.numbers)), // nobody may wait any more
            Err(error) => _ = job.answer.send(Err(error)),
        }
    }
}

/// Computes some lines of a job; true if it is complete.
fn advance(model: &LineModel, job: &mut Job) -> Result<bool> {
    if job.deadline <= Instant::now() {
        return Err(ApiError::timeout("the lines took longer than the server allows a request"));
    }
    let first = job.numbers.len();
    let lines = &job.lines[first..job.lines.len().min(first + LINES)];
    let computed = catch_unwind(AssertUnwindSafe(|| model.compute(job.wanted, first, lines)));
    let defect = |_| ApiError::internal("a defect of the server ended this request: please report it");
    job.numbers.extend(computed.map_err(defect)?.map_err(|e| ApiError::about("input", &e))?);
    Ok(job.numbers.len() == job.lines.len())
}
