//! StarCoder 2: norms by the variance, feed-forward blocks without gates, and biases.

use super::names;
use crate::decoder::activation::Activation;
use crate::decoder::keys::KV_HEADS;
use crate::decoder::rope::Rope;
use crate::decoder::shape::Shape;
use crate::norm::NormKind;
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::Result;

const EPS: Key = Key("attention.layer_norm_epsilon", "norm_epsilon");
/// Whether all matrices have biases.
const BIASES: Key = Key("", "use_bias");
const ACTIVATION: Key = Key("", "hidden_act");
/// An older name, which the published code no longer reads.
const OLD_ACTIVATION: Key = Key("", "activation_function");
const NORM: Key = Key("", "norm_type");
const BLOCK: Key = Key("", "mlp_type");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    settings.expect_text(ACTIVATION, &["gelu_pytorch_tanh", "gelu_new"])?;
    settings.expect_text(NORM, &["layer_norm"])?;
    settings.expect_text(BLOCK, &["default"])?;
    settings.value_if(OLD_ACTIVATION)?;
    let settings = &settings.with_defaults(&[(KV_HEADS, 2.into()), (EPS, 1e-5.into()), (BIASES, true.into())])?;
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let mut shape = Shape::read_with(settings, rope, NormKind::Layer, EPS)?.with_window(settings, |_| true)?;
    shape.stated.set_biases(settings.flag_if(BIASES)?);
    Ok(Shape { activation: Activation::Gelu, gated_ffn: false, ..shape })
}

/// Llama's names, except for those of the feed-forward block.
pub fn hub_names() -> HubNames {
    names::with(part, false)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "ffn_up" => "mlp.c_fc",
        "ffn_down" => "mlp.c_proj",
        _ => return None,
    })
}
