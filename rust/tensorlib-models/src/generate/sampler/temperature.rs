//! `temperature`, `dynatemp_range` and `dynatemp_exponent`.

use super::logits::Logits;
use super::options::SamplerOptions;
use super::typical::entropy;

/// Divides logits by the temperature, or by one that depends on the entropy of the n tokens left (dynamic temperature,
/// kalomaze, 2023):
///
/// ```text
/// least = max(0, temperature - dynatemp_range)
/// most  = temperature + dynatemp_range
/// T     = least + (most - least) * (H / ln n) ^ dynatemp_exponent,     H = -sum of p ln p
/// ```
///
/// A T of 0 leaves the most likely token.
pub(super) fn apply(logits: &mut Logits, options: &SamplerOptions) {
    let temperature = match options.dynatemp_range {
        0.0 => options.temperature,
        range => dynamic(logits, options.temperature, range, options.dynatemp_exponent),
    };
    if temperature > 0.0 {
        logits.scale(temperature);
    } else {
        logits.select(1);
    }
}

fn dynamic(logits: &Logits, temperature: f64, range: f64, exponent: f64) -> f64 {
    if logits.len() < 2 {
        return temperature;
    }
    let (least, most) = ((temperature - range).max(0.0), temperature + range);
    let probabilities: Vec<f64> = logits.probabilities().collect();
    // Rounding may exceed 1.
    let share = (entropy(&probabilities) / (logits.len() as f64).ln()).clamp(0.0, 1.0);
    least + (most - least) * share.powf(exponent)
}
