//! SmolLM 3: as Llama, but every fourth layer does not rotate queries and keys.

use crate::decoder::keys::KV_HEADS;
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::Shape;
use crate::settings::{Key, Settings};
use crate::Result;

/// A number for each layer; 0 for those without a rotation, whatever the name says.
const ROTATED: Key = Key("", "no_rope_layers");
/// Every n-th layer has no rotation.
const INTERVAL: Key = Key("", "no_rope_layer_interval");
const USES_WINDOW: Key = Key("", "use_sliding_window");
/// A field that the published code does not read.
const FIRST_WINDOW: Key = Key("", "max_window_layers");

/// Reads the settings. GGUF files reorder queries and keys so that rotated pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(settings, 2e6)?.with_defaults(&[(KV_HEADS, 4.into())])?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, false)?)?;
    let rotated = rotated(settings, shape.layers)?;
    settings.value_if(FIRST_WINDOW)?;
    let is_rotated = |layer| usize::try_from(layer).ok().and_then(|layer: usize| rotated.get(layer)) == Some(&true);
    let windowed = shape.clone().with_window(settings, |layer| !is_rotated(layer))?;
    let uses_window = settings.flag_if(USES_WINDOW)? == Some(true);
    let window = windowed.window.filter(|_| uses_window);
    Ok(Shape { window, rotated: Some(rotated), ..shape })
}

/// Which layers rotate queries and keys. No list, or an empty one, stands for all but every fourth.
pub fn rotated(settings: &Settings, layers: i64) -> Result<Vec<bool>> {
    let every = settings.count_if(INTERVAL)?.unwrap_or(4);
    let Some(listed) = settings.numbers_if(ROTATED)?.filter(|listed| !listed.is_empty()) else {
        return Ok((0..layers).map(|layer| (layer + 1) % every != 0).collect());
    };
    let n = usize::try_from(layers).unwrap_or(0);
    if listed.len() < n {
        return Err(settings.refuse_length(ROTATED, listed.len(), layers));
    }
    Ok(listed[..n].iter().map(|flag| *flag != 0.0).collect())
}
