//! What a sampler is told: every option, its default and its range.

use crate::{Error, Result};

/// How tokens are drawn from logits. The names and defaults are those of llama.cpp; `docs/models.md` shows the order in
/// which the options take effect. By default only `top_k`, `top_p`, `min_p` and `temperature` change anything.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplerOptions {
    /// 0: always the most likely token, after penalties. Above 1 the choice is more random, below 1 less. 0 to 1e6.
    pub temperature: f64,
    /// The temperature moves by up to this much with the entropy of the tokens left, from
    /// `max(0, temperature - dynatemp_range)` to `temperature + dynatemp_range`. 0: it does not move. 0 to 1e6.
    pub dynatemp_range: f64,
    /// The power to which the normalised entropy is raised before it moves the temperature. 0 to 1e3.
    pub dynatemp_exponent: f64,
    /// Keeps the k most likely tokens. 0: all.
    pub top_k: usize,
    /// Keeps the most likely tokens whose probabilities sum to this, at least one. 1: all. 0 to 1.
    pub top_p: f64,
    /// Keeps tokens with at least this fraction of the highest probability. 0: all. 0 to 1.
    pub min_p: f64,
    /// Keeps the tokens whose surprise is closest to the entropy, until their probabilities sum to this. 1: all. 0 to 1.
    pub typical_p: f64,
    /// How often the most likely tokens are excluded (XTC). 0: never. 0 to 1.
    pub xtc_probability: f64,
    /// XTC leaves the least likely of the tokens with at least this probability. Above 0.5 it excludes none. 0 to 1.
    pub xtc_threshold: f64,
    /// 2: Mirostat 2 takes the place of `top_k`, `top_p`, `min_p`, `typical_p` and XTC. 0: it does not.
    pub mirostat: u32,
    /// The surprise that Mirostat aims at, in bits. 0 to 100.
    pub mirostat_tau: f64,
    /// How fast Mirostat corrects its limit. 0 to 1.
    pub mirostat_eta: f64,
    /// How many of the last tokens the three penalties look at. -1: all; 0: none, which turns them off.
    pub repeat_last_n: i32,
    /// Positive logits of repeated tokens are divided by this, others multiplied. 1: no penalty. 1e-3 to 1e3.
    pub repeat_penalty: f64,
    /// What is subtracted from the logit of each token that occurs. -100 to 100.
    pub presence_penalty: f64,
    /// What is subtracted from a token's logit each time that it occurs. -100 to 100.
    pub frequency_penalty: f64,
    /// The penalty of a token that would follow `dry_allowed_length` tokens as it did before (DRY). 0: none. 0 to 1e6.
    pub dry_multiplier: f64,
    /// By what the penalty is multiplied for each further token of the repetition. 1 to 1e6.
    pub dry_base: f64,
    /// The length of the shortest repetition whose continuation is penalised. At least 1.
    pub dry_allowed_length: usize,
    /// How many of the last tokens DRY looks at. -1: all; 0: none, which turns it off.
    pub dry_penalty_last_n: i32,
    /// Texts that repetitions do not reach across: by default a line break, `:`, `"` and `*`. DRY finds them with the
    /// tokenizer that [`Sampler::with_tokenizer`] gets.
    ///
    /// [`Sampler::with_tokenizer`]: crate::Sampler::with_tokenizer
    pub dry_sequence_breakers: Vec<String>,
    /// What is added to the logits of these tokens: a finite number, or -infinity for a token that must not be drawn.
    pub logit_bias: Vec<(u32, f64)>,
    /// With a number, each [`Piece`](crate::Piece) has the log-probability of its token, and those of as many of the
    /// most likely tokens as this says.
    pub logprobs: Option<usize>,
    /// The seed of the random numbers. Equal seed, model and prompt give equal text on one machine.
    pub seed: u64,
}

impl SamplerOptions {
    /// Refuses a number out of its range.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) naming the option, the number and the range.
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("temperature", self.temperature, 0.0, 1e6),
            ("dynatemp_range", self.dynatemp_range, 0.0, 1e6),
            ("dynatemp_exponent", self.dynatemp_exponent, 0.0, 1e3),
            ("top_p", self.top_p, 0.0, 1.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("typical_p", self.typical_p, 0.0, 1.0),
            ("xtc_probability", self.xtc_probability, 0.0, 1.0),
            ("xtc_threshold", self.xtc_threshold, 0.0, 1.0),
            ("mirostat_tau", self.mirostat_tau, 0.0, 100.0),
            ("mirostat_eta", self.mirostat_eta, 0.0, 1.0),
            ("repeat_penalty", self.repeat_penalty, 1e-3, 1e3),
            ("presence_penalty", self.presence_penalty, -100.0, 100.0),
            ("frequency_penalty", self.frequency_penalty, -100.0, 100.0),
            ("dry_multiplier", self.dry_multiplier, 0.0, 1e6),
            ("dry_base", self.dry_base, 1.0, 1e6),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(Error::invalid(format!("{name}: is {value}: {least} to {most} is valid")));
            }
        }
        for (name, value) in [("repeat_last_n", self.repeat_last_n), ("dry_penalty_last_n", self.dry_penalty_last_n)] {
            if value < -1 {
                let valid = "-1 (all tokens), 0 (none) and more are valid";
                return Err(Error::invalid(format!("{name}: is {value}: {valid}")));
            }
        }
        if !matches!(self.mirostat, 0 | 2) {
            return Err(Error::invalid(format!("mirostat: is {}: 0 (off) and 2 are valid", self.mirostat)));
        }
        if self.dry_allowed_length == 0 {
            return Err(Error::invalid("dry_allowed_length: is 0: 1 or more is valid"));
        }
        if self.dry_sequence_breakers.iter().any(String::is_empty) {
            return Err(Error::invalid("dry_sequence_breakers: has an empty text: texts with characters are valid"));
        }
        if let Some((token, bias)) = self.logit_bias.iter().find(|(_, bias)| bias.is_nan() || *bias == f64::INFINITY) {
            let valid = "finite numbers and -inf are valid";
            return Err(Error::invalid(format!("logit_bias: is {bias} for token {token}: {valid}")));
        }
        Ok(())
    }
}

impl Default for SamplerOptions {
    fn default() -> Self {
        SamplerOptions {
            temperature: 0.8,
            dynatemp_range: 0.0,
            dynatemp_exponent: 1.0,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            typical_p: 1.0,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            mirostat: 0,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            repeat_last_n: 64,
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_penalty_last_n: -1,
            dry_sequence_breakers: ["\n", ":", "\"", "*"].map(String::from).into(),
            logit_bias: Vec::new(),
            logprobs: None,
            seed: 0,
        }
    }
}
