//! Tiny models of decoders with layers that keep states, next to layers with attention.

use super::architectures::{neox, number, Model};
use super::decoder::{frequencies, Choice, Gate, Route, Spec};
use super::recurrences::{Mamba, ShortConvolution};
use super::tiny::Tensors;
use tensorlib::Value;

/// A model of each family.
pub fn all() -> Vec<Model> {
    [lfm2s(), mambas(), falcons(), nemotrons(), third_nemotrons()].concat()
}

/// The folder's name of a tensor in families with Mamba's layers.
pub fn whole_name(kind: &str, name: &str, expert: Option<usize>) -> Option<String> {
    let is_falcon = kind == "falcon_h1";
    if !is_falcon && kind != "mamba2" && kind != "nemotron_h" {
        return None;
    }
    let Some((layer, part)) = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) else {
        let backbone = |name: &str| Some(format!("backbone.{name}"));
        return match name {
            "output_norm.weight" if is_falcon => Some("model.final_layernorm.weight".into()),
            "token_embd.weight" if !is_falcon => backbone("embeddings.weight"),
            "output_norm.weight" => backbone("norm_f.weight"),
            _ => None,
        };
    };
    let (of_layer, block) = if is_falcon { ("model.layers", "mamba") } else { ("backbone.layers", "mixer") };
    let number = match part {
        "ssm_a" => Some("A_log"),
        "ssm_d" => Some("D"),
        "ssm_dt.bias" => Some("dt_bias"),
        "ffn_up_fused" => Some("experts.up_proj"),
        "ffn_down_fused" => Some("experts.down_proj"),
        "exp_probs_b_older" => Some("gate.e_score_correction.bias"),
        _ => None,
    };
    if let Some(number) = number {
        return Some(format!("{of_layer}.{layer}.{block}.{number}"));
    }
    let (part, end) = part.rsplit_once('.').unwrap();
    if let Some(name) = nemotron_expert_name(part, expert).filter(|_| !is_falcon) {
        return Some(format!("{of_layer}.{layer}.mixer.{name}"));
    }
    let inside = match part {
        "ssm_in" => "in_proj",
        "ssm_conv1d" => "conv1d",
        "ssm_norm" => "norm",
        "ssm_out" => "out_proj",
        "ffn_norm" if is_falcon => return Some(format!("{of_layer}.{layer}.pre_ff_layernorm.{end}")),
        _ if is_falcon && part.starts_with("ffn_") => {
            return Some(format!("{of_layer}.{layer}.feed_forward.{}_proj.{end}", &part[4..]));
        }
        _ if is_falcon => return None,
        "attn_norm" => return Some(format!("{of_layer}.{layer}.norm.{end}")),
        "attn_output" => "o_proj",
        "attn_q" | "attn_k" | "attn_v" => return Some(format!("{of_layer}.{layer}.mixer.{}_proj.{end}", &part[5..])),
        _ => return Some(format!("{of_layer}.{layer}.mixer.{}_proj.{end}", &part[4..])),
    };
    Some(format!("{of_layer}.{layer}.{block}.{inside}.{end}"))
}

/// The folder's name of a part of Nemotron's blocks with experts.
fn nemotron_expert_name(part: &str, expert: Option<usize>) -> Option<String> {
    Some(match part {
        "ffn_gate_inp" => "gate.weight".into(),
        "exp_probs_b" => "gate.e_score_correction_bias".into(),
        "ffn_up_shexp" => "shared_experts.up_proj.weight".into(),
        "ffn_down_shexp" => "shared_experts.down_proj.weight".into(),
        "ffn_latent_down" => "fc1_latent_proj.weight".into(),
        "ffn_latent_up" => "fc2_latent_proj.weight".into(),
        "ffn_up_exps" => format!("experts.{}.up_proj.weight", expert?),
        "ffn_down_exps" => format!("experts.{}.down_proj.weight", expert?),
        _ => return None,
    })
}

/// These tensors with one for all of Nemotron's experts, as newer folders may have them, and another name of a bias.
pub fn with_experts_in_one(tensors: &Tensors) -> Tensors {
    let renamed = |name: &String| {
        let name = name.replace("ffn_up_exps.weight", "ffn_up_fused").replace("ffn_down_exps.weight", "ffn_down_fused");
        name.replace("exp_probs_b.bias", "exp_probs_b_older")
    };
    Tensors { all: tensors.all.iter().map(|(name, stored)| (renamed(name), stored.clone())).collect() }
}

/// These tensors as folders store them: the logarithm of the decay's speed, and numbers of heads in one dimension.
pub fn as_folder(tensors: &Tensors) -> Tensors {
    let mut made = tensors.clone();
    for name in tensors.all.keys().filter(|name| name.contains(".ssm_")) {
        if name.ends_with(".ssm_a") {
            made.map_f32(name, |a| (-a).ln());
        }
        if [".ssm_a", ".ssm_d", ".ssm_norm.weight"].iter().any(|end| name.ends_with(end)) {
            made.flatten(name);
        }
    }
    made
}

fn mamba() -> Mamba {
    Mamba {
        heads: 4,
        head: 32,
        state: 16,
        groups: 2,
        taps: 4,
        normed: true,
        gates_last: false,
        limits: (0.0, f64::INFINITY),
        scales: [1.0; 2],
        factors: [1.0; 5],
        layers: |_| true,
    }
}

/// The sizes of states in GGUF files.
fn mamba_settings() -> Vec<(&'static str, Value)> {
    vec![
        ("ssm.conv_kernel", number(4)),
        ("ssm.inner_size", number(128)),
        ("ssm.state_size", number(16)),
        ("ssm.time_step_rank", number(4)),
        ("ssm.group_count", number(2)),
        ("vocab_size", number(61)),
    ]
}

fn mambas() -> Vec<Model> {
    let spec = Spec { mamba: Some(mamba()), attention_layers: |_| false, ffn_layers: |_| false, ..Spec::new() };
    let settings = vec![("attention.head_count", number(0)), ("feed_forward_length", number(0))];
    vec![Model {
        name: "mamba2",
        spec,
        gguf: Some(("mamba2", [mamba_settings(), settings].concat())),
        hub: Some((
            "mamba2",
            r#", "num_heads": 4, "head_dim": 32, "state_size": 16, "n_groups": 2, "conv_kernel": 4, "expand": 2, "use_bias": false,
"use_conv_bias": true, "rms_norm": true, "norm_before_gate": true, "chunk_size": 256, "time_step_limit": [0.0, Infinity],
"time_step_rank": 256, "time_step_min": 0.001, "time_step_max": 0.1, "time_step_floor": 0.0001, "residual_in_fp32": true,
"rescale_prenorm_residual": false, "hidden_act": "silu""#,
        )),
    }]
}

fn falcon() -> Spec {
    Spec {
        mamba: Some(Mamba { head: 16, normed: false, ..mamba() }),
        frequencies: frequencies(1e5, 16),
        ..neox(Spec::new())
    }
}

/// The sizes of Falcon's states in folders.
macro_rules! FALCON {
    () => {
        r#", "mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 16, "mamba_d_conv": 4,
"mamba_expand": 2, "mamba_chunk_size": 128, "mamba_conv_bias": true, "mamba_proj_bias": false, "projectors_bias": false,
"rope_theta": 100000.0"#
    };
}

fn falcons() -> Vec<Model> {
    let settings = vec![("rope.freq_base", Value::F32(1e5)), ("ssm.inner_size", number(64))];
    let mut sizes = mamba_settings();
    sizes.retain(|(key, _)| *key != "ssm.inner_size");
    let normed = Mamba { normed: true, gates_last: true, ..falcon().mamba.unwrap() };
    vec![
        Model {
            name: "falcon-h1",
            spec: falcon(),
            gguf: Some(("falcon-h1", [sizes, settings].concat())),
            hub: Some((
                "falcon_h1",
                concat!(FALCON!(), r#", "mamba_rms_norm": false, "mamba_norm_before_gate": false"#),
            )),
        },
        Model {
            name: "falcon-h1 with factors",
            spec: Spec {
                mamba: Some(Mamba { scales: [1.25, 0.8], factors: [0.9, 1.1, 0.7, 1.2, 0.6], ..normed }),
                attention_factors: [1.1, 0.9],
                key_factor: 0.8,
                ffn_factors: [0.88, 0.9],
                embedding_scale: 5.6,
                logit_scale: 0.4,
                ..falcon()
            },
            gguf: None,
            hub: Some((
                "falcon_h1",
                concat!(
                    FALCON!(),
                    r#", "mamba_rms_norm": true, "mamba_norm_before_gate": true, "attention_in_multiplier": 1.1,
"attention_out_multiplier": 0.9, "key_multiplier": 0.8, "mlp_multipliers": [0.88, 0.9], "ssm_multipliers": [0.9, 1.1, 0.7, 1.2, 0.6],
"ssm_in_multiplier": 1.25, "ssm_out_multiplier": 0.8, "embedding_multiplier": 5.6, "lm_head_multiplier": 0.4"#
                ),
            )),
        },
    ]
}

/// The sizes of Nemotron's states in folders, and activations.
macro_rules! NEMOTRON {
    () => {
        r#", "mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 2, "conv_kernel": 4,
"mlp_hidden_act": "relu2", "mamba_hidden_act": "silu", "use_conv_bias": true, "mamba_proj_bias": false,
"time_step_limit": [0.0, Infinity], "attention_bias": false, "mlp_bias": false, "use_bias": false, "chunk_size": 128"#
    };
}

/// Layers with a state, with attention, or with neurons.
fn nemotron() -> Spec {
    Spec {
        layers: 6,
        mamba: Some(Mamba { layers: |i| [0, 3, 5].contains(&i), ..mamba() }),
        attention_layers: |i| i == 2,
        ffn_layers: |i| i == 1 || i == 4,
        rotated: |_| false,
        gate: Gate::ReluSquared,
        gated: false,
        ..Spec::new()
    }
}

/// As Nemotron 3 Nano: experts without gates, and one for all tokens.
fn third_nemotron() -> Spec {
    let choice =
        Choice { sigmoid: true, biased: true, normalised: Some(1e-20), scale: 2.5, groups: None, weighs_inputs: false };
    Spec { experts: Some((6, 2, 32, Route::Chosen(choice))), shared: Some(64), shared_gate: false, ..nemotron() }
}

/// The keys of its GGUF files.
fn third_nemotron_settings(further: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let all = vec![
        ("attention.head_count_kv", vec![0i32, 0, 2, 0, 0, 0].into()),
        ("feed_forward_length", vec![0i32, 32, 0, 0, 32, 0].into()),
        ("expert_count", number(6)),
        ("expert_used_count", number(2)),
        ("expert_feed_forward_length", number(32)),
        ("expert_shared_feed_forward_length", number(64)),
        ("expert_shared_count", number(1)),
        ("expert_weights_norm", true.into()),
        ("expert_weights_scale", Value::F32(2.5)),
        ("attention.layer_norm_epsilon", Value::F32(1e-5)),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
    ];
    [mamba_settings(), all, further].concat()
}

fn third_nemotrons() -> Vec<Model> {
    let Some((count, used, ffn, Route::Chosen(choice))) = third_nemotron().experts else { unreachable!() };
    let grouped = Choice { groups: Some((3, 2, 2)), ..choice };
    vec![
        Model {
            name: "nemotron_h_moe",
            spec: third_nemotron(),
            gguf: Some(("nemotron_h_moe", third_nemotron_settings(vec![("expert_group_count", number(1))]))),
            hub: Some((
                "nemotron_h",
                concat!(
                    NEMOTRON!(),
                    r#", "hybrid_override_pattern": "ME*MEM", "n_routed_experts": 6, "n_shared_experts": 1, "num_experts_per_tok": 2,
"moe_intermediate_size": 32, "moe_shared_expert_intermediate_size": 64, "moe_latent_size": null, "routed_scaling_factor": 2.5,
"norm_topk_prob": true, "n_group": 1, "topk_group": 1, "moe_shared_expert_overlap": true, "num_nextn_predict_layers": 0"#
                ),
            )),
        },
        Model {
            name: "nemotron_h_moe with narrow experts",
            spec: Spec {
                experts: Some((count, used, ffn, Route::Chosen(grouped))),
                expert_width: Some(32),
                ..third_nemotron()
            },
            gguf: Some((
                "nemotron_h_moe",
                third_nemotron_settings(vec![
                    ("expert_group_count", number(3)),
                    ("expert_group_used_count", number(2)),
                    ("moe_latent_size", number(32)),
                ]),
            )),
            hub: Some((
                "nemotron_h",
                concat!(
                    NEMOTRON!(),
                    r#", "layers_block_type": ["linear_attention", "moe", "full_attention", "linear_attention", "moe", "mamba"],
"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "moe_shared_expert_intermediate_size": 64,
"moe_latent_size": 32, "routed_scaling_factor": 2.5, "n_group": 3, "topk_group": 2"#
                ),
            )),
        },
    ]
}

fn nemotrons() -> Vec<Model> {
    let kv_heads: Value = vec![0i32, 0, 2, 0, 0, 0].into();
    let ffns: Value = vec![0i32, 96, 0, 0, 96, 0].into();
    vec![Model {
        name: "nemotron_h",
        spec: nemotron(),
        gguf: Some((
            "nemotron_h",
            [mamba_settings(), vec![("attention.head_count_kv", kv_heads), ("feed_forward_length", ffns)]].concat(),
        )),
        hub: Some(("nemotron_h", concat!(NEMOTRON!(), r#", "hybrid_override_pattern": "M-*M-M""#))),
    }]
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
