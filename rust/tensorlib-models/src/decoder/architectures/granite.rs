//! Granite: as Llama, with four factors: of embeddings, attention, residual sums and logits.

use crate::decoder::rope::Rope;
use crate::decoder::shape::Shape;
use crate::settings::{Key, Keys, Settings};
use crate::Result;

const EMBEDDING: Key = Key("embedding_scale", "embedding_multiplier");
const ATTENTION: Key = Key("attention.scale", "attention_multiplier");
const RESIDUAL: Key = Key("residual_scale", "residual_multiplier");
/// What logits are divided by.
const LOGITS: Key = Key("logit_scale", "logits_scaling");
/// GGUF's switch of the rotation.
const ROTATES: Key = Key("rope.scaling.finetuned", "");

/// Reads the settings. GGUF files reorder queries and keys so that rotated pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, false)?)?;
    let (of_attention, logits) = (factor(settings, ATTENTION)?, factor(settings, LOGITS)?.unwrap_or(1.0));
    if logits == 0.0 {
        return Err(settings.refuse(LOGITS, "is 0: logits are divided by it, so any other number is valid"));
    }
    // Folders without this factor mean 1, GGUF files the usual one.
    let attention_scale = match of_attention {
        None if settings.is_hub() => 1.0,
        said => said.unwrap_or(shape.attention_scale),
    };
    let rotates = settings.flag_if(ROTATES)? != Some(false);
    let layers = usize::try_from(shape.layers).unwrap_or(0);
    Ok(Shape {
        attention_scale,
        embedding_scale: factor(settings, EMBEDDING)?.unwrap_or(1.0),
        residual_scale: factor(settings, RESIDUAL)?.unwrap_or(1.0),
        logit_scale: 1.0 / logits,
        rotated: (!rotates).then(|| vec![false; layers]),
        ..shape
    })
}

/// A factor. In GGUF, 0 means that there is none.
fn factor(settings: &Settings, key: Key) -> Result<Option<f64>> {
    Ok(settings.number_if(key)?.filter(|factor| settings.is_hub() || *factor != 0.0))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.number(ATTENTION, shape.attention_scale);
    keys.number(EMBEDDING, shape.embedding_scale);
    keys.number(RESIDUAL, shape.residual_scale);
    keys.number(LOGITS, 1.0 / shape.logit_scale);
    Ok(())
}
