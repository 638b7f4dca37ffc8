//! Settings that only some families of decoders have: honoured, refused by name, or known without effect.

use crate::common::architectures::{llama3, yarn, Model};
use crate::common::behaviour::expect;
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open, refused, TOKENS};
use crate::common::decoder::{frequencies, Gate, Spec};
use crate::common::tiny::{write_raw, Random, Raw};
use crate::common::{backend, error, Folder};
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions};

/// Models, and what is added to their config.json with words of the error.
const REFUSED: &[(&str, &[(&str, &str)])] = &[
    (
        "llama of a folder",
        &[(r#""rope_scaling": {"rope_type": "default", "llama_4_scaling_beta": 0.1}"#, "llama_4_scaling")],
    ),
    ("smollm3 of a folder", &[(r#""no_rope_layers": [1, 0]"#, "no_rope_layers: has 2 entries: one for each of the 5")]),
    (
        "granite of a folder",
        &[
            (r#""logits_scaling": 0"#, "logits_scaling: is 0: logits are divided by it"),
            (r#""hidden_act": "gelu""#, "hidden_act: is \"gelu\""),
            (r#""mlp_bias": true"#, "mlp.up_proj.bias' is missing"),
        ],
    ),
    ("arcee of a folder", &[(r#""hidden_act": "silu""#, "hidden_act: is 'silu': relu2 is known")]),
    (
        "seed_oss of a folder",
        &[
            (r#""attention_bias": false"#, "self_attn.q_proj.bias' is there"),
            (r#""attention_out_bias": true"#, "self_attn.o_proj.bias' is missing"),
        ],
    ),
    (
        "ernie4_5",
        &[
            (r#""use_bias": true"#, "self_attn.q_proj.bias' is missing"),
            (r#""compression_ratio": 2.0"#, "compression_ratio: is 2.0: 1 is supported"),
        ],
    ),
    (
        "hunyuan-dense",
        &[
            (r#""use_qk_norm": false"#, "use_qk_norm: is false: norms of queries and keys, and one expert, are"),
            (r#""num_experts": 4"#, "num_experts: is 4: norms of queries and keys, and one expert, are supported"),
            (r#""use_cla": true"#, "use_cla: is true"),
            (r#""rope_scaling": {"type": "dynamic", "alpha": -1.0}"#, "rope_scaling.alpha: is -1: a number above 0"),
            (r#""rope_scaling": {"type": "dynamic", "factor": 2.0}"#, "is 'dynamic'"),
        ],
    ),
    ("olmo3", &[(r#""layer_types": ["chunked_attention"]"#, "layer_types: has 1 entries")]),
    (
        "exaone4 with windows",
        &[
            (r#""sliding_window_pattern": "LLX""#, "is \"LLX\": a whole number, or a text of the letters L and G"),
            (r#""sliding_window_pattern": """#, "sliding_window_pattern: is \"\""),
        ],
    ),
    (
        "glm4",
        &[
            (r#""attention_bias": false"#, "self_attn.q_proj.bias' is there"),
            (r#""partial_rotary_factor": 0.2"#, "3 of a head's 16 elements turn"),
        ],
    ),
    (
        "cohere2",
        &[
            (r#""use_parallel_block": false"#, "use_parallel_block: is false: true is supported"),
            (r#""use_gated_activation": false"#, "use_gated_activation: is false"),
            (r#""rotary_pct": 0.5"#, "rotary_pct: is 0.5: 1 is supported"),
            (r#""position_embedding_type": "alibi""#, "position_embedding_type: is \"alibi\""),
            (r#""order_of_interleaved_layers": "global_attn_first""#, "order_of_interleaved_layers: is"),
        ],
    ),
    (
        "starcoder2",
        &[
            (r#""use_bias": false"#, "self_attn.q_proj.bias' is there"),
            (r#""hidden_act": "relu""#, "hidden_act: is 'relu': gelu_pytorch_tanh, gelu_new is known"),
            (r#""norm_type": "rms_norm""#, "norm_type: is 'rms_norm': layer_norm is known"),
            (r#""mlp_type": "gated""#, "mlp_type: is 'gated': default is known"),
        ],
    ),
    (
        "stablelm",
        &[
            (r#""use_qkv_bias": false"#, "self_attn.q_proj.bias' is there"),
            (r#""qk_layernorm": true"#, "self_attn.q_layernorm.norms.0.weight' is missing"),
        ],
    ),
    (
        "bitnet",
        &[
            (r#""hidden_act": "gelu""#, "hidden_act: is 'gelu': relu2 and silu are known"),
            (r#""attention_bias": true"#, "self_attn.q_proj.bias' is missing"),
            (
                r#""quantization_config": {"quant_method": "bitnet", "quantization_mode": "later"}"#,
                "quantization_config.quantization_mode: is \"later\": online and offline are supported",
            ),
            (
                r#""quantization_config": {"quant_method": "bitnet", "linear_class": "other"}"#,
                "linear_class: is \"other\": bitlinear and autobitlinear are supported",
            ),
            (
                r#""quantization_config": {"quant_method": "bitnet", "use_rms_norm": true}"#,
                "use_rms_norm: is true: false is supported",
            ),
            (
                r#""quantization_config": {"quant_method": "bitnet", "modules_to_not_convert": ["q_proj"]}"#,
                "modules_to_not_convert: is [\"q_proj\"]: null and [\"lm_head\"] are supported",
            ),
            (
                r#""quantization_config": {"quant_method": "bitnet"}"#,
                "q_proj.weight_scale' is missing: [1] is expected",
            ),
        ],
    ),
    (
        "apertus",
        &[
            (r#""hidden_act": "relu""#, "hidden_act: is 'relu': xielu is known"),
            (r#""qk_norm": false"#, "qk_norm: is false: true"),
        ],
    ),
    (
        "phi4-mini",
        &[
            (r#""full_attn_mod": 2"#, "full_attn_mod: is 2: 1 is supported"),
            (r#""lm_head_bias": true"#, "lm_head_bias: is true"),
        ],
    ),
];

#[test]
fn settings_of_folders_are_refused_by_name() {
    let folder = Folder::new("families-refused");
    for (name, cases) in REFUSED {
        let model = model(name);
        let tensors = model.spec.tensors(1, DType::F32);
        for (further, words) in *cases {
            let error = refused(&folder_of(&folder, &model, &tensors, &format!(", {further}")));
            assert!(error.contains(words), "{name}, {further}: {error}");
        }
    }
}

/// Fields that published folders have, and that change nothing.
const KNOWN: &[(&str, &str)] = &[
    ("smollm3 of a folder", r#""attention_bias": false, "mlp_bias": false, "pretraining_tp": 2, "hidden_act": "silu""#),
    (
        "granite of a folder",
        r#""attention_bias": false, "mlp_bias": false, "attention_dropout": 0.1, "hidden_act": "silu""#,
    ),
    ("arcee of a folder", r#""attention_bias": false, "mlp_bias": false"#),
    ("seed_oss of a folder", r#""attention_bias": true, "attention_out_bias": false, "mlp_bias": false"#),
    ("ernie4_5", r#""use_bias": false, "compression_ratio": 1.0, "rope_scaling": null, "rope_theta": 500000.0"#),
    (
        "hunyuan-dense",
        r#""add_classification_head": false, "attention_head_dim": 16, "cla_share_factor": 2, "class_num": 0, "dense_list": [64, 0],
"eod_token_id": 3, "im_end_id": 5, "im_newline_id": 11, "im_start_id": 4, "mask_init_id": 12, "mlp_bias": false, "norm_type": "rms",
"num_experts": 1, "org_vocab_size": 61, "pad_id": 0, "pool_type": "last", "sep_token_id": 1, "text_end_id": 7, "text_start_id": 6,
"use_cla": false"#,
    ),
    ("olmo2", r#""attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu""#),
    ("olmo3", r#""attention_bias": false, "hidden_act": "silu""#),
    ("exaone4 with windows", r#""attention_dropout": 0.0, "hidden_act": "silu""#),
    ("glm4", r#""hidden_act": "silu", "attention_dropout": 0.0"#),
    (
        "cohere2",
        r#""attention_bias": false, "cache_implementation": "hybrid", "hidden_act": "silu", "layer_switch": 4,
"order_of_interleaved_layers": "local_attn_first", "position_embedding_type": "rope_gptj", "rope_scaling": null, "rotary_pct": 1.0,
"use_embedding_sharing": true, "use_gated_activation": true, "use_parallel_block": true, "use_parallel_embedding": true"#,
    ),
    (
        "starcoder2",
        r#""activation_function": "gelu", "hidden_act": "gelu_pytorch_tanh", "mlp_type": "default", "norm_type": "layer_norm",
"embedding_dropout": 0.1, "residual_dropout": 0.1"#,
    ),
    ("stablelm", r#""hidden_act": "silu", "hidden_dropout": 0.0, "qk_layernorm": false"#),
    ("apertus", r#""attention_bias": false, "mlp_bias": false, "post_norm": false, "qk_norm": true"#),
];

#[test]
fn published_fields_are_known() {
    let folder = Folder::new("families-known");
    for (name, further) in KNOWN {
        let model = model(name);
        let tensors = model.spec.tensors(2, DType::F32);
        let path = folder_of(&folder, &model, &tensors, &format!(", {further}"));
        assert_eq!(open(&path).warnings(), [""; 0], "{name}");
        expect_logits(&path, &model.spec, &tensors);
    }
}

#[test]
fn settings_that_folders_leave_out_have_the_published_defaults() {
    let folder = Folder::new("families-defaults");
    let base = |base: f64| move |spec: Spec| Spec { frequencies: frequencies(base, 16), ..spec };
    expect(&folder, "smollm3 of a folder", "", base(2e6));
    expect(&folder, "smollm3 of a folder", r#", "rope_parameters": {"rope_type": "default"}"#, base(2e6));
    expect(&folder, "ernie4_5", r#", "rope_parameters": {"rope_theta": 20000.0, "rope_type": "default"}"#, base(2e4));
    expect(&folder, "arcee of a folder", "", |spec| spec);
    let experts = r#", "num_local_experts": 5, "num_experts_per_tok": 2, "rope_parameters": {"rope_theta": 20000.0}"#;
    expect(&folder, "mixtral", experts, base(2e4));
    // A folder without factors has factors of 1, also of the products of queries and keys.
    let ones =
        |spec| Spec { embedding_scale: 1.0, attention_scale: 1.0, residual_scale: 1.0, logit_scale: 1.0, ..spec };
    expect(&folder, "granite of a folder", "", ones);
    // 12 tokens stay in the trained context of 16384, in which YaRN's long waves are stretched.
    expect(&folder, "ministral3", r#", "sliding_window": null"#, |spec| Spec {
        temperature: None,
        frequencies: yarn(1e6, 16, 16.0, 16384.0),
        ..spec
    });
    let no_windows = r#", "rope_theta": 500000.0"#;
    expect(&folder, "olmo3", no_windows, |spec| Spec { window: None, frequencies: frequencies(5e5, 16), ..spec });
    // 12 tokens stay in a window of 4096, but layers without one do not rotate.
    let hybrid = |spec| Spec { window: None, frequencies: frequencies(1e4, 16), ..spec };
    expect(&folder, "exaone4 with windows", "", hybrid);
    let scaled = |spec| Spec { logit_scale: 0.0625, ..hybrid(spec) };
    expect(&folder, "cohere2", "", scaled);
    expect(&folder, "glm4", "", |spec| spec);
    expect(&folder, "stablelm", r#", "use_qkv_bias": true"#, |spec| spec);
    expect(&folder, "apertus", "", |spec| Spec { frequencies: llama3(12e6, 16, 8.0, 8192.0), ..spec });
    expect(&folder, "hunyuan-dense", r#", "rope_scaling": {"type": "dynamic", "alpha": 1000.0}"#, |spec| Spec {
        frequencies: frequencies(1e4 * 1000f64.powf(16.0 / 14.0), 16),
        ..spec
    });
}

#[test]
fn layers_without_a_rotation_are_those_that_the_folder_lists() {
    let folder = Folder::new("families-rotated");
    let base = |spec: Spec| Spec { frequencies: frequencies(2e6, 16), ..spec };
    let listed = r#", "no_rope_layers": [0, 1, 0, 1, 1, 1]"#;
    expect(&folder, "smollm3 of a folder", listed, |spec| Spec { rotated: |i| i != 0 && i != 2, ..base(spec) });
    let every = r#", "no_rope_layer_interval": 2"#;
    expect(&folder, "smollm3 of a folder", every, |spec| Spec { rotated: |i| i % 2 == 0, ..base(spec) });
    let windows = r#", "use_sliding_window": true, "sliding_window": 4"#;
    expect(&folder, "smollm3 of a folder", windows, |spec| Spec { window: Some((4, |i| i == 3)), ..base(spec) });
    expect(&folder, "smollm3 of a folder", r#", "use_sliding_window": false, "sliding_window": 4"#, base);
    let pattern = r#", "rope_theta": 1000000.0, "sliding_window": 7, "sliding_window_pattern": 2"#;
    expect(&folder, "exaone4 with windows", pattern, |spec| Spec {
        window: Some((7, |i| i % 2 == 0)),
        rotated: |i| i % 2 == 0,
        ..spec
    });
    let pattern = r#", "rope_theta": 1000000.0, "sliding_window": 7, "sliding_window_pattern": "GL""#;
    expect(&folder, "exaone4 with windows", pattern, |spec| Spec {
        window: Some((7, |i| i % 2 == 1)),
        rotated: |i| i % 2 == 1,
        ..spec
    });
    let pattern = r#", "rope_theta": 50000.0, "sliding_window": 7, "sliding_window_pattern": 2, "logit_scale": 0.25"#;
    expect(&folder, "cohere2", pattern, |spec| Spec {
        window: Some((7, |i| i % 2 == 0)),
        rotated: |i| i % 2 == 0,
        ..spec
    });
}

#[test]
fn keys_of_gguf_change_the_model() {
    let folder = Folder::new("families-gguf");
    let granite = model("granite");
    let tensors = granite.spec.tensors(4, DType::F32);
    let unrotated = Spec { rotated: |_| false, ..granite.spec.clone() };
    let path = gguf_of(&folder, &granite, &tensors, &[("granite.rope.scaling.finetuned", false.into())]);
    expect_logits(&path, &unrotated, &tensors);
    // 0 means none.
    let zeros = ["embedding_scale", "residual_scale", "logit_scale", "attention.scale"]
        .map(|key| (format!("granite.{key}"), Value::F32(0.0)));
    let zeros: Vec<(&str, Value)> = zeros.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    let plain = Spec {
        embedding_scale: 1.0,
        residual_scale: 1.0,
        logit_scale: 1.0,
        attention_scale: 0.25,
        ..granite.spec.clone()
    };
    expect_logits(&gguf_of(&folder, &granite, &tensors, &zeros), &plain, &tensors);

    // Queries that grow with their positions are Mistral's alone.
    let llama = model("llama");
    let tensors = llama.spec.tensors(4, DType::F32);
    let path = gguf_of(&folder, &llama, &tensors, &[("llama.attention.temperature_scale", Value::F32(0.1))]);
    assert!(refused(&path).contains("attention.temperature_scale: is 0.1"), "{}", refused(&path));
    let arcee = model("arcee");
    let mut tensors = arcee.spec.tensors(4, DType::F32);
    tensors.add(&mut Random(1), "blk.0.ffn_gate.weight", &[64, 96], 0.0, 1.0, DType::F32);
    let error = refused(&gguf_of(&folder, &arcee, &tensors, &[]));
    assert!(error.contains("'blk.0.ffn_gate.weight'"), "{error}");
    let mut turned = arcee.spec.tensors(4, DType::F32).with_transposed_downs(DType::F32);
    turned.all.retain(|name, _| !name.ends_with("ffn_down.weight"));
    let error = refused(&gguf_of(&folder, &arcee, &turned, &[]));
    assert!(error.contains("models of this kind have no transposed down projections"), "{error}");
}

#[test]
fn numbers_of_an_activation_are_one_for_all_layers_or_one_for_each() {
    let folder = Folder::new("families-xielu");
    let apertus = model("apertus");
    let tensors = apertus.spec.tensors(5, DType::F32);
    let all = Spec { xielu: Some(|layer| [0.7, 0.1 + 0.2 * layer as f32, 0.5, -1e-6]), ..apertus.spec.clone() };
    expect_logits(&gguf_of(&folder, &apertus, &tensors, &[("xielu.alpha_n", Value::F32(0.7))]), &all, &tensors);
    let two: Value = vec![0.7f32, 0.8].into();
    for (value, words) in
        [(two, "xielu.eps: is [0.699"), ("none".into(), "xielu.eps: is \"none\": a finite number for each of the 3")]
    {
        let error = refused(&gguf_of(&folder, &apertus, &tensors, &[("xielu.eps", value)]));
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(open(&gguf_of(&folder, &apertus, &tensors, &[])).warnings(), [""; 0]);
    // Published folders have 16-bit numbers, and constants without dimensions.
    let numbers = |_| [0.5, 0.25, 0.5, -1e-6];
    let plain = Model { spec: Spec { xielu: None, ..apertus.spec.clone() }, ..apertus.clone() };
    let path = folder_of(&folder, &plain, &tensors, "");
    let mut raw: Vec<Raw> = Vec::new();
    for (name, stored) in &tensors.all {
        let shape = stored.shape.iter().rev().copied().collect();
        raw.push((apertus.hub_name(name, None), "F32", shape, stored.bytes.clone()));
    }
    for layer in 0..apertus.spec.layers {
        let name = |number: &str| format!("model.layers.{layer}.mlp.act_fn.{number}");
        raw.push((name("alpha_n"), "BF16", vec![1], vec![0x00, 0x3F]));
        raw.push((name("alpha_p"), "BF16", vec![1], vec![0x80, 0x3E]));
        raw.push((name("beta"), "BF16", vec![], vec![0x00, 0x3F]));
        raw.push((name("eps"), "F32", vec![], (-1e-6f32).to_le_bytes().to_vec()));
    }
    write_raw(&path.join("model.safetensors"), &raw);
    expect_logits(&path, &Spec { xielu: Some(numbers), ..apertus.spec.clone() }, &tensors);
    // The constants may be missing, the numbers that were learned may not.
    raw.retain(|(name, ..)| !name.ends_with(".beta") && !name.ends_with(".eps"));
    write_raw(&path.join("model.safetensors"), &raw);
    expect_logits(&path, &Spec { xielu: Some(numbers), ..apertus.spec.clone() }, &tensors);
    plain.write_safetensors(&path.join("model.safetensors"), &tensors);
    let error = refused(&path);
    assert!(error.contains("tensor 'model.layers.0.mlp.act_fn.alpha_n' is missing"), "{error}");
}

#[test]
fn norms_and_matrices_of_other_kinds_are_refused() {
    let folder = Folder::new("families-norms");
    for (name, part, words) in [
        ("olmo2", "attn_norm", "'blk.0.attn_norm.weight'"),
        ("exaone4", "ffn_norm", "'blk.0.ffn_norm.weight'"),
        ("cohere2", "ffn_norm", "'blk.0.ffn_norm.weight'"),
        ("apertus", "ffn_gate", "'blk.0.ffn_gate.weight'"),
    ] {
        let model = model(name);
        let mut tensors = model.spec.tensors(6, DType::F32);
        tensors.add(&mut Random(1), &format!("blk.0.{part}.weight"), &[64], 1.0, 0.1, DType::F32);
        let error = refused(&gguf_of(&folder, &model, &tensors, &[]));
        assert!(error.contains(words) && error.contains("have no use for"), "{name}: {error}");
    }
    for (name, gone, words) in [
        ("olmo2", "blk.0.attn_q_norm.weight", "'blk.0.attn_q_norm.weight' is missing"),
        ("glm4", "blk.0.post_ffw_norm.weight", "'blk.0.post_ffw_norm.weight' is missing"),
        ("stablelm with norms of heads", "blk.0.attn_k_norm.weight", "'blk.0.attn_k_norm.weight' is missing"),
    ] {
        let model = model(name);
        let mut tensors = model.spec.tensors(6, DType::F32);
        tensors.all.remove(gone).unwrap();
        let error = refused(&gguf_of(&folder, &model, &tensors, &[]));
        assert!(error.contains(words), "{name}: {error}");
    }
}

/// Folders of Mistral 3 hold a model of Mistral or of Ministral.
#[test]
fn the_text_part_of_mistral_3_may_be_the_older_one() {
    let folder = Folder::new("families-mistral3");
    let ministral = model("mistral3 with pictures");
    let settings = r#", "rope_theta": 20000.0, "sliding_window": null"#;
    let spec = Spec { temperature: None, frequencies: frequencies(2e4, 16), ..ministral.spec.clone() };
    let mistral = Model { spec, hub: Some(("mistral3", settings)), ..ministral };
    let tensors = mistral.spec.tensors(8, DType::F32);
    let path = folder_of(&folder, &mistral, &tensors, r#", "tie_word_embeddings": false, "vision_feature_layer": -1"#);
    let config = std::fs::read_to_string(path.join("config.json")).unwrap();
    let with = |kind: &str| config.replace(r#""model_type": "ministral3""#, &format!(r#""model_type": "{kind}""#));
    std::fs::write(path.join("config.json"), with("mistral")).unwrap();
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &mistral.spec, &tensors);
    std::fs::write(path.join("config.json"), with("gemma2")).unwrap();
    assert!(refused(&path).contains("text_config.model_type: is 'gemma2'"), "{}", refused(&path));
}

/// Norms of each head have two dimensions, but are no matrices.
#[test]
fn norms_of_heads_are_not_converted_with_matrices() {
    let folder = Folder::new("families-converted");
    let stablelm = model("stablelm with norms of heads");
    let tensors = stablelm.spec.tensors(7, DType::F32);
    let path = gguf_of(&folder, &stablelm, &tensors, &[]);
    let options = DecoderOptions::new().exact(true).stored_as(DType::F16);
    let decoder = Decoder::open(&path, &backend(), &options).unwrap();
    let got = decoder.session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
    // F16 has 11 bits; a logit is a sum of many rounded products.
    let off = error(&got, &stablelm.spec.logits(&tensors, &TOKENS).concat());
    assert!(off < 5e-3, "{off:e}");
}

/// Files that do not name BitNet's activation are of 2B4T if it has fewer heads of keys, and otherwise of older models.
#[test]
fn activations_that_bitnet_does_not_name() {
    let folder = Folder::new("families-bitnet-unsaid");
    let bitnet = model("bitnet");
    let heads = bitnet.spec.heads;
    for (kv_heads, gate, n) in [(2, Gate::ReluSquared, 1), (heads, Gate::Silu, 0)] {
        let unsaid = Model { spec: Spec { kv_heads, gate, ..bitnet.spec.clone() }, ..bitnet.clone() };
        let tensors = unsaid.spec.tensors(9, DType::F32);
        let metadata = unsaid.metadata().into_iter().filter(|(key, _)| !key.ends_with("hidden_activation"));
        let path = folder.path("model.gguf");
        tensors.write_gguf(&path, &metadata.collect::<Vec<_>>());
        let decoder = open(&path);
        let warnings = decoder.warnings();
        assert_eq!(warnings.iter().filter(|line| line.contains("relu2 is taken")).count(), n, "{warnings:?}");
        assert_eq!(warnings.len(), n, "{warnings:?}");
        expect_logits(&path, &unsaid.spec, &tensors);
    }
}

/// Matrices of three values: as they are packed, and as weights that are rounded to them.
#[test]
fn matrices_of_three_values() {
    let folder = Folder::new("families-bitnet");
    let bitnet = model("bitnet");
    // Rows of whole blocks of the type that has three values, and others.
    let wide = Model { spec: Spec { ffn: 256, ..bitnet.spec.clone() }, ..bitnet };
    let tensors = wide.spec.tensors(9, DType::F32);
    let mut rounded = tensors.clone();
    let is_matrix = |name: &str| name.starts_with("blk.") && !name.ends_with("_norm.weight");
    let names: Vec<String> = tensors.all.keys().filter(|name| is_matrix(name)).cloned().collect();
    let scale_of = |values: &[f64]| values.iter().map(|x| x.abs()).sum::<f64>() / values.len() as f64;
    for name in &names {
        let scale = scale_of(tensors.get(name));
        let values = tensors.get(name).iter().map(|x| (x / scale).round().clamp(-1.0, 1.0) * scale);
        rounded.set_values(name, values.collect());
    }
    let near = |path: &std::path::Path, tensors: &crate::common::tiny::Tensors| {
        let got = open(path).session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
        // Scales of blocks have 11 bits.
        let off = error(&got, &wide.spec.logits(tensors, &TOKENS).concat());
        assert!(off < 2e-3, "{off:e}");
    };
    let online = r#", "quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}"#;
    let path = folder_of(&folder, &wide, &tensors, online);
    assert_eq!(open(&path).warnings(), [""; 0]);
    near(&path, &rounded);

    let class =
        |class: &str| format!(r#", "quantization_config": {{"quant_method": "bitnet", "linear_class": "{class}"}}"#);
    for (kind, divides) in [("autobitlinear", false), ("bitlinear", true)] {
        let path = folder_of(&folder, &wide, &tensors, &class(kind));
        let mut raw: Vec<Raw> = Vec::new();
        let mut packed = tensors.clone();
        for (name, stored) in &tensors.all {
            let (hub, shape) = (wide.hub_name(name, None), stored.shape.iter().rev().copied().collect::<Vec<i64>>());
            if !names.contains(name) {
                raw.push((hub, "F32", shape, stored.bytes.clone()));
                continue;
            }
            let (rows, columns) = (shape[0] as usize, shape[1] as usize);
            let scale = if divides { 4.0f32 } else { 0.25 };
            let code = |i: usize| ((tensors.get(name)[i] * 9.0).abs() as u8) % 3;
            let quarter = rows / 4;
            let byte = |i: usize| (0..4).fold(0, |byte, part| byte | code(i + part * quarter * columns) << (2 * part));
            raw.push((
                hub.clone(),
                "U8",
                vec![quarter as i64, columns as i64],
                (0..quarter * columns).map(byte).collect(),
            ));
            raw.push((format!("{hub}_scale"), "F32", vec![1], scale.to_le_bytes().to_vec()));
            packed.set_values(name, (0..rows * columns).map(|i| (f64::from(code(i)) - 1.0) * 0.25).collect());
        }
        write_raw(&path.join("model.safetensors"), &raw);
        assert_eq!(open(&path).warnings(), [""; 0]);
        near(&path, &packed);
        // A code that stands for no value, and a scale that is none.
        let at = raw.iter().position(|(_, dtype, ..)| *dtype == "U8").unwrap();
        raw[at].3[0] = 0xFF;
        write_raw(&path.join("model.safetensors"), &raw);
        assert!(refused(&path).contains("has the code 3: 0, 1 and 2 are valid"), "{}", refused(&path));
        raw[at + 1].3 = vec![0; 4];
        write_raw(&path.join("model.safetensors"), &raw);
        assert!(refused(&path).contains("holds 0: a finite number other than 0 is valid"), "{}", refused(&path));
    }
    let mut further = tensors.clone();
    further.add(&mut Random(1), "blk.0.attn_q.scale", &[1], 1.0, 0.0, DType::F32);
    let error = refused(&gguf_of(&folder, &wide, &further, &[]));
    assert!(error.contains("'blk.0.attn_q.scale'"), "{error}");
}
