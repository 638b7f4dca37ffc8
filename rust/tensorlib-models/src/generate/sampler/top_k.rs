//! `top_k`: the most likely tokens.

use super::logits::Logits;

/// Keeps the k most likely tokens; of equally likely ones, the first (Fan, Lewis and Dauphin, Hierarchical Neural Story
/// Generation, 2018). 0: all.
pub(super) fn apply(logits: &mut Logits, k: usize) {
    if k > 0 {
        logits.select(k);
    }
}
