//! Losses, as scalar nodes: each is a mean over all elements of the targets.

use super::invalid;
use crate::{Result, ScaleOptions, Tensor};

/// The mean squared error, the mean of (output - target)^2; both have the same shape.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes; as [`Tensor::sub`].
pub fn mse(output: &Tensor, target: &Tensor) -> Result<Tensor> {
    mean(&difference("mse", output, target)?.sqr()?)
}

/// The Huber loss: the mean of r^2 / 2 for absolute differences r up to `delta`, and of delta (r - delta / 2) beyond
/// (P. J. Huber, Robust Estimation of a Location Parameter, 1964). Both tensors have the same shape.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes, or a delta that is not positive; as [`Tensor::sub`].
pub fn huber(output: &Tensor, target: &Tensor, delta: f64) -> Result<Tensor> {
    if !(delta > 0. && delta.is_finite()) {
        return Err(invalid(format!("huber: delta = {delta}: a positive number is valid")));
    }
    // q (r - q / 2) with q = min(r, delta) covers both cases.
    let r = difference("huber", output, target)?.abs()?;
    let q = r.clamp(0., delta)?;
    mean(&q.mul(&r.sub(&scaled(&q, 0.5)?)?)?)
}

/// The mean of -log of the probability that a softmax of the logits `[classes, n..]` gives to the labels, I32 or I64
/// `[n..]`.
///
/// ```
/// use tensorlib::{nn::loss, Backend, Context};
/// let ctx = Context::new();
/// let logits = ctx.tensor([2, 2], &[0., 0., 0., 3f32.ln()])?;
/// let labels = ctx.tensor_of([2], &[0i32, 1])?;
/// let loss = loss::cross_entropy(&logits, &labels)?;
/// Backend::cpu()?.compute(&[&loss])?;
/// assert!((loss.get(&[0])? - (2f32.ln() - 0.75f32.ln()) / 2.).abs() < 1e-6);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) if there is not one label per row of logits; computing fails for a label
/// that is not a class.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let classes = logits.shape()[0];
    if classes < 1 || logits.n_elements() != labels.n_elements() * classes as usize {
        let (of_logits, of_labels) = (logits.shape(), labels.shape());
        return Err(invalid(format!(
            "cross_entropy: logits {of_logits:?}, labels {of_labels:?}: a label for each row of logits is valid"
        )));
    }
    let logits = logits.cont()?.reshape([classes, -1])?;
    let chosen = logits.log_soft_max()?.gather(&labels.reshape([1, -1])?, 0)?;
    scaled(&mean(&chosen)?, -1.)
}

/// The mean of -log of the probability that a sigmoid of the logits gives to the targets, which lie between 0 and 1:
/// F32, both of the same shape.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes; as [`Tensor::sub`].
pub fn binary_cross_entropy(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    same_shape("binary_cross_entropy", logits, targets)?;
    // -t log s(x) - (1 - t) log(1 - s(x)) = log(1 + e^x) - t x.
    mean(&logits.softplus()?.sub(&logits.mul(targets)?)?)
}

/// The hinge loss, the mean of max(0, 1 - sign output) for signs of -1 or 1: F32, both of the same shape.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes; as [`Tensor::mul`].
pub fn hinge(output: &Tensor, signs: &Tensor) -> Result<Tensor> {
    same_shape("hinge", output, signs)?;
    mean(&output.mul(signs)?.scale(-1., ScaleOptions::new().bias(1.))?.relu()?)
}

/// The mean of all elements.
fn mean(t: &Tensor) -> Result<Tensor> {
    t.mean(..)
}

fn scaled(t: &Tensor, factor: f64) -> Result<Tensor> {
    t.scale(factor, ScaleOptions::new())
}

fn difference(op: &str, output: &Tensor, target: &Tensor) -> Result<Tensor> {
    same_shape(op, output, target)?;
    output.sub(target)
}

/// Operations repeat their second operand, so different shapes would silently compute another loss.
fn same_shape(op: &str, output: &Tensor, target: &Tensor) -> Result<()> {
    let (of_output, of_target) = (output.shape(), target.shape());
    if of_output == of_target {
        return Ok(());
    }
    Err(invalid(format!("{op}: output {of_output:?}, target {of_target:?}: one shape is valid")))
}
