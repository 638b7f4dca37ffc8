//! Gemma 4: as Gemma 3, with heads, keys and rotations that differ by kind of layer, layers that read others' keys,
//! vectors for each layer, and blocks with experts next to blocks without.

use super::names::{self, ExpertNames};
use crate::decoder::activation::Activation;
use crate::decoder::keys::{
    ATTENTION_SCALE, CONTEXT, EPS, EXPERTS_USED, EXPERT_FFN, FFN, HEAD, HEADS, KV_HEADS, VALUE_HEAD, WINDOW,
    WINDOW_PATTERN,
};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{check_heads, HeadNorms, KeyHeads, Norms, Routing, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};
use serde_json::Value as Json;

const FINAL_CAP: Key = Key("final_logit_softcapping", "final_logit_softcapping");
const ACTIVATION: Key = Key("", "hidden_activation");
const WINDOW_HEAD: Key = Key("attention.key_length_swa", "");
const WINDOW_VALUE: Key = Key("attention.value_length_swa", "");
/// Elements of a head in layers without a window, and the number of their heads of keys, in folders.
const FULL_HEAD: Key = Key("", "global_head_dim");
const FULL_KV_HEADS: Key = Key("", "num_global_key_value_heads");
const KEYS_AS_VALUES: Key = Key("", "attention_k_eq_v");
const SHARING: Key = Key("attention.shared_kv_layers", "num_kv_shared_layers");
/// Layers that read others' keys have twice the neurons.
const WIDE: Key = Key("", "use_double_wide_mlp");
const INPUTS: Key = Key("embedding_length_per_layer_input", "hidden_size_per_layer_input");
const INPUT_TOKENS: Key = Key("", "vocab_size_per_layer_input");
const EXPERTS: Key = Key("expert_count", "num_experts");
const WITH_EXPERTS: Key = Key("", "enable_moe_block");
const TOP_EXPERTS: Key = Key("", "top_k_experts");
/// "vision" concerns pictures alone.
const BOTH_WAYS: Key = Key("", "use_bidirectional_attention");
const ROPE_BASE: Key = Key("rope.freq_base", "");
const WINDOW_BASE: Key = Key("rope.freq_base_swa", "");
const WINDOW_DIMS: Key = Key("rope.dimension_count_swa", "");
const ROTATIONS: [Key; 2] = [Key("", "rope_parameters.full_attention"), Key("", "rope_parameters.sliding_attention")];

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&unsaid())?;
    settings.expect_text(ACTIVATION, &["gelu_pytorch_tanh"])?;
    if let Some(other) = settings.value_if(BOTH_WAYS)?.filter(|value| value != "vision") {
        let what = format!("{}: is {other}: null and \"vision\" are supported", settings.name(BOTH_WAYS));
        return Err(Error::unsupported(what));
    }
    settings.whole_if(INPUT_TOKENS, 1)?;
    let layers = Shape::layers(settings)?;
    let sharing = settings.whole_if(SHARING, 0)?.unwrap_or(0);
    if sharing >= layers {
        return Err(settings.refuse(SHARING, format!("is {sharing}: less than the {layers} layers is valid")));
    }
    let ffns = ffns(settings, layers, sharing)?;
    let [full_rope, window_rope] = rotations(settings)?;
    let ffn = ffns.first().copied().unwrap_or(1);
    let shape = Shape::with(settings, full_rope, full_keys(settings)?, ffn, (NormKind::RootMeanSquare, EPS))?;
    let mut shape = shape.with_window(settings, |layer| (layer + 1) % 6 != 0)?;
    if let (true, Some(window)) = (settings.is_hub(), &mut shape.window) {
        // The published code does this, whatever the folder says.
        window.layers.iter_mut().rev().take(1).for_each(|last| *last = false);
    }
    shape.layer_ffns = ffns.iter().any(|ffn| *ffn != shape.ffn).then_some(ffns);
    (shape.keys, shape.window_keys) = keys(settings, &shape)?;
    let shape = Shape {
        window_rope: Some(window_rope),
        sharing_layers: sharing,
        keys_as_values: settings.flag_if(KEYS_AS_VALUES)?.unwrap_or(!settings.is_hub()),
        value_norms: true,
        head_norms: HeadNorms::BeforeRotation,
        norms: Norms::BeforeAndAfter,
        output_factors: true,
        attention_scale: settings.number_if(ATTENTION_SCALE)?.filter(|scale| *scale != 0.0).unwrap_or(1.0),
        final_softcap: settings.number_if(FINAL_CAP)?.unwrap_or(0.0),
        embedding_scale: (shape.width as f64).sqrt(),
        layer_inputs: settings.count_or_none(INPUTS)?,
        activation: Activation::Gelu,
        ..shape
    };
    check_sources(settings, &shape)?;
    with_experts(settings, shape)
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, Json)> {
    vec![
        (HEADS, 8.into()),
        (KV_HEADS, 4.into()),
        (HEAD, 256.into()),
        (FULL_HEAD, 512.into()),
        (CONTEXT, 131_072.into()),
        (EPS, 1e-6.into()),
        (WINDOW, 512.into()),
        (INPUTS, 256.into()),
    ]
}

/// The neurons of each layer.
fn ffns(settings: &Settings, layers: i64, sharing: i64) -> Result<Vec<i64>> {
    if !settings.is_hub() {
        return settings.counts(FFN, layers);
    }
    let ffn = settings.count(FFN)?;
    let is_wide = settings.flag_if(WIDE)? == Some(true);
    Ok((0..layers).map(|layer| if is_wide && layer >= layers - sharing { 2 * ffn } else { ffn }).collect())
}

/// The heads of keys and values in layers without a window, of which a GGUF file lists the number.
fn full_keys(settings: &Settings) -> Result<KeyHeads> {
    let key = settings.count(if settings.is_hub() { FULL_HEAD } else { HEAD })?;
    let value = if settings.is_hub() { None } else { settings.count_if(VALUE_HEAD)? };
    Ok(KeyHeads { count: 1, key, value: value.unwrap_or(key) })
}

/// The heads of keys and values in layers without and with a window.
fn keys(settings: &Settings, shape: &Shape) -> Result<(KeyHeads, Option<KeyHeads>)> {
    let (full, is_hub) = (shape.keys, settings.is_hub());
    let key = settings.count_if(if is_hub { HEAD } else { WINDOW_HEAD })?.unwrap_or(full.key);
    let value = if is_hub { None } else { settings.count_if(WINDOW_VALUE)? };
    let of_window = KeyHeads { count: 1, key, value: value.unwrap_or(key) };
    let [full_count, window_count] = match is_hub {
        true => {
            let all = settings.count(KV_HEADS)?;
            let own = settings.count_if(FULL_KV_HEADS)?;
            [own.filter(|_| settings.flag_if(KEYS_AS_VALUES).is_ok_and(|flag| flag == Some(true))).unwrap_or(all), all]
        }
        false => counts_of_kinds(settings, shape)?,
    };
    let (full, of_window) = (KeyHeads { count: full_count, ..full }, KeyHeads { count: window_count, ..of_window });
    for heads in [full, of_window] {
        check_heads(settings, shape.heads, heads)?;
    }
    Ok((full, (of_window != full).then_some(of_window)))
}

/// The numbers of heads in layers without and with a window, which are listed layer by layer or the same in all.
fn counts_of_kinds(settings: &Settings, shape: &Shape) -> Result<[i64; 2]> {
    let counts = settings.counts(KV_HEADS, shape.layers)?;
    let of_kind = |windowed: bool| {
        let mut all = counts.iter().enumerate().filter(|(layer, _)| shape.is_windowed(*layer) == windowed);
        let first = all.next().map(|(_, count)| *count);
        match all.find(|(_, count)| Some(**count) != first) {
            Some((layer, count)) => {
                let what = format!("is {count} in layer {layer}: one number for all layers of a kind is supported");
                Err(Error::unsupported(format!("{}: {what}", settings.name(KV_HEADS))))
            }
            None => Ok(first),
        }
    };
    let (full, of_window) = (of_kind(false)?, of_kind(true)?);
    let any = full.or(of_window).unwrap_or(1);
    Ok([full.unwrap_or(any), of_window.unwrap_or(any)])
}

/// The rotations of layers without and with a window.
fn rotations(settings: &Settings) -> Result<[Rope; 2]> {
    if !settings.is_hub() {
        let head = settings.count(HEAD)?;
        let window_head = settings.count_if(WINDOW_HEAD)?.unwrap_or(head);
        let base = settings.number_if(ROPE_BASE)?.unwrap_or(1e6);
        let full = Rope::read(&settings.with_defaults(&[])?, head, true)?;
        let dims = settings.count_if(WINDOW_DIMS)?.unwrap_or(window_head);
        if dims % 2 != 0 || dims > window_head {
            let what = format!("is {dims}: an even number up to {window_head} is valid");
            return Err(settings.refuse(WINDOW_DIMS, what));
        }
        let window_base = settings.number_if(WINDOW_BASE)?.unwrap_or(base);
        return Ok([full, Rope::plain(window_base, dims, true)]);
    }
    let [full_head, window_head] = [settings.count(FULL_HEAD)?, settings.count(HEAD)?];
    let usual = [("proportional", 1e6, 0.25), ("default", 1e4, 1.0)];
    let of = |i: usize, head: i64| rotation(settings, ROTATIONS[i], head, usual[i]);
    Ok([of(0, full_head)?, of(1, window_head)?])
}

/// A folder's rotation of one kind of layer. `usual`: what the published code takes if the folder has none.
fn rotation(settings: &Settings, key: Key, head: i64, usual: (&str, f64, f64)) -> Result<Rope> {
    let said = settings.value_if(key)?;
    let (usual_kind, usual_base, usual_share) = usual;
    let wrong = |name: &str, what: &str| settings.refuse(key, format!("{name}: {what}"));
    let number = |name: &str, else_: f64| match said.as_ref().map(|said| &said[name]) {
        None | Some(Json::Null) => Ok(else_),
        Some(value) => value
            .as_f64()
            .filter(|x| *x > 0.0 && x.is_finite())
            .ok_or_else(|| wrong(name, &format!("is {value}: a number above 0 is valid"))),
    };
    let base = number("rope_theta", usual_base)?;
    let share = number("partial_rotary_factor", if said.is_some() { 1.0 } else { usual_share })?;
    let factor = number("factor", 1.0)?;
    if share > 1.0 {
        return Err(wrong("partial_rotary_factor", &format!("is {share}: up to 1 is valid")));
    }
    let kind = match said.as_ref().map(|said| &said["rope_type"]) {
        None | Some(Json::Null) => usual_kind,
        Some(kind) => kind.as_str().unwrap_or_default(),
    };
    match kind {
        "default" => Ok(Rope::plain(base, (head as f64 * share) as i64 / 2 * 2, true)),
        "proportional" => Ok(Rope::proportional(base, head, (head as f64 * share / 2.0) as i64, factor)),
        other => {
            let name = settings.name(key);
            Err(Error::unsupported(format!("{name}.rope_type: is '{other}': default and proportional are known")))
        }
    }
}

/// Refuses a layer that would read keys which no layer before it has.
pub fn check_sources(settings: &Settings, shape: &Shape) -> Result<()> {
    let layers = usize::try_from(shape.layers).unwrap_or(0);
    let own = usize::try_from(shape.layers - shape.sharing_layers).unwrap_or(0);
    match (own..layers).find(|layer| shape.source_of(*layer) == *layer) {
        Some(layer) => {
            let what =
                format!("is {}: layer {layer} has no layer of its kind before the first {own}", shape.sharing_layers);
            Err(settings.refuse(SHARING, what))
        }
        None => Ok(()),
    }
}

/// Adds experts next to the other block, if the model has them.
fn with_experts(settings: &Settings, shape: Shape) -> Result<Shape> {
    if settings.is_hub() && settings.flag_if(WITH_EXPERTS)? != Some(true) {
        for key in [EXPERTS, TOP_EXPERTS, EXPERT_FFN] {
            settings.whole_if(key, 0)?;
        }
        return Ok(shape);
    }
    let used = settings.whole_if(TOP_EXPERTS, 1)?.map_or(Json::Null, Json::from);
    let settings = &settings.with_values(&[(EXPERTS_USED, used)])?;
    let mut shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing::NORMALISED)?;
    if let Some(experts) = &mut shape.experts {
        experts.with_dense = true;
    }
    Ok(shape)
}

const EXPERT_NAMES: ExpertNames =
    ExpertNames { experts: "experts", fused: "experts", routers: &["router.proj"], ..ExpertNames::USUAL };

/// The folder's names.
pub fn hub_names() -> HubNames {
    let others = names::with_experts(part, &EXPERT_NAMES).of;
    HubNames::new(move |name| match names::layer_part(name) {
        Some((layer, "ffn_down_exps", "scale")) => names::in_layer(layer, "router.per_expert_scale"),
        Some((layer, "ffn_gate_inp", "scale")) => names::in_layer(layer, "router.scale"),
        Some((layer, "layer_output_scale", "weight")) => names::in_layer(layer, "layer_scalar"),
        None => match name.strip_prefix("per_layer_").and_then(|rest| rest.rsplit_once('.')) {
            Some((part, end)) => {
                let part = match part {
                    "token_embd" => "embed_tokens_per_layer",
                    "model_proj" => "per_layer_model_projection",
                    _ => "per_layer_projection_norm",
                };
                HubName::One(names::behind_prefixes(&format!("{part}.{end}")))
            }
            None => others(name),
        },
        _ => others(name),
    })
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "post_attention_norm" => "post_attention_layernorm",
        "ffn_norm" => "pre_feedforward_layernorm",
        "post_ffw_norm" => "post_feedforward_layernorm",
        "post_ffw_norm_1" => "post_feedforward_layernorm_1",
        "post_ffw_norm_2" => "post_feedforward_layernorm_2",
        "pre_ffw_norm_2" => "pre_feedforward_layernorm_2",
        "inp_gate" => "per_layer_input_gate",
        "proj" => "per_layer_projection",
        "post_norm" => "post_per_layer_input_norm",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.flags(WINDOW_PATTERN, &shape.windowed_layers());
    let of_window = shape.window_keys.unwrap_or(shape.keys);
    keys.count(WINDOW_HEAD, of_window.key);
    keys.count(WINDOW_VALUE, of_window.value);
    if let Some(rope) = &shape.window_rope {
        keys.number(WINDOW_BASE, rope.base());
        keys.count(WINDOW_DIMS, rope.turning());
    }
    if shape.final_softcap > 0.0 {
        keys.number(FINAL_CAP, shape.final_softcap);
    }
    keys.count(SHARING, shape.sharing_layers);
    keys.count(INPUTS, shape.layer_inputs.unwrap_or(0));
    Ok(())
}
