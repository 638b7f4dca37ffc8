//! The stream of `quantize`: one thread reads and decodes the next piece while this one encodes and writes.
//!
//! Memory: up to three pieces of floats (one being read, one waiting, one being encoded) and an encoded one, whatever
//! the size of the file: 12 MiB with few threads, 96 MiB with many. Blocks do not depend on each other, so a row that
//! is cut gives the same bytes as a whole one.

use super::importance::Importance;
use super::plan::Step;
use super::range::Ranges;
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::progress::Progress;
use crate::terminal::signals;
use std::borrow::Cow;
use std::sync::mpsc::{sync_channel, SyncSender};
use tensorlib::{Backend, GgufWriter};
use tensorlib_models::files::{pieces, Piece, Source};

/// The number of bytes copied at once.
const COPIED: usize = 4 << 20;

/// Elements of a piece, a multiple of every block size: four chunks of the engine's 65536 per thread, so that threads
/// end together. A piece is not larger because Ctrl-C waits for its end (the slowest types take 0.1 s per chunk).
fn piece_size(threads: usize) -> usize {
    (threads << 18).clamp(1 << 20, 8 << 20).next_power_of_two()
}

/// The inputs of the stream.
pub struct Job<'a> {
    /// The model that is read.
    pub source: &'a Source,
    /// The steps of all tensors.
    pub steps: &'a [Step],
    /// The importance of columns.
    pub importance: &'a Importance,
    /// The backend that encodes.
    pub backend: &'a Backend,
    /// The display.
    pub progress: &'a Progress,
}

enum Data<'a> {
    Bytes(Cow<'a, [u8]>),
    Floats(Vec<f32>, Piece),
}

struct Chunk<'a> {
    step: usize,
    /// Whether it is the first piece of its tensor.
    first: bool,
    /// The bytes of input that it stands for.
    input: u64,
    data: Outcome<Data<'a>>,
}

/// Writes all tensors, which are already declared.
pub fn run(job: &Job, writer: &mut GgufWriter) -> Outcome<()> {
    let (sender, receiver) = sync_channel(1);
    let mut ranges = Ranges::new(job.steps.len());
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("reader".into());
        reader
            .spawn_scoped(scope, move || read_all(job, &sender))
            .map_err(|e| Failure::new(Exit::Memory, format!("a thread cannot be started: {e}")))?;
        for chunk in receiver {
            signals::check("nothing was written")?;
            let step = &job.steps[chunk.step];
            if chunk.first {
                job.progress.tensor(chunk.step, job.steps.len(), &describe(step));
            }
            match chunk.data? {
                Data::Bytes(bytes) => {
                    ranges.look_at_bytes(chunk.step, step.to, &bytes);
                    writer.write(&bytes)?;
                }
                Data::Floats(values, piece) => {
                    ranges.look(chunk.step, step.to, &values);
                    writer.write(&encode(job, step, &values, &piece)?)?;
                }
            }
            job.progress.add(chunk.input);
        }
        ranges.report(job.steps);
        Ok(())
    })
}

fn describe(step: &Step) -> String {
    if step.is_copy() {
        return format!("{} {}", step.entry.name, step.entry.type_name);
    }
    format!("{} {} -> {}", step.entry.name, step.entry.type_name, step.to)
}

/// The reader's thread: ends when everything is read, or nobody receives any more.
fn read_all<'a>(job: &Job<'a>, sender: &SyncSender<Chunk<'a>>) {
    for (step, at) in job.steps.iter().enumerate() {
        let read = if at.is_copy() { copy(job, step, at, sender) } else { decode(job, step, at, sender) };
        if read.is_none() {
            return;
        }
    }
}

/// None: nobody receives any more.
fn copy<'a>(job: &Job<'a>, step: usize, at: &Step, sender: &SyncSender<Chunk<'a>>) -> Option<()> {
    for piece in pieces(at.entry.nbytes, 1, 1, COPIED) {
        let data = job.source.bytes(&at.entry, piece.start, piece.n).map(Data::Bytes).map_err(Failure::from);
        sender.send(Chunk { step, first: piece.start == 0, input: piece.n as u64, data }).ok()?;
    }
    Some(())
}

fn decode<'a>(job: &Job<'a>, step: usize, at: &Step, sender: &SyncSender<Chunk<'a>>) -> Option<()> {
    let limit = piece_size(job.backend.n_threads());
    for piece in pieces(at.entry.elements(), at.entry.row(), job.importance.groups(&at.entry), limit) {
        let data =
            job.source.values(&at.entry, &piece).map(|values| Data::Floats(values, piece)).map_err(Failure::from);
        let input = at.entry.stored.nbytes(piece.n as u64);
        sender.send(Chunk { step, first: piece.start == 0, input, data }).ok()?;
    }
    Some(())
}

fn encode(job: &Job, step: &Step, values: &[f32], piece: &Piece) -> Outcome<Vec<u8>> {
    let weights = job.importance.of(&step.entry, piece.group, piece.column, piece.row);
    job.backend.quantize(step.to, values, piece.row, weights).map_err(|error| {
        // The engine counts from the beginning of the piece; the message has the position in the tensor.
        let Some(at) = values.iter().position(|v| !v.is_finite()) else {
            return Failure::from(error)
                .about(format_args!("tensor '{}' from element {}", step.entry.name, piece.start));
        };
        let element = piece.start + at as u64;
        let (row, column) = (element / step.entry.row() as u64, element % step.entry.row() as u64);
        let message = format!(
            "tensor '{}' holds {} at column {column} of row {row}: {} holds finite numbers only",
            step.entry.name, values[at], step.to
        );
        let keep = format!("mend the model, or keep that tensor: --keep '{}=same'", step.entry.name);
        Failure::new(Exit::Refused, message).hint(keep)
    })
}
