//! Tiny models of decoders with experts that are chosen by groups, and with attention to short vectors.

use super::architectures::{number, yarn, Model};
use super::decoder::{frequencies, Choice, Route, Spec};
use super::latent::Latent;
use tensorlib::Value;

/// A model of each family.
pub fn all() -> Vec<Model> {
    [deepseeks(), llama4s()].concat()
}

/// The folder's name of a part of a layer, where it is not Llama's.
pub fn part_name(kind: &str, part: &str, expert: Option<usize>) -> Option<String> {
    if kind.starts_with("llama4") {
        return Some(match part {
            "ffn_gate" | "ffn_up" | "ffn_down" => format!("feed_forward.{}_proj", &part[4..]),
            "ffn_gate_inp" => "feed_forward.router".into(),
            "ffn_gate_exps" | "ffn_up_exps" | "ffn_down_exps" => {
                format!("feed_forward.experts.{}.{}_proj", expert?, &part[4..part.len() - 5])
            }
            "ffn_gate_shexp" | "ffn_up_shexp" | "ffn_down_shexp" => {
                format!("feed_forward.shared_expert.{}_proj", &part[4..part.len() - 6])
            }
            _ => return None,
        });
    }
    if !kind.starts_with("deepseek") {
        return None;
    }
    Some(match part {
        "attn_q_a" => "self_attn.q_a_proj".into(),
        "attn_q_a_norm" => "self_attn.q_a_layernorm".into(),
        "attn_q_b" => "self_attn.q_b_proj".into(),
        "attn_kv_a_mqa" => "self_attn.kv_a_proj_with_mqa".into(),
        "attn_kv_a_norm" => "self_attn.kv_a_layernorm".into(),
        "attn_kv_b" => "self_attn.kv_b_proj".into(),
        "ffn_gate_shexp" | "ffn_up_shexp" | "ffn_down_shexp" => {
            format!("mlp.shared_experts.{}_proj", &part[4..part.len() - 6])
        }
        _ => return None,
    })
}

const MAGNITUDE: f64 = 0.707;

/// As V2 Lite: queries are made directly, the first layer has no experts, and one matrix makes keys and values.
fn lite() -> Spec {
    let latent = Latent { rank: 32, query_rank: None, rotated: 8, plain: 16, value: 16 };
    let scale = 1.0 + 0.1 * MAGNITUDE * 4f64.ln();
    let choice =
        Choice { sigmoid: false, biased: false, normalised: None, scale: 1.0, groups: None, weighs_inputs: false };
    Spec {
        kv_heads: 4,
        latent: Some(latent),
        attention_scale: scale * scale / 24f64.sqrt(),
        frequencies: yarn(1e4, 8, 4.0, 64.0),
        experts: Some((6, 2, 32, Route::Chosen(choice))),
        dense_layers: 1,
        shared: Some(64),
        shared_gate: false,
        ..Spec::new()
    }
}

/// As V3: queries by way of a shorter vector, and groups of experts.
fn third() -> Spec {
    let choice = Choice {
        sigmoid: true,
        biased: true,
        normalised: Some(1e-20),
        scale: 2.5,
        groups: Some((3, 2, 2)),
        weighs_inputs: false,
    };
    Spec {
        latent: Some(Latent { query_rank: Some(64), ..lite().latent.unwrap() }),
        attention_scale: 1.0 / 24f64.sqrt(),
        frequencies: frequencies(1e4, 8),
        experts: Some((6, 2, 32, Route::Chosen(choice))),
        shared: Some(32),
        ..lite()
    }
}

/// The settings of both in GGUF files.
fn settings(shared: u32, further: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let all = vec![
        ("attention.kv_lora_rank", number(32)),
        ("rope.dimension_count", number(8)),
        ("expert_count", number(6)),
        ("expert_used_count", number(2)),
        ("expert_feed_forward_length", number(32)),
        ("expert_shared_count", number(shared)),
        ("leading_dense_block_count", number(1)),
        ("vocab_size", number(61)),
    ];
    [all, further].concat()
}

/// YaRN's settings of V2.
fn stretched() -> Vec<(&'static str, Value)> {
    vec![
        ("rope.scaling.type", "yarn".into()),
        ("rope.scaling.factor", Value::F32(4.0)),
        ("rope.scaling.original_context_length", number(64)),
        ("rope.scaling.yarn_log_multiplier", Value::F32(0.0707)),
    ]
}

fn deepseeks() -> Vec<Model> {
    let older = vec![
        ("attention.key_length", number(24)),
        ("attention.value_length", number(16)),
        ("expert_weights_scale", Value::F32(1.0)),
    ];
    let newer = vec![
        ("attention.head_count_kv", number(1)),
        ("attention.key_length", number(40)),
        ("attention.value_length", number(32)),
        ("attention.key_length_mla", number(24)),
        ("attention.value_length_mla", number(16)),
        ("attention.q_lora_rank", number(64)),
        ("expert_weights_scale", Value::F32(2.5)),
        ("expert_weights_norm", true.into()),
        ("expert_gating_func", number(2)),
        ("expert_group_count", number(3)),
        ("expert_group_used_count", number(2)),
    ];
    vec![
        Model {
            name: "deepseek2",
            spec: lite(),
            gguf: Some(("deepseek2", settings(2, [older, stretched()].concat()))),
            hub: Some((
                "deepseek_v2",
                r#", "head_dim": 8, "kv_lora_rank": 32, "q_lora_rank": null, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 2, "first_k_dense_replace": 1,
"norm_topk_prob": false, "routed_scaling_factor": 1.0, "scoring_func": "softmax", "topk_method": "greedy", "n_group": 1, "topk_group": 1,
"moe_layer_freq": 1, "ep_size": 1, "aux_loss_alpha": 0.001, "seq_aux": true, "attention_bias": false, "rope_theta": 10000,
"rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 4, "mscale": 0.707, "mscale_all_dim": 0.707,
"original_max_position_embeddings": 64, "type": "yarn"}"#,
            )),
        },
        Model {
            name: "deepseek3",
            spec: third(),
            gguf: Some(("deepseek2", settings(1, newer))),
            hub: Some((
                "deepseek_v3",
                r#", "head_dim": 8, "kv_lora_rank": 32, "q_lora_rank": 64, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1,
"norm_topk_prob": true, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 3, "topk_group": 2,
"num_nextn_predict_layers": 1"#,
            )),
        },
    ]
}

/// Chunks and rotations in all layers but one, and experts in every second layer.
fn llama4() -> Spec {
    let choice =
        Choice { sigmoid: true, biased: false, normalised: None, scale: 1.0, groups: None, weighs_inputs: true };
    Spec {
        layers: 5,
        window: Some((16, |i| i != 3)),
        chunks: true,
        rotated: |i| i != 3,
        plain_norms: true,
        temperature: Some((0.1, 8)),
        unrotated_temperature: true,
        experts: Some((5, 2, 32, Route::Chosen(choice))),
        expert_layers: |i| i % 2 == 1,
        shared: Some(32),
        shared_gate: false,
        frequencies: frequencies(5e5, 16),
        ..Spec::new()
    }
}

/// The settings of both kinds of folders, where the names of the numbers of neurons are others.
macro_rules! LLAMA4 {
    () => {
        r#", "intermediate_size": 32, "intermediate_size_mlp": 96, "num_local_experts": 5, "num_experts_per_tok": 2,
"interleave_moe_layer_step": 2, "attention_chunk_size": 16, "attn_temperature_tuning": 4, "attn_scale": 0.1, "floor_scale": 8,
"rope_theta": 500000.0"#
    };
}

fn llama4s() -> Vec<Model> {
    let settings = vec![
        ("rope.freq_base", Value::F32(5e5)),
        ("attention.sliding_window", number(16)),
        ("attention.temperature_length", number(8)),
        ("attention.temperature_scale", Value::F32(0.1)),
        ("interleave_moe_layer_step", number(2)),
        ("expert_count", number(5)),
        ("expert_used_count", number(2)),
        ("expert_feed_forward_length", number(32)),
        ("vocab_size", number(61)),
    ];
    vec![
        Model {
            name: "llama4",
            spec: llama4(),
            gguf: Some(("llama4", settings)),
            hub: Some(("llama4_text", LLAMA4!())),
        },
        Model { name: "llama4 with pictures", spec: llama4(), gguf: None, hub: Some(("llama4", LLAMA4!())) },
    ]
}
