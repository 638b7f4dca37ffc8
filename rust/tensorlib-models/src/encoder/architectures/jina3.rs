//! Jina's encoder of version 3 (Sturua and others, 2024): XLM-RoBERTa with rotary positions, and with low-rank additions
//! to its matrices for each of several tasks.

use super::{bert, names, nomic};
use crate::encoder::shape::{Activation, Counts, Positions, Shape, EPS, POSITIONS};
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames, Tasks};
use crate::{Error, Result};
use serde_json::Value as Json;
use tensorlib::{RopeMode, RopeOptions};

const ACTIVATION: Key = Key("", "hidden_act");
const DIMS: Key = Key("rope.dimension_count", "rotary_emb_dim");
const TASKS: Key = Key("", "lora_adaptations");
const INSTRUCTIONS: Key = Key("", "task_instructions");
const RANK: Key = Key("", "lora_rank");
const ALPHA: Key = Key("", "lora_alpha");
/// Whether the file has additions; otherwise training would make them.
const TRAINED: Key = Key("", "load_trained_adapters");

/// Whether a folder that calls itself XLM-RoBERTa has rotary positions.
pub fn is_jina_3(settings: &Settings) -> Result<bool> {
    let is_named = settings.is_hub() && settings.architecture() == "xlm-roberta";
    Ok(is_named && settings.text_if(bert::POSITION_KIND)?.as_deref() == Some("rotary"))
}

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    settings.expect_text(ACTIVATION, &["gelu", "gelu_new", "gelu_pytorch_tanh"])?;
    let is_exact = settings.text_if(ACTIVATION)?.is_none_or(|name| name == "gelu");
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    let rope = RopeOptions::new().mode(RopeMode::Neox);
    Ok(Shape {
        activation: if is_exact { Activation::GeluErf } else { Activation::Gelu },
        positions: Positions::Turned(rope.n_dims(dims(settings, shape.head)?).freq_base(nomic::base(settings)?)),
        fused: true,
        classifier: None,
        tasks: tasks(settings)?,
        ..shape
    })
}

/// The number of rotated elements of a head.
fn dims(settings: &Settings, head: i64) -> Result<i64> {
    nomic::check_dims(settings, DIMS, settings.count_if(DIMS)?.unwrap_or(head), head)
}

/// The tasks of a folder. GGUF has a file for each.
fn tasks(settings: &Settings) -> Result<Option<Tasks>> {
    let names = settings.texts_if(TASKS)?.filter(|names| !names.is_empty());
    let (rank, alpha) = (settings.count_if(RANK)?.unwrap_or(4), settings.number_if(ALPHA)?.unwrap_or(1.0));
    let instructions = settings.value_if(INSTRUCTIONS)?;
    let is_trained = settings.flag_if(TRAINED)?;
    let Some(names) = names else { return Ok(None) };
    if is_trained == Some(false) {
        let what = "is false, although lora_adaptations names tasks: true is known";
        return Err(Error::unsupported(format!("{}: {what}", settings.name(TRAINED))));
    }
    // Files of adapters have these names.
    if let Some(name) = names.iter().find(|name| name.is_empty() || name.contains(['/', '\\'])) {
        return Err(settings.refuse(TASKS, format!("has '{name}': names without slashes are valid")));
    }
    let refuse = |what: &str| settings.refuse(INSTRUCTIONS, format!("{what}: a text for each task is valid"));
    let instructions = match &instructions {
        None => vec![String::new(); names.len()],
        Some(Json::Object(all)) => {
            if let Some(other) = all.keys().find(|name| !names.contains(name)) {
                return Err(refuse(&format!("has '{other}', which is none of {}", names.join(", "))));
            }
            let text = |name: &String| {
                let text = all.get(name).and_then(Json::as_str).map(String::from);
                text.ok_or_else(|| refuse(&format!("has no text for '{name}'")))
            };
            names.iter().map(text).collect::<Result<_>>()?
        }
        Some(_) => return Err(refuse("is no object")),
    };
    Ok(Some(Tasks { names, instructions, rank, alpha }))
}

/// The prefixes of the names.
const PREFIXES: [&str; 2] = ["roberta.", ""];

/// The names in folders: with tasks, those of matrices have another end.
pub fn hub_names() -> HubNames {
    let plain = names::with(&PREFIXES, name);
    HubNames::new(move |theirs: &str| match (plain.of)(theirs) {
        HubName::One(all) if theirs.ends_with(".weight") && !theirs.ends_with("norm.weight") => {
            let both = |name: String| {
                let module = name.strip_suffix(".weight").unwrap_or(&name);
                [format!("{module}.parametrizations.weight.original"), name]
            };
            HubName::One(all.into_iter().flat_map(both).collect())
        }
        // As many as of matrices, so that messages have the prefix of the files.
        HubName::One(all) => HubName::One(all.into_iter().flat_map(|name| [name.clone(), name]).collect()),
        other => other,
    })
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    // Both began as code of flash-attention.
    let part = match (layer, part) {
        (Some(_), "attn_qkv") => "mixer.Wqkv",
        (Some(_), "attn_output") => "mixer.out_proj",
        (Some(_), "ffn_up") => "mlp.fc1",
        _ => return nomic::name(layer, part),
    };
    layer.map(|layer| format!("encoder.layers.{layer}.{part}"))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    keys.number(nomic::BASE, nomic::base(settings)?);
    keys.count(DIMS, dims(settings, shape.head)?);
    Ok(())
}
