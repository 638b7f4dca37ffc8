//! Llama 4: most layers attend within chunks and rotate; the others do neither, and their queries grow with their
//! positions. Shares of experts multiply their inputs.

use super::names::{self, ExpertNames};
use super::smollm3;
use crate::decoder::keys::{EPS, EXPERTS_USED, HEAD, HEADS, KV_HEADS, LAYER_TYPES, VALUE_HEAD, WINDOW, WINDOW_PATTERN};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{check_heads, HeadNorms, KeyHeads, Routing, Scores, Shape, Shared, Temperature, Window};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::Result;
use serde_json::json;

const FFN: Key = Key("feed_forward_length", "intermediate_size_mlp");
const EXPERT_FFN: Key = Key("expert_feed_forward_length", "intermediate_size");
const EXPERTS: Key = Key("expert_count", "num_local_experts");
/// Every n-th layer has experts.
const INTERVAL: Key = Key("interleave_moe_layer_step", "interleave_moe_layer_step");
/// The layers that have experts.
const EXPERT_LAYERS: Key = Key("", "moe_layers");
const SCALE: Key = Key("expert_weights_scale", "");
const CHUNK: Key = Key("", "attention_chunk_size");
const NORMED: Key = Key("", "use_qk_norm");
/// true or false, or a number other than 0.
const GROWS: Key = Key("", "attn_temperature_tuning");
const GROWTH: Key = Key("attention.temperature_scale", "attn_scale");
const GROWTH_TOKENS: Key = Key("attention.temperature_length", "floor_scale");
/// The number of experts of the model without norms of queries and keys, of which GGUF files do not say that it has none.
const EXPERTS_WITHOUT_NORMS: i64 = 128;

/// Reads the settings. Pairs that rotate are neighbours, also in folders.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(&settings.with_defaults(&unsaid())?, 5e5)?;
    let head = Shape::head(settings)?;
    let rope = Rope::read(settings, head, false)?.of_neighbours();
    let heads = settings.count(HEADS)?;
    let value = settings.count_if(VALUE_HEAD)?.unwrap_or(head);
    let keys = KeyHeads { count: settings.count_if(KV_HEADS)?.unwrap_or(heads), key: head, value };
    check_heads(settings, heads, keys)?;
    let shape = Shape::with(settings, rope, keys, settings.count(FFN)?, (NormKind::RootMeanSquare, EPS))?;
    let shape = with_experts(settings, shape)?;
    let temperature = temperature(settings)?;
    if !settings.is_hub() && settings.whole_if(WINDOW, 0)? == Some(0) {
        // Such files hold models whose layers are all alike.
        return Ok(Shape { head_norms: head_norms(settings, &shape)?, ..shape });
    }
    let rotated = rotated(settings, shape.layers)?;
    Ok(Shape {
        head_norms: head_norms(settings, &shape)?,
        temperature,
        window: window(settings, shape.layers, &rotated)?,
        rotated: Some(rotated),
        ..shape
    })
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, serde_json::Value)> {
    vec![
        (HEAD, 128.into()),
        (KV_HEADS, 8.into()),
        (FFN, 16384.into()),
        (EXPERT_FFN, 8192.into()),
        (EXPERTS, 16.into()),
        (EXPERTS_USED, 1.into()),
        (INTERVAL, 1.into()),
        (CHUNK, 8192.into()),
        (EPS, json!(1e-5)),
    ]
}

fn with_experts(settings: &Settings, shape: Shape) -> Result<Shape> {
    let scale = settings.number_if(SCALE)?.filter(|scale| *scale != 0.0).unwrap_or(1.0);
    let routing = Routing { scores: Scores::Sigmoid, scale, weighs_inputs: true, ..Routing::PLAIN };
    let mut shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, routing)?;
    let Some(experts) = &mut shape.experts else { return Ok(shape) };
    experts.shared = Some(Shared { ffn: experts.ffn, gated: false });
    let every = settings.count_or_none(INTERVAL)?;
    if let Some(listed) = settings.numbers_if(EXPERT_LAYERS)? {
        return Ok(shape.with_expert_layers(|layer| listed.contains(&(layer as f64))));
    }
    Ok(shape.with_expert_layers(|layer| every.is_some_and(|every| (layer + 1) % every == 0)))
}

/// Which layers rotate: in GGUF files all but each that has no window.
fn rotated(settings: &Settings, layers: i64) -> Result<Vec<bool>> {
    if settings.is_hub() {
        return smollm3::rotated(settings, layers);
    }
    let every = settings.count_or_none(WINDOW_PATTERN)?.unwrap_or(4);
    Ok((0..layers).map(|layer| (layer + 1) % every != 0).collect())
}

/// The chunks of tokens, and the layers that attend within them.
fn window(settings: &Settings, layers: i64, rotated: &[bool]) -> Result<Option<Window>> {
    let kinds = [("chunked_attention", true), ("full_attention", false)];
    let listed = settings.kinds_of_layers(LAYER_TYPES, layers, &kinds)?;
    let keys = match settings.is_hub() {
        true => settings.count_if(CHUNK)?,
        false => Some(settings.count_or_none(WINDOW)?.unwrap_or(8192)),
    };
    let layers = listed.unwrap_or_else(|| rotated.to_vec());
    Ok(keys.filter(|_| layers.contains(&true)).map(|keys| Window { keys, is_chunk: true, layers }))
}

/// How queries of layers that do not rotate grow.
fn temperature(settings: &Settings) -> Result<Option<Temperature>> {
    let said = settings.value_if(GROWS)?;
    let grows = match &said {
        None => true,
        Some(said) => said
            .as_bool()
            .or(said.as_f64().map(|n| n != 0.0))
            .ok_or_else(|| settings.refuse(GROWS, format!("is {said}: true or false, or a number, is valid")))?,
    };
    let growth = settings.number_if(GROWTH)?.filter(|growth| settings.is_hub() || *growth != 0.0).unwrap_or(0.1);
    let tokens = settings.count_or_none(GROWTH_TOKENS)?.unwrap_or(8192);
    Ok(grows.then_some(Temperature { growth, tokens, offset: 1, unrotated: true }))
}

fn head_norms(settings: &Settings, shape: &Shape) -> Result<HeadNorms> {
    let unsaid =
        settings.is_hub() || shape.experts.as_ref().is_none_or(|experts| experts.count != EXPERTS_WITHOUT_NORMS);
    Ok(match settings.flag_if(NORMED)?.unwrap_or(unsaid) {
        true => HeadNorms::PlainAfterRotation,
        false => HeadNorms::None,
    })
}

const EXPERT_NAMES: ExpertNames = ExpertNames {
    experts: "feed_forward.experts",
    fused: "feed_forward.experts",
    transposed: true,
    routers: &["feed_forward.router"],
    ..ExpertNames::USUAL
};

/// The folder's names.
pub fn hub_names() -> HubNames {
    names::with_experts(part, &EXPERT_NAMES)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "ffn_gate" => "feed_forward.gate_proj",
        "ffn_up" => "feed_forward.up_proj",
        "ffn_down" => "feed_forward.down_proj",
        "ffn_gate_shexp" => "feed_forward.shared_expert.gate_proj",
        "ffn_up_shexp" => "feed_forward.shared_expert.up_proj",
        "ffn_down_shexp" => "feed_forward.shared_expert.down_proj",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    if let Some(temperature) = shape.temperature {
        keys.number(GROWTH, temperature.growth);
        keys.count(GROWTH_TOKENS, temperature.tokens);
    }
    if let Some(experts) = &shape.experts {
        let every = settings.count_or_none(INTERVAL)?.unwrap_or(1);
        keys.count(INTERVAL, every);
        keys.count(EXPERT_FFN, experts.ffn);
    }
    Ok(())
}
