//! Llama, Mistral, Mixtral, Mistral 3 and Ministral 3.

use super::names::{self, ExpertNames};
use crate::decoder::activation::Activation;
use crate::decoder::keys::{ACTIVATION, HEAD, KV_HEADS, WINDOW};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{Routing, Shape, Temperature};
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use serde_json::json;

const EXPERTS: Key = Key("expert_count", "num_local_experts");
const EXPERT_FFN: Key = Key("expert_feed_forward_length", "");
const TEXT_KIND: Key = Key("", "text_config.model_type");
const TEMPERATURE: Key = Key("attention.temperature_scale", "rope_scaling.llama_4_scaling_beta");
const MAGNITUDE: Key = Key("rope.scaling.attn_factor", "");
const LOGARITHM: Key = Key("rope.scaling.yarn_log_multiplier", "");
const TRAINED: Key = Key("rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings");

/// Reads the settings. GGUF files reorder queries and keys so that rotated pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &with_unsaid(settings)?;
    let rope = Rope::read(settings, Shape::head(settings)?, false)?;
    let mut shape = Shape::read(settings, rope)?;
    // The published code of Llama ignores windows.
    if settings.architecture() != "llama" || !settings.is_hub() {
        shape = shape.with_window(settings, |_| true)?;
    }
    let shape = Shape { activation: activation(settings)?, ..shape };
    let shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing::NORMALISED)?;
    match settings.architecture() {
        "mistral3" | "ministral3" => with_temperature(shape, settings),
        _ => Ok(shape),
    }
}

/// Adds the factor of queries that Mistral 3 and Ministral 3 may have.
fn with_temperature(shape: Shape, settings: &Settings) -> Result<Shape> {
    let Some(growth) = settings.number_if(TEMPERATURE)?.filter(|growth| *growth != 0.0) else { return Ok(shape) };
    let tokens = settings.count_if(TRAINED)?.unwrap_or(shape.context);
    Ok(Shape { temperature: Some(Temperature { growth, tokens, offset: 0, unrotated: false }), ..shape })
}

/// Adds defaults of the published code for settings that folders leave out.
fn with_unsaid(settings: &Settings) -> Result<Settings> {
    let kind = match settings.architecture() {
        "mistral3" => settings.text_if(TEXT_KIND)?.unwrap_or_else(|| "mistral".into()),
        other => other.into(),
    };
    match kind.as_str() {
        "mistral" => {
            rope::with_older_names(settings, 1e4)?.with_defaults(&[(KV_HEADS, 8.into()), (WINDOW, 4096.into())])
        }
        "mixtral" => rope::with_older_names(settings, 1e6)?.with_defaults(&[(KV_HEADS, 8.into())]),
        "ministral3" => with_unsaid_rotation(settings)?.with_defaults(&[(KV_HEADS, 8.into()), (HEAD, 128.into())]),
        _ => rope::with_older_names(settings, 1e4),
    }
}

/// Ministral's rotation, if a folder does not mention one.
fn with_unsaid_rotation(settings: &Settings) -> Result<Settings> {
    let rotation = json!({
        "rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0,
        "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1,
    });
    rope::with_unsaid(settings, 1e6, rotation)
}

/// SiLU, except for models that were retrained with ReLU. GGUF has no key for it: `feed_forward_activation` is
/// tensorlib's own.
fn activation(settings: &Settings) -> Result<Activation> {
    match settings.text_if(ACTIVATION)?.as_deref() {
        None | Some("silu" | "swish") => Ok(Activation::Silu),
        Some("relu") => Ok(Activation::Relu),
        Some(other) => {
            let what = format!("is '{other}': silu and relu are known");
            Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))))
        }
    }
}

/// The names of Mixtral's experts.
const MIXTRAL: ExpertNames = ExpertNames {
    experts: "block_sparse_moe.experts",
    gate: "w1",
    up: "w3",
    down: "w2",
    routers: &["block_sparse_moe.gate", "mlp.gate"],
    ..ExpertNames::USUAL
};

pub fn hub_names() -> HubNames {
    names::with_experts(|_| None, &MIXTRAL)
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    if shape.activation == Activation::Relu {
        keys.set(ACTIVATION, "relu");
    }
    if let Some(temperature) = shape.temperature {
        keys.number(TEMPERATURE, temperature.growth);
        keys.count(TRAINED, temperature.tokens);
    }
    if matches!(settings.architecture(), "mistral3" | "ministral3") && shape.rope.keeps_magnitude() {
        // Two factors of the logarithm cancel each other, and files of this architecture state one of them.
        keys.number(LOGARITHM, 1.0);
        keys.remove(MAGNITUDE);
    }
    Ok(())
}
