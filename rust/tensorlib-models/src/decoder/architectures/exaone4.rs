//! EXAONE 4: norms of the blocks' results alone, and of queries and keys. Models with windows have layers without one,
//! which do not rotate.

use crate::decoder::keys::{KV_HEADS, WINDOW, WINDOW_PATTERN};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{HeadNorms, Norms, Shape};
use crate::settings::{Key, Keys, Settings};
use crate::Result;

/// A text as "LLLG", with an L for each layer with a window, or a number n if every n-th layer has none.
const PATTERN: Key = Key("", "sliding_window_pattern");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(KV_HEADS, 32.into()), (WINDOW, 4096.into()), (PATTERN, 4.into())])?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    let pattern = pattern(settings)?;
    let is_windowed = |layer: i64| pattern[usize::try_from(layer).unwrap_or(0) % pattern.len()];
    let shape = shape.with_window(settings, is_windowed)?;
    let has_windows = settings.value_if(WINDOW)?.is_some_and(|keys| keys.as_i64() != Some(0));
    let rotated = has_windows.then(|| shape.windowed_layers());
    Ok(Shape { norms: Norms::After, head_norms: HeadNorms::BeforeRotation, rotated, ..shape })
}

/// Which layers have a window, over and over.
fn pattern(settings: &Settings) -> Result<Vec<bool>> {
    let every = |n: u64| (1..=n).map(|i| i < n).collect();
    let Some(value) = settings.value_if(PATTERN)? else { return Ok(every(4)) };
    let found: Option<Vec<bool>> = match (value.as_u64(), value.as_str()) {
        (Some(0), _) => Some(vec![false]),
        (Some(n), _) if n <= 1 << 20 => Some(every(n)),
        (_, Some(text)) if !text.is_empty() && text.chars().all(|c| "LG".contains(c)) => {
            Some(text.chars().map(|c| c == 'L').collect())
        }
        _ => None,
    };
    found.ok_or_else(|| {
        settings.refuse(PATTERN, format!("is {value}: a whole number, or a text of the letters L and G, is valid"))
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    if shape.window.is_some() {
        keys.flags(WINDOW_PATTERN, &shape.windowed_layers());
    }
    Ok(())
}
