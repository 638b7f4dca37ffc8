//! The search for the tokens of a window: by beams, or by drawing.

mod beams;
mod draws;
mod probabilities;
mod rules;

pub use beams::search;
pub use draws::{draw, Draws};
pub use probabilities::softmax;
pub use rules::Rules;

use crate::Result;

/// Texts that are continued together.
pub trait Texts {
    /// Replaces the texts by others, each of which is the text `from[i]` continued by `tokens[i]`. Returns the logits
    /// after each.
    fn continued(&mut self, from: &[usize], tokens: &[u32]) -> Result<Vec<Vec<f32>>>;
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its tokens, without the one for its end.
    pub tokens: Vec<u32>,
    /// The sum of its tokens' natural logarithms of probabilities, with that of its end.
    pub sum: f64,
}

impl Found {
    /// Compares texts of different lengths.
    fn score(&self) -> f64 {
        self.sum / self.tokens.len().max(1) as f64
    }

    /// The mean logarithm of a token's probability, the end included.
    pub fn average(&self) -> f64 {
        self.sum / (self.tokens.len() + 1) as f64
    }
}

/// The best text, the first one of equals.
fn best(all: Vec<Found>) -> Found {
    let none = Found { tokens: Vec::new(), sum: 0.0 };
    let better = |best: Found, next: Found| if next.score() > best.score() { next } else { best };
    all.into_iter().reduce(better).unwrap_or(none)
}
