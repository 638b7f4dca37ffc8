//! Perplexity: how well a model predicts a text.

use crate::{Decoder, Error, Result, Session};
use tensorlib::DType;

/// The number of tokens whose logits are held at a time.
const PART: usize = 64;

/// The perplexity of a text: e to the mean cost of its tokens, -ln of the probability that the model gave to each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perplexity {
    /// The mean cost of a token, in nats.
    pub mean: f64,
    /// The standard error of that mean, with tokens taken as independent.
    pub error: f64,
    /// The number of predicted tokens.
    pub tokens: usize,
    /// The number of windows that the text was cut into.
    pub windows: usize,
}

impl Perplexity {
    /// e to the mean.
    pub fn value(&self) -> f64 {
        self.mean.exp()
    }

    /// The standard error of the value, to first order.
    pub fn value_error(&self) -> f64 {
        self.value() * self.error
    }
}

/// Predicts tokens in independent windows of `window` tokens and counts those of each window's second half; the first
/// half is their context. If texts of the model begin with a special token, it replaces a window's first token. Tokens
/// after the last whole window are left out. `progress(windows done, of all)` is called after each window; `false`
/// stops.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind) for a window below 4 tokens or above the model's context, fewer tokens than
/// one window, or a stop; as [`Session::feed`].
pub fn perplexity(
    decoder: &Decoder,
    cache: DType,
    tokens: &[u32],
    window: usize,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Result<Perplexity> {
    decoder.check_window(tokens.len(), window, 4)?;
    let windows = tokens.len() / window;
    let mut session = decoder.session(cache)?;
    let (mut sum, mut squares, mut counted) = (0.0, 0.0, 0);
    for (i, part) in tokens.chunks_exact(window).enumerate() {
        let mut part = part.to_vec();
        if let Some(bos) = decoder.tokenizer().begins() {
            part[0] = bos;
        }
        session.rewind(0);
        for cost in costs(&mut session, &part)? {
            if cost.is_nan() {
                let error = session.not_finite("a probability is no number");
                return Err(error.about(format_args!("window {} of {windows}", i + 1)));
            }
            sum += cost;
            squares += cost * cost;
            counted += 1;
        }
        if session.has_overflow() {
            let error = session.not_finite("the cache is not what was computed");
            return Err(error.about(format_args!("window {} of {windows}", i + 1)));
        }
        if !progress(i + 1, windows) {
            return Err(Error::invalid(format!("stopped after {} of {windows} windows", i + 1)));
        }
    }
    let mean = sum / counted as f64;
    let variance = (squares / counted as f64 - mean * mean).max(0.0);
    let error = (variance / (counted as f64 - 1.0).max(1.0)).sqrt();
    Ok(Perplexity { mean, error, tokens: counted, windows })
}

impl Decoder {
    /// Checks that a text of `n` tokens has a window of this size, which is `least` or more.
    pub(crate) fn check_window(&self, n: usize, window: usize, least: usize) -> Result<()> {
        let most = self.context();
        if window < least || window > most {
            return Err(Error::invalid(format!("windows of {window} tokens: {least} to {most} are valid")));
        }
        if n < window {
            let message = format!("a text of {n} tokens: {window}, a window, is the least");
            return Err(Error::invalid(message).with_hint("take a longer text, or smaller windows (--ctx)"));
        }
        Ok(())
    }
}

/// The costs of the tokens of a window's second half, except its first.
fn costs(session: &mut Session, window: &[u32]) -> Result<Vec<f64>> {
    let half = window.len() / 2;
    let vocabulary = session.decoder().vocabulary();
    session.feed(&window[..half])?;
    let mut costs = Vec::new();
    // Logits after a token predict the next one; nothing follows the last.
    let second = &window[half..window.len() - 1];
    for (i, part) in second.chunks(PART).enumerate() {
        let logits = session.feed_all(part)?;
        for (j, row) in logits.chunks_exact(vocabulary).enumerate() {
            costs.push(cost(row, window[half + i * PART + j + 1]));
        }
    }
    Ok(costs)
}

/// -ln of a token's probability.
fn cost(logits: &[f32], token: u32) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|x| f64::from(x - most).exp()).sum();
    total.ln() - f64::from(logits[token as usize] - most)
}
