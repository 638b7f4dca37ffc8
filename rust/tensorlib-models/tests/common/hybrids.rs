//! Tiny models of decoders with layers that keep states, next to layers with attention.

use super::architectures::{neox, number, Model};
use super::decoder::{frequencies, Choice, Route, Spec};
use super::recurrences::ShortConvolution;
use tensorlib::Value;

/// A model of each family.
pub fn all() -> Vec<Model> {
    lfm2s()
}

/// The folder's name of a part of a layer, where it is not Llama's. `expert`: the number of an expert.
pub fn part_name(kind: &str, part: &str, expert: Option<usize>) -> Option<String> {
    let expert = expert.unwrap_or(0);
    let name = match (kind, part) {
        ("lfm2" | "lfm2_moe", part) => match part {
            "attn_norm" => "operator_norm",
            "attn_q_norm" => "self_attn.q_layernorm",
            "attn_k_norm" => "self_attn.k_layernorm",
            "attn_output" => "self_attn.out_proj",
            "ffn_norm" => "ffn_norm",
            "ffn_gate" => "feed_forward.w1",
            "ffn_down" => "feed_forward.w2",
            "ffn_up" => "feed_forward.w3",
            "ffn_gate_inp" => "feed_forward.gate",
            "ffn_gate_exps" => return Some(format!("feed_forward.experts.{expert}.w1")),
            "ffn_down_exps" => return Some(format!("feed_forward.experts.{expert}.w2")),
            "ffn_up_exps" => return Some(format!("feed_forward.experts.{expert}.w3")),
            _ => return part.strip_prefix("shortconv.").map(|part| format!("conv.{part}")),
        },
        _ => return None,
    };
    Some(name.into())
}

fn lfm2() -> Spec {
    Spec {
        layers: 5,
        short_convolution: Some(ShortConvolution { taps: 3, biased: false, layers: |i| i != 1 && i != 4 }),
        head_norms: true,
        output_norm: "token_embd_norm",
        tied: true,
        frequencies: frequencies(1e6, 16),
        ..neox(Spec::new())
    }
}

fn lfm2_settings() -> Vec<(&'static str, Value)> {
    vec![
        ("attention.head_count_kv", vec![0i32, 2, 0, 0, 2].into()),
        ("shortconv.l_cache", number(3)),
        ("rope.freq_base", Value::F32(1e6)),
        ("vocab_size", number(61)),
    ]
}

fn lfm2s() -> Vec<Model> {
    let choice =
        Choice { sigmoid: true, biased: true, normalised: Some(1e-6), scale: 1.0, groups: None, weighs_inputs: false };
    vec![
        Model {
            name: "lfm2",
            spec: lfm2(),
            gguf: Some(("lfm2", lfm2_settings())),
            hub: Some((
                "lfm2",
                r#", "layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "conv_L_cache": 3,
"block_auto_adjust_ff_dim": false, "rope_theta": 1000000.0"#,
            )),
        },
        Model {
            name: "lfm2moe",
            spec: Spec { experts: Some((5, 2, 32, Route::Chosen(choice))), dense_layers: 2, ..lfm2() },
            gguf: Some((
                "lfm2moe",
                [
                    lfm2_settings(),
                    vec![
                        ("expert_count", number(5)),
                        ("expert_used_count", number(2)),
                        ("expert_feed_forward_length", number(32)),
                        ("leading_dense_block_count", number(2)),
                        ("expert_gating_func", number(2)),
                    ],
                ]
                .concat(),
            )),
            hub: Some((
                "lfm2_moe",
                r#", "layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "conv_L_cache": 3,
"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_dense_layers": 2, "use_expert_bias": true,
"norm_topk_prob": true, "routed_scaling_factor": 1.0, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}"#,
            )),
        },
    ]
}
