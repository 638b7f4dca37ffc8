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
    let part = other(part).unwrap_or(match part {
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
    });
    behind_prefixes(&format!("layers.{layer}.{part}.{end}"))
}

/// The name with each of the prefixes.
pub fn behind_prefixes(name: &str) -> Vec<String> {
    PREFIXES.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

/// The names of a tensor without an ending, in a layer.
pub fn in_layer(layer: &str, name: &str) -> HubName {
    HubName::One(behind_prefixes(&format!("layers.{layer}.{name}")))
}

/// The names of experts in a layer.
pub struct ExpertNames {
    /// What contains the experts, each with its number.
    pub experts: &'static str,
    /// What contains the matrices of all experts, `gate_up_proj` and `down_proj`, and whether their rows belong to inputs.
    pub fused: &'static str,
    pub transposed: bool,
    pub gate: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    /// The router's names.
    pub routers: &'static [&'static str],
    /// What the choice adds to the scores.
    pub bias: &'static str,
}

impl ExpertNames {
    /// The names in most folders.
    pub const USUAL: ExpertNames = ExpertNames {
        experts: "mlp.experts",
        fused: "mlp.experts",
        transposed: false,
        gate: "gate_proj",
        up: "up_proj",
        down: "down_proj",
        routers: &["mlp.gate"],
        bias: "mlp.gate.e_score_correction_bias",
    };

    /// The names of a part of a layer, if experts have it.
    pub fn of(&'static self, layer: &str, part: &str, end: &str) -> Option<HubName> {
        let (matrix, fused, half) = match part {
            "ffn_gate_exps" => (self.gate, "gate_up_proj", Some(0)),
            "ffn_up_exps" => (self.up, "gate_up_proj", Some(1)),
            "ffn_down_exps" => (self.down, "down_proj", None),
            "ffn_gate_inp" => {
                let routers = self.routers.iter().map(|name| behind_prefixes(&format!("layers.{layer}.{name}.{end}")));
                return Some(HubName::One(routers.flatten().collect()));
            }
            "exp_probs_b" => return Some(in_layer(layer, self.bias)),
            _ => return None,
        };
        let fused = match end {
            "weight" => behind_prefixes(&format!("layers.{layer}.{}.{fused}", self.fused)),
            _ => Vec::new(),
        };
        let (folder, matrix) = (format!("layers.{layer}.{}", self.experts), format!("{matrix}.{end}"));
        let of = Box::new(move |i| behind_prefixes(&format!("{folder}.{i}.{matrix}")));
        Some(HubName::Stack(Stack { of, fused, half, transposed: self.transposed }))
    }
}

/// The names of experts in each layer, and Llama's names for everything else but the parts of a layer that `other` names.
pub fn with_experts(other: fn(&str) -> Option<&'static str>, experts: &'static ExpertNames) -> HubNames {
    HubNames::new(move |name| {
        let of_experts = layer_part(name).and_then(|(layer, part, end)| experts.of(layer, part, end));
        of_experts.unwrap_or_else(|| HubName::One(candidates(name, other)))
    })
}
