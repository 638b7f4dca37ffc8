//! Tiny models of decoders that differ from Llama in few properties.

use super::architectures::{bools, neox, number, yarn, Model};
use super::decoder::{frequencies, Gate, Spec};
use tensorlib::Value;

/// A model of each family.
pub fn all() -> Vec<Model> {
    [ministrals(), like_llama(), normed_after(), by_variance(), vec![glm4(), apertus(), bitnet()]].concat()
}

/// The names of xIELU's numbers.
pub const XIELU: [&str; 4] = ["alpha_n", "alpha_p", "beta", "eps"];

/// The name of the epsilon of norms in folders.
pub fn eps_name(kind: &str) -> &'static str {
    match kind {
        "cohere2" | "stablelm" => "layer_norm_eps",
        "starcoder2" => "norm_epsilon",
        "lfm2" | "lfm2_moe" => "norm_eps",
        "nemotron_h" => "layer_norm_epsilon",
        _ => "rms_norm_eps",
    }
}

/// The folder's name of a part of a layer, where it is not Llama's. `head`: the number of a head, for norms of heads.
pub fn part_name(kind: &str, part: &str, head: Option<usize>) -> Option<String> {
    let name = match (kind, part) {
        ("hunyuan_v1_dense", "attn_q_norm") => "self_attn.query_layernorm",
        ("hunyuan_v1_dense", "attn_k_norm") => "self_attn.key_layernorm",
        ("glm4", "post_attention_norm") => "post_self_attn_layernorm",
        ("glm4", "post_ffw_norm") => "post_mlp_layernorm",
        ("glm4", "ffn_up") => "mlp.gate_up_proj",
        ("bitnet", "attn_sub_norm") => "self_attn.attn_sub_norm",
        ("bitnet", "ffn_sub_norm") => "mlp.ffn_sub_norm",
        ("starcoder2", "ffn_up") => "mlp.c_fc",
        ("starcoder2", "ffn_down") => "mlp.c_proj",
        ("apertus", "attn_norm") => "attention_layernorm",
        ("apertus", "ffn_norm") => "feedforward_layernorm",
        ("stablelm", "attn_q_norm") => return Some(format!("self_attn.q_layernorm.norms.{}", head?)),
        ("stablelm", "attn_k_norm") => return Some(format!("self_attn.k_layernorm.norms.{}", head?)),
        _ => return None,
    };
    Some(name.into())
}

/// Queries grow with their positions; the sum of YaRN's two logarithms leaves rotated values as they are.
fn ministral() -> Spec {
    Spec { temperature: Some((0.3, 8)), frequencies: yarn(1e6, 16, 4.0, 8.0), ..Spec::new() }
}

/// The rotation of these models in folders.
macro_rules! MINISTRAL {
    () => {
        r#", "sliding_window": null, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "yarn", "type": "yarn", "factor": 4.0,
"original_max_position_embeddings": 8, "max_position_embeddings": 256, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
"mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3}"#
    };
}

fn ministrals() -> Vec<Model> {
    let yarn = vec![
        ("rope.freq_base", Value::F32(1e6)),
        ("rope.scaling.type", "yarn".into()),
        ("rope.scaling.factor", Value::F32(4.0)),
        ("rope.scaling.original_context_length", number(8)),
    ];
    let log = ("rope.scaling.yarn_log_multiplier", Value::F32(1.0));
    let temperature = ("attention.temperature_scale", Value::F32(0.3));
    vec![
        Model {
            name: "mistral3",
            spec: ministral(),
            gguf: Some(("mistral3", [yarn.clone(), vec![log, temperature]].concat())),
            hub: None,
        },
        Model {
            name: "mistral3 without temperature",
            spec: Spec { temperature: None, magnitude: 1.0 + 0.1 * 4f64.ln(), ..ministral() },
            gguf: Some(("mistral3", yarn)),
            hub: None,
        },
        Model { name: "ministral3", spec: neox(ministral()), gguf: None, hub: Some(("ministral3", MINISTRAL!())) },
        Model {
            name: "mistral3 with pictures",
            spec: neox(ministral()),
            gguf: None,
            hub: Some(("mistral3", MINISTRAL!())),
        },
    ]
}

fn smollm3() -> Spec {
    Spec { layers: 5, tied: true, rotated: |i| i != 3, frequencies: frequencies(5e6, 16), ..Spec::new() }
}

fn granite() -> Spec {
    Spec {
        embedding_scale: 12.0,
        attention_scale: 0.07,
        residual_scale: 0.22,
        logit_scale: 1.0 / 8.0,
        tied: true,
        ..Spec::new()
    }
}

fn arcee() -> Spec {
    Spec { gate: Gate::ReluSquared, gated: false, ..Spec::new() }
}

fn hunyuan() -> Spec {
    let base = 1e4 * 50f64.powf(16.0 / 14.0);
    Spec {
        head_norms: true,
        late_head_norms: true,
        tied: true,
        frequencies: frequencies(base, 16),
        ..neox(Spec::new())
    }
}

/// Models that differ from Llama in one or two properties.
fn like_llama() -> Vec<Model> {
    let float = |x: f32| Value::F32(x);
    vec![
        Model {
            name: "smollm3",
            spec: smollm3(),
            gguf: Some(("smollm3", vec![("rope.freq_base", float(5e6))])),
            hub: None,
        },
        Model {
            name: "smollm3 of a folder",
            spec: neox(smollm3()),
            gguf: None,
            hub: Some((
                "smollm3",
                r#", "rope_theta": 5000000.0, "no_rope_layers": [1, 1, 1, 0, 1], "no_rope_layer_interval": 4, "use_sliding_window": false,
"sliding_window": null, "max_window_layers": 28, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention",
"full_attention"]"#,
            )),
        },
        Model {
            name: "granite",
            spec: granite(),
            gguf: Some((
                "granite",
                vec![
                    ("embedding_scale", float(12.0)),
                    ("attention.scale", float(0.07)),
                    ("residual_scale", float(0.22)),
                    ("logit_scale", float(8.0)),
                ],
            )),
            hub: None,
        },
        Model {
            name: "granite of a folder",
            spec: neox(granite()),
            gguf: None,
            hub: Some((
                "granite",
                r#", "embedding_multiplier": 12.0, "attention_multiplier": 0.07, "residual_multiplier": 0.22, "logits_scaling": 8.0"#,
            )),
        },
        Model { name: "arcee", spec: arcee(), gguf: Some(("arcee", vec![])), hub: None },
        Model {
            name: "arcee of a folder",
            spec: neox(arcee()),
            gguf: None,
            hub: Some(("arcee", r#", "hidden_act": "relu2""#)),
        },
        Model {
            name: "seed_oss",
            spec: Spec {
                biases: true,
                frequencies: frequencies(1e7, 16),
                ffn_norm: "post_attention_norm",
                ..neox(Spec::new())
            },
            gguf: Some(("seed_oss", vec![("rope.freq_base", float(1e7))])),
            hub: None,
        },
        Model {
            name: "seed_oss of a folder",
            spec: Spec { biases: true, frequencies: frequencies(1e7, 16), ..neox(Spec::new()) },
            gguf: None,
            hub: Some(("seed_oss", r#", "rope_theta": 10000000.0, "residual_dropout": 0.1"#)),
        },
        Model {
            name: "ernie4_5",
            spec: Spec { tied: true, frequencies: frequencies(5e5, 16), ..Spec::new() },
            gguf: Some(("ernie4_5", vec![("rope.freq_base", float(5e5))])),
            hub: Some(("ernie4_5", "")),
        },
        Model {
            name: "hunyuan-dense",
            spec: hunyuan(),
            gguf: Some((
                "hunyuan-dense",
                vec![
                    ("rope.freq_base", float((1e4 * 50f64.powf(16.0 / 14.0)) as f32)),
                    ("rope.scaling.type", "none".into()),
                    ("rope.scaling.factor", float(1.0)),
                    ("rope.scaling.original_context_length", number(262_144)),
                ],
            )),
            hub: Some((
                "hunyuan_v1_dense",
                r#", "use_qk_norm": true, "rope_scaling": {"alpha": 50.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0,
"mscale_all_dim": 1.0, "type": "dynamic"}"#,
            )),
        },
    ]
}

fn olmo() -> Spec {
    Spec {
        pre_norms: false,
        post_norms: true,
        whole_norms: true,
        frequencies: frequencies(5e5, 16),
        ..neox(Spec::new())
    }
}

/// The layers with a window do not stretch.
fn olmo3() -> Spec {
    Spec {
        layers: 5,
        window: Some((7, |i| i != 3)),
        window_frequencies: Some(frequencies(5e5, 16)),
        frequencies: frequencies(5e5, 16).iter().map(|f| f / 4.0).collect(),
        ..olmo()
    }
}

fn exaone4() -> Spec {
    Spec {
        layers: 5,
        pre_norms: false,
        post_norms: true,
        head_norms: true,
        frequencies: frequencies(1e6, 16),
        ..neox(Spec::new())
    }
}

fn hybrid_exaone4() -> Spec {
    Spec { window: Some((7, |i| i != 3)), rotated: |i| i != 3, ..exaone4() }
}

/// Models whose layers have norms of the blocks' results alone.
fn normed_after() -> Vec<Model> {
    let base = |base: f32| ("rope.freq_base", Value::F32(base));
    let windows = || {
        let pattern = ("attention.sliding_window_pattern", bools(&[true, true, true, false, true]));
        vec![("attention.sliding_window", number(7)), pattern]
    };
    let linear = vec![("rope.scaling.type", "linear".into()), ("rope.scaling.factor", Value::F32(4.0))];
    vec![
        Model {
            name: "olmo2",
            spec: olmo(),
            gguf: Some(("olmo2", vec![base(5e5)])),
            hub: Some(("olmo2", r#", "rope_theta": 500000.0"#)),
        },
        Model {
            name: "olmo3",
            spec: olmo3(),
            gguf: Some(("olmo2", [vec![base(5e5)], windows(), linear].concat())),
            hub: Some((
                "olmo3",
                r#", "rope_theta": 500000.0, "sliding_window": 7, "rope_scaling": {"rope_type": "linear", "factor": 4.0}"#,
            )),
        },
        Model {
            name: "exaone4",
            spec: exaone4(),
            gguf: Some(("exaone4", vec![base(1e6)])),
            hub: Some((
                "exaone4",
                r#", "rope_theta": 1000000.0, "sliding_window": null, "sliding_window_pattern": null"#,
            )),
        },
        Model {
            name: "exaone4 with windows",
            spec: hybrid_exaone4(),
            gguf: Some(("exaone4", [vec![base(1e6)], windows()].concat())),
            hub: Some((
                "exaone4",
                r#", "rope_theta": 1000000.0, "sliding_window": 7, "sliding_window_pattern": "LLLG", "layer_types": ["sliding_attention",
"sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]"#,
            )),
        },
    ]
}

fn cohere2() -> Spec {
    Spec {
        layers: 5,
        variance_norms: true,
        parallel: true,
        window: Some((7, |i| i != 3)),
        rotated: |i| i != 3,
        logit_scale: 0.25,
        tied: true,
        frequencies: frequencies(5e4, 16),
        ..Spec::new()
    }
}

fn stablelm() -> Spec {
    Spec { variance_norms: true, norm_biases: true, frequencies: frequencies(1e4, 4), ..neox(Spec::new()) }
}

/// Models with norms by the variance.
fn by_variance() -> Vec<Model> {
    vec![
        Model {
            name: "cohere2",
            spec: cohere2(),
            gguf: Some((
                "cohere2",
                vec![
                    ("rope.freq_base", Value::F32(5e4)),
                    ("attention.sliding_window", number(7)),
                    ("logit_scale", Value::F32(0.25)),
                    ("rope.scaling.type", "none".into()),
                ],
            )),
            hub: Some((
                "cohere2",
                r#", "rope_theta": 50000.0, "sliding_window": 7, "sliding_window_pattern": 4, "logit_scale": 0.25"#,
            )),
        },
        Model {
            name: "starcoder2",
            spec: Spec {
                variance_norms: true,
                norm_biases: true,
                biases: true,
                all_biases: true,
                gate: Gate::Gelu,
                gated: false,
                tied: true,
                window: Some((9, |_| true)),
                frequencies: frequencies(1e5, 16),
                ..neox(Spec::new())
            },
            gguf: Some((
                "starcoder2",
                vec![("rope.freq_base", Value::F32(1e5)), ("attention.sliding_window", number(9))],
            )),
            hub: Some(("starcoder2", r#", "rope_theta": 100000.0, "sliding_window": 9, "use_bias": true"#)),
        },
        Model {
            name: "stablelm",
            spec: Spec { biases: true, ..stablelm() },
            // Converters write this although the layers have two norms.
            gguf: Some(("stablelm", vec![("use_parallel_residual", true.into())])),
            hub: Some((
                "stablelm",
                r#", "partial_rotary_factor": 0.25, "use_qkv_bias": true, "use_parallel_residual": false"#,
            )),
        },
        Model {
            name: "stablelm with norms of heads",
            spec: Spec { parallel: true, own_norms: true, ..stablelm() },
            gguf: Some(("stablelm", vec![("use_parallel_residual", true.into())])),
            hub: Some(("stablelm", r#", "qk_layernorm": true, "use_qkv_bias": false, "use_parallel_residual": true"#)),
        },
    ]
}

fn glm4() -> Model {
    Model {
        name: "glm4",
        spec: Spec { post_norms: true, fused_ffn: true, biases: true, frequencies: frequencies(1e4, 8), ..Spec::new() },
        gguf: Some(("glm4", vec![])),
        hub: Some(("glm4", r#", "partial_rotary_factor": 0.5, "rope_theta": 10000.0, "attention_bias": true"#)),
    }
}

fn bitnet() -> Model {
    Model {
        name: "bitnet",
        spec: Spec {
            inner_norms: true,
            gate: Gate::ReluSquared,
            tied: true,
            frequencies: frequencies(5e5, 16),
            ..neox(Spec::new())
        },
        gguf: Some((
            "bitnet",
            vec![
                ("rope.freq_base", Value::F32(5e5)),
                ("rope.scaling.type", "linear".into()),
                ("rope.scaling.factor", Value::F32(1.0)),
                ("hidden_activation", "relu2".into()),
            ],
        )),
        hub: Some(("bitnet", r#", "hidden_act": "relu2", "rope_theta": 500000.0"#)),
    }
}

fn apertus() -> Model {
    Model {
        name: "apertus",
        spec: Spec {
            head_norms: true,
            gated: false,
            xielu: Some(|layer| [0.3 - 0.2 * layer as f32, 0.1 + 0.2 * layer as f32, 0.5, -1e-6]),
            frequencies: frequencies(1e6, 16),
            ..neox(Spec::new())
        },
        gguf: Some(("apertus", vec![("rope.freq_base", Value::F32(1e6))])),
        hub: Some((
            "apertus",
            r#", "hidden_act": "xielu", "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}"#,
        )),
    }
}
