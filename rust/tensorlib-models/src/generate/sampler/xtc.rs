//! `xtc_probability` and `xtc_threshold`: exclude top choices.

use super::logits::Logits;
use super::random::Random;

/// Exclude Top Choices (p-e-w, text-generation-webui, pull request 6335, 2024). With the given probability, removes all
/// tokens with at least `threshold`, except the least likely of them. A number is drawn for each token of the text if
/// the probability is above 0. The tokens are sorted.
pub(super) fn apply(logits: &mut Logits, probability: f64, threshold: f64, random: &mut Random) {
    if probability > 0.0 && random.uniform() < probability {
        let likely = logits.probabilities().take_while(|p| *p >= threshold).count();
        logits.remove_first(likely.saturating_sub(1));
    }
}
