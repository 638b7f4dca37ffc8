//! gpt-oss: experts with biases, an attention sink (a logit without a key) per head, windows in every second layer.

use crate::decoder::activation::Activation;
use crate::decoder::rope::Rope;
use crate::decoder::shape::{Routing, Shape};
use crate::settings::{Key, Settings};
use crate::{Error, Result};

const EXPERTS: Key = Key("expert_count", "");
const GATING: Key = Key("expert_gating_func", "");
/// GGUF's number for routing by a softmax over the used experts.
const GATING_OF_USED: i64 = 3;
const EXPERT_FFN: Key = Key("expert_feed_forward_length", "");

/// Reads the settings of a GGUF file.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if let Some(other) = settings.whole_if(GATING, 0)?.filter(|n| ![0, GATING_OF_USED].contains(n)) {
        let what = format!("is {other}: {GATING_OF_USED}, the softmax over the experts that are used, is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(GATING))));
    }
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let shape = Shape::read(settings, rope)?.with_window(settings, |layer| layer % 2 == 0)?;
    let shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing::OF_USED)?;
    if shape.experts.is_none() {
        return Err(settings.refuse(EXPERTS, "is missing: a whole number is expected"));
    }
    Ok(Shape { activation: Activation::SwigluOai, sinks: true, ffn_norm: "post_attention_norm", ..shape })
}

/// Refuses folders: they hold blocks of 4-bit floats in an order of their own.
pub fn of_hub(_: &Settings) -> Result<Shape> {
    Err(Error::unsupported("architecture 'gpt_oss': folders of it are not read")
        .with_hint("a GGUF file of the model is: those of architecture gpt-oss"))
}
