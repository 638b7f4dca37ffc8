//! Draws texts at a temperature: what is tried where the likeliest text is no good one.

use super::probabilities::{log_softmax, softmax};
use super::rules::Rules;
use super::{best, Found, Texts};
use crate::generate::Random;
use crate::Result;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// The number of texts.
    pub texts: usize,
    pub temperature: f64,
    /// The most tokens of a text.
    pub most: usize,
}

/// Draws texts, and returns the likeliest. `logits`: those after the prompt.
pub fn draw(
    texts: &mut dyn Texts,
    logits: Vec<f32>,
    rules: &Rules,
    draws: Draws,
    random: &mut Random,
) -> Result<Found> {
    let none = Found { tokens: Vec::new(), sum: 0.0 };
    let (mut live, mut ended) = (vec![none; draws.texts], Vec::new());
    // All texts begin with the same logits.
    let mut logits = vec![logits; draws.texts];
    for step in 0..draws.most {
        let (mut next, mut from, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (mut text, logits)) in std::mem::take(&mut live).into_iter().zip(&mut logits).enumerate() {
            rules.apply(logits, &text.tokens);
            let Some(token) = drawn(logits, draws.temperature, random) else {
                ended.push(text);
                continue;
            };
            text.sum += log_softmax(logits)[token as usize];
            if token == rules.end {
                ended.push(text);
                continue;
            }
            text.tokens.push(token);
            next.push(text);
            from.push(if step == 0 { 0 } else { i });
            tokens.push(token);
        }
        live = next;
        if live.is_empty() {
            break;
        }
        if step + 1 < draws.most {
            logits = texts.continued(&from, &tokens)?;
        }
    }
    ended.extend(live);
    Ok(best(ended))
}

/// A token, by its probability at a temperature; none if no token is possible.
fn drawn(logits: &[f32], temperature: f64, random: &mut Random) -> Option<u32> {
    let scaled: Vec<f32> = logits.iter().map(|x| (f64::from(*x) / temperature) as f32).collect();
    let mut left = random.uniform();
    let mut last = None;
    for (token, probability) in (0..).zip(softmax(&scaled)).filter(|(_, p)| *p > 0.0) {
        last = Some(token);
        left -= probability;
        if left < 0.0 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_drawn_by_their_probabilities() {
        let logits = [0.0, f32::NEG_INFINITY, 3f32.ln(), f32::NEG_INFINITY];
        let share = |temperature: f64| {
            let mut random = Random(7);
            let drawn: Vec<_> = (0..4000).map(|_| drawn(&logits, temperature, &mut random)).collect();
            assert!(drawn.iter().all(|token| matches!(token, Some(0 | 2))));
            drawn.iter().filter(|token| **token == Some(2)).count() as f64 / 4000.0
        };
        // 3 of 4 at 1; 9 of 10 at 0.5.
        assert!((share(1.0) - 0.75).abs() < 0.03 && (share(0.5) - 0.9).abs() < 0.03);
        assert_eq!(drawn(&[f32::NEG_INFINITY; 3], 1.0, &mut Random(1)), None);
    }

    /// Texts that always end after a time and a token.
    struct Short;

    impl Texts for Short {
        fn continued(&mut self, from: &[usize], tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
            assert_eq!(from.len(), tokens.len());
            let after = |token: &u32| match token {
                0..=2 => vec![0.0, 0.0, 0.0, 30.0, 0.0, 0.0],
                _ => vec![0.0, 0.0, 2.0, f32::NEG_INFINITY, 0.0, 0.0],
            };
            Ok(tokens.iter().map(after).collect())
        }
    }

    #[test]
    fn the_likeliest_of_several_texts_is_taken() {
        let rules = Rules {
            suppressed: vec![],
            suppressed_first: vec![],
            end: 3,
            no_timestamps: 4,
            first_timestamp: 5,
            last_timestamp: 5,
            latest_first: 0,
        };
        let draws = Draws { texts: 20, temperature: 1.0, most: 9 };
        let found = draw(&mut Short, vec![0.0; 6], &rules, draws, &mut Random(1)).unwrap();
        assert_eq!(found.tokens, [5, 2]);
        assert!((found.sum - -(1.0 + 2.0 * (-2f64).exp()).ln()).abs() < 1e-6, "{}", found.sum);
        let one = Draws { most: 1, ..draws };
        assert_eq!(draw(&mut Short, vec![0.0; 6], &rules, one, &mut Random(1)).unwrap().tokens, [5]);
    }
}
