//! Beam search, as Whisper's authors do it: the best continuations of all texts are continued, until as many texts as
//! there are beams have ended. One beam takes the likeliest token each time.

use super::probabilities::log_softmax;
use super::rules::Rules;
use super::{best, Found, Texts};
use crate::Result;

/// Finds the best text of up to `most` tokens. `logits`: those after the prompt.
pub fn search(texts: &mut dyn Texts, logits: Vec<f32>, rules: &Rules, beams: usize, most: usize) -> Result<Found> {
    let mut live = vec![Found { tokens: Vec::new(), sum: 0.0 }];
    let (mut logits, mut ended) = (vec![logits], Vec::new());
    for step in 0..most {
        let mut candidates = Vec::new();
        for (from, (text, logits)) in live.iter().zip(&mut logits).enumerate() {
            rules.apply(logits, &text.tokens);
            let next = likeliest(&log_softmax(logits), beams + 1);
            candidates.extend(next.into_iter().map(|(token, log)| (text.sum + log, from, token)));
        }
        // A stable sort: of equal texts the first counts.
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut next, mut from, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for (sum, parent, token) in candidates {
            if next.len() == beams {
                break;
            }
            let before = &live[parent].tokens;
            if token == rules.end {
                if ended.len() < beams {
                    ended.push(Found { tokens: before.clone(), sum });
                }
                continue;
            }
            next.push(Found { tokens: [before, &[token][..]].concat(), sum });
            from.push(parent);
            tokens.push(token);
        }
        if ended.len() >= beams || next.is_empty() {
            break;
        }
        live = next;
        if step + 1 < most {
            logits = texts.continued(&from, &tokens)?;
        }
    }
    let missing = beams.saturating_sub(ended.len());
    ended.extend(live.into_iter().take(missing));
    Ok(best(ended))
}

/// The likeliest tokens that are possible, of equal ones those with lower numbers, with their logarithms.
fn likeliest(logs: &[f64], n: usize) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = Vec::with_capacity(n + 1);
    for (token, log) in (0..).zip(logs) {
        let is_full = all.len() == n;
        if *log == f64::NEG_INFINITY || log.is_nan() || is_full && all.last().is_some_and(|(_, least)| log <= least) {
            continue;
        }
        let place = all.partition_point(|(_, other)| other >= log);
        all.insert(place, (token, *log));
        all.truncate(n);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens 0 to 2 are text, 3 is the end, 4 means no timestamps, and 5 to 7 are times. Logits depend on all tokens.
    const VOCABULARY: usize = 8;

    fn rules() -> Rules {
        Rules {
            suppressed: vec![1],
            suppressed_first: vec![],
            end: 3,
            no_timestamps: 4,
            first_timestamp: 5,
            last_timestamp: 7,
            latest_first: 2,
        }
    }

    fn logits(seed: u64, tokens: &[u32]) -> Vec<f32> {
        let logit = |token: usize| {
            let mut state = seed;
            for next in tokens.iter().copied().chain([token as u32 + 100]) {
                state = (state ^ u64::from(next)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
            }
            (state >> 40) as f32 / (1u64 << 22) as f32
        };
        (0..VOCABULARY).map(logit).collect()
    }

    struct Table {
        seed: u64,
        texts: Vec<Vec<u32>>,
    }

    impl Texts for Table {
        fn continued(&mut self, from: &[usize], tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
            let text = |(from, token): (&usize, &u32)| [&self.texts[*from][..], &[*token]].concat();
            self.texts = from.iter().zip(tokens).map(text).collect();
            Ok(self.texts.iter().map(|text| logits(self.seed, text)).collect())
        }
    }

    fn found(seed: u64, beams: usize, most: usize) -> Found {
        let mut table = Table { seed, texts: vec![vec![]] };
        search(&mut table, logits(seed, &[]), &rules(), beams, most).unwrap()
    }

    /// The best of all texts of up to `most` tokens.
    fn best_of_all(seed: u64, tokens: &[u32], sum: f64, most: usize) -> (f64, Vec<u32>) {
        let score = |tokens: &[u32], sum: f64| (sum / tokens.len().max(1) as f64, tokens.to_vec());
        if tokens.len() == most {
            return score(tokens, sum);
        }
        let mut logits = logits(seed, tokens);
        rules().apply(&mut logits, tokens);
        let total: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for (token, logit) in (0..).zip(&logits).filter(|(_, logit)| logit.is_finite()) {
            let sum = sum + f64::from(*logit) - total.ln();
            let next = match token {
                3 => score(tokens, sum),
                _ => best_of_all(seed, &[tokens, &[token]].concat(), sum, most),
            };
            if next.0 > best.0 {
                best = next;
            }
        }
        best
    }

    #[test]
    fn as_many_beams_as_texts_find_the_best_of_all() {
        for seed in 0..40 {
            let wanted = best_of_all(seed, &[], 0.0, 5);
            let found = found(seed, 1000, 5);
            assert_eq!(found.tokens, wanted.1, "{seed}");
            assert!((found.score() - wanted.0).abs() < 1e-9, "{seed}");
        }
    }

    #[test]
    fn one_beam_takes_the_likeliest_token_each_time() {
        for seed in 0..40 {
            let mut tokens = Vec::new();
            for _ in 0..6 {
                let mut logits = logits(seed, &tokens);
                rules().apply(&mut logits, &tokens);
                let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let next = logits.iter().position(|x| *x == most).unwrap() as u32;
                if next == 3 {
                    break;
                }
                tokens.push(next);
            }
            assert_eq!(found(seed, 1, 6).tokens, tokens, "{seed}");
        }
    }

    #[test]
    fn no_beams_find_a_better_text_than_the_best_of_all() {
        for (seed, beams) in (0..40).flat_map(|seed| [1, 2, 3, 5, 9].map(|beams| (seed, beams))) {
            assert!(found(seed, beams, 6).score() <= found(seed, 2000, 6).score(), "{seed}, {beams} beams");
        }
    }

    #[test]
    fn the_likeliest_come_first_and_impossible_ones_not_at_all() {
        let logs = [-1.0, f64::NEG_INFINITY, -0.5, -1.0, -3.0, f64::NAN];
        assert_eq!(likeliest(&logs, 3), [(2, -0.5), (0, -1.0), (3, -1.0)]);
        assert_eq!(likeliest(&logs, 9).len(), 4);
        assert!(likeliest(&[], 2).is_empty());
    }
}
