//! Log-probabilities of tokens, by the model's own logits.

/// The log-probability of a token, and those of the most likely tokens in its place: natural logarithms of the softmax
/// of the model's logits, before a constraint, a bias, a penalty or a sampler changes them. OpenAI's API and llama.cpp's
/// server give the same by default. A token that the model excludes has -infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// That of the token.
    pub logprob: f64,
    /// The most likely tokens, the most likely first, as many as were asked for.
    pub top: Vec<(u32, f64)>,
}

impl Logprobs {
    /// For this token and the n most likely ones.
    pub(crate) fn new(logits: &[f32], token: u32, n: usize) -> Self {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let logprob: Box<dyn Fn(f32) -> f64> = if most.is_infinite() {
            // Only +infinity is left: as likely as the others, and everything else impossible.
            let n = logits.iter().filter(|logit| **logit == most).count() as f64;
            Box::new(move |logit| if logit == most { -n.ln() } else { f64::NEG_INFINITY })
        } else {
            let most = f64::from(most);
            let total: f64 = logits.iter().map(|logit| (f64::from(*logit) - most).exp()).sum();
            Box::new(move |logit| f64::from(logit) - most - total.ln())
        };
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        let likelier = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
        let n = n.min(order.len());
        if n > 0 && n < order.len() {
            order.select_nth_unstable_by(n, likelier);
        }
        order.truncate(n);
        order.sort_unstable_by(likelier);
        let top = order.into_iter().map(|token| (token, logprob(logits[token as usize]))).collect();
        let logprob = logits.get(token as usize).map_or(f64::NEG_INFINITY, |logit| logprob(*logit));
        Logprobs { logprob, top }
    }
}
