//! `min_p`: a limit relative to the most likely token.

use super::logits::Logits;

/// Keeps tokens with at least p times the probability of the most likely token (Nguyen et al., Turning Up the Heat:
/// Min-p Sampling for Creative and Coherent LLM Outputs, 2024). 0: all. The tokens are sorted.
pub(super) fn apply(logits: &mut Logits, p: f64) {
    let kept = logits.weights().take_while(|weight| *weight >= p).count();
    logits.truncate(kept);
}
