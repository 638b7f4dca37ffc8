//! Losses, as scalar nodes: each is a mean, over all elements of the targets or over all rows.

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
    check_positive("huber", "delta", delta)?;
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
    labels_of_rows("cross_entropy", "logits", logits, labels)?;
    chosen(&logits.cont()?.reshape([logits.extent(0), -1])?.log_soft_max()?, labels)
}

/// The negative log-likelihood: the mean of -x over the labels' elements of x `[classes, n..]`, the logarithms of
/// probabilities. Labels are I32 or I64 `[n..]`. [`cross_entropy`] takes logits, which are not normalised.
///
/// ```
/// use tensorlib::{nn::loss, Backend, Context};
/// let ctx = Context::new();
/// let logits = ctx.tensor([3, 2], &[0.5, -1., 2., 0., 1., 0.])?;
/// let labels = ctx.tensor_of([2], &[2i32, 0])?;
/// let nll = loss::nll(&logits.log_soft_max()?, &labels)?;
/// let cross_entropy = loss::cross_entropy(&logits, &labels)?;
/// Backend::cpu()?.compute(&[&nll, &cross_entropy])?;
/// assert_eq!(nll.get(&[0])?, cross_entropy.get(&[0])?);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) if there is not one label per row; computing fails for a label that is not
/// a class.
pub fn nll(log_probabilities: &Tensor, labels: &Tensor) -> Result<Tensor> {
    labels_of_rows("nll", "log_probabilities", log_probabilities, labels)?;
    chosen(&log_probabilities.cont()?.reshape([log_probabilities.extent(0), -1])?, labels)
}

/// The negative mean of the labels' elements of rows `[classes, n]`.
fn chosen(rows: &Tensor, labels: &Tensor) -> Result<Tensor> {
    scaled(&mean(&rows.gather(&labels.reshape([1, -1])?, 0)?)?, -1.)
}

fn labels_of_rows(op: &str, what: &str, rows: &Tensor, labels: &Tensor) -> Result<()> {
    let classes = rows.extent(0);
    if classes < 1 || rows.n_elements() != labels.n_elements() * classes as usize {
        let (of_rows, of_labels) = (rows.shape(), labels.shape());
        return Err(invalid(format!(
            "{op}: {what} {of_rows:?}, labels {of_labels:?}: a label for each row of {what} is valid"
        )));
    }
    Ok(())
}

/// The Kullback-Leibler divergence of distributions, the rows of `target`, from those whose logarithms are the rows of
/// `log_output`: the mean over all rows of the sum of t (log t - x), where 0 log 0 is 0 (S. Kullback, R. A. Leibler,
/// On Information and Sufficiency, 1951). PyTorch calls this reduction `batchmean`.
///
/// ```
/// use tensorlib::{nn::loss, Backend, Context};
/// let ctx = Context::new();
/// let target = ctx.tensor([2, 1], &[1., 0.])?;
/// let loss = loss::kl_divergence(&ctx.zeros(tensorlib::DType::F32, [2, 1])?.log_soft_max()?, &target)?;
/// Backend::cpu()?.compute(&[&loss])?;
/// assert!((loss.get(&[0])? - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes; as [`Tensor::sub`].
pub fn kl_divergence(log_output: &Tensor, target: &Tensor) -> Result<Tensor> {
    same_shape("kl_divergence", log_output, target)?;
    // The bound keeps 0 log 0 finite, and is below all other probabilities of F32.
    let logarithm = target.clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX))?.log()?;
    mean(&target.mul(&logarithm.sub(log_output)?)?.sum(0)?)
}

/// The cosine embedding loss of rows a and b `[width, n..]`: the mean of 1 - c for pairs with the sign 1, and of
/// max(0, c - margin) for those with the sign -1, where c is the cosine of the angle between the rows. Signs are F32
/// `[n..]`.
///
/// ```
/// use tensorlib::{nn::loss, Backend, Context};
/// let ctx = Context::new();
/// let (a, b) = (ctx.tensor([2, 2], &[1., 0., 0., 2.])?, ctx.tensor([2, 2], &[3., 0., 1., 0.])?);
/// let signs = ctx.tensor([2], &[1., -1.])?; // the first pair is to be similar, the second is not
/// let loss = loss::cosine_embedding(&a, &b, &signs, 0.)?;
/// Backend::cpu()?.compute(&[&loss])?;
/// assert!(loss.get(&[0])?.abs() < 1e-6);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for a and b of different shapes, if there is not one sign per row, or a
/// margin outside -1 to 1; as [`Tensor::mul`].
pub fn cosine_embedding(a: &Tensor, b: &Tensor, signs: &Tensor, margin: f64) -> Result<Tensor> {
    alike("cosine_embedding", [("a", a), ("b", b)])?;
    let rows: usize = (1..4).map(|d| a.extent(d) as usize).product();
    if signs.n_elements() != rows {
        let (of_rows, of_signs) = (a.shape(), signs.shape());
        return Err(invalid(format!(
            "cosine_embedding: rows {of_rows:?}, signs {of_signs:?}: a sign for each row is valid"
        )));
    }
    if !(-1. ..=1.).contains(&margin) {
        return Err(invalid(format!("cosine_embedding: margin = {margin}: a number from -1 to 1 is valid")));
    }
    // As in PyTorch, this keeps the cosine of a row of zeros finite, and its gradient too.
    let squares = |t: &Tensor| t.sqr()?.sum(0)?.scale(1., ScaleOptions::new().bias(1e-12));
    let cosine = a.mul(b)?.sum(0)?.div(&squares(a)?.mul(&squares(b)?)?.sqrt()?)?.reshape([-1])?;
    let share = signs.reshape([-1])?.scale(0.5, ScaleOptions::new().bias(0.5))?; // 1 for similar pairs, else 0
    let similar = cosine.scale(-1., ScaleOptions::new().bias(1.))?;
    let different = cosine.scale(1., ScaleOptions::new().bias(-margin))?.relu()?;
    mean(&share.mul(&similar.sub(&different)?)?.add(&different)?)
}

/// The triplet margin loss of rows `[width, n..]`: the mean of max(0, d(anchor, positive) - d(anchor, negative) +
/// margin), where d is the Euclidean distance (V. Balntas and others, Learning local feature descriptors with triplets
/// and shallow convolutional neural networks, 2016). All tensors have the same shape.
///
/// ```
/// use tensorlib::{nn::loss, Backend, Context};
/// let ctx = Context::new();
/// let (anchor, positive) = (ctx.tensor([2, 1], &[0., 0.])?, ctx.tensor([2, 1], &[3., 4.])?);
/// let loss = loss::triplet(&anchor, &positive, &ctx.tensor([2, 1], &[0., 2.])?, 1.)?;
/// Backend::cpu()?.compute(&[&loss])?;
/// assert!((loss.get(&[0])? - 4.).abs() < 1e-5); // 5 - 2 + 1
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for different shapes, or a margin that is not positive; as [`Tensor::sub`].
pub fn triplet(anchor: &Tensor, positive: &Tensor, negative: &Tensor, margin: f64) -> Result<Tensor> {
    alike("triplet", [("anchor", anchor), ("positive", positive)])?;
    alike("triplet", [("anchor", anchor), ("negative", negative)])?;
    check_positive("triplet", "margin", margin)?;
    // As in PyTorch, this keeps the gradient of equal rows finite.
    let distance = |t: &Tensor| anchor.sub(t)?.scale(1., ScaleOptions::new().bias(1e-6))?.sqr()?.sum(0)?.sqrt();
    let excess = distance(positive)?.sub(&distance(negative)?)?;
    mean(&excess.scale(1., ScaleOptions::new().bias(margin))?.relu()?)
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

fn same_shape(op: &str, output: &Tensor, target: &Tensor) -> Result<()> {
    alike(op, [("output", output), ("target", target)])
}

/// Operations repeat their second operand, so different shapes would silently compute another loss.
fn alike(op: &str, [(a_name, a), (b_name, b)]: [(&str, &Tensor); 2]) -> Result<()> {
    let (of_a, of_b) = (a.shape(), b.shape());
    if of_a == of_b {
        return Ok(());
    }
    Err(invalid(format!("{op}: {a_name} {of_a:?}, {b_name} {of_b:?}: one shape is valid")))
}

fn check_positive(op: &str, name: &str, value: f64) -> Result<()> {
    if value > 0. && value.is_finite() {
        return Ok(());
    }
    Err(invalid(format!("{op}: {name} = {value}: a positive number is valid")))
}
