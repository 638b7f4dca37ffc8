//! `mirostat`, `mirostat_tau` and `mirostat_eta`: a limit of surprise that follows the text.

use super::logits::Logits;
use super::options::SamplerOptions;

/// Mirostat 2 (Basu et al., Mirostat: A Neural Text Decoding Algorithm that Directly Controls Perplexity, 2021). Keeps
/// the tokens with a surprise `-log2 p` of at most mu, at least one, after the temperature. Then, with the surprise of
/// the drawn token among those kept:
///
/// ```text
/// mu -= mirostat_eta * (surprise - mirostat_tau)
/// ```
///
/// It begins with `mu = 2 mirostat_tau`, and goes on with the sampler's last mu in the next text.
#[derive(Clone, Debug)]
pub(super) struct Mirostat {
    tau: f64,
    eta: f64,
    mu: f64,
}

impl Mirostat {
    /// `None` if the options turn it off.
    pub(super) fn new(options: &SamplerOptions) -> Option<Self> {
        let (tau, eta) = (options.mirostat_tau, options.mirostat_eta);
        (options.mirostat == 2).then_some(Mirostat { tau, eta, mu: 2.0 * tau })
    }

    /// The tokens are sorted.
    pub(super) fn apply(&self, logits: &mut Logits) {
        let kept = logits.probabilities().take_while(|p| -p.log2() <= self.mu).count();
        logits.truncate(kept.max(1));
    }

    /// Records the probability with which the token was drawn.
    pub(super) fn drawn(&mut self, probability: f64) {
        self.mu -= self.eta * (-probability.log2() - self.tau);
    }
}
