//! `top_p`: the nucleus.

use super::logits::Logits;

/// Keeps the fewest tokens, the most likely first, whose probabilities sum to at least p (Holtzman et al., The Curious
/// Case of Neural Text Degeneration, 2020), and at least one. 1: all. The tokens are sorted.
pub(super) fn apply(logits: &mut Logits, p: f64) {
    if p >= 1.0 {
        return;
    }
    let mut sum = 0.0;
    let within = logits.probabilities().take_while(|probability| {
        let before = sum;
        sum += probability;
        before < p
    });
    let kept = within.count().max(1);
    logits.truncate(kept);
}
