//! StableLM: norms by the variance; a part of each head turns. Some models have one norm for both blocks of a layer,
//! and norms of each head.

use super::names;
use crate::decoder::keys::{ATTENTION_BIAS, KV_HEADS};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{HeadNorms, Norms, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames, Stack};
use crate::Result;

const EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_eps");
const PARTIAL: Key = Key("", "partial_rotary_factor");
const BIASES: Key = Key("", "use_qkv_bias");
const HEAD_NORMS: Key = Key("", "qk_layernorm");
const PARALLEL: Key = Key("use_parallel_residual", "use_parallel_residual");

/// Reads the settings. GGUF files may misstate which layers have one norm; their tensors tell.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[
        (KV_HEADS, 32.into()),
        (EPS, 1e-5.into()),
        (BIASES, false.into()),
        (ATTENTION_BIAS, settings.value_if(BIASES)?.unwrap_or_else(|| false.into())),
    ])?;
    let settings = &rope::with_older_names(settings, 1e4)?.with_values(&[(PARTIAL, 0.25.into())])?;
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let shape = Shape::read_with(settings, rope, NormKind::Layer, EPS)?;
    let (parallel, own) = (settings.flag_if(PARALLEL)? == Some(true), settings.flag_if(HEAD_NORMS)? == Some(true));
    let norms = match (settings.is_hub(), parallel) {
        (false, _) => Norms::BeforeOrShared,
        (true, true) => Norms::Shared,
        (true, false) => Norms::Before,
    };
    let head_norms = if own || !settings.is_hub() { HeadNorms::Own } else { HeadNorms::None };
    Ok(Shape { norms, head_norms, ..shape })
}

/// Llama's names, except that each head has a norm of its own.
pub fn hub_names() -> HubNames {
    let others = names::plain().of;
    HubNames::new(move |name| {
        let part = names::layer_part(name).and_then(|(layer, part, end)| match part {
            "attn_q_norm" => Some((layer, "q_layernorm", end)),
            "attn_k_norm" => Some((layer, "k_layernorm", end)),
            _ => None,
        });
        let Some((layer, part, end)) = part else { return others(name) };
        let (folder, end) = (format!("layers.{layer}.self_attn.{part}.norms"), end.to_string());
        let of = Box::new(move |i| names::behind_prefixes(&format!("{folder}.{i}.{end}")));
        HubName::Stack(Stack { of, fused: Vec::new(), half: None, transposed: false })
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.flag(PARALLEL, shape.norms == Norms::Shared);
    Ok(())
}
