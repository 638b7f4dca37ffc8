//! `logit_bias`: numbers that are added to the logits of chosen tokens.

use super::logits::Logits;
use crate::{Error, Result};

/// `logit[t] += bias[t]`; -infinity removes the token, whatever its logit is. `n` is the size of the vocabulary.
pub(super) fn apply(logits: &mut Logits, bias: &[(u32, f64)], n: usize) -> Result<()> {
    for (token, bias) in bias {
        if *token as usize >= n {
            return Err(Error::invalid(format!("logit_bias: no token {token}: 0 to {} are valid", n - 1)));
        }
        if *bias > f64::NEG_INFINITY {
            logits.update(*token, |logit| logit + bias);
        }
    }
    let banned: Vec<u32> = bias.iter().filter(|(_, b)| *b == f64::NEG_INFINITY).map(|(token, _)| *token).collect();
    if !banned.is_empty() {
        logits.retain(|c| !banned.contains(&c.token));
    }
    Ok(())
}
