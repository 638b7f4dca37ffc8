//! Arcee's foundation models: as Llama, with feed-forward blocks without gates.

use crate::decoder::activation::Activation;
use crate::decoder::rope::Rope;
use crate::decoder::shape::Shape;
use crate::settings::{Key, Settings};
use crate::Result;

const ACTIVATION: Key = Key("", "hidden_act");

/// Reads the settings. GGUF files reorder queries and keys so that rotated pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    settings.expect_text(ACTIVATION, &["relu2"])?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, false)?)?;
    Ok(Shape { activation: Activation::ReluSquared, gated_ffn: false, ..shape })
}
