//! Options of the commands that make files of models: `convert`, `quantize`, `imatrix`, `transpose-down`.

use super::{DeviceArgs, Hub};
use crate::commands::quantize::recipe::Recipe;
use crate::files::output::Target;
use crate::files::pattern::Keep;
use crate::files::types::is_storage;
use crate::terminal::text::parse_size;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::Args;
use std::path::{Path, PathBuf};
use tensorlib::DType;

/// How tensors are written to OUT.
#[derive(Args)]
pub struct Writing {
    /// Show the type and size of each tensor in OUT; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Split OUT into shards of at most this size, such as 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub split_size: Option<u64>,
    /// Replace OUT if it exists; if OUT is a symbolic link, replace its target
    #[arg(long)]
    pub force: bool,
    /// Print a line per tensor to standard error
    #[arg(long, short)]
    pub verbose: bool,
    /// Print neither progress bar nor summary
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl Writing {
    /// The destination OUT.
    pub fn target<'a>(&self, path: &'a Path) -> Target<'a> {
        Target { path, split: self.split_size.is_some(), force: self.force, dry_run: self.dry_run }
    }
}

/// `convert`
#[derive(Args)]
pub struct Convert {
    /// The folder to read: config.json, tokenizer.json, model.safetensors or its shards
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// The GGUF file to write; - is standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// The type of matrices, such as f16, bf16, f32 or q8_0; auto keeps the folder's types. Norms, biases and other
    /// vectors are f32
    #[arg(long = "type", short = 't', value_name = "TYPE", default_value = "auto", ignore_case = true, value_parser = matrix_types())]
    pub matrices: Matrices,
    #[command(flatten)]
    pub writing: Writing,
}

/// The type of matrices; `None` for those of the folder.
#[derive(Clone, Copy, Debug)]
pub struct Matrices(pub Option<DType>);

fn matrix_types() -> impl TypedValueParser<Value = Matrices> {
    let types = DType::ALL.into_iter().filter(|dtype| is_storage(*dtype)).map(|dtype| dtype.name());
    PossibleValuesParser::new(std::iter::once("auto".to_string()).chain(types)).try_map(|name| match name.as_str() {
        "auto" => Ok(Matrices(None)),
        name => name.parse().map(|dtype| Matrices(Some(dtype))).map_err(|e: tensorlib::Error| e.to_string()),
    })
}

/// `quantize`
#[derive(Args)]
pub struct Quantize {
    /// The model to read: GGUF or safetensors; any shard, or the shards' index, stands for all
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The GGUF file to write; - is standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// The mix of types to store weights as, such as Q4_K_M or Q8_0; or one type for all of them, such as q4_K
    #[arg(long = "type", short = 't', value_name = "TYPE", ignore_case = true, value_parser = recipes(), required_unless_present = "target_size")]
    pub recipe: Option<Recipe>,
    /// Store all weights as one type: that of the mix's name, or its main one
    #[arg(long, conflicts_with = "target_size")]
    pub pure: bool,
    /// Choose the type of each tensor so that OUT has at most this size, such as 4G, and products lose least
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["recipe", "split_size"], value_parser = parse_size)]
    pub target_size: Option<u64>,
    /// Weights of the columns' errors: what `tensorlib imatrix` writes, an imatrix.dat, or a GGUF or safetensors file
    /// with ne[0] values per tensor name
    #[arg(long, visible_alias = "imatrix", value_name = "FILE")]
    pub importance: Option<PathBuf>,
    /// Another type for tensors whose name matches PATTERN (* and ?); `same` leaves them unchanged; the first match
    /// counts, and each pattern has to match a tensor
    #[arg(long, value_name = "PATTERN=TYPE")]
    pub keep: Vec<Keep>,
    /// Leave out tensors whose name matches PATTERN (* and ?); each pattern has to match a tensor
    #[arg(long, value_name = "PATTERN")]
    pub skip: Vec<String>,
    /// Quantise tensors that are quantised already, although that loses precision twice
    #[arg(long)]
    pub allow_requantize: bool,
    /// Threads to compute with [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub writing: Writing,
    /// general.architecture of OUT if IN has none
    #[arg(long, value_name = "NAME", default_value = "unknown", value_parser = NonEmptyStringValueParser::new())]
    pub arch: String,
}

impl Quantize {
    /// How types are chosen, unless they are chosen for a size.
    pub fn recipe(&self) -> Option<Recipe> {
        match self.pure {
            true => self.recipe.map(Recipe::pure),
            false => self.recipe,
        }
    }
}

/// `imatrix`
#[derive(Args)]
pub struct Imatrix {
    /// A GGUF file, or a hub folder; the original, or quantised with little loss
    pub model: PathBuf,
    /// The text; - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// The GGUF file to write; - is standard output
    #[arg(long, short, value_name = "OUT", default_value = "imatrix.gguf")]
    pub output: PathBuf,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Tokens per window
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: u32,
    /// Read at most N tokens of the text
    #[arg(long = "tokens", short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Forbid products that round activations to fewer bits
    #[arg(long)]
    pub exact: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// `transpose-down`
#[derive(Args)]
pub struct TransposeDown {
    /// The model to read: GGUF with matrices in f32, f16 or bf16; any shard stands for all
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The GGUF file to write; - is standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub hub: Hub,
    /// Replace OUT if it exists; if OUT is a symbolic link, replace its target
    #[arg(long)]
    pub force: bool,
    /// Print a line per tensor to standard error
    #[arg(long, short)]
    pub verbose: bool,
    /// Print neither progress bar nor summary
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

fn recipes() -> impl TypedValueParser<Value = Recipe> {
    PossibleValuesParser::new(Recipe::names()).try_map(|name| Recipe::parse(&name))
}
