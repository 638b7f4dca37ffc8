//! The command line: every option and its help.

#[cfg(feature = "grammar")]
mod constraints;
mod hub;
mod making;
mod models;
mod sampling;
#[cfg(feature = "server")]
mod serve;
mod transcribe;
mod tune;

use crate::files::types::is_storage;
use crate::model::budget::{Budget, Put};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use tensorlib::DType;
use tensorlib_models::{Pooling, Tested};

#[cfg(feature = "grammar")]
pub use constraints::Constraints;
pub use hub::{rewritten, Hub, SCHEME as MODEL_OF_HUB};
pub use making::{Convert, Imatrix, Quantize, TransposeDown};
pub use sampling::Sampling;
#[cfg(feature = "server")]
pub use serve::Serve;
pub use transcribe::{Task, Transcribe, TranscriptFormat};
pub use tune::{Lora, Tune, Validation};

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    files differ (compare), or the data do not allow the command
  2    wrong usage
  3    a file cannot be read or written
  4    a file's contents violate its format
  5    out of memory
  6    another process of those that compute a model together failed
  70   a defect of this program
  129  the terminal was closed (SIGHUP)
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM)

Errors go to standard error, with a hint if there is something to try. Environment: TENSORLIB_ISA forces \
an instruction set (see `tensorlib devices`).";

/// Run models, and inspect, quantise and compare their files (GGUF, safetensors).
#[derive(Parser)]
#[command(name = "tensorlib", version, max_term_width = 100)]
#[command(after_long_help = EXIT_CODES, after_help = "Exit codes and more: --help")]
pub struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Show what is in files: metadata, tensors, sizes per format
    #[command(after_long_help = EXIT_CODES)]
    Inspect(Inspect),
    /// Write a model's folder as a GGUF file, for this program and llama.cpp
    ///
    /// FOLDER is a hub folder: config.json, tokenizer.json, model.safetensors or its shards. OUT has the settings, the
    /// tokenizer and the tensors as llama.cpp's files have them. A folder that such a file does not express is refused: the
    /// settings in OUT are read again and compared, and so are the tokens of some texts. OUT appears under its name only
    /// when it is complete. One tensor is in memory at a time. `tensorlib quantize` makes smaller files of OUT.
    #[command(after_long_help = EXIT_CODES)]
    Convert(Convert),
    /// Store a model in a smaller type: GGUF or safetensors in, GGUF out
    ///
    /// A mix, such as Q4_K_M, gives each matrix the type that llama.cpp gives it. One type for all, such as q4_K or with
    /// --pure, quantises float tensors of two or more dimensions whose rows are whole blocks of the type; those with
    /// other rows become q8_0 if they fit that. Everything else is copied unchanged. 8-bit floats are read as f32; other
    /// types that GGUF lacks are left out with a warning. OUT appears under its name only when it is complete: a run
    /// that is stopped leaves nothing. Only a few pieces of a tensor are in memory at a time.
    #[command(after_long_help = EXIT_CODES)]
    Quantize(Quantize),
    /// Measure which columns of a language model's matrices matter, for `quantize --imatrix`
    ///
    /// Runs FILE's text through the model and writes, for each matrix of a layer and for each of its experts, the mean
    /// square of what each column is multiplied with. OUT is a GGUF file as llama.cpp's tool of that name writes it. Some
    /// hundred windows of a text like those that the model will see are enough.
    #[command(after_long_help = EXIT_CODES)]
    Imatrix(Imatrix),
    /// Train a low-rank adapter of a language model, on its own weights, quantised or not
    ///
    /// DATA has JSON lines: {"text": TEXT}, which is learned; {"prompt": TEXT, "completion": TEXT}, whose completion is;
    /// or {"messages": [{"role": ROLE, "content": TEXT}]} in the model's chat template, whose assistant's messages are.
    /// OUT is a GGUF file that `generate --lora` and llama.cpp take. The losses go to OUT.csv as they come. MODEL is a
    /// GGUF file of a Llama, Qwen 2 or Qwen 3 without experts. Ctrl-C keeps what was learned, for --resume.
    #[command(after_long_help = EXIT_CODES)]
    Tune(Tune),
    /// Transpose a model's down projections for sparse products
    ///
    /// `blk.N.ffn_down.weight` becomes `blk.N.ffn_down_t.weight`, with a row per neuron, so that decoders read only the
    /// rows of active neurons (`tensorlib activity`). Everything else is copied unchanged. Transpose a model before you
    /// quantise it, because blocks would run across the rows.
    #[command(after_long_help = EXIT_CODES)]
    TransposeDown(TransposeDown),
    /// Compare the tensors of two files: error per tensor
    ///
    /// Tensors are matched by name. Exit code 1 if a tensor is missing on one side, has another shape, has a NaN or
    /// infinity that the other lacks, or has an error above --fail-above. Other differences are no failure.
    #[command(after_long_help = EXIT_CODES)]
    Compare(Compare),
    /// Convert lines of text from standard input to vectors, one per line
    ///
    /// Vectors have length 1 and come in the order of the lines. A blank line is the empty text; a line with more
    /// tokens than the model takes is cut, and a warning counts such lines. MODEL is a hub folder (config.json,
    /// tokenizer.json, model.safetensors) of the BERT family or of a language model that makes vectors, such as
    /// Qwen3-Embedding, or a GGUF file of either.
    #[command(after_long_help = EXIT_CODES)]
    Embed(Embed),
    /// Order lines of text from standard input by how well they answer QUERY
    ///
    /// Prints each line after its score and a tab, the best first. MODEL is a cross-encoder (a folder whose
    /// architecture ends in ForSequenceClassification, with one label, or a GGUF file with a head), or Qwen3-Reranker. A
    /// query and a line with more tokens than the model takes are cut, and a warning counts such lines.
    #[command(after_long_help = EXIT_CODES)]
    Rerank(Rerank),
    /// Tell the labels of a classifier apart, for lines of text from standard input
    ///
    /// Prints the best label of each line, a tab, and its score. MODEL is a folder whose architecture ends in
    /// ForSequenceClassification, or a GGUF file with a head. A blank line is the empty text.
    #[command(after_long_help = EXIT_CODES)]
    Classify(Classify),
    /// Write down what is said in sound files, with times, by Whisper
    ///
    /// Each segment's text is printed when its window of 30 seconds is done. MODEL is a hub folder of Whisper
    /// (config.json, tokenizer.json, model.safetensors), a GGUF file that keeps the folder's names, with config.json and
    /// tokenizer.json next to it, or a file for whisper.cpp (ggml-*.bin).
    #[command(after_long_help = EXIT_CODES)]
    Transcribe(Transcribe),
    /// Continue a text, or converse, with a language model
    ///
    /// MODEL is a GGUF file or a hub folder. The text goes to standard output as it is generated; the tokens per second
    /// and the reason for the end go to standard error. Without PROMPT and --file the command converses, line by line,
    /// in the model's own template.
    #[command(after_long_help = EXIT_CODES)]
    Generate(Box<Generate>),
    /// Serve models over HTTP, with OpenAI's routes and a page to chat with a model
    ///
    /// Each MODEL is a GGUF file or a hub folder: a language model, which answers /v1/chat/completions and
    /// /v1/completions; an encoder, which answers /v1/embeddings and /v1/rerank; a cross-encoder or Qwen3-Reranker, which
    /// answers /v1/rerank; or a classifier, which answers /v1/classify. Requests name a model by its file or
    /// folder, without .gguf; requests without a name get the first. SIGTERM and Ctrl-C end the server when the requests
    /// that it accepted are answered; a second one ends it at once.
    #[cfg(feature = "server")]
    #[command(after_long_help = EXIT_CODES)]
    Serve(Box<Serve>),
    /// Print a language model's logits after each of some tokens
    #[command(after_long_help = EXIT_CODES)]
    Logits(Logits),
    /// Measure how well a language model predicts a text
    ///
    /// The text is cut into windows of --ctx tokens; in each window the second half is predicted from the tokens before
    /// it. Perplexity is e to the mean of -ln of the tokens' probabilities: lower is better.
    #[command(after_long_help = EXIT_CODES)]
    Perplexity(Perplexity),
    /// Measure how often each neuron of a language model is active, for sparse products
    ///
    /// Runs FILE's text through the model, finds for each layer the threshold that SHARE of its neurons reach, and
    /// counts how often each neuron does. OUT is JSON, or safetensors if its name ends so; other commands take it with
    /// --activity. MODEL may be the original or the result of `tensorlib transpose-down`, quantised or not.
    #[command(after_long_help = EXIT_CODES)]
    Activity(Activity),
    /// List devices, instruction sets and threads
    #[command(after_long_help = EXIT_CODES)]
    Devices(Devices),
    /// Show which device each tensor of a model would lie on, and the memory that it takes
    ///
    /// Nothing is loaded. Tensors go to the first device as far as its budget allows, which covers the weights, the
    /// cache of a whole context, and the memory that a prompt of 512 tokens needs. Other tensors go to the next device:
    /// first experts, then the embeddings, the largest feed-forward matrices, attention with its cache, and the matrix
    /// of the logits. Other commands do the same with --device cuda:0,cpu.
    #[command(after_long_help = EXIT_CODES)]
    Place(PlaceModel),
    /// Measure this machine, or a language model on it
    ///
    /// Without MODEL: encoding, decoding and matrix products. With MODEL: tokens per second, compared with the bytes
    /// that the machine reads and the numbers that it multiplies per second, measured before and after; and the share
    /// of the time that products take. The bytes of a token are those of all weights, as the file stores them, and of
    /// its cache.
    #[command(after_long_help = EXIT_CODES)]
    Bench(Bench),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the man page, or write all of them into a folder
    Man(Man),
}

/// `inspect`
#[derive(Args)]
pub struct Inspect {
    /// Files to show; any shard of a split GGUF file, and any shard or the index of a sharded safetensors model, stands
    /// for all
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub hub: Hub,
    /// JSON: everything, arrays in full (see the README for its structure)
    #[arg(long)]
    pub json: bool,
    /// Show only the tensors
    #[arg(long, conflicts_with = "metadata")]
    pub tensors: bool,
    /// Show only the metadata
    #[arg(long)]
    pub metadata: bool,
    /// Show long arrays and texts in full
    #[arg(long)]
    pub full: bool,
}

/// `compare`
#[derive(Args)]
pub struct Compare {
    /// The file with the reference values
    pub a: PathBuf,
    /// The file to compare with it
    pub b: PathBuf,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Exit code 1 if a tensor's relative error (RMSE over the RMS of A) is above REL
    #[arg(long, value_name = "REL", value_parser = parse_limit)]
    pub fail_above: Option<f64>,
    /// Threads to compute with [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
}

/// The devices that a model computes on.
#[derive(Args)]
pub struct DeviceArgs {
    /// The device to compute on, as `tensorlib devices` lists it; with several, as in cuda:0,cpu, the first gets what
    /// fits [default: those of --budget, then cpu]
    #[arg(long, value_name = "D")]
    pub device: Option<String>,
    /// Use at most SIZE of a device's memory, as in cuda:0=8G [default: nine tenths of a GPU's free memory]
    #[arg(long, value_name = "DEVICE=SIZE")]
    pub budget: Vec<Budget>,
    /// Put tensors on a device, as in 'blk.*.ffn_*_exps.*=cpu', whether they fit or not; the first match counts
    #[arg(long, value_name = "PATTERN=DEVICE")]
    pub put: Vec<Put>,
    /// Keep copies of each layer's N most recently used experts on the first device, if the experts lie on another one
    #[arg(long, value_name = "N", default_value = "0")]
    pub expert_slots: u16,
    /// Threads to compute with [default: all]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
    /// Print the device and the memory that the model takes
    #[arg(long, short)]
    pub verbose: bool,
}

/// The processes that compute a model together.
#[derive(Args)]
pub struct RankArgs {
    /// Divide the model over several processes, of which the first one prints: mpi, those that mpirun or another launcher
    /// has started; self, none; auto, mpi if a launcher has started several
    #[arg(long, value_name = "auto|mpi|self", default_value = "auto", value_parser = ["auto", "mpi", "self"])]
    pub group: String,
}

/// The neurons of a language model that are computed.
#[derive(Args)]
pub struct Neurons {
    /// Skip neurons below the thresholds in FILE, which `tensorlib activity` wrote, and divide a model that does not
    /// fit on the first device by how often its neurons are active; or divide its neurons as a split file of PowerInfer
    /// says. The model's down projections must be transposed
    #[arg(long, value_name = "FILE")]
    pub activity: Option<PathBuf>,
}

/// How a language model's products are computed.
#[derive(Args)]
pub struct Products {
    /// Add a low-rank adapter: a GGUF file for a GGUF model, otherwise the folder that PEFT writes; what it adds is
    /// multiplied by SCALE [default: 1]; may be repeated
    #[arg(long, value_name = "FILE[:SCALE]", value_parser = tune::parse_lora)]
    pub lora: Vec<Lora>,
    /// Forbid products that round activations to fewer bits
    #[arg(long)]
    pub exact: bool,
    /// Give the same bits however a prompt was divided; on CPUs
    #[arg(long)]
    pub reproducible: bool,
}

/// `embed`
#[derive(Args)]
pub struct Embed {
    /// A hub folder, or a GGUF file
    pub model: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Convert matrices to this type when they are loaded, such as q8_0 [default: as they are stored]
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = storage_types())]
    pub dtype: Option<DType>,
    /// How the vectors of a line's tokens are pooled: mean, cls for the first token's, or last for the last token's
    /// [default: as the model says, else mean]
    #[arg(long, value_name = "HOW", value_parser = parse_pooling)]
    pub pooling: Option<Pooling>,
    /// Put the prompt that the folder has under NAME before each line, such as query [default: the folder's default]
    #[arg(long, value_name = "NAME")]
    pub prompt: Option<String>,
    /// Adapt the model to a task that it has, such as retrieval.query, and put the task's text before each line unless
    /// --prompt names another [default: the folder's default task, without its text]
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Add a low-rank adapter: a GGUF file for a GGUF model, otherwise the folder that PEFT writes; what it adds is
    /// multiplied by SCALE [default: 1]; may be repeated
    #[arg(long, value_name = "FILE[:SCALE]", value_parser = tune::parse_lora)]
    pub lora: Vec<Lora>,
    /// Keep the first N elements of each vector, for models trained for that (Matryoshka) [default: as the folder says,
    /// else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub dimensions: Option<u32>,
    /// Print how much each token of a line matters, by the model's sparse head (BGE-M3): ID:WEIGHT for each
    #[arg(long, conflicts_with_all = ["per_token", "pooling", "dimensions"])]
    pub sparse: bool,
    /// Print a vector for each token of a line, by the model's multi-vector head (BGE-M3), and an empty line after them
    #[arg(long, conflicts_with_all = ["pooling", "dimensions"])]
    pub per_token: bool,
    /// Print a vector for each of these images instead of lines, by CLIP or SigLIP: PNG, JPEG, WebP, GIF, BMP, TIFF
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["sparse", "per_token", "prompt"])]
    pub image: Vec<PathBuf>,
    /// Language models: the most tokens of a line [default: the model's own, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: Option<u32>,
    /// JSON: an array per line; with --sparse an object with the ids as names, with --per-token an array of arrays
    #[arg(long)]
    pub json: bool,
}

/// `rerank`
#[derive(Args)]
pub struct Rerank {
    /// A hub folder, or a GGUF file
    pub model: PathBuf,
    /// What the lines should answer
    pub query: String,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Convert matrices to this type when they are loaded, such as q8_0 [default: as they are stored]
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = storage_types())]
    pub dtype: Option<DType>,
    /// Print the best N lines alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Language models: what a line has to do for a good score, in words [default: to answer a web search's query]
    #[arg(long, value_name = "TEXT")]
    pub instruction: Option<String>,
    /// Language models: size of the context in tokens [default: the model's own, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: Option<u32>,
    /// JSON: an object per line, with line, score and text
    #[arg(long)]
    pub json: bool,
}

/// `classify`
#[derive(Args)]
pub struct Classify {
    /// A hub folder, or a GGUF file
    pub model: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Convert matrices to this type when they are loaded, such as q8_0 [default: as they are stored]
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = storage_types())]
    pub dtype: Option<DType>,
    /// Lines are pairs of texts, with a tab between them
    #[arg(long)]
    pub pairs: bool,
    /// Print all labels, the best first
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// JSON: an object per line, with label, score, and the scores of all labels
    #[arg(long)]
    pub json: bool,
}

/// Whether tokens are drafted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Speculate {
    /// Where it pays.
    Auto,
    /// Never.
    Off,
}

/// `generate`
#[derive(Args)]
pub struct Generate {
    /// A GGUF file, or a hub folder
    pub model: PathBuf,
    /// The text to continue
    pub prompt: Option<String>,
    #[command(flatten)]
    pub hub: Hub,
    /// Read the text to continue from a file; - is standard input
    #[arg(long, value_name = "F", conflicts_with = "prompt")]
    pub file: Option<PathBuf>,
    /// Generate a text for each line of a file, several together: {"prompt": TEXT} or {"messages": [{"role": ROLE,
    /// "content": TEXT}]}, with an "id" if wanted; - is standard input. Prints a JSON object for each text when it is
    /// complete
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "file", "session", "json", "logprobs"])]
    pub prompts: Option<PathBuf>,
    /// With --prompts: compute up to N texts together [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), requires = "prompts", conflicts_with_all = ["prompt", "file"])]
    pub together: Option<u16>,
    /// With --prompts: keep keys and values of up to N tokens of all texts [default: four times the context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "prompts", conflicts_with_all = ["prompt", "file"])]
    pub pool: Option<u32>,
    /// Generate at most N tokens [default: until the model ends the text]
    #[arg(short = 'n', long = "tokens", value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub devices: DeviceArgs,
    #[command(flatten)]
    pub ranks: RankArgs,
    /// Take the text as a user's turn in the model's own template
    #[arg(long)]
    pub chat: bool,
    /// Instructions to the model before the conversation; implies --chat
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Variables of the model's template, such as {"enable_thinking": false}; implies --chat
    #[arg(long, value_name = "JSON", value_parser = parse_variables)]
    pub chat_template_kwargs: Option<serde_json::Map<String, serde_json::Value>>,
    /// Parse control tokens that are written out in PROMPT, the conversation or --system, instead of taking them as
    /// text
    #[arg(long)]
    pub special: bool,
    /// End before this text, which may be a control token's; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    #[command(flatten)]
    pub sampling: Sampling,
    #[cfg(feature = "grammar")]
    #[command(flatten)]
    pub constraint: Constraints,
    /// Size of the context in tokens [default: the model's own, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: Option<u32>,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true, value_parser = cache_types())]
    pub cache: DType,
    /// Continue the session in FILE, if it exists, and save the session to it at the end; tokens that the session and
    /// the prompt begin with are not computed again
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Draft tokens that followed the last ones where these occurred before, and compute several together: faster where
    /// the text repeats itself or the prompt [default: auto with --draft, else off]
    #[arg(long, value_enum, value_name = "auto|off", conflicts_with = "prompts")]
    pub speculate: Option<Speculate>,
    /// Also draft tokens with MODEL, a smaller model with the same vocabulary: a GGUF file, or a hub folder
    #[arg(long, value_name = "MODEL", conflicts_with = "prompts")]
    pub draft: Option<PathBuf>,
    #[command(flatten)]
    pub products: Products,
    #[command(flatten)]
    pub neurons: Neurons,
    /// JSON: an object per token, one per line, then the totals
    #[arg(long)]
    pub json: bool,
    /// Add the log-probability of each token, and those of the N most likely ones, to the JSON
    #[arg(long, value_name = "N", requires = "json")]
    pub logprobs: Option<usize>,
}

/// `logits`
#[derive(Args)]
pub struct Logits {
    /// A GGUF file, or a hub folder
    pub model: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// The tokens, used as given
    #[arg(long, value_name = "1,5,9", value_delimiter = ',', required = true)]
    pub tokens: Vec<u32>,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f32", ignore_case = true, value_parser = cache_types())]
    pub cache: DType,
    #[command(flatten)]
    pub products: Products,
    #[command(flatten)]
    pub neurons: Neurons,
    /// JSON: an array of arrays
    #[arg(long)]
    pub json: bool,
}

/// `perplexity`
#[derive(Args)]
pub struct Perplexity {
    /// A GGUF file, or a hub folder
    pub model: PathBuf,
    /// The text; - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    #[command(flatten)]
    pub ranks: RankArgs,
    /// Tokens per window
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    pub ctx: u32,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true, value_parser = cache_types())]
    pub cache: DType,
    #[command(flatten)]
    pub products: Products,
    #[command(flatten)]
    pub neurons: Neurons,
    /// JSON instead of a line
    #[arg(long)]
    pub json: bool,
}

/// `activity`
#[derive(Args)]
pub struct Activity {
    /// A GGUF file, or a hub folder
    pub model: PathBuf,
    /// The text; - is standard input
    pub file: PathBuf,
    /// The file to write: JSON, or safetensors
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// The value compared with thresholds: `gate`, the activated gate; `hidden`, the input of the down projection;
    /// `positive`, whether the gate is above 0, without a threshold [default: positive for a model with ReLU, else
    /// gate]
    #[arg(long, value_name = "WHAT", value_parser = parse_tested)]
    pub by: Option<Tested>,
    /// The share of a layer's neurons that reach its threshold, on average over the tokens
    #[arg(long, value_name = "SHARE", default_value = "0.5")]
    pub share: f64,
    /// Read at most N tokens of the text
    #[arg(long = "tokens", short = 'n', value_name = "N", default_value = "16384")]
    pub limit: usize,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `place`
#[derive(Args)]
pub struct PlaceModel {
    /// A GGUF file, or a hub folder
    pub model: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    #[command(flatten)]
    pub neurons: Neurons,
    /// Size of the context in tokens [default: the model's own, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: Option<u32>,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true, value_parser = cache_types())]
    pub cache: DType,
    /// JSON: an object (see the README for its structure)
    #[arg(long)]
    pub json: bool,
}

/// `devices`
#[derive(Args)]
pub struct Devices {
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `bench`
#[derive(Args)]
pub struct Bench {
    /// A language model to measure: a GGUF file, or a hub folder
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub hub: Hub,
    /// Tokens of the prompt; 0: none
    #[arg(short = 'p', long, value_name = "N", default_value = "512", requires = "model",
          value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub prompt: u32,
    /// Tokens to generate; 0: none
    #[arg(short = 'n', long, value_name = "N", default_value = "64", requires = "model",
          value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub tokens: u32,
    /// Tokens before those that are generated
    #[arg(short = 'd', long, value_name = "N", default_value = "0", requires = "model",
          value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub depth: u32,
    /// Also generate N sequences together, as for several users
    #[arg(long, value_name = "N,...", value_delimiter = ',', requires = "model", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub together: Vec<u16>,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true, value_parser = cache_types(), requires = "model")]
    pub cache: DType,
    /// Forbid products that round activations to fewer bits
    #[arg(long, requires = "model")]
    pub exact: bool,
    /// Give the same bits however a prompt was divided; on CPUs
    #[arg(long, requires = "model")]
    pub reproducible: bool,
    #[command(flatten)]
    pub devices: DeviceArgs,
    #[command(flatten)]
    pub neurons: Neurons,
    /// Without a model: types to measure
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', ignore_case = true, value_parser = storage_types(),
          default_value = "f32,f16,q8_0,q4_K,q6_K", conflicts_with = "model")]
    pub types: Vec<DType>,
    /// Without a model: columns of the products [4096, 4096] x n
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,8,512", conflicts_with = "model",
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub sizes: Vec<u32>,
    /// Without a model: rows and columns of the weights, a multiple of 256
    #[arg(long, value_name = "N", default_value = "4096", value_parser = parse_side, conflicts_with = "model")]
    pub side: u32,
    /// Without a model: seconds per line
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = parse_seconds, conflicts_with = "model")]
    pub seconds: f64,
    /// JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `completions`
#[derive(Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `man`
#[derive(Args)]
pub struct Man {
    /// Write tensorlib.1 and a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

fn storage_types() -> impl TypedValueParser<Value = DType> {
    let names: Vec<String> = DType::ALL.into_iter().filter(|t| is_storage(*t)).map(DType::name).collect();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<DType>())
}

fn cache_types() -> impl TypedValueParser<Value = DType> {
    PossibleValuesParser::new(["f16", "q8_0", "f32"]).try_map(|name| name.parse::<DType>())
}

fn parse_pooling(text: &str) -> Result<Pooling, String> {
    match text {
        "mean" => Ok(Pooling::Mean),
        "cls" => Ok(Pooling::Cls),
        "last" => Ok(Pooling::Last),
        _ => Err("mean, cls and last are valid".into()),
    }
}

fn parse_tested(text: &str) -> Result<Tested, String> {
    let found = Tested::ALL.into_iter().find(|tested| tested.name() == text);
    found.ok_or_else(|| "gate, hidden and positive are valid".into())
}

fn parse_variables(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    serde_json::from_str(text).map_err(|e| format!("the text of a JSON object is valid: {e}"))
}

fn parse_limit(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|v: &f64| *v >= 0.0).ok_or_else(|| "a number from 0 on is valid, as 0.01".into())
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|v| (0.001..=3600.0).contains(v)).ok_or_else(|| "0.001 to 3600 is valid".into())
}

fn parse_side(text: &str) -> Result<u32, String> {
    let valid = |n: &u32| *n > 0 && *n <= 32768 && n % 256 == 0;
    text.parse().ok().filter(valid).ok_or_else(|| "a multiple of 256 up to 32768 is valid".into())
}
