//! How good a model is.

use super::batch::{Evaluation, Loss};
use super::Samples;
use crate::nn::{invalid, Module};
use crate::{Backend, Result, Tensor};

/// How good a model is on some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The mean loss of all samples.
    pub loss: f64,
    /// Which part of the labels has the largest output of its row; for targets of I32, one for each row of outputs.
    pub accuracy: Option<f64>,
}

/// A model's scores on all samples, `batch` at once.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no samples or a batch of 0; as the model's operations.
pub fn evaluate(
    backend: &Backend,
    model: &dyn Module,
    loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    samples: &dyn Samples,
    batch: usize,
) -> Result<Scores> {
    Evaluator::new(batch)?.scores(backend, model, &loss, samples)
}

/// A model's outputs for all samples, one behind the other, `batch` computed at once.
///
/// # Errors
/// As [`evaluate`].
pub fn predict(backend: &Backend, model: &dyn Module, samples: &dyn Samples, batch: usize) -> Result<Vec<f32>> {
    let mut outputs = Vec::new();
    Evaluator::new(batch)?.each(backend, model, None, samples, |batch, _, _| {
        outputs.extend(batch.output.to_f32_vec()?);
        Ok(())
    })?;
    Ok(outputs)
}

/// Keeps its graphs, for models that are evaluated again and again.
pub(super) struct Evaluator {
    batch: usize,
    graphs: Vec<(usize, Evaluation)>,
}

impl Evaluator {
    pub(super) fn new(batch: usize) -> Result<Self> {
        if batch == 0 {
            return Err(invalid("evaluate: batches of 0 samples: 1 or more are valid".into()));
        }
        Ok(Self { batch, graphs: Vec::new() })
    }

    pub(super) fn scores(
        &mut self,
        backend: &Backend,
        model: &dyn Module,
        loss: Loss<'_>,
        samples: &dyn Samples,
    ) -> Result<Scores> {
        let (mut sum, mut right, mut labelled) = (0., 0, 0);
        self.each(backend, model, Some(loss), samples, |batch, n, loss| {
            sum += loss * n as f64;
            let Some(labels) = batch.leafs.labels() else { return Ok(()) };
            let classes = usize::try_from(batch.output.shape()[0]).unwrap_or(0);
            if classes < 2 || batch.output.n_elements() != labels.len() * classes {
                return Ok(());
            }
            let outputs = batch.output.to_f32_vec()?;
            let is_right = |(row, label): (&[f32], &i32)| usize::try_from(*label) == Ok(largest(row));
            right += outputs.chunks_exact(classes).zip(labels).filter(|pair| is_right(*pair)).count();
            labelled += labels.len();
            Ok(())
        })?;
        let accuracy = (labelled > 0).then(|| right as f64 / labelled as f64);
        Ok(Scores { loss: sum / samples.len() as f64, accuracy })
    }

    fn each(
        &mut self,
        backend: &Backend,
        model: &dyn Module,
        loss: Option<Loss<'_>>,
        samples: &dyn Samples,
        mut see: impl FnMut(&Evaluation, usize, f64) -> Result<()>,
    ) -> Result<()> {
        if samples.is_empty() {
            return Err(invalid("evaluate: no samples: at least one is valid".into()));
        }
        let numbers: Vec<usize> = (0..samples.len()).collect();
        for chunk in numbers.chunks(self.batch) {
            let n = chunk.len();
            let place = match self.graphs.iter().position(|(size, _)| *size == n) {
                Some(place) => place,
                None => {
                    self.graphs.push((n, Evaluation::new(backend, model, loss, samples, n)?));
                    self.graphs.len() - 1
                }
            };
            let batch = &mut self.graphs[place].1;
            batch.leafs.write(samples, chunk, None)?;
            let loss = batch.compute(backend)?;
            see(batch, n, loss)?;
        }
        Ok(())
    }
}

/// The first of the largest.
fn largest(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best })
}
