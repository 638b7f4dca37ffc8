//! Checks the tensors that no part of a model asked for.

use crate::files::listed;
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::collections::HashSet;

/// Encoders of images and sound, which models of texts do without.
const OTHER_ENCODERS: [&str; 9] = [
    "vision_tower.",
    "vision_model.",
    "vision_encoder.",
    "multi_modal_projector.",
    "embed_vision.",
    "visual.",
    "audio_tower.",
    "embed_audio.",
    "visual_projection.",
];

/// Parts of the names of tensors that do not change results: buffers of old versions, parts for training, and for vectors,
/// which an own reader loads, factors of scores of pairs, scales of activations and caches that other programs store in
/// 8 bits, the other list of long rotations, and additions for tasks.
const HARMLESS: [&str; 29] = [
    "rotary_emb.",
    "rope_factors_",
    "rope_freqs.",
    "attn_rot_embd",
    "embeddings.position_ids",
    "embeddings.token_type_ids",
    ".masked_bias",
    "pooler.dense.",
    "vocab_transform.",
    "vocab_layer_norm.",
    "vocab_projector.",
    "generator_predictions.",
    "discriminator_predictions.",
    "mtp.",
    "head.dense.",
    "head.norm.",
    "cls.",
    "dense_2.",
    "dense_3.",
    "lm_head.",
    "k_scale",
    "v_scale",
    "q_scale",
    "input_scale",
    "activation_scale",
    "scaled_fp8",
    ".parametrizations.weight.0.lora_",
    "logit_scale",
    "logit_bias",
];

/// Refuses such tensors in the layers of a GGUF file, where they would change results; reports all others. Those of
/// an encoder of which the model has `taken` tensors count too.
pub fn check(left: Vec<String>, taken: &HashSet<String>, is_hub: bool, warnings: &Warnings) -> Result<()> {
    let is_unread = |encoder: &&&str| !taken.iter().any(|name| name.contains(**encoder));
    let harmless: Vec<&str> = OTHER_ENCODERS.iter().filter(is_unread).chain(&HARMLESS).copied().collect();
    let left: Vec<String> = left.into_iter().filter(|name| !harmless.iter().any(|part| name.contains(part))).collect();
    let quoted = |names: Vec<&String>| listed(names.iter().map(|name| format!("'{name}'")).collect());
    let (layers, others): (Vec<&String>, Vec<&String>) =
        left.iter().partition(|name| name.starts_with("blk.") || name.starts_with("enc.blk."));
    if !is_hub && !layers.is_empty() {
        let message = format!("tensors that the model's settings have no use for: {}", quoted(layers));
        return Err(
            Error::unsupported(message).with_hint("the file is of another kind of model than it says, or was changed")
        );
    }
    if !others.is_empty() {
        warnings.add(format!("tensors that the model's settings have no use for are not read: {}", quoted(others)));
    }
    Ok(())
}
