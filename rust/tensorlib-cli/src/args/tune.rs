//! Options of `tune`, and adapters of other commands.

use super::Hub;
use clap::Args;
use std::path::PathBuf;

/// `tune`
#[derive(Args)]
pub struct Tune {
    /// The model to adapt: a GGUF file, quantised or not
    pub model: PathBuf,
    /// The texts to learn, as JSON lines; - is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// The GGUF file to write
    #[arg(long, short, value_name = "OUT", default_value = "adapter.gguf")]
    pub output: PathBuf,
    /// The rank of each adapter
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub rank: u16,
    /// What an adapter adds is multiplied by X / rank
    #[arg(long, value_name = "X", default_value = "16", value_parser = positive)]
    pub alpha: f64,
    /// The learning rate of AdamW; it rises over the first twentieth of the steps, then falls along a cosine to a tenth
    #[arg(long, value_name = "X", default_value = "1e-4", value_parser = positive)]
    pub learning_rate: f64,
    /// How often all texts are learned
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: u32,
    /// End after N steps, with as many epochs as they take
    #[arg(long, value_name = "N", conflicts_with = "epochs", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
    /// Texts of a step
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub batch: u16,
    /// The most tokens of a text; longer ones are divided, or cut after a prompt [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    pub context: Option<u32>,
    /// The matrices of layers that get adapters: attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down
    /// [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// The seed of first values and of the order of texts
    #[arg(long, value_name = "S", default_value = "0")]
    pub seed: u64,
    /// Measure the loss of other texts after each epoch: those of a file, or a share of DATA, such as 0.1
    #[arg(long, value_name = "FILE|SHARE", value_parser = parse_validation)]
    pub validation: Option<Validation>,
    /// Keep what was learned in OUT.checkpoint after each N steps, until OUT is written
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint: u64,
    /// Go on from OUT.checkpoint; the result is that of a run without a break, bit for bit
    #[arg(long)]
    pub resume: bool,
    /// Threads to compute with [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// The texts of a validation.
#[derive(Clone, Debug)]
pub enum Validation {
    /// Those of a file.
    File(PathBuf),
    /// This share of all texts.
    Share(f64),
}

fn parse_validation(text: &str) -> Result<Validation, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(Validation::Share(share)),
        Ok(_) => Err("a share between 0 and 1, or a file, is valid".into()),
        Err(_) => Ok(Validation::File(text.into())),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
    number.ok_or_else(|| "a finite number above 0 is valid".into())
}

/// An adapter's file and the factor of what it adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Lora {
    pub path: PathBuf,
    pub scale: f64,
}

/// `FILE` or `FILE:SCALE`. What follows the last colon is a part of the name unless it is a number.
pub fn parse_lora(text: &str) -> Result<Lora, String> {
    let scaled = text.rsplit_once(':').and_then(|(path, scale)| Some((path, scale.parse::<f64>().ok()?)));
    match scaled.filter(|(path, _)| !path.is_empty()) {
        Some((_, scale)) if !scale.is_finite() => Err(format!("a scale of {scale}: a finite number is valid")),
        Some((path, scale)) => Ok(Lora { path: path.into(), scale }),
        None => Ok(Lora { path: text.into(), scale: 1.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_with_and_without_a_scale() {
        let lora = |path: &str, scale| Ok(Lora { path: path.into(), scale });
        assert_eq!(parse_lora("a.gguf"), lora("a.gguf", 1.0));
        assert_eq!(parse_lora("a.gguf:0.5"), lora("a.gguf", 0.5));
        assert_eq!(parse_lora("C:\\a.gguf"), lora("C:\\a.gguf", 1.0));
        assert_eq!(parse_lora("x:y:-2e0"), lora("x:y", -2.0));
        assert!(parse_lora("a.gguf:inf").is_err());
    }
}
