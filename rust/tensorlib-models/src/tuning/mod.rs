//! Adapters trained on a language model's own weights, which may be quantised and stay as they are (LoRA: Hu and
//! others, 2021, <https://arxiv.org/abs/2106.09685>).

mod samples;

pub use samples::TuningSamples;

use crate::decoder::TunedNetwork;
use crate::package::Package;
use crate::tokenizer::Tokenizer;
use crate::weights::Tuned;
use crate::{Error, Result};
use std::fmt;
use std::path::Path;
use tensorlib::nn::Parameters;
use tensorlib::train::{Optimiser, Trainer};
use tensorlib::{Backend, GgufWriter, Tensor};

/// The parts of layers that may have adapters.
pub const TUNED_PARTS: [&str; 7] = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];

/// Which adapters are trained.
#[derive(Clone, Debug)]
pub struct TuningOptions {
    /// The rank of each.
    pub rank: i64,
    /// The factor of what they add is alpha / rank.
    pub alpha: f64,
    /// Which matrices of each layer have one, of [`TUNED_PARTS`].
    pub targets: Vec<String>,
    /// The most tokens of a sequence.
    pub context: usize,
    /// The seed of first values.
    pub seed: u64,
}

impl Default for TuningOptions {
    fn default() -> Self {
        let targets = TUNED_PARTS.map(String::from).to_vec();
        TuningOptions { rank: 8, alpha: 16.0, targets, context: 256, seed: 0 }
    }
}

/// A language model with adapters to train.
///
/// ```no_run
/// use tensorlib::train::OptimiserOptions;
/// use tensorlib_models::{Tuning, TuningOptions};
/// let cpu = tensorlib::Backend::cpu()?;
/// let tuning = Tuning::open("model.gguf", &cpu, &TuningOptions::default())?;
/// let samples = tuning.samples("{\"prompt\": \"Hello\", \"completion\": \" world\"}")?;
/// let optimiser = OptimiserOptions::adamw(1e-3).build(tuning.parameters())?;
/// tuning.trainer(&cpu, optimiser).epochs(3).batch(1).fit(&samples)?;
/// tuning.write("adapter.gguf")?;
/// # Ok::<(), tensorlib_models::Error>(())
/// ```
pub struct Tuning {
    network: TunedNetwork,
    parameters: Parameters,
    tokenizer: Tokenizer,
    architecture: String,
    options: TuningOptions,
}

impl fmt::Debug for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuning").field("architecture", &self.architecture).field("options", &self.options).finish()
    }
}

impl Tuning {
    /// Opens a GGUF file of a Llama, Qwen 2 or Qwen 3 without experts, which is read into memory. First values of
    /// adapters add nothing.
    ///
    /// # Errors
    /// As [`Decoder::open`](crate::Decoder::open); [`ErrorKind::Unsupported`](crate::ErrorKind) for other models and for
    /// folders, [`ErrorKind::Invalid`](crate::ErrorKind) for options out of their range.
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &TuningOptions) -> Result<Self> {
        check(options)?;
        let package = Package::open(path.as_ref())?;
        let (tokenizer, architecture) = (package.tokenizer()?, package.settings.architecture().to_string());
        let parameters = Parameters::on(backend, options.seed);
        let (rank, alpha, targets) = (options.rank, options.alpha, options.targets.clone());
        let tuned = Tuned { parameters: parameters.clone(), rank, alpha, targets };
        let network = TunedNetwork::load(package, backend, tuned)?;
        if options.context as i64 > network.context() {
            let (asked, most) = (options.context, network.context());
            return Err(Error::invalid(format!("a context of {asked} tokens: up to the model's {most} are valid")));
        }
        Ok(Tuning { network, parameters, tokenizer, architecture, options: options.clone() })
    }

    /// The adapters' matrices, named as in files: `blk.0.attn_q.weight.lora_a`, [inputs, rank], and `.lora_b`, [rank,
    /// outputs].
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The samples of JSON lines: `{"text": TEXT}`, all of which is learned; `{"prompt": TEXT, "completion": TEXT}`, of
    /// which the completion is; or `{"messages": [{"role": ROLE, "content": TEXT}]}` in the model's chat template, of
    /// which the assistant's are. Empty lines are skipped.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind) for a line that is none of these, naming its number, and
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if nothing is left to learn.
    pub fn samples(&self, lines: &str) -> Result<TuningSamples> {
        samples::read(&self.tokenizer, lines, self.options.context)
    }

    /// A trainer of the adapters. Its loss is the mean of -ln of the probabilities of the tokens to learn.
    pub fn trainer<'a>(&'a self, backend: &'a Backend, optimiser: Optimiser) -> Trainer<'a> {
        let network = move |inputs: &[Tensor], _: &tensorlib::nn::Pass| self.logits(&inputs[0]).map(|y| vec![y]);
        Trainer::from_fn(backend, network, optimiser, loss)
    }

    /// The logits after each token of sequences of one length, [tokens, sequences]: [vocabulary, all tokens]. Appends
    /// the nodes that compute them.
    ///
    /// # Errors
    /// As the operations of the model.
    pub fn logits(&self, ids: &Tensor) -> tensorlib::Result<Tensor> {
        self.network.logits(ids).map_err(|e| tensorlib::Error::msg(e.to_string()))
    }

    /// Writes the adapters as a GGUF file in llama.cpp's format, which [`DecoderOptions::adapter`] takes.
    ///
    /// [`DecoderOptions::adapter`]: crate::DecoderOptions::adapter
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut writer = GgufWriter::create(path)?;
        writer.set("general.architecture", self.architecture.as_str())?;
        writer.set("general.type", "adapter")?;
        writer.set("adapter.type", "lora")?;
        writer.set("adapter.lora.alpha", self.options.alpha as f32)?;
        for tensor in self.parameters.tensors() {
            writer.add(&tensor)?;
        }
        writer.finish()?;
        Ok(())
    }
}

/// The mean of -ln of the probabilities of labels, weighted: targets are labels and weights, both [tokens, sequences].
fn loss(outputs: &[Tensor], targets: &[Tensor]) -> tensorlib::Result<Tensor> {
    let (labels, weights) = (targets[0].reshape([1, -1])?, targets[1].reshape([1, -1])?);
    let chosen = outputs[0].log_soft_max()?.gather(&labels, 0)?;
    let sum = chosen.mul(&weights)?.sum(..)?.neg()?;
    sum.div(&weights.sum(..)?)
}

fn check(options: &TuningOptions) -> Result<()> {
    let refuse = |what: String| Err(Error::invalid(what));
    if !(1..=4096).contains(&options.rank) {
        return refuse(format!("a rank of {}: 1 to 4096 is valid", options.rank));
    }
    if !(options.alpha.is_finite() && options.alpha > 0.0) {
        return refuse(format!("an alpha of {}: a finite number above 0 is valid", options.alpha));
    }
    if options.context < 2 {
        return refuse(format!("a context of {} tokens: 2 or more is valid", options.context));
    }
    if options.targets.is_empty() {
        return refuse(format!("no matrices: one of {} or more is valid", TUNED_PARTS.join(", ")));
    }
    match options.targets.iter().find(|target| !TUNED_PARTS.contains(&target.as_str())) {
        Some(other) => refuse(format!("adapters of '{other}': {} are valid", TUNED_PARTS.join(", "))),
        None => Ok(()),
    }
}
