//! Changes to logits that callers write.

use super::logits::Logits;
use crate::Result;

/// A change to the logits of each token before it is drawn: a mask, a bias, a sampler of the caller's own.
///
/// It runs after the constraint, so it sees only tokens that the constraint allows, and before everything that
/// [`SamplerOptions`](crate::SamplerOptions) ask for. It must leave at least one token, and no logit that is NaN:
/// otherwise generation ends with an error.
///
/// ```
/// use tensorlib_models::{Logits, LogitsProcessor, Result, Sampler, SamplerOptions};
/// /// Never draws the token that came last.
/// struct NoStutter;
/// impl LogitsProcessor for NoStutter {
///     fn apply(&mut self, tokens: &[u32], logits: &mut Logits) -> Result<()> {
///         logits.retain(|candidate| Some(&candidate.token) != tokens.last());
///         Ok(())
///     }
/// }
/// let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() })?;
/// sampler.add(NoStutter);
/// let logits = [0.0, 2.0, 1.0];
/// assert_eq!([sampler.next(&logits)?, sampler.next(&logits)?, sampler.next(&logits)?], [1, 2, 1]);
/// # Ok::<(), tensorlib_models::Error>(())
/// ```
pub trait LogitsProcessor {
    /// Changes the logits of the token that follows `tokens`, the whole sequence so far.
    ///
    /// # Errors
    /// Any error ends generation.
    fn apply(&mut self, tokens: &[u32], logits: &mut Logits) -> Result<()>;
}
