//! Metrics of classifiers, computed on the host in F64 from a network's outputs, such as those of
//! [`predict`](crate::train::predict).
//!
//! ```
//! use tensorlib::nn::metrics::{self, Average};
//! let outputs = [0.1, 0.9, 0.8, 0.2, 0.4, 0.6]; // two classes, three samples
//! let (predicted, labels) = (metrics::predicted(&outputs, 2)?, [1, 0, 0]);
//! assert_eq!(predicted, [1, 0, 1]);
//! assert_eq!(metrics::accuracy(&predicted, &labels)?, 2. / 3.);
//! assert_eq!(metrics::f1(&predicted, &labels, Average::Binary)?, 2. / 3.);
//! # Ok::<(), tensorlib::Error>(())
//! ```

use super::invalid;
use crate::Result;
use std::collections::BTreeMap;

/// The class with the largest output of each row of `classes` outputs; the first one of several.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no classes, numbers that are not whole rows, and a NaN.
pub fn predicted(outputs: &[f32], classes: usize) -> Result<Vec<i32>> {
    let n = outputs.len();
    if classes < 1 || i32::try_from(classes).is_err() || n % classes != 0 {
        return Err(invalid(format!(
            "predicted: {n} outputs of {classes} classes: 1 to 2^31 - 1 classes and a multiple of them are valid"
        )));
    }
    check_numbers("predicted", outputs)?;
    Ok(outputs.chunks_exact(classes).map(|row| largest(row) as i32).collect())
}

/// The index of the largest element; the first one of several.
pub(crate) fn largest(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best })
}

/// The fraction of predictions that equal their label.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no labels, or another number of predictions.
pub fn accuracy(predicted: &[i32], labels: &[i32]) -> Result<f64> {
    check_lengths("accuracy", "predictions", predicted.len(), labels.len())?;
    let right = predicted.iter().zip(labels).filter(|(a, b)| a == b).count();
    Ok(right as f64 / labels.len() as f64)
}

/// How [`f1`] makes one number of several classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The F1 of class 1; labels and predictions are 0 or 1.
    Binary,
    /// The mean over all classes that occur.
    Macro,
    /// The F1 of all decisions about all classes together.
    Micro,
    /// The mean over all classes that occur, weighted by the number of their labels.
    Weighted,
}

/// The decisions about one class.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Predicted, and the label.
    right: usize,
    predicted: usize,
    labels: usize,
}

impl Counts {
    /// The harmonic mean of precision and recall; a class occurs in predictions or labels.
    fn f1(self) -> f64 {
        2. * self.right as f64 / (self.predicted + self.labels) as f64
    }
}

/// The F1 score: the harmonic mean of precision and recall. It is 0 for a class without a right prediction.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for no labels or another number of predictions; for [`Average::Binary`]
/// also for numbers other than 0 and 1.
pub fn f1(predicted: &[i32], labels: &[i32], average: Average) -> Result<f64> {
    check_lengths("f1", "predictions", predicted.len(), labels.len())?;
    if average == Average::Binary {
        check_binary("f1", predicted.iter().chain(labels))?;
    }
    let mut classes: BTreeMap<i32, Counts> = BTreeMap::new();
    for (predicted, label) in predicted.iter().zip(labels) {
        classes.entry(*predicted).or_default().predicted += 1;
        let class = classes.entry(*label).or_default();
        class.labels += 1;
        class.right += usize::from(predicted == label);
    }
    let all = classes.values();
    Ok(match average {
        Average::Binary => classes.get(&1).map_or(0., |class| class.f1()),
        Average::Macro => all.map(|class| class.f1()).sum::<f64>() / classes.len() as f64,
        // Each wrong prediction is one too many of a class and one too few of another.
        Average::Micro => all.map(|class| class.right).sum::<usize>() as f64 / labels.len() as f64,
        Average::Weighted => all.map(|class| class.f1() * class.labels as f64).sum::<f64>() / labels.len() as f64,
    })
}

/// The area under the ROC curve: the probability that a sample with the label 1 has a larger score than one with the
/// label 0, where equal scores count half (J. A. Hanley, B. J. McNeil, The meaning and use of the area under a receiver
/// operating characteristic curve, 1982).
///
/// ```
/// use tensorlib::nn::metrics;
/// assert_eq!(metrics::auc(&[0.1, 0.4, 0.35, 0.8], &[0, 0, 1, 1])?, 0.75);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for another number of scores than labels, a NaN, a label other than 0 and
/// 1, and labels of one class only.
pub fn auc(scores: &[f32], labels: &[i32]) -> Result<f64> {
    check_lengths("auc", "scores", scores.len(), labels.len())?;
    check_numbers("auc", scores)?;
    check_binary("auc", labels.iter())?;
    let ones = labels.iter().filter(|label| **label == 1).count();
    let zeros = labels.len() - ones;
    if ones == 0 || zeros == 0 {
        return Err(invalid(format!("auc: {ones} labels are 1 and {zeros} are 0: one or more of each is valid")));
    }
    let mut sorted: Vec<(f32, i32)> = scores.iter().copied().zip(labels.iter().copied()).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the number of pairs in order: integers are exact. -0 and 0 are equal, and next to each other.
    let (mut below, mut pairs) = (0u128, 0u128);
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let ones = equal.iter().filter(|(_, label)| *label == 1).count() as u128;
        let zeros = equal.len() as u128 - ones;
        pairs += ones * (2 * below + zeros);
        below += zeros;
    }
    Ok(pairs as f64 / 2. / (ones as f64 * zeros as f64))
}

fn check_lengths(op: &str, what: &str, n: usize, labels: usize) -> Result<()> {
    if n == labels && n > 0 {
        return Ok(());
    }
    Err(invalid(format!("{op}: {n} {what}, {labels} labels: as many of both, and at least one, are valid")))
}

fn check_numbers(op: &str, numbers: &[f32]) -> Result<()> {
    match numbers.iter().position(|x| x.is_nan()) {
        Some(i) => Err(invalid(format!("{op}: number {i} is NaN: any other number is valid"))),
        None => Ok(()),
    }
}

fn check_binary<'a>(op: &str, mut labels: impl Iterator<Item = &'a i32>) -> Result<()> {
    match labels.find(|label| ![0, 1].contains(*label)) {
        Some(label) => Err(invalid(format!("{op}: {label}: 0 and 1 are valid"))),
        None => Ok(()),
    }
}
