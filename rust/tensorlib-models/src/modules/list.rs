//! The list of a model's modules: `modules.json` of sentence-transformers, or tensors and keys of a GGUF file.

use super::dense::{self, Activation, Dense};
use crate::sentences::Pooling;
use crate::settings::{optional_json, Fields, Key, Object, Settings};
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use tensorlib::Gguf;

/// Any other module would change the vectors.
const KNOWN: [&str; 6] = ["Transformer", "Pooling", "Dense", "LayerNorm", "Normalize", "Dropout"];
const MODULE: Fields =
    Fields { known: &["idx", "name", "path", "type"], only: &[("kwargs", &["[]", "{}", "[\"task\"]"])] };
/// The file of a module's weights, in its folder.
const FILE: &str = "model.safetensors";
const NORM: Fields = Fields { known: &["dimension"], only: &[] };
/// The tensors of Dense modules in GGUF, and the keys of their widths.
const GGUF_DENSE: [(&str, Key, Key); 2] = [
    ("dense_2", Key("dense_2_feat_in", ""), Key("dense_2_feat_out", "")),
    ("dense_3", Key("dense_3_feat_in", ""), Key("dense_3_feat_out", "")),
];

/// What a module computes of a text's vector.
#[derive(Clone, Debug)]
pub enum Kind {
    Dense(Dense),
    /// The norm of a vector of this many elements.
    LayerNorm(i64),
    /// The vector gets the length 1.
    Normalize,
}

/// A module after the pooling.
#[derive(Clone, Debug)]
pub struct Module {
    pub kind: Kind,
    /// The name of its tensors.
    pub name: String,
    /// The file of its weights; none if they are the model's own, in a GGUF file.
    pub file: Option<PathBuf>,
    /// What the names of its tensors begin with in that file.
    pub prefix: &'static str,
}

/// The modules after the pooling, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleList {
    pub modules: Vec<Module>,
    /// The pooling before them, as the files say.
    pub pooling: Option<Pooling>,
    /// The function that makes scores of the last module's results, if the files name one.
    pub activation: Option<String>,
}

impl ModuleList {
    /// Reads a folder's list, and the folder of the pooling's settings.
    pub fn of_folder(folder: &Path, warnings: &Warnings) -> Result<(String, Self)> {
        let (path, usual) = (folder.join("modules.json"), "1_Pooling".to_string());
        let Some(json) = optional_json(&path)? else { return Ok((usual, Self::default())) };
        let file = Object { json, path: path.display().to_string() };
        let (mut pooling, mut modules) = (None, Vec::new());
        for (number, module) in file.json.as_array().into_iter().flatten().enumerate() {
            file.check(&file.path, module, &MODULE, warnings)?;
            let kind = module["type"].as_str().and_then(|kind| kind.rsplit('.').next()).unwrap_or_default();
            let named = module["path"].as_str();
            let refuse = |what: &str| Err(Error::unsupported(format!("{}: {what}", file.path)));
            match kind {
                "Transformer" | "Dropout" => {}
                "Pooling" => {
                    if pooling.replace(named.unwrap_or(&usual).to_string()).is_some() {
                        return refuse("two modules 'Pooling': one is known");
                    }
                }
                "Dense" | "LayerNorm" | "Normalize" if pooling.is_none() && (kind != "Normalize") => {
                    return refuse(&format!("module '{kind}' before the module 'Pooling': it is known after it"));
                }
                "Dense" | "LayerNorm" | "Normalize" => {
                    if modules.last().is_some_and(Module::gives_scores) {
                        return refuse(&format!("module '{kind}' after one that makes scores: that is the last one"));
                    }
                    let place = folder.join(named.unwrap_or_default());
                    modules.push(Module::read(kind, number, place, warnings)?);
                }
                _ => return refuse(&format!("module '{kind}': {} are known", KNOWN.join(", "))),
            }
        }
        Ok((pooling.unwrap_or(usual), ModuleList { modules, ..Self::default() }))
    }

    /// The modules of a GGUF file.
    pub fn of_gguf(file: &Gguf, settings: &Settings) -> Result<Self> {
        let mut modules = Vec::new();
        for (name, inputs_key, outputs_key) in GGUF_DENSE {
            let said = [settings.count_or_none(inputs_key)?, settings.count_or_none(outputs_key)?];
            let tensor = format!("{name}.weight");
            let Some(info) = file.tensor_info(&tensor) else {
                if said.iter().any(Option::is_some) {
                    let key = settings.name(inputs_key);
                    return Err(Error::format(format!("tensor '{tensor}' is missing: {key} says that there is one")));
                }
                continue;
            };
            let [inputs, outputs] = [0, 1].map(|i| said[i].or(info.shape.get(i).copied()).unwrap_or(1));
            let activation = Activation::Identity;
            let dense = Dense { inputs, outputs, bias: None, activation, residual: false, scores: false };
            modules.push(Module { kind: Kind::Dense(dense), name: name.into(), file: None, prefix: "" });
        }
        Ok(ModuleList { modules, ..Self::default() })
    }

    /// Whether the last module makes scores.
    pub fn gives_scores(&self) -> bool {
        self.modules.last().is_some_and(Module::gives_scores)
    }

    /// What says that the model gives scores, if it does.
    pub fn scores_said(&self, folder: &Path) -> Option<String> {
        let last = self.modules.last().filter(|last| last.gives_scores())?;
        let place = last.file.as_ref().map_or(folder.into(), |file| file.with_file_name("config.json"));
        Some(format!("{}: module_output_name: is 'scores'", place.display()))
    }

    /// Whether their result depends on the length of the vector, and not on its direction alone.
    pub fn depends_on_length(&self) -> bool {
        self.modules.first().is_some_and(|first| !matches!(first.kind, Kind::Normalize))
    }
}

impl Module {
    fn read(kind: &str, number: usize, folder: PathBuf, warnings: &Warnings) -> Result<Self> {
        let (kind, name, prefix) = match kind {
            "Normalize" => (Kind::Normalize, String::new(), ""),
            "Dense" => {
                let file = settings_of(&folder, &dense::FIELDS, warnings)?;
                (Kind::Dense(Dense::read(&file)?), format!("dense_{number}"), "linear.")
            }
            _ => {
                let file = settings_of(&folder, &NORM, warnings)?;
                (Kind::LayerNorm(file.count("dimension")?), format!("norm_{number}"), "norm.")
            }
        };
        Ok(Module { kind, name, file: Some(folder.join(FILE)), prefix })
    }

    fn gives_scores(&self) -> bool {
        matches!(&self.kind, Kind::Dense(dense) if dense.scores)
    }
}

/// A module's config.json.
fn settings_of(folder: &Path, fields: &Fields, warnings: &Warnings) -> Result<Object> {
    let path = folder.join("config.json");
    let file = Object::read(&path, fields, warnings)?;
    file.ok_or_else(|| Error::no_file(format!("{}: does not exist: modules.json names its folder", path.display())))
}
