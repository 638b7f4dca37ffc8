//! Drawing one of many weights.

use super::logits::Logits;
use super::random::Random;

/// Up to this many candidates have weights in double precision.
pub(super) const FEW: usize = 4096;

/// As many weights as are added up on their own: a draw looks for its block, then within it.
const BLOCK: usize = 256;

/// The weights of candidates, in memory that is used again for the next token.
#[derive(Debug, Default)]
pub(super) struct Draw {
    weights: Vec<f64>,
    /// The sum of each block.
    sums: Vec<f64>,
}

impl Draw {
    /// Draws the position of a candidate. There must be one.
    pub(super) fn position(&mut self, logits: &Logits, random: &mut Random) -> usize {
        self.weights.clear();
        if logits.len() <= FEW {
            self.weights.extend(logits.weights());
        } else {
            logits.rough_weights(&mut self.weights);
        }
        self.sums.clear();
        self.sums.extend(self.weights.chunks(BLOCK).map(sum));
        let mut rest = random.uniform() * self.sums.iter().sum::<f64>();
        // Rounding can leave a remainder after the last block, or after the last weight of a block.
        let block = find(&self.sums, &mut rest).unwrap_or(self.sums.len() - 1);
        let begin = block * BLOCK;
        let within = &self.weights[begin..(begin + BLOCK).min(self.weights.len())];
        begin + find(within, &mut rest).unwrap_or(within.len() - 1)
    }

    /// The probability of the candidate at a position.
    pub(super) fn probability(&self, position: usize) -> f64 {
        self.weights[position] / self.sums.iter().sum::<f64>()
    }
}

/// The first position before which the numbers sum to at most `rest`, which loses their sum.
fn find(numbers: &[f64], rest: &mut f64) -> Option<usize> {
    numbers.iter().position(|number| {
        let is_here = *rest < *number;
        if !is_here {
            *rest -= number;
        }
        is_here
    })
}

/// The sum in four parts, which do not wait for each other.
pub(super) fn sum(numbers: &[f64]) -> f64 {
    let quads = numbers.chunks_exact(4);
    let rest: f64 = quads.remainder().iter().sum();
    let mut parts = [0.0; 4];
    for quad in quads {
        parts.iter_mut().zip(quad).for_each(|(part, number)| *part += number);
    }
    parts.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_candidates_are_drawn_as_often_as_their_weights_say() {
        // Every 1,000th of 10,000 candidates has most of the weight, the first of a block and the last one too.
        let n = 10_000;
        let heavy = |i: usize| i % 1000 == 0 || i == n - 1;
        let mut logits: Vec<f32> = (0..n).map(|i| if heavy(i) { 9.0 } else { -2.0 }).collect();
        logits[3] = f32::NEG_INFINITY;
        let mut logits = Logits::new(&logits);
        logits.remove_impossible();
        let (mut draw, mut random) = (Draw::default(), Random(3));
        let mut counts = vec![0usize; n];
        for _ in 0..11_000 {
            let at = draw.position(&logits, &mut random);
            counts[logits.candidates()[at].token as usize] += 1;
        }
        let total: f64 = 11.0 * 9f64.exp() + 9988.0 * (-2f64).exp();
        let want = 11_000.0 * 9f64.exp() / total;
        for (i, count) in counts.iter().enumerate().filter(|(i, _)| heavy(*i)) {
            assert!((*count as f64 - want).abs() < 5.0 * want.sqrt(), "{i}: {count} {want}");
        }
        assert_eq!(counts[3], 0);
        let at = draw.position(&logits, &mut random);
        let logit = logits.candidates()[at].logit;
        assert!((draw.probability(at) / (logit.exp() / total) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_draw_ends_at_the_last_weight() {
        let mut rest = 6.5;
        assert_eq!(find(&[1.0, 2.0, 3.0], &mut rest), None);
        let mut rest = 1.0; // a weight ends before the next one's first number
        assert_eq!(find(&[1.0, 0.0, 2.0], &mut rest), Some(2));
        assert_eq!(sum(&[1.0, 2.0, 3.0, 4.0, 5.0]), 15.0);
    }
}
