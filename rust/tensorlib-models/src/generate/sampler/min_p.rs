//! `min_p`: a limit relative to the most likely token.

use super::logits::Logits;

/// Keeps tokens with at least p times the probability of the most likely token (Nguyen et al., Turning Up the Heat:
/// Min-p Sampling for Creative and Coherent LLM Outputs, 2024). 0: all.
pub(super) fn apply(logits: &mut Logits, p: f64) {
    let Some(first) = logits.most_likely().filter(|_| p > 0.0) else { return };
    logits.retain(|c| (c.logit - first.logit).exp() >= p);
}
