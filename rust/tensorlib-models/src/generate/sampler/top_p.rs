//! `top_p`: the nucleus.

use super::logits::Logits;

/// Keeps the fewest tokens, the most likely first, whose probabilities sum to at least p (Holtzman et al., The Curious
/// Case of Neural Text Degeneration, 2020), and at least one, sorted. 1: all, in their order.
pub(super) fn apply(logits: &mut Logits, p: f64) {
    if p >= 1.0 {
        return;
    }
    logits.keep_share(p);
}
