//! A text encoder and the thread that computes its requests in turn.

use crate::error::{ApiError, Result};
use crate::jobs::{self, Jobs};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Instant;
use tensorlib_models::Encoder;
use tokio::sync::oneshot;

/// The most lines of a request that are computed before it is the next one's turn.
const LINES: usize = 16;

/// The vectors of a request's lines.
type Vectors = Result<Vec<Vec<f32>>>;

struct Job {
    lines: Vec<Vec<u32>>,
    vectors: Vec<Vec<f32>>,
    answer: oneshot::Sender<Vectors>,
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

/// A text encoder that answers requests. A thread of its own computes some lines of each in turn.
pub struct Embedder {
    encoder: Arc<Encoder>,
    jobs: Jobs<Job>,
    requests: Arc<AtomicUsize>,
    most: usize,
}

impl Embedder {
    /// Starts the thread. `most`: how many requests are accepted at a time.
    pub fn start(name: &str, encoder: Encoder, most: usize) -> std::io::Result<Self> {
        let encoder = Arc::new(encoder);
        let shared = encoder.clone();
        let jobs = Jobs::start(format!("encoder {name}"), move |received| work(&shared, &received))?;
        Ok(Embedder { encoder, jobs, requests: Arc::default(), most })
    }

    /// The model.
    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// The vectors of these lines.
    pub async fn embed(&self, lines: Vec<Vec<u32>>, deadline: Instant) -> Vectors {
        let entered = self
            .requests
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n + 1).filter(|n| *n <= self.most));
        if let Err(n) = entered {
            return Err(ApiError::busy(format!("{n} requests are computed or wait, which is the most: try again")));
        }
        let place = Place(self.requests.clone());
        let (answer, answered) = oneshot::channel();
        self.jobs.send([Job { lines, vectors: Vec::new(), answer, deadline, _place: place }])?;
        answered.await.map_err(|_| jobs::ended())?
    }
}

/// Computes until nobody can send jobs any more and all are answered.
fn work(encoder: &Encoder, received: &Receiver<Job>) {
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
        match advance(encoder, &mut job) {
            Ok(false) => jobs.push_back(job),
            Ok(true) => _ = job.answer.send(Ok(job.vectors)), // nobody may wait any more
            Err(error) => _ = job.answer.send(Err(error)),
        }
    }
}

/// Computes some lines of a job; true if it is complete.
fn advance(encoder: &Encoder, job: &mut Job) -> Result<bool> {
    if job.deadline <= Instant::now() {
        return Err(ApiError::timeout("the vectors took longer than the server allows a request"));
    }
    let first = job.vectors.len();
    let lines = &job.lines[first..job.lines.len().min(first + LINES)];
    let computed = catch_unwind(AssertUnwindSafe(|| encoder.embed_lines(first, lines, |_| true)));
    let defect = |_| ApiError::internal("a defect of the server ended this request: please report it");
    job.vectors.extend(computed.map_err(defect)?.map_err(|e| ApiError::about("input", &e))?);
    Ok(job.vectors.len() == job.lines.len())
}
