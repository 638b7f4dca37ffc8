//! Masks of attention: numbers that are added to the products of queries and keys, 0 for a key that a query may see and
//! -infinity for one that it may not. Their shape is `[keys, queries, heads, n]`, where all dimensions but the keys may
//! have 1 element, which counts for all.
//!
//! Masks are added up to hide what any of them hides. A query that sees no key at all becomes NaN.
//!
//! ```
//! use tensorlib::nn::mask;
//! use tensorlib::{Backend, Context};
//! let ctx = Context::new();
//! let lengths = ctx.tensor_of([2], &[3i32, 2])?; // two samples of 3 and 2 tokens
//! let both = mask::causal(&ctx, 3)?.add(&mask::padding(&lengths, 3)?)?;
//! assert_eq!(both.shape(), [3, 3, 1, 2]);
//! Backend::cpu()?.compute(&[&both])?;
//! let hidden = f32::NEG_INFINITY;
//! assert_eq!(both.to_vec::<f32>()?[9..], [0., hidden, hidden, 0., 0., hidden, 0., 0., hidden]);
//! # Ok::<(), tensorlib::Error>(())
//! ```

use super::invalid;
use crate::{Context, DType, Result, Tensor};

/// Lets each of `tokens` queries see the key at its own position and those before: `[tokens, tokens]`.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for a negative number of tokens; [`Error::OutOfMemory`](crate::Error).
pub fn causal(context: &Context, tokens: i64) -> Result<Tensor> {
    context.within(|| context.zeros(DType::F32, [tokens, tokens])?.diag_mask_inf(0))
}

/// Hides the keys after the end of each sample: from `lengths`, I32 or F32 `[n]`, to `[keys, 1, 1, n]`. A sample of
/// length 0 has no key, so its queries become NaN.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error) for lengths of more than one dimension, or a negative number of keys.
pub fn padding(lengths: &Tensor, keys: i64) -> Result<Tensor> {
    let shape = lengths.shape();
    if shape.len() != 1 || keys < 0 {
        return Err(invalid(format!(
            "mask::padding: lengths {shape:?}, {keys} keys: [n], and 0 or more keys are valid"
        )));
    }
    let ctx = lengths.node_context();
    ctx.within(|| {
        let lengths = lengths.cast(DType::F32)?.reshape([1, 1, 1, -1])?;
        hide(&ctx.arange(0., keys as f64, 1.)?.ge(&lengths)?)
    })
}

/// Hides keys where `hidden` is not 0: a mask of the shape of `hidden`.
///
/// ```
/// use tensorlib::nn::mask;
/// use tensorlib::{Backend, Context};
/// let hidden = Context::new().tensor([3, 1], &[0f32, 1., 0.])?;
/// let mask = mask::hide(&hidden)?;
/// Backend::cpu()?.compute(&[&mask])?;
/// assert_eq!(mask.to_vec::<f32>()?, [0., f32::NEG_INFINITY, 0.]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::masked_fill`].
pub fn hide(hidden: &Tensor) -> Result<Tensor> {
    hidden.fill(0.)?.masked_fill(hidden, f64::NEG_INFINITY)
}
