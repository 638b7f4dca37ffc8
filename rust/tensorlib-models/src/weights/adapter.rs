//! Adapters: low-rank additions to a model's matrices (LoRA: Hu and others, 2021, <https://arxiv.org/abs/2106.09685>).
//!
//! If an adapter has matrices A, [inputs, rank], and B, [rank, outputs], for a matrix W of the model, W x becomes W x +
//! scale * B (A x). Nothing is merged into W, which may be quantised.

use super::tasks::{self, Tasks};
use super::{DeviceMap, HubName, HubNames, Slice, Stack, TensorPart, Weights};
use crate::files::Source;
use crate::settings::{check_fields, json_of, read_json, Fields, Settings};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::path::Path;
use tensorlib::nn::LowRank;
use tensorlib::Gguf;

/// An adapter's files.
pub struct Adapter {
    /// Its path, for messages.
    path: String,
    weights: Weights,
    scaling: Scaling,
    /// The rank of all additions, if the files state it.
    rank: Option<i64>,
    /// The text before each text that the adapter was trained with.
    prefix: Option<String>,
    /// The task that the file names.
    task: Option<String>,
    /// Whether the tensors lie among those of a model.
    is_of_model: bool,
}

/// The factor of an addition, which depends on its rank.
struct Scaling {
    /// `None`: a factor of 1 instead of alpha / rank.
    alpha: Option<f64>,
    /// Divides by the root of the rank instead of the rank (rsLoRA).
    by_root: bool,
    /// The caller's factor for all additions.
    asked: f64,
}

impl Scaling {
    fn of(&self, rank: i64) -> f64 {
        let rank = if self.by_root { (rank as f64).sqrt() } else { rank as f64 };
        self.asked * self.alpha.map_or(1.0, |alpha| alpha / rank)
    }
}

impl Adapter {
    /// The caller's factor, and the tensors found so far.
    pub fn loaded(&self) -> (f64, Vec<super::Loaded>) {
        (self.scaling.asked, self.weights.loaded())
    }

    /// [`Weights::describe`] for the adapter's files.
    pub fn describe(&self, take: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        self.weights.describe(take)
    }

    /// Opens a GGUF file of type `adapter` for a GGUF model, or the folder that PEFT writes for a hub folder
    /// (adapter_config.json, adapter_model.safetensors). `names` are those of the model's folder.
    pub fn open(path: &Path, scale: f64, model: &Settings, names: &HubNames, devices: &DeviceMap) -> Result<Self> {
        let about = |e: Error| e.about(path.display());
        if !scale.is_finite() {
            return Err(about(Error::invalid(format!("a scale of {scale}: a finite number is valid"))));
        }
        let tensors = if path.is_dir() { path.join("adapter_model.safetensors") } else { path.to_path_buf() };
        let source = Source::open(&tensors)?;
        let text = |key: &str| match &source {
            Source::Gguf(file) => file.get(key).map(json_of).and_then(|value| value.as_str().map(String::from)),
            Source::Safetensors(_) => None,
        };
        let (prefix, task) = (text(PREFIX).filter(|prefix| !prefix.is_empty()), text(TASK));
        let (alpha, by_root) = match (&source, model.is_hub()) {
            (Source::Gguf(file), false) => (alpha_of_file(file, model).map_err(about)?, false),
            (Source::Safetensors(_), true) => {
                alpha_of_folder(&tensors.with_file_name("adapter_config.json"), model.warnings())?
            }
            (Source::Gguf(_), true) => return Err(about(other_kind("GGUF", "a folder, which takes PEFT's"))),
            (Source::Safetensors(_), false) => {
                return Err(about(other_kind("safetensors", "GGUF, which takes GGUF's")))
            }
        };
        let weights = Weights::new(source, adapter_names(names), devices.clone(), None)?;
        let scaling = Scaling { alpha: (alpha != 0.0).then_some(alpha), by_root, asked: scale };
        Ok(Adapter { path: path.display().to_string(), weights, scaling, rank: None, prefix, task, is_of_model: false })
    }

    /// The additions for a task that a folder's own tensors have.
    pub fn of_task(
        files: Source,
        folder: &Path,
        (tasks, number): (&Tasks, usize),
        names: &HubNames,
        devices: &DeviceMap,
    ) -> Result<Self> {
        let count = i64::try_from(tasks.names.len()).unwrap_or(0);
        let weights = Weights::new(files, tasks::names(names, number as u64, count), devices.clone(), None)?;
        let scaling = Scaling { alpha: Some(tasks.alpha), by_root: false, asked: 1.0 };
        Ok(Adapter {
            path: folder.display().to_string(),
            weights,
            scaling,
            rank: Some(tasks.rank),
            prefix: Some(tasks.instructions[number].clone()).filter(|prefix| !prefix.is_empty()),
            task: Some(tasks.names[number].clone()),
            is_of_model: true,
        })
    }

    /// The text before each text that the adapter was trained with.
    pub fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }

    /// This adapter for texts as they are.
    pub fn without_prefix(self) -> Self {
        Adapter { prefix: None, ..self }
    }

    /// The task that the file names.
    pub fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// The adapter's path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The addition to the matrix `name` of this shape, which may be a stack of matrices, or to a part of it: rows of a
    /// matrix are those of B, columns those of A.
    pub fn find(&self, name: &str, shape: &[i64], part: Option<&TensorPart>) -> Result<Option<LowRank>> {
        let (a, b) = (format!("{name}.lora_a"), format!("{name}.lora_b"));
        let Some(found) = self.weights.shape_of(&a) else { return Ok(None) };
        let rank = self.rank.unwrap_or(found.get(1).copied().unwrap_or(1));
        let with = |columns: i64, rows: i64| [&[columns, rows], &shape[2..]].concat();
        let get = |name: &str, shape: &[i64], dim: usize| {
            let part = part.filter(|part| part.dim == dim);
            self.weights.get_part(name, shape, part).map_err(|e| e.about(&self.path))
        };
        let (a, b) = (get(&a, &with(shape[0], rank), 0)?, get(&b, &with(rank, shape[1]), 1)?);
        Ok(Some(LowRank::of(a, b, self.scaling.of(rank))))
    }

    /// The addition to the rows of the table `name` of this shape, [width, rows]: the product of b, [rank, width], with
    /// rows of a, [rank, rows].
    pub fn find_rows(&self, name: &str, shape: [i64; 2]) -> Result<Option<LowRank>> {
        let (a, b) = (format!("{name}.lora_a"), format!("{name}.lora_b"));
        let Some(found) = self.weights.shape_of(&b) else { return Ok(None) };
        let rank = self.rank.or(found.first().copied()).unwrap_or(1);
        let get = |name: &str, shape: [i64; 2]| self.weights.get(name, &shape).map_err(|e| e.about(&self.path));
        let (a, b) = (get(&a, [rank, shape[1]])?, get(&b, [rank, shape[0]])?);
        Ok(Some(LowRank::of(a, b, self.scaling.of(rank))))
    }

    /// Call it when all matrices were loaded: no tensor of the adapter may be left.
    pub fn finish(&self) -> Result<()> {
        self.weights.freeze();
        let mut left = self.weights.left();
        left.retain(|name| !self.is_of_model || tasks::is_addition(name));
        match &left[..] {
            [] => Ok(()),
            [name, ..] => Err(Error::format(format!("{}: tensor '{name}' fits no matrix of the model", self.path))
                .with_hint("is it an adapter of this model? Those of embeddings, norms and biases are not known here")),
        }
    }
}

fn other_kind(it: &str, model: &str) -> Error {
    let message = format!("the adapter is {it}, the model {model}");
    // GGUF files of Llama reorder the rows of queries and keys, so converting names alone would be wrong.
    Error::unsupported(message).with_hint("convert the adapter as the model was converted")
}

fn alpha_of_file(file: &Gguf, model: &Settings) -> Result<f64> {
    // A key that is missing, or has another type, is an error of the file.
    let fault = |e: tensorlib::Error| Error::format(e.to_string());
    let expect = |key: &str, wanted: &str| match file.string(key).map_err(fault)? {
        found if found == wanted => Ok(()),
        found => Err(Error::format(format!("{key} is '{found}': '{wanted}' is valid"))),
    };
    expect("general.type", "adapter")?;
    expect("adapter.type", "lora")?;
    let value = |key: &str| file.get(key).map(json_of).unwrap_or_default();
    check_fields(&[&GGUF], "adapter", file.keys().map(|key| (key, value(key))), model.warnings())?;
    expect("general.architecture", model.architecture())?;
    finite("adapter.lora.alpha", file.f64("adapter.lora.alpha").map_err(fault)?)
}

/// Ways to initialise training that leave the model's own weights as they are. All others (PiSSA, OLoRA, CorDA, LoftQ
/// and more) change them, so the additions fit only the changed weights.
const PLAIN_BEGINNINGS: [&str; 4] = ["true", "false", "\"gaussian\"", "\"eva\""];

/// The text before each text, and the task, in GGUF files.
const PREFIX: &str = "adapter.lora.prompt_prefix";
const TASK: &str = "adapter.lora.task_name";

/// Keys of GGUF files of adapters.
const GGUF: Fields = Fields {
    known: &["adapter.lora.alpha", PREFIX, TASK, "adapter.type", "general.*", "split.*", "quantize.*"],
    only: &[("adapter.alora.invocation_tokens", &["[]"])],
};

/// Fields of adapter_config.json; only a plain sum of products is supported.
const PEFT: Fields = Fields {
    known: &[
        "auto_mapping",
        "base_model_name_or_path",
        "corda_config",
        "ensure_weight_tying",
        "eva_config",
        "exclude_modules",
        "inference_mode",
        "layers_pattern",
        "layers_to_transform",
        "loftq_config",
        "lora_alpha",
        "lora_dropout",
        "lora_ga_config",
        "megatron_core",
        "modules_to_save",
        "peft_type",
        "peft_version",
        "qalora_group_size",
        "r",
        "rank_pattern",
        "revision",
        "runtime_config",
        "target_modules",
        "task_type",
        "use_rslora",
    ],
    only: &[
        ("alora_invocation_tokens", &["[]"]),
        ("alpha_pattern", &["{}"]),
        ("arrow_config", &[]),
        ("bias", &["\"none\""]),
        ("fan_in_fan_out", &["false"]),
        ("init_lora_weights", &PLAIN_BEGINNINGS),
        ("kasa_config", &[]),
        ("layer_replication", &["[]"]),
        ("lora_bias", &["false"]),
        ("megatron_config", &["{}"]),
        ("monteclora_config", &[]),
        ("target_parameters", &["[]"]),
        ("trainable_token_indices", &["[]", "{}"]),
        ("use_bdlora", &["false"]),
        ("use_dora", &["false"]),
        ("use_qalora", &["false"]),
        ("velora_config", &[]),
    ],
};

fn alpha_of_folder(path: &Path, warnings: &Warnings) -> Result<(f64, bool)> {
    let json = read_json(path)?;
    let about = |e: Error| e.about(path.display());
    match json.get("peft_type").and_then(Json::as_str) {
        Some("LORA") => {}
        other => return Err(about(Error::unsupported(format!("peft_type is {other:?}: LORA is known")))),
    }
    let fields = json.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value.clone()));
    check_fields(&[&PEFT], &path.display().to_string(), fields, warnings)?;
    let alpha = json.get("lora_alpha").and_then(Json::as_f64);
    let alpha = alpha.ok_or_else(|| about(Error::format("lora_alpha is missing: a number is expected")))?;
    let by_root = json["use_rslora"].as_bool().unwrap_or(false);
    Ok((finite("lora_alpha", alpha).map_err(about)?, by_root))
}

fn finite(key: &str, value: f64) -> Result<f64> {
    match value.is_finite() {
        true => Ok(value),
        false => Err(Error::format(format!("{key} is {value}: a finite number is valid"))),
    }
}

/// PEFT's names of the additions to a model's tensors: `base_model.model.MODULE.lora_A.weight`.
fn adapter_names(model: &HubNames) -> HubNames {
    let of = model.of.clone();
    let of = move |name: &str| {
        let (base, part) = match (name.strip_suffix(".lora_a"), name.strip_suffix(".lora_b")) {
            (Some(base), _) => (base, "lora_A"),
            (_, Some(base)) => (base, "lora_B"),
            _ => (name, ""),
        };
        let theirs = move |name: &str| {
            let module = name.strip_suffix(".weight").unwrap_or(name);
            format!("base_model.model.{module}.{part}.weight")
        };
        match of(base) {
            HubName::One(candidates)
            | HubName::Rows { names: candidates, .. }
            | HubName::Slice(Slice { names: candidates, .. }) => {
                HubName::One(candidates.iter().map(|name| theirs(name)).collect())
            }
            HubName::Stack(Stack { of, .. }) => HubName::Stack(Stack {
                of: Box::new(move |i| of(i).iter().map(|name| theirs(name)).collect()),
                fused: Vec::new(),
                half: None,
                transposed: false,
            }),
        }
    };
    HubNames::new(of)
}
