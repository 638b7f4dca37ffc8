//! BitNet: as Llama, with norms of what attention gives and of neurons, and matrices of three values.

use super::names;
use crate::decoder::activation::Activation;
use crate::decoder::keys::KV_HEADS;
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::Shape;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const ACTIVATION: Key = Key("hidden_activation", "hidden_act");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(&settings.with_defaults(&[(KV_HEADS, 5.into())])?, 5e5)?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    let activation = match settings.text_if(ACTIVATION)?.as_deref() {
        None if !settings.is_hub() => unsaid(settings, &shape),
        None | Some("relu2") => Activation::ReluSquared,
        Some("silu" | "swish") => Activation::Silu,
        Some(other) => {
            let what = format!("is '{other}': relu2 and silu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
        }
    };
    Ok(Shape { activation, inner_norms: true, ..shape })
}

/// The activation of GGUF files that do not say it, as llama.cpp's converter makes them. BitNet 2B4T alone has fewer
/// heads of keys; all older models have silu.
fn unsaid(settings: &Settings, shape: &Shape) -> Activation {
    if shape.keys.count == shape.heads {
        return Activation::Silu;
    }
    let what = "is missing: relu2 is taken, because of BitNet's models 2B4T alone has fewer heads of keys";
    settings.warnings().add(format!("{}: {what}", settings.name(ACTIVATION)));
    Activation::ReluSquared
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    let part = |part: &str| {
        Some(match part {
            "attn_sub_norm" => "self_attn.attn_sub_norm",
            "ffn_sub_norm" => "mlp.ffn_sub_norm",
            _ => return None,
        })
    };
    names::with(part, false)
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.set(ACTIVATION, if shape.activation == Activation::ReluSquared { "relu2" } else { "silu" });
    Ok(())
}
