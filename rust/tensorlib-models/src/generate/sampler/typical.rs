//! `typical_p`: tokens whose surprise is near the entropy.

use super::logits::Logits;

/// Locally typical sampling (Meister et al., Locally Typical Sampling, 2023). With `H = -sum of p ln p`, keeps the
/// fewest tokens, those with the smallest `|-ln p - H|` first, whose probabilities sum to at least `typical`, and at
/// least one. Of tokens with equal distances the more likely one comes first. 1: all. The tokens are sorted.
pub(super) fn apply(logits: &mut Logits, typical: f64) {
    if typical >= 1.0 {
        return;
    }
    let probabilities: Vec<f64> = logits.probabilities().collect();
    let entropy = entropy(&probabilities);
    let distance = |at: usize| (-probabilities[at].ln() - entropy).abs();
    let mut nearest: Vec<usize> = (0..probabilities.len()).collect();
    nearest.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    let (mut kept, mut sum) = (vec![false; nearest.len()], 0.0);
    for at in nearest {
        kept[at] = true;
        sum += probabilities[at];
        if sum >= typical {
            break;
        }
    }
    let mut kept = kept.into_iter();
    logits.retain(|_| kept.next().unwrap_or(false));
}

/// The entropy of these probabilities in nats.
pub(super) fn entropy(probabilities: &[f64]) -> f64 {
    -probabilities.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}
