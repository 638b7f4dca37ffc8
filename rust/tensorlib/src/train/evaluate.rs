//! Evaluation: a model's scores and predictions on samples.

use super::batch::Evaluation;
use super::network::{forward_of, loss_of, Forward, Loss};
use super::ranks::{flag, Ranks};
use super::Samples;
use crate::nn::metrics::largest;
use crate::nn::{invalid, Module, Pass};
use crate::{Backend, Result, Tensor};
use std::ops::Range;

/// A model's scores on some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The mean loss over all samples.
    pub loss: f64,
    /// The fraction of labels that have the largest output of their row. Labels are I32 targets with one number per row
    /// of the output at the same position: the first target belongs to the first output. `None` if there are no labels.
    pub accuracy: Option<f64>,
}

/// A model's scores on all samples, computed in batches of `batch` samples.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no samples, a batch of 0, and samples of several inputs or targets; as
/// the model's operations and [`Samples::write`].
pub fn evaluate(
    backend: &Backend,
    model: &dyn Module,
    loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    samples: &dyn Samples,
    batch: usize,
) -> Result<Scores> {
    evaluate_fn(backend, |inputs, pass| forward_of(model, inputs, pass), loss_of(loss), samples, batch)
}

/// The scores on all samples of a network with any number of inputs and outputs, computed in batches of `batch`
/// samples. The arguments are those of [`Trainer::from_fn`](super::Trainer::from_fn).
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no samples and a batch of 0; as the network's operations and
/// [`Samples::write`].
pub fn evaluate_fn(
    backend: &Backend,
    network: impl Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>>,
    loss: impl Fn(&[Tensor], &[Tensor]) -> Result<Tensor>,
    samples: &dyn Samples,
    batch: usize,
) -> Result<Scores> {
    Evaluator::new(batch)?.scores(backend, (&network, &loss), samples, None)
}

/// A model's outputs for all samples, sample after sample, computed in batches of `batch` samples. Targets are not
/// read.
///
/// # Errors
/// As [`evaluate`].
pub fn predict(backend: &Backend, model: &dyn Module, samples: &dyn Samples, batch: usize) -> Result<Vec<f32>> {
    let outputs = predict_fn(backend, |inputs, pass| forward_of(model, inputs, pass), samples, batch)?;
    Ok(outputs.into_iter().next().unwrap_or_default())
}

/// Each output of a network for all samples, sample after sample, computed in batches of `batch` samples. Targets are
/// not read.
///
/// # Errors
/// As [`evaluate_fn`].
pub fn predict_fn(
    backend: &Backend,
    network: impl Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>>,
    samples: &dyn Samples,
    batch: usize,
) -> Result<Vec<Vec<f32>>> {
    let mut outputs = Vec::new();
    Evaluator::new(batch)?.each(backend, &network, None, (samples, 0..samples.len()), |batch, _, _| {
        outputs.resize(batch.outputs.len(), Vec::new());
        for (values, output) in outputs.iter_mut().zip(&batch.outputs) {
            values.extend(output.to_f32_vec()?);
        }
        Ok(())
    })?;
    Ok(outputs)
}

/// Keeps its graphs, for models that are evaluated many times.
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

    /// The ranks share the samples out, and all get the same scores.
    pub(super) fn scores(
        &mut self,
        backend: &Backend,
        (forward, loss): (Forward<'_>, Loss<'_>),
        samples: &dyn Samples,
        ranks: Option<&Ranks>,
    ) -> Result<Scores> {
        let (mut sum, mut right, mut labelled) = (0., 0, 0);
        let own = ranks.map_or(0..samples.len(), |ranks| ranks.share(samples.len()));
        let seen = self.each(backend, forward, Some(loss), (samples, own), |batch, n, loss| {
            sum += loss * n as f64;
            for (output, labels) in batch.outputs.iter().zip(batch.leafs.labels()) {
                if let Some((correct, all)) = labels.map(|labels| count_correct(output, labels)).transpose()?.flatten()
                {
                    right += correct;
                    labelled += all;
                }
            }
            Ok(())
        });
        if let Some(ranks) = ranks {
            // A failure of this rank is one of all, at once.
            let own = [sum, right as f64, labelled as f64, flag(seen.is_err())];
            let [all_sum, all_right, all_labelled, failed] = ranks.sum(backend, own)?;
            if failed != 0. && seen.is_ok() {
                return Err(invalid(format!("evaluate: {failed} other ranks have failed, and have the reasons")));
            }
            (sum, right, labelled) = (all_sum, all_right as usize, all_labelled as usize);
        }
        seen?;
        let accuracy = (labelled > 0).then(|| right as f64 / labelled as f64);
        Ok(Scores { loss: sum / samples.len() as f64, accuracy })
    }

    fn each(
        &mut self,
        backend: &Backend,
        forward: Forward<'_>,
        loss: Option<Loss<'_>>,
        (samples, own): (&dyn Samples, Range<usize>),
        mut see: impl FnMut(&Evaluation, usize, f64) -> Result<()>,
    ) -> Result<()> {
        if samples.is_empty() {
            return Err(invalid("evaluate: no samples: at least one is valid".into()));
        }
        let numbers: Vec<usize> = own.collect();
        for chunk in numbers.chunks(self.batch) {
            let n = chunk.len();
            let place = match self.graphs.iter().position(|(size, _)| *size == n) {
                Some(place) => place,
                None => {
                    self.graphs.push((n, Evaluation::new(backend, forward, loss, samples, n)?));
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

/// How many labels have the largest output of their row, and how many labels there are; `None` if the output does not
/// have one row per label.
fn count_correct(output: &Tensor, labels: &[i32]) -> Result<Option<(usize, usize)>> {
    let classes = usize::try_from(output.shape()[0]).unwrap_or(0);
    if classes < 2 || output.n_elements() != labels.len() * classes {
        return Ok(None);
    }
    let outputs = output.to_f32_vec()?;
    let is_right = |(row, label): &(&[f32], &i32)| usize::try_from(**label) == Ok(largest(row));
    let correct = outputs.chunks_exact(classes).zip(labels).filter(is_right).count();
    Ok(Some((correct, labels.len())))
}
