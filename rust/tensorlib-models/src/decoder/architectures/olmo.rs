//! OLMo 2 and 3: norms of the blocks' results alone, and of whole queries and keys; in OLMo 3 most layers have
//! a window.

use super::names;
use crate::decoder::keys::{WINDOW, WINDOW_PATTERN};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{HeadNorms, Norms, Shape};
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::Result;

const BASE: Key = Key("rope.freq_base", "rope_theta");
const WINDOW_BASE: Key = Key("rope.freq_base_swa", "");
const NEWER_BASE: Key = Key("", "rope_parameters.rope_theta");

/// OLMo 2. GGUF files of OLMo 3 have this name too.
pub fn olmo2(settings: &Settings) -> Result<Shape> {
    let shape = common(settings)?;
    if settings.is_hub() {
        return Ok(shape);
    }
    with_windows(shape, settings)
}

/// Folders of OLMo 3.
pub fn olmo3(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(WINDOW, 4096.into())])?;
    with_windows(common(settings)?, settings)
}

fn common(settings: &Settings) -> Result<Shape> {
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    Ok(Shape { norms: Norms::After, head_norms: HeadNorms::Whole, ..shape })
}

/// Three of four layers have a window. Their rotation is not stretched.
fn with_windows(shape: Shape, settings: &Settings) -> Result<Shape> {
    let base = match settings.number_if(BASE)? {
        Some(base) => Some(base),
        None => settings.number_if(NEWER_BASE)?,
    };
    let base = settings.number_if(WINDOW_BASE)?.or(base).unwrap_or(10_000.0);
    let window_rope = Some(Rope::plain(base, shape.keys.key, true));
    let shape = shape.with_window(settings, |layer| layer % 4 < 3)?;
    Ok(Shape { window_rope, ..shape })
}

/// Llama's names, with those of norms after the blocks.
pub fn hub_names() -> HubNames {
    names::with(part, false)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "post_attention_norm" => "post_attention_layernorm",
        "post_ffw_norm" => "post_feedforward_layernorm",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.flags(WINDOW_PATTERN, &shape.windowed_layers());
    Ok(())
}
