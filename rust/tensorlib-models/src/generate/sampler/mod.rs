//! The choice of the next token.

mod bias;
mod draw;
mod dry;
mod exponential;
mod highest;
mod logits;
mod logprobs;
mod min_p;
mod mirostat;
mod options;
mod penalties;
mod processor;
mod random;
mod temperature;
mod top_k;
mod top_p;
mod typical;
mod xtc;

use super::constraint::Constraint;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use draw::{Draw, FEW};
use dry::Dry;
use highest::highest;
use mirostat::Mirostat;
use std::fmt;

pub use logits::{Candidate, Logits};
pub use logprobs::Logprobs;
pub use options::SamplerOptions;
pub use processor::LogitsProcessor;
pub(crate) use random::Random;

/// Draws tokens. What is set takes effect in this order:
///
/// 1. the [`Constraint`](Sampler::set_constraint), and the tokens that the model's files say it
///    [never writes](Tokenizer::suppressed);
/// 2. [`LogitsProcessor`]s, in the order in which they were added;
/// 3. `logit_bias`;
/// 4. `repeat_penalty`, `presence_penalty`, `frequency_penalty`;
/// 5. DRY;
/// 6. `top_k`, `top_p`, `min_p`, `typical_p`, XTC;
/// 7. the temperature, with its dynamic range;
/// 8. Mirostat 2, which takes the place of step 6.
///
/// A `temperature` of 0 takes the most likely token after step 5. The samplers of step 6 each use the probabilities of
/// the tokens that are left, at a temperature of 1.
pub struct Sampler {
    options: SamplerOptions,
    random: Random,
    /// The sequence so far.
    tokens: Vec<u32>,
    constraint: Option<Constraint>,
    processors: Vec<Box<dyn LogitsProcessor + Send>>,
    /// Tokens that are never drawn, sorted.
    suppressed: Vec<u32>,
    dry: Option<Dry>,
    mirostat: Option<Mirostat>,
    /// Memory for the candidates and their weights, so that a large vocabulary does not take it for each token.
    buffer: Vec<Candidate>,
    draw: Draw,
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Sampler");
        all.field("options", &self.options).field("tokens", &self.tokens.len());
        all.field("processors", &self.processors.len()).field("constraint", &self.constraint).finish_non_exhaustive()
    }
}

impl Sampler {
    /// Makes a sampler with these options.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a number out of its range, naming the option, the number and the
    /// range; for DRY with sequence breakers, which takes [`Sampler::with_tokenizer`].
    pub fn new(options: SamplerOptions) -> Result<Self> {
        Self::made(options, None)
    }

    /// Makes a sampler with these options for a model with this tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a number out of its range, naming the option, the number and the
    /// range.
    pub fn with_tokenizer(options: SamplerOptions, tokenizer: &Tokenizer) -> Result<Self> {
        Self::made(options, Some(tokenizer))
    }

    fn made(options: SamplerOptions, tokenizer: Option<&Tokenizer>) -> Result<Self> {
        options.check()?;
        let (dry, mirostat, random) = (Dry::new(&options, tokenizer)?, Mirostat::new(&options), Random(options.seed));
        let (tokens, constraint, processors) = (Vec::new(), None, Vec::new());
        let (buffer, draw) = (Vec::new(), Draw::default());
        let suppressed = tokenizer.map(|tokenizer| tokenizer.suppressed().to_vec()).unwrap_or_default();
        Ok(Sampler { options, random, tokens, constraint, processors, suppressed, dry, mirostat, buffer, draw })
    }

    /// Adds a change to logits, after those that were added before.
    pub fn add(&mut self, processor: impl LogitsProcessor + Send + 'static) {
        self.processors.push(Box::new(processor));
    }

    /// Never draws these tokens, which are sorted: those that a model never writes.
    pub(crate) fn suppress(&mut self, tokens: &[u32]) {
        self.suppressed.clear();
        self.suppressed.extend_from_slice(tokens);
    }

    /// Makes every text that [`generate`](crate::generate) begins from now on follow this constraint; `None`: none.
    #[cfg(feature = "grammar")]
    pub fn set_constraint(&mut self, constraint: Option<Constraint>) {
        self.constraint = constraint;
    }

    /// Starts a text after these tokens, which take the place of those that the sampler knew. The constraint starts
    /// again. [`generate`](crate::generate) calls this.
    pub fn begin(&mut self, tokens: &[u32]) {
        self.tokens.clear();
        self.tokens.extend_from_slice(tokens);
        if let Some(constraint) = &mut self.constraint {
            constraint.restart();
        }
    }

    /// Records tokens that exist already, for processors and penalties.
    pub fn remember(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// The sequence so far, with the token that was drawn last.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Whether a constraint was set.
    pub(crate) fn has_constraint(&self) -> bool {
        self.constraint.is_some()
    }

    /// How many of the most likely tokens the log-probabilities include, if they are wanted.
    pub(crate) fn logprobs(&self) -> Option<usize> {
        self.options.logprobs
    }

    /// The tokens that must follow, if a constraint leaves no choice, and at most n of them. They are recorded.
    pub(crate) fn forced(&mut self, n: usize) -> Result<Vec<u32>> {
        let Some(constraint) = &mut self.constraint else { return Ok(Vec::new()) };
        let forced = constraint.forced(n)?;
        self.tokens.extend(&forced);
        Ok(forced)
    }

    /// Whether the constraint allows no further token.
    pub(crate) fn is_complete(&self) -> bool {
        self.constraint.as_ref().is_some_and(Constraint::is_complete)
    }

    /// Draws and records the next token. Of equal logits the first counts; NaN is less than everything else, and
    /// +infinity is certain.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if there are no logits, if no token is left to draw, or for a bias of a
    /// token without a logit; errors of the constraint and of processors.
    pub fn next(&mut self, logits: &[f32]) -> Result<u32> {
        let token = match self.certain(logits) {
            Some(token) => token,
            None => {
                let left = self.filter(logits)?;
                let token = self.draw(&left);
                self.buffer = left.into_candidates();
                token
            }
        };
        if let Some(constraint) = &mut self.constraint {
            constraint.accept(token)?;
        }
        self.tokens.push(token);
        Ok(token)
    }

    /// The tokens that [`Sampler::next`] would draw from, the most likely first, and their probabilities. XTC draws a
    /// random number each time.
    ///
    /// # Errors
    /// As [`Sampler::next`].
    pub fn distribution(&mut self, logits: &[f32]) -> Result<Vec<(u32, f64)>> {
        let mut left = self.filter(logits)?;
        left.sort();
        let tokens = left.candidates().iter().map(|c| c.token);
        Ok(match left.most_likely() {
            Some(first) if first.logit.is_infinite() => vec![(first.token, 1.0)],
            _ => tokens.zip(left.probabilities()).collect(),
        })
    }

    /// The most likely token, if nothing else can be drawn and nothing changes logits.
    fn certain(&self, logits: &[f32]) -> Option<u32> {
        let is_changed = self.constraint.is_some()
            || !self.processors.is_empty()
            || !self.options.logit_bias.is_empty()
            || self.dry.is_some()
            || penalties::any(&self.options);
        if is_changed || self.options.temperature != 0.0 || logits.is_empty() {
            return None;
        }
        let mut best = (0, f32::NEG_INFINITY);
        // Most blocks have nothing better, which takes no search to see.
        for (block, logits) in logits.chunks(64).enumerate() {
            if highest(logits, f32::NEG_INFINITY, |logit| *logit) <= best.1 {
                continue;
            }
            for (i, logit) in logits.iter().enumerate() {
                let token = (block * 64 + i) as u32;
                if *logit > best.1 && !self.is_suppressed(token) {
                    best = (token, *logit);
                }
            }
        }
        (!self.is_suppressed(best.0)).then_some(best.0)
    }

    fn is_suppressed(&self, token: u32) -> bool {
        self.suppressed.binary_search(&token).is_ok()
    }

    /// The tokens that may be drawn. A single one is certain. They are sorted unless there are many and their order does
    /// not matter: sorting a large vocabulary takes longer than all else.
    fn filter(&mut self, logits: &[f32]) -> Result<Logits> {
        if logits.is_empty() {
            return Err(Error::invalid("no logits: one for each token of the vocabulary is valid"));
        }
        let mut left = self.changed(logits)?;
        let options = &self.options;
        if options.temperature == 0.0 {
            left.select(1);
            left.sort();
            return Ok(left);
        }
        if self.mirostat.is_none() {
            top_k::apply(&mut left, options.top_k);
        }
        if left.find_most().is_infinite() {
            left.select(1); // certain, or all are equally likely
            left.sort();
            return Ok(left);
        }
        left.remove_impossible();
        if let Some(mirostat) = &self.mirostat {
            left.sort();
            temperature::apply(&mut left, options);
            mirostat.apply(&mut left);
            return Ok(left);
        }
        // Filters use the model's own probabilities; the temperature comes last.
        top_p::apply(&mut left, options.top_p);
        min_p::apply(&mut left, options.min_p);
        if left.len() <= FEW || options.typical_p < 1.0 || options.xtc_probability > 0.0 {
            left.sort();
        }
        typical::apply(&mut left, options.typical_p);
        xtc::apply(&mut left, options.xtc_probability, options.xtc_threshold, &mut self.random);
        temperature::apply(&mut left, options);
        Ok(left)
    }

    /// All tokens that the constraint, processors and biases leave, with their changed logits.
    fn changed(&mut self, logits: &[f32]) -> Result<Logits> {
        let mut left = match &mut self.constraint {
            Some(constraint) => constraint.allowed(std::mem::take(&mut self.buffer), logits)?,
            None => Logits::in_memory(std::mem::take(&mut self.buffer), logits),
        };
        if !self.suppressed.is_empty() {
            left.retain(|candidate| !self.is_suppressed(candidate.token));
        }
        for (i, processor) in self.processors.iter_mut().enumerate() {
            processor.apply(&self.tokens, &mut left)?;
            if let Some(wrong) = left.candidates().iter().find(|c| c.logit.is_nan()) {
                return Err(Error::invalid(format!(
                    "logits processor {i}: made the logit of token {} NaN: numbers and infinities are valid",
                    wrong.token
                )));
            }
        }
        bias::apply(&mut left, &self.options.logit_bias, logits.len())?;
        let restricted = self.constraint.is_some()
            || !self.processors.is_empty()
            || !self.suppressed.is_empty()
            || !self.options.logit_bias.is_empty();
        let possible = |left: &Logits| left.candidates().iter().any(|c| c.logit > f64::NEG_INFINITY);
        if restricted && !possible(&left) {
            return Err(Error::invalid(
                "no token is left to draw: the constraint, the model's files, processors and logit_bias exclude all that \
                 the model allows",
            ));
        }
        penalties::apply(&mut left, &self.tokens, &self.options);
        if let Some(dry) = &self.dry {
            dry.apply(&mut left, &self.tokens);
        }
        Ok(left)
    }

    /// Draws one of these tokens.
    fn draw(&mut self, left: &Logits) -> u32 {
        let all = left.candidates();
        let Some(first) = all.first() else { return 0 };
        if self.options.temperature == 0.0 || (all.len() == 1 && first.logit.is_infinite()) {
            return first.token;
        }
        let at = self.draw.position(left, &mut self.random);
        if let Some(mirostat) = &mut self.mirostat {
            mirostat.drawn(self.draw.probability(at));
        }
        all[at].token
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
            counts[sampler.next(&logits).unwrap() as usize] += 1.0 / 20_000.0;
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

    fn all() -> SamplerOptions {
        SamplerOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed: 7, ..SamplerOptions::default() }
    }

    #[test]
    fn suppressed_tokens_are_not_drawn() {
        let logits = [1.0f32, 3.0, f32::INFINITY, 2.0, f32::NAN];
        for temperature in [0.0, 1.0] {
            let mut sampler = Sampler::new(SamplerOptions { temperature, ..all() }).unwrap();
            sampler.suppress(&[1, 2, 4]);
            let drawn: Vec<u32> = (0..200).map(|_| sampler.next(&logits).unwrap()).collect();
            assert!(drawn.iter().all(|token| [0, 3].contains(token)) && drawn.contains(&3), "{drawn:?}");
            sampler.suppress(&[0, 1, 2, 3, 4]);
            assert!(sampler.next(&logits).unwrap_err().to_string().contains("no token is left to draw"));
            // Others would have no chance.
            sampler.suppress(&[1]);
            assert_eq!(sampler.next(&logits).unwrap(), 2);
        }
        let bias = SamplerOptions { logit_bias: vec![(1, 100.0)], ..all() };
        let mut sampler = Sampler::new(bias).unwrap();
        sampler.suppress(&[1, 2]);
        assert_ne!(sampler.next(&logits).unwrap(), 1);
    }

    #[test]
    fn draws_have_the_models_probabilities() {
        near(&shares(all()), [Some(1.0), Some(3.0), None, Some(2.0), Some(0.0)]);
        near(&shares(SamplerOptions { temperature: 2.0, ..all() }), [Some(0.5), Some(1.5), None, Some(1.0), Some(0.0)]);
    }

    #[test]
    fn an_infinite_logit_is_certain() {
        for temperature in [0.0, 0.8, 1.0, 5.0] {
            let mut sampler = Sampler::new(SamplerOptions { temperature, ..all() }).unwrap();
            assert_eq!(sampler.next(&[-50., 0., f32::INFINITY, 1., f32::NAN]).unwrap(), 2, "{temperature}");
            assert_eq!(sampler.next(&[0., f32::NEG_INFINITY, 3e38, f32::INFINITY]).unwrap(), 3, "{temperature}");
            let low = [f32::NEG_INFINITY, f32::NAN, -3e38];
            assert_eq!(sampler.next(&low).unwrap(), 2, "{temperature}");
        }
    }

    #[test]
    fn filters_leave_the_likeliest() {
        near(&shares(SamplerOptions { top_k: 2, ..all() }), [None, Some(3.0), None, Some(2.0), None]);
        // Probabilities are 0.644, 0.237, 0.087 and 0.032.
        near(&shares(SamplerOptions { top_p: 0.65, ..all() }), [None, Some(3.0), None, Some(2.0), None]);
        near(&shares(SamplerOptions { top_p: 0.0, ..all() }), [None, Some(3.0), None, None, None]);
        // e^-2 of the likeliest is 0.135.
        near(&shares(SamplerOptions { min_p: 0.13, ..all() }), [Some(1.0), Some(3.0), None, Some(2.0), None]);
        near(&shares(SamplerOptions { min_p: 1.0, ..all() }), [None, Some(3.0), None, None, None]);
    }

    #[test]
    fn no_temperature_is_the_first_of_the_likeliest() {
        let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..all() }).unwrap();
        assert_eq!(sampler.next(&[0.0, 5.0, f32::NAN, 5.0]).unwrap(), 1);
        assert_eq!(sampler.next(&[f32::NAN, f32::NAN]).unwrap(), 0);
        assert!(sampler.next(&[]).unwrap_err().to_string().starts_with("no logits"));
    }

    #[test]
    fn repeated_tokens_are_less_likely() {
        let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, repeat_penalty: 2.0, ..all() }).unwrap();
        let logits = [3.0f32, 5.0, -1.0, -1.5];
        assert_eq!(sampler.next(&logits).unwrap(), 1); // 5, then 2.5
        assert_eq!(sampler.next(&logits).unwrap(), 0); // 3, then 1.5
        assert_eq!(sampler.next(&logits).unwrap(), 1);
        sampler.remember(&[2; 1000]);
        assert_eq!(sampler.tokens[sampler.tokens.len() - 65..][..2], [2, 2]);
        assert_eq!(sampler.next(&[-3.0, -3.0, -1.9, -3.0]).unwrap(), 0); // -1.9 becomes -3.8
    }

    #[test]
    fn seeds_and_ranges() {
        let draw = |seed| {
            let mut sampler = Sampler::new(SamplerOptions { seed, ..all() }).unwrap();
            (0..50).map(|_| sampler.next(&[0.0; 100]).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for options in [
            SamplerOptions { temperature: -1.0, ..all() },
            SamplerOptions { temperature: f64::NAN, ..all() },
            SamplerOptions { top_p: 1.5, ..all() },
            SamplerOptions { min_p: -0.1, ..all() },
            SamplerOptions { repeat_penalty: 0.0, ..all() },
        ] {
            assert!(Sampler::new(options).err().unwrap().to_string().contains("is valid"));
        }
    }
}
