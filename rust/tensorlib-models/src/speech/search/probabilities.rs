//! Probabilities of logits, some of which are -infinity.

/// The natural logarithm of the sum of e^x.
pub fn log_sum_exp(values: impl Iterator<Item = f32> + Clone) -> f64 {
    let most = values.clone().fold(f32::NEG_INFINITY, f32::max);
    if most == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let most = f64::from(most);
    most + values.map(|x| (f64::from(x) - most).exp()).sum::<f64>().ln()
}

/// The natural logarithms of the probabilities.
pub fn log_softmax(logits: &[f32]) -> Vec<f64> {
    let sum = log_sum_exp(logits.iter().copied());
    logits.iter().map(|x| f64::from(*x) - sum).collect()
}

/// The probabilities.
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    log_softmax(logits).into_iter().map(f64::exp).collect()
}
