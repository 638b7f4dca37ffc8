//! Options of how tokens are drawn.

use clap::Args;
use tensorlib_models::SamplerOptions;

/// How tokens are drawn. The names and defaults are llama.cpp's.
#[derive(Args)]
#[command(next_help_heading = "Sampling")]
pub struct Sampling {
    /// Divide logits by T before drawing; 0: always the most likely token
    #[arg(long, value_name = "T", default_value = "0.8")]
    pub temp: f64,
    /// Move the temperature by up to R with the entropy of the tokens left; 0: not
    #[arg(long, value_name = "R", default_value = "0")]
    pub dynatemp_range: f64,
    /// The power of the entropy that moves the temperature
    #[arg(long, alias = "dynatemp-exp", value_name = "X", default_value = "1")]
    pub dynatemp_exponent: f64,
    /// Draw from the K most likely tokens; 0: all
    #[arg(long, value_name = "K", default_value = "40")]
    pub top_k: usize,
    /// Draw from the most likely tokens whose probabilities sum to P
    #[arg(long, value_name = "P", default_value = "0.95")]
    pub top_p: f64,
    /// Draw from tokens with at least P times the highest probability
    #[arg(long, value_name = "P", default_value = "0.05")]
    pub min_p: f64,
    /// Draw from the tokens with the most typical probabilities, which sum to P; 1: all
    #[arg(long, alias = "typical", value_name = "P", default_value = "1")]
    pub typical_p: f64,
    /// Exclude top choices with probability P; 0: never
    #[arg(long, value_name = "P", default_value = "0")]
    pub xtc_probability: f64,
    /// Top choices have at least probability P; the least likely of them stays
    #[arg(long, value_name = "P", default_value = "0.1")]
    pub xtc_threshold: f64,
    /// 2: Mirostat 2 instead of top-k, top-p, min-p, typical-p and XTC; 0: not
    #[arg(long, value_name = "N", default_value = "0")]
    pub mirostat: u32,
    /// The surprise that Mirostat aims at, in bits
    #[arg(long, alias = "mirostat-ent", value_name = "BITS", default_value = "5")]
    pub mirostat_tau: f64,
    /// How fast Mirostat corrects itself
    #[arg(long, alias = "mirostat-lr", value_name = "RATE", default_value = "0.1")]
    pub mirostat_eta: f64,
    /// How many tokens the next three penalties look back at; -1: all; 0: none
    #[arg(long, value_name = "N", default_value = "64", allow_negative_numbers = true)]
    pub repeat_last_n: i32,
    /// Divide positive logits of repeated tokens by R, and multiply others; 1: not
    #[arg(long, value_name = "R", default_value = "1")]
    pub repeat_penalty: f64,
    /// Subtract R from the logits of tokens that occur
    #[arg(long, value_name = "R", default_value = "0", allow_negative_numbers = true)]
    pub presence_penalty: f64,
    /// Subtract R from the logits of tokens for each time that they occur
    #[arg(long, value_name = "R", default_value = "0", allow_negative_numbers = true)]
    pub frequency_penalty: f64,
    /// Subtract M * BASE^(length - LENGTH) from the logit of a token that continues a repetition (DRY); 0: not
    #[arg(long, value_name = "M", default_value = "0")]
    pub dry_multiplier: f64,
    /// The BASE of --dry-multiplier
    #[arg(long, value_name = "BASE", default_value = "1.75")]
    pub dry_base: f64,
    /// The LENGTH of the shortest repetition that --dry-multiplier penalises
    #[arg(long, value_name = "LENGTH", default_value = "2")]
    pub dry_allowed_length: usize,
    /// How many tokens DRY looks back at; -1: all; 0: none
    #[arg(long, value_name = "N", default_value = "-1", allow_negative_numbers = true)]
    pub dry_penalty_last_n: i32,
    /// A text that repetitions do not reach across; may be repeated; none: no such text [default: a line break, : \" *]
    #[arg(long, value_name = "TEXT")]
    pub dry_sequence_breaker: Vec<String>,
    /// Add X to the logit of token ID; -inf: never draw it; may be repeated
    #[arg(long, value_name = "ID=X", value_parser = parse_bias)]
    pub logit_bias: Vec<(u32, f64)>,
    /// The seed of the random numbers [default: a random seed, which is printed]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

impl Sampling {
    /// These options, with this seed.
    pub fn options(&self, seed: u64, logprobs: Option<usize>) -> SamplerOptions {
        let usual = SamplerOptions::default();
        let dry_sequence_breakers = match &self.dry_sequence_breaker[..] {
            [] => usual.dry_sequence_breakers,
            [none] if none == "none" => Vec::new(),
            texts => texts.to_vec(),
        };
        SamplerOptions {
            temperature: self.temp,
            dynatemp_range: self.dynatemp_range,
            dynatemp_exponent: self.dynatemp_exponent,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical_p,
            xtc_probability: self.xtc_probability,
            xtc_threshold: self.xtc_threshold,
            mirostat: self.mirostat,
            mirostat_tau: self.mirostat_tau,
            mirostat_eta: self.mirostat_eta,
            repeat_last_n: self.repeat_last_n,
            repeat_penalty: self.repeat_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            dry_multiplier: self.dry_multiplier,
            dry_base: self.dry_base,
            dry_allowed_length: self.dry_allowed_length,
            dry_penalty_last_n: self.dry_penalty_last_n,
            dry_sequence_breakers,
            logit_bias: self.logit_bias.clone(),
            logprobs,
            seed,
        }
    }
}

fn parse_bias(text: &str) -> Result<(u32, f64), String> {
    let parsed = text.split_once('=').and_then(|(id, bias)| Some((id.parse().ok()?, bias.parse().ok()?)));
    parsed.ok_or_else(|| "the id of a token, =, and a number are valid, such as 15=-2.5 or 15=-inf".into())
}
