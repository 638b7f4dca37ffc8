//! Layers with a window.

use super::{flags_of_layers, Shape};
use crate::decoder::keys::*;
use crate::settings::Settings;
use crate::Result;

/// Layers whose tokens see only the last keys.
#[derive(Clone, Debug)]
pub struct Window {
    /// The number of keys, including the token's own.
    pub keys: i64,
    /// Positions are divided into chunks of as many keys, and a token sees those of its own chunk.
    pub is_chunk: bool,
    /// Which layers have the window.
    pub layers: Vec<bool>,
}

impl Window {
    /// Whether a token at this position sees a key that is not after it.
    pub fn sees(&self, position: i64, key: i64) -> bool {
        match self.is_chunk {
            true => position / self.keys == key / self.keys,
            false => position - key < self.keys,
        }
    }
}

impl Shape {
    /// Adds a window to the layers that config.json lists, or otherwise to those for which `is_windowed` is true.
    pub fn with_window(mut self, settings: &Settings, is_windowed: impl Fn(i64) -> bool) -> Result<Self> {
        // In GGUF, 0 keys mean no window.
        let keys = if settings.is_hub() { settings.count_if(WINDOW)? } else { settings.count_or_none(WINDOW)? };
        let kinds = [("sliding_attention", true), ("full_attention", false)];
        let (types, pattern) =
            (settings.kinds_of_layers(LAYER_TYPES, self.layers, &kinds), self.window_pattern(settings)?);
        let Some(keys) = keys else { return Ok(self) };
        let layers = match pattern {
            Some(pattern) => pattern,
            None => types?.unwrap_or_else(|| (0..self.layers).map(is_windowed).collect()),
        };
        self.window = layers.contains(&true).then_some(Window { keys, is_chunk: false, layers });
        Ok(self)
    }

    /// Which layers have a window, if a GGUF file lists them.
    fn window_pattern(&self, settings: &Settings) -> Result<Option<Vec<bool>>> {
        let Some(value) = settings.value_if(WINDOW_PATTERN)? else { return Ok(None) };
        let layers = 0..self.layers;
        let pattern = match (value.as_i64(), value.as_array()) {
            (Some(0), _) => Some(vec![false; usize::try_from(self.layers).unwrap_or(0)]),
            (Some(every), _) if every > 0 => Some(layers.map(|layer| layer % every < every - 1).collect()),
            _ => flags_of_layers(&value, self.layers),
        };
        let layers = self.layers;
        pattern.map(Some).ok_or_else(|| {
            let what = format!("true or false for each of the {layers} layers, or a whole number, is valid");
            settings.refuse(WINDOW_PATTERN, what)
        })
    }
}
