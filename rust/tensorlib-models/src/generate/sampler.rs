//! The choice of the next token.

use crate::{Error, Result};

/// How many of the last tokens count as repeated.
const REMEMBERED: usize = 64;

/// How tokens are drawn from logits, in this order: repeated tokens become less likely; the `top_k` most likely are
/// kept; of these the most likely whose probabilities sum to `top_p`; of these all with at least `min_p` times the
/// highest probability. One is drawn from the rest, with logits divided by `temperature`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerOptions {
    /// 0: always the most likely token. Above 1 the choice is more random, below 1 less.
    pub temperature: f64,
    /// 0: no limit.
    pub top_k: usize,
    /// 1: no limit.
    pub top_p: f64,
    /// 0: no limit.
    pub min_p: f64,
    /// Positive logits of the last 64 tokens are divided by this, negative ones multiplied. 1: no penalty.
    pub repeat_penalty: f64,
    /// The seed of the random numbers. Equal seed, model and prompt give equal text on one machine.
    pub seed: u64,
}

impl Default for SamplerOptions {
    /// The defaults: temperature 0.8, top-k 40, top-p 0.95, min-p 0.05, no penalty, seed 0.
    fn default() -> Self {
        SamplerOptions { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05, repeat_penalty: 1.0, seed: 0 }
    }
}

/// Draws tokens.
#[derive(Clone, Debug)]
pub struct Sampler {
    options: SamplerOptions,
    state: u64,
    last: Vec<u32>,
}

impl Sampler {
    /// Makes a sampler with these options.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a number out of its range, naming the range.
    pub fn new(options: SamplerOptions) -> Result<Self> {
        let SamplerOptions { temperature, top_p, min_p, repeat_penalty, .. } = options;
        let ranges = [
            ("temperature", temperature, 0.0, 1e6),
            ("top-p", top_p, 0.0, 1.0),
            ("min-p", min_p, 0.0, 1.0),
            ("repeat penalty", repeat_penalty, 1e-3, 1e3),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(Error::invalid(format!("{name}: is {value}: {least} to {most} is valid")));
            }
        }
        Ok(Sampler { options, state: options.seed, last: Vec::new() })
    }

    /// Records tokens that exist already, for the penalty.
    pub fn remember(&mut self, tokens: &[u32]) {
        self.last.extend(&tokens[tokens.len().saturating_sub(REMEMBERED)..]);
        let n = self.last.len();
        self.last.drain(..n.saturating_sub(REMEMBERED));
    }

    /// Draws and records the next token. Of equal logits the first counts; NaN is less than everything else, and
    /// +infinity is certain.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if there are no logits.
    pub fn next(&mut self, logits: &[f32]) -> Result<u32> {
        if logits.is_empty() {
            return Err(Error::invalid("no logits: one for each token of the vocabulary is valid"));
        }
        let token = self.draw(logits);
        self.remember(&[token]);
        Ok(token)
    }

    fn draw(&mut self, logits: &[f32]) -> u32 {
        let options = self.options;
        let number = |logit: f32| if logit.is_nan() { f64::NEG_INFINITY } else { f64::from(logit) };
        let mut all: Vec<(u32, f64)> = logits.iter().enumerate().map(|(id, x)| (id as u32, number(*x))).collect();
        if options.repeat_penalty != 1.0 {
            let mut last = self.last.clone();
            last.sort_unstable();
            last.dedup();
            for id in last {
                if let Some((_, logit)) = all.get_mut(id as usize) {
                    *logit =
                        if *logit > 0.0 { *logit / options.repeat_penalty } else { *logit * options.repeat_penalty };
                }
            }
        }
        let likelier = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if options.temperature == 0.0 {
            return all.iter().copied().min_by(likelier).map_or(0, |(id, _)| id);
        }
        let k = if options.top_k == 0 { all.len() } else { options.top_k.min(all.len()) };
        if k < all.len() {
            all.select_nth_unstable_by(k, likelier);
            all.truncate(k);
        }
        all.sort_unstable_by(likelier);
        let Some(most) = all.first().map(|(_, logit)| *logit) else { return 0 };
        if most.is_infinite() {
            return all[0].0; // certain, or all are equally likely
        }
        // Filters use the model's own probabilities; the temperature comes last.
        let weight = |(_, logit): &(u32, f64)| (logit - most).exp();
        let total: f64 = all.iter().map(weight).sum();
        let mut sum = 0.0;
        let of_top_p = all.iter().take_while(|token| {
            let before = sum;
            sum += weight(token) / total;
            before < options.top_p
        });
        let kept = of_top_p.count().max(1);
        all.truncate(kept);
        all.retain(|token| weight(token) >= options.min_p);
        let weight = |(_, logit): &(u32, f64)| ((logit - most) / options.temperature).exp();
        let total: f64 = all.iter().map(weight).sum();
        let mut left = self.uniform() * total;
        for token in &all {
            left -= weight(token);
            if left < 0.0 {
                return token.0;
            }
        }
        all.last().map_or(0, |(id, _)| *id) // the remainder of rounding
    }

    /// A number from 0 to below 1: SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
    /// 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of five tokens is drawn in 20,000 draws.
    fn shares(options: SamplerOptions) -> Vec<f64> {
        let logits = [1.0f32, 3.0, f32::NAN, 2.0, 0.0];
        let mut sampler = Sampler::new(options).unwrap();
        let mut counts = vec![0.0; 5];
        for _ in 0..20_000 {
            counts[sampler.draw(&logits) as usize] += 1.0 / 20_000.0;
        }
        counts
    }

    /// Compares shares with the softmax over the tokens that may be drawn.
    fn near(got: &[f64], logits: [Option<f64>; 5]) {
        let total: f64 = logits.iter().flatten().map(|x| x.exp()).sum();
        for (got, logit) in got.iter().zip(logits) {
            let want = logit.map_or(0.0, |x| x.exp() / total);
            // Four standard deviations of 20,000 draws.
            assert!((got - want).abs() <= 4.0 * (want / 20_000.0).sqrt(), "{got} {want}");
            assert_eq!(*got == 0.0, want == 0.0);
        }
    }

    const ALL: SamplerOptions =
        SamplerOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, repeat_penalty: 1.0, seed: 7 };

    #[test]
    fn draws_have_the_models_probabilities() {
        near(&shares(ALL), [Some(1.0), Some(3.0), None, Some(2.0), Some(0.0)]);
        near(&shares(SamplerOptions { temperature: 2.0, ..ALL }), [Some(0.5), Some(1.5), None, Some(1.0), Some(0.0)]);
    }

    #[test]
    fn an_infinite_logit_is_certain() {
        for temperature in [0.0, 0.8, 1.0, 5.0] {
            let mut sampler = Sampler::new(SamplerOptions { temperature, ..ALL }).unwrap();
            assert_eq!(sampler.next(&[-50., 0., f32::INFINITY, 1., f32::NAN]).unwrap(), 2, "{temperature}");
            assert_eq!(sampler.next(&[0., f32::NEG_INFINITY, 3e38, f32::INFINITY]).unwrap(), 3, "{temperature}");
            let low = [f32::NEG_INFINITY, f32::NAN, -3e38];
            assert_eq!(sampler.next(&low).unwrap(), 2, "{temperature}");
        }
    }

    #[test]
    fn filters_leave_the_likeliest() {
        near(&shares(SamplerOptions { top_k: 2, ..ALL }), [None, Some(3.0), None, Some(2.0), None]);
        // Probabilities are 0.644, 0.237, 0.087 and 0.032.
        near(&shares(SamplerOptions { top_p: 0.65, ..ALL }), [None, Some(3.0), None, Some(2.0), None]);
        near(&shares(SamplerOptions { top_p: 0.0, ..ALL }), [None, Some(3.0), None, None, None]);
        // e^-2 of the likeliest is 0.135.
        near(&shares(SamplerOptions { min_p: 0.13, ..ALL }), [Some(1.0), Some(3.0), None, Some(2.0), None]);
        near(&shares(SamplerOptions { min_p: 1.0, ..ALL }), [None, Some(3.0), None, None, None]);
    }

    #[test]
    fn no_temperature_is_the_first_of_the_likeliest() {
        let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..ALL }).unwrap();
        assert_eq!(sampler.next(&[0.0, 5.0, f32::NAN, 5.0]).unwrap(), 1);
        assert_eq!(sampler.next(&[f32::NAN, f32::NAN]).unwrap(), 0);
        assert!(sampler.next(&[]).unwrap_err().to_string().starts_with("no logits"));
    }

    #[test]
    fn repeated_tokens_are_less_likely() {
        let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, repeat_penalty: 2.0, ..ALL }).unwrap();
        let logits = [3.0f32, 5.0, -1.0, -1.5];
        assert_eq!(sampler.next(&logits).unwrap(), 1); // 5, then 2.5
        assert_eq!(sampler.next(&logits).unwrap(), 0); // 3, then 1.5
        assert_eq!(sampler.next(&logits).unwrap(), 1);
        sampler.remember(&[2; 1000]);
        assert_eq!(sampler.last, [2; 64]);
        assert_eq!(sampler.next(&[-3.0, -3.0, -1.9, -3.0]).unwrap(), 0); // -1.9 becomes -3.8
    }

    #[test]
    fn seeds_and_ranges() {
        let draw = |seed| {
            let mut sampler = Sampler::new(SamplerOptions { seed, ..ALL }).unwrap();
            (0..50).map(|_| sampler.next(&[0.0; 100]).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for options in [
            SamplerOptions { temperature: -1.0, ..ALL },
            SamplerOptions { temperature: f64::NAN, ..ALL },
            SamplerOptions { top_p: 1.5, ..ALL },
            SamplerOptions { min_p: -0.1, ..ALL },
            SamplerOptions { repeat_penalty: 0.0, ..ALL },
        ] {
            assert!(Sampler::new(options).err().unwrap().to_string().contains("is valid"));
        }
    }
}
