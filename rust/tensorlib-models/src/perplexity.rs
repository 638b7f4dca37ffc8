//! How well a model foretells a text.

use crate::{Decoder, Error, Result, Session};
use tensorlib::DType;

/// Tokens whose logits are held at a time.
const PART: usize = 64;

/// The perplexity of a text: e to the mean of what its tokens cost, -ln of the probability that the model gave each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perplexity {
    /// The mean cost of a token, in nats.
    pub mean: f64,
    /// The standard error of that mean, tokens taken as independent.
    pub error: f64,
    /// Tokens that were foretold.
    pub tokens: usize,
    /// Windows that the text was cut into.
    pub windows: usize,
}

impl Perplexity {
    /// e to the mean.
    pub fn value(&self) -> f64 {
        self.mean.exp()
    }

    /// Its standard error, to first order.
    pub fn value_error(&self) -> f64 {
        self.value() * self.error
    }
}

/// Foretells tokens in windows of `window`, each by itself, and counts those of its second half: the first half is what
/// they are foretold from. Where texts of the model begin with a token of their own, it stands in place of a window's first.
/// Tokens behind the last whole window are left out. `progress(windows done, of all)` is called after each; `false` stops.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind) for a window below 4 tokens or above the model's context, fewer tokens than one
/// window, or a stop; as [`Session::feed`].
pub fn perplexity(
    decoder: &Decoder,
    cache: DType,
    tokens: &[u32],
    window: usize,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Result<Perplexity> {
    let (n, most) = (tokens.len(), decoder.context());
    if window < 4 || window > most {
        return Err(Error::invalid(format!("windows of {window} tokens: 4 to {most} are valid")));
    }
    if n < window {
        let message = format!("a text of {n} tokens: {window}, a window, is the least");
        return Err(Error::invalid(message).with_hint("take a longer text, or smaller windows (--ctx)"));
    }
    let windows = n / window;
    let mut session = decoder.session(cache)?;
    let (mut sum, mut squares, mut counted) = (0.0, 0.0, 0);
    for (i, part) in tokens.chunks_exact(window).enumerate() {
        let mut part = part.to_vec();
        if let Some(bos) = decoder.tokenizer().begins() {
            part[0] = bos;
        }
        session.truncate(0);
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

/// What the tokens of a window's second half cost, but its first one.
fn costs(session: &mut Session, window: &[u32]) -> Result<Vec<f64>> {
    let half = window.len() / 2;
    let vocabulary = session.decoder().vocabulary();
    session.feed(&window[..half])?;
    let mut costs = Vec::new();
    // Logits behind a token foretell the next one; behind the last there is none.
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
