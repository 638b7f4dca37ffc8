//! Penalties of tokens that occurred: `repeat_penalty`, `presence_penalty` and `frequency_penalty`.

use super::logits::Logits;
use super::options::SamplerOptions;
use std::collections::BTreeMap;

/// For each token t that occurs n times, n > 0, in the last `repeat_last_n` tokens:
///
/// ```text
/// logit[t]  = logit[t] / repeat_penalty       if it is positive, otherwise
///             logit[t] * repeat_penalty
/// logit[t] -= n * frequency_penalty + presence_penalty
/// ```
///
/// The first line is that of Keskar et al., CTRL: A Conditional Transformer Language Model for Controllable Generation,
/// 2019, with a product for negative logits, which a quotient would raise. The second line is that of OpenAI's API.
pub(super) fn apply(logits: &mut Logits, tokens: &[u32], options: &SamplerOptions) {
    if !any(options) {
        return;
    }
    let SamplerOptions { repeat_penalty, presence_penalty, frequency_penalty, .. } = *options;
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    last(tokens, options.repeat_last_n).iter().for_each(|token| *counts.entry(*token).or_default() += 1);
    for (token, n) in counts {
        logits.update(token, |logit| {
            let logit = if logit > 0.0 { logit / repeat_penalty } else { logit * repeat_penalty };
            logit - (f64::from(n) * frequency_penalty + presence_penalty)
        });
    }
}

/// Whether there is a penalty.
pub(super) fn any(options: &SamplerOptions) -> bool {
    options.repeat_penalty != 1.0 || options.presence_penalty != 0.0 || options.frequency_penalty != 0.0
}

/// The last n tokens; -1: all.
pub(super) fn last(tokens: &[u32], n: i32) -> &[u32] {
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    &tokens[tokens.len().saturating_sub(n)..]
}
