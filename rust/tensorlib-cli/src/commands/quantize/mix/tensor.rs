//! What a tensor is for, by its GGUF name, as far as mixes tell tensors apart.

use super::model::Model;
use tensorlib_models::files::is_elementwise;

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Embeddings,
    Output,
    Query,
    Key,
    /// Values, alone or in one matrix with queries and keys or with what keys are made of.
    Value,
    AttentionOutput,
    Up,
    Gate,
    Down,
    Other,
}

/// The part of a name that tells what the tensor is for; the first that occurs counts.
const PARTS: [(&str, Role); 9] = [
    ("attn_qkv.weight", Role::Value),
    ("attn_kv_b.weight", Role::Value),
    ("attn_v.weight", Role::Value),
    ("attn_k.weight", Role::Key),
    ("attn_q.weight", Role::Query),
    ("attn_output.weight", Role::AttentionOutput),
    ("ffn_up", Role::Up),
    ("ffn_gate", Role::Gate),
    ("ffn_down", Role::Down),
];

impl Role {
    /// The role of the tensor of this name.
    pub fn of(name: &str) -> Self {
        match name {
            "output.weight" => Role::Output,
            "token_embd.weight" | "per_layer_token_embd.weight" => Role::Embeddings,
            _ => PARTS.iter().find(|(part, _)| name.contains(part)).map_or(Role::Other, |(_, role)| *role),
        }
    }
}

/// Parts of the names of small matrices that mixes leave as they are: what routes tokens to experts, convolutions, and
/// low-rank matrices of recurrent layers.
const LEFT: [&str; 13] = [
    "ffn_gate_inp.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_lerp_fused.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    ".position_embd",
];

/// Whether a mix changes the type of the matrix of this name.
pub fn is_mixed(name: &str) -> bool {
    // In a layer only `.weight` is multiplied. Tensors under other schemes of names are all candidates.
    let is_weight = name.ends_with("weight") || !name.starts_with("blk.");
    let is_small =
        |letter: char| ["0", "1", "2"].iter().any(|n| name.contains(&format!("time_mix_{letter}{n}.weight")));
    is_weight && !is_elementwise(name) && !LEFT.iter().any(|part| name.contains(part)) && !"wvag".chars().any(is_small)
}

/// The order in which a mix counts tensors: layers by their numbers, then names.
pub fn order(name: &str) -> (Option<u32>, &str) {
    (Model::layer(name), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_those_of_names() {
        assert_eq!(Role::of("blk.3.attn_v.weight"), Role::Value);
        assert_eq!(Role::of("blk.3.ffn_gate_up_exps.weight"), Role::Gate);
        assert_eq!(Role::of("blk.3.ffn_down_exps.weight"), Role::Down);
        assert_eq!(Role::of("blk.3.ssm_out.weight"), Role::Other);
        for name in ["blk.0.ffn_gate_inp.weight", "blk.0.ssm_a", "blk.0.attn_q_norm.weight", "blk.0.time_mix_g2.weight"]
        {
            assert!(!is_mixed(name), "{name}");
        }
        assert!(is_mixed("blk.0.ffn_gate_exps.weight") && is_mixed("w") && is_mixed("output.weight"));
        assert!(order("output.weight") < order("blk.0.a") && order("blk.2.z") < order("blk.10.a"));
    }
}
