//! Seed-OSS: as Llama, with biases of queries, keys and values.

use crate::decoder::keys::{ATTENTION_BIAS, HEAD, KV_HEADS};
use crate::decoder::rope::Rope;
use crate::decoder::shape::Shape;
use crate::settings::{Key, Settings};
use crate::Result;

const OUTPUT_BIAS: Key = Key("", "attention_out_bias");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[
        (HEAD, 128.into()),
        (KV_HEADS, 8.into()),
        (ATTENTION_BIAS, true.into()),
        (OUTPUT_BIAS, false.into()),
    ])?;
    let mut shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    shape.stated.output_bias = settings.flag_if(OUTPUT_BIAS)?;
    // GGUF files call the second norm by its name in folders.
    if !settings.is_hub() {
        shape.ffn_norm = "post_attention_norm";
    }
    Ok(shape)
}
