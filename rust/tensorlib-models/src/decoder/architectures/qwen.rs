//! Qwen 2, 2.5 and 3. Biases of queries, keys and values are optional tensors.

use super::names::{self, ExpertNames};
use crate::decoder::keys::{EXPERT_FFN, HEAD, KV_HEADS};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{HeadNorms, Routing, Shape};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::Result;

pub const EXPERTS: Key = Key("expert_count", "num_experts");
const NORMALISED: Key = Key("expert_weights_norm", "norm_topk_prob");
const USES_WINDOW: Key = Key("", "use_sliding_window");
const FIRST_WINDOW: Key = Key("", "max_window_layers");

/// Qwen 2 and 2.5.
pub fn qwen2(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(KV_HEADS, 32.into()), (FIRST_WINDOW, 28.into())])?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    let first = settings.whole_if(FIRST_WINDOW, 0)?.unwrap_or(0);
    if settings.is_hub() && settings.flag_if(USES_WINDOW)? != Some(true) {
        // Reads the other settings of windows, which have no effect then.
        shape.clone().with_window(settings, |_| false)?;
        return Ok(shape);
    }
    // With a window, the first layers still attend to all tokens.
    shape.with_window(settings, |layer| layer >= first)
}

/// Qwen 3: queries and keys are normalised.
pub fn qwen3(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(HEAD, 128.into())])?;
    Ok(Shape { head_norms: HeadNorms::BeforeRotation, ..qwen2(settings)? })
}

/// Qwen 3 with experts.
pub fn qwen3moe(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(KV_HEADS, 4.into())])?;
    // GGUF files without this setting belong to models that divide by the sum.
    let routing = routing(settings, !settings.is_hub())?;
    let shape = Shape { head_norms: HeadNorms::BeforeRotation, ..qwen2(settings)? };
    shape.with_experts(settings, EXPERTS, EXPERT_FFN, routing)
}

/// Whether the weights of a token's experts are divided by their sum, and what it means if the files do not say.
pub fn routing(settings: &Settings, unsaid: bool) -> Result<Routing> {
    Ok(if settings.flag_if(NORMALISED)?.unwrap_or(unsaid) { Routing::NORMALISED } else { Routing::PLAIN })
}

/// The names of a model with experts.
pub fn moe_names() -> HubNames {
    names::with_experts(|_| None, &ExpertNames::USUAL)
}
