//! The names of most decoders' tensors in hub folders.

use crate::weights::{HubName, HubNames, Stack};

/// Prefixes of `layers` and similar names, in plain decoders and in decoders that also read pictures.
const PREFIXES: [&str; 3] = ["model.", "language_model.model.", "model.language_model."];

/// Llama's names.
pub fn plain() -> HubNames {
    with(|_| None, false)
}

/// Llama's names, except for the parts of a layer that `other` names.
pub fn with(other: fn(&str) -> Option<&'static str>, norms_less_one: bool) -> HubNames {
    let less_one = |name: &str| name.ends_with("norm.weight");
    let names = HubNames::new(move |name| HubName::One(candidates(name, other)));
    if norms_less_one {
        return HubNames { less_one, ..names };
    }
    names
}

/// Splits `blk.3.attn_q.weight` into layer, part and ending.
pub fn layer_part(name: &str) -> Option<(&str, &str, &str)> {
    let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (part, end) = rest.rsplit_once('.')?;
    Some((layer, part, end))
}

fn candidates(name: &str, other: fn(&str) -> Option<&'static str>) -> Vec<String> {
    let Some((layer, part, end)) = layer_part(name) else {
        let Some((part, end)) = name.rsplit_once('.') else { return vec![name.into()] };
        return match part {
            "token_embd" => behind_prefixes(&format!("embed_tokens.{end}")),
            "output_norm" => behind_prefixes(&format!("norm.{end}")),
            "cls.output" => vec![format!("score.{end}")],
            "output" => vec![format!("lm_head.{end}"), format!("language_model.lm_head.{end}")],
            _ => vec![name.into()],
        };
    };
    let part = match other(part).unwrap_or(part) {
        "attn_norm" => "input_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "ffn_norm" => "post_attention_layernorm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        theirs => theirs,
    };
    behind_prefixes(&format!("layers.{layer}.{part}.{end}"))
}

/// The name with each of the prefixes.
pub fn behind_prefixes(name: &str) -> Vec<String> {
    PREFIXES.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

/// The router's name in newer folders, whatever it was called before.
const NEWER_ROUTER: &str = "mlp.gate";

/// The names of the experts' matrices in each layer, and Llama's names for everything else.
pub fn with_experts(expert: fn(&str) -> Option<(&'static str, &'static str)>, router: &'static str) -> HubNames {
    let of = move |name: &str| {
        let Some((layer, part, end)) = layer_part(name) else { return HubName::One(candidates(name, |_| None)) };
        if part == "ffn_gate_inp" {
            let routers =
                [router, NEWER_ROUTER].map(|router| behind_prefixes(&format!("layers.{layer}.{router}.{end}")));
            return HubName::One(routers.concat());
        }
        let Some((folder, matrix)) = expert(part) else { return HubName::One(candidates(name, |_| None)) };
        let (folder, matrix) = (format!("layers.{layer}.{folder}"), format!("{matrix}.{end}"));
        let (fused, half) = match part {
            "ffn_gate_exps" => ("gate_up_proj", Some(0)),
            "ffn_up_exps" => ("gate_up_proj", Some(1)),
            _ => ("down_proj", None),
        };
        let fused = match end {
            "weight" => behind_prefixes(&format!("layers.{layer}.mlp.experts.{fused}")),
            _ => Vec::new(),
        };
        HubName::Stack(Stack { of: Box::new(move |i| behind_prefixes(&format!("{folder}.{i}.{matrix}"))), fused, half })
    };
    HubNames::new(of)
}
