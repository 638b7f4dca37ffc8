//! Command R7B and its like: one norm by the variance for both blocks of a layer. Layers without a window do not
//! rotate; the others rotate pairs of neighbours.

use crate::decoder::keys::WINDOW;
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{Norms, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::Result;

const EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_eps");
const LOGITS: Key = Key("logit_scale", "logit_scale");
/// Every n-th layer has no window.
const PATTERN: Key = Key("", "sliding_window_pattern");
const SAVED_PATTERN: Key = Key("", "_sliding_window_pattern");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(settings, 1e4)?.with_defaults(&[
        (EPS, 1e-5.into()),
        (WINDOW, 4096.into()),
        (LOGITS, 0.0625.into()),
    ])?;
    let rope = Rope::read(settings, Shape::head(settings)?, false)?.of_neighbours();
    let every = settings.count_if(PATTERN)?.or(settings.count_if(SAVED_PATTERN)?).unwrap_or(4);
    let shape = Shape::read_with(settings, rope, NormKind::Layer, EPS)?;
    let shape = shape.with_window(settings, |layer| (layer + 1) % every != 0)?;
    // In GGUF, 0 means that there is no factor.
    let logits = settings.number_if(LOGITS)?.filter(|factor| settings.is_hub() || *factor != 0.0);
    let rotated = Some(shape.windowed_layers());
    Ok(Shape { norms: Norms::Shared, rotated, logit_scale: logits.unwrap_or(1.0), ..shape })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.number(LOGITS, shape.logit_scale);
    Ok(())
}
