//! `min_p`: a limit relative to the most likely token.

use super::logits::Logits;

/// Keeps tokens with at least p times the probability of the most likely token (Nguyen et al., Turning Up the Heat:
/// Min-p Sampling for Creative and Coherent LLM Outputs, 2024). 0: all.
pub(super) fn apply(logits: &mut Logits, p: f64) {
    if p <= 0.0 {
        return;
    }
    let most = logits.find_most();
    // Few tokens of a large vocabulary are near the limit, and only they need an exact exponential.
    let limit = p.ln() - 1e-6;
    logits.retain(|c| c.logit - most >= limit && (c.logit - most).exp() >= p);
}
