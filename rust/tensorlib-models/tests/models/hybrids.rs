//! Decoders with layers that keep states next to layers with attention: their settings, and what sessions and sequences
//! do with their states.

use crate::common::architectures::Model;
use crate::common::behaviour::*;
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open};
use crate::common::decoder::{frequencies, Choice, Route, Spec};
use crate::common::recurrences::{Mamba, ShortConvolution};
use crate::common::tiny::Random;
use crate::common::Folder;
use tensorlib::{DType, Value};

/// Models of each kind of state.
const STATES: [&str; 9] = [
    "lfm2",
    "lfm2moe",
    "mamba2",
    "falcon-h1",
    "nemotron_h",
    "nemotron_h_moe",
    "nemotron_h_moe with narrow experts",
    "rwkv7",
    "arwkv7 without gates and norms",
];

#[test]
fn sessions_go_back_fork_and_are_saved() {
    let folder = Folder::new("hybrids-sessions");
    for name in STATES {
        let (decoder, path, all) = (decoder(&folder, name), folder.path("session"), tokens(90, 1));
        let mut session = decoder.session(DType::F16).unwrap();
        session.feed(&all[..40]).unwrap();
        assert_eq!(session.checkpoint(), 40, "{name}");
        session.feed(&all[40..60]).unwrap();
        let mut fork = session.fork().unwrap();
        session.save(&path).unwrap();
        assert_eq!((session.rewind(59), session.rewind(39)), (40, 0), "{name}");
        check(&mut session, &all, name);
        check(&mut fork, &all, name);
        let mut restored = decoder.session(DType::F16).unwrap();
        restored.restore(&path).unwrap();
        check(&mut restored.fork().unwrap(), &all, name);
        assert_eq!(restored.rewind(50), 40, "{name}");
        check(&mut restored, &all, name);
        // Drafts are taken back token by token.
        for at in [40, 43, 44] {
            let mut session = decoder.session(DType::F16).unwrap();
            session.feed(&all[..40]).unwrap();
            session.feed_all(&[&all[40..at], &vec![9; 45 - at][..]].concat()).unwrap();
            assert_eq!(session.rewind(at), at, "{name}");
            check(&mut session, &all, name);
        }
    }
}

#[test]
fn sequences() {
    sequences_are_computed_together(&Folder::new("hybrids-sequences"), &STATES);
}

#[test]
fn quantised_weights() {
    quantised_weights_are_exact(&Folder::new("hybrids-quantised"), &STATES);
}

#[test]
fn settings_of_lfm2() {
    let folder = Folder::new("hybrids-lfm2");
    expect_folders_refused(
        &folder,
        "lfm2",
        &[
            (r#""layer_types": ["conv"]"#, "layer_types: has 1 entries: one for each of the 5 layers is valid"),
            (
                r#""layer_types": ["conv", "mamba", "conv", "conv", "full_attention"]"#,
                "layer_types: has 'mamba': conv and full_attention are known",
            ),
            (r#""conv_L_cache": 1"#, "conv_L_cache: is 1: 2 or more is valid"),
            (r#""conv_L_cache": 4"#, "conv.conv.weight' is [3, 1, 64]"),
            (r#""conv_bias": true"#, "conv.in_proj.bias' is missing"),
            (r#""block_use_swiglu": false"#, "block_use_swiglu: is false: true is supported"),
            (r#""use_pos_enc": false"#, "use_pos_enc: is false"),
            (r#""tie_embedding": false"#, "tie_embedding: is false, and tie_word_embeddings is true: one value"),
            (r#""num_key_value_heads": 3"#, "num_key_value_heads: is 3: a divisor of the 4 heads is valid"),
            (r#""block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": -1"#, "block_ffn_dim_multiplier: is -1"),
            (r#""block_ff_dim": 100"#, "feed_forward.w1.weight' is [64, 96] f32: [64, 100]"),
        ],
    );
    expect_keys_refused(
        &folder,
        "lfm2",
        &[
            ("lfm2.attention.head_count_kv", vec![0i32, 2].into(), "or one for each of the 5 layers, is valid"),
            ("lfm2.attention.head_count_kv", vec![0i32, 2, 0, 0, 1].into(), "has 2 and 1: 0 and one other number are"),
            ("lfm2.attention.head_count_kv", vec![0i32, 2, 0, 0, -1].into(), "a whole number from 0 to 1048576"),
            ("lfm2.shortconv.l_cache", Value::U32(0), "shortconv.l_cache: is 0"),
        ],
    );
    expect_keys_refused(
        &folder,
        "lfm2moe",
        &[("lfm2moe.expert_gating_func", Value::U32(3), "is 3: 1, a softmax, and 2, a sigmoid, are known")],
    );
    let base = |spec: Spec| Spec { frequencies: frequencies(1e6, 16), ..spec };
    // The layers with attention as older folders have them, and what the published code does without settings.
    let older = r#", "full_attn_idxs": [1, 4], "block_ff_dim": 96, "block_auto_adjust_ff_dim": false, "theta": 20000.0,
"tie_embedding": true, "block_dim": 64, "conv_dim": 64, "conv_dim_out": 64, "num_heads": 4, "block_norm_eps": 1e-5, "block_use_swiglu": true,
"use_pos_enc": true, "block_mlp_init_scale": 1.0, "block_out_init_scale": 1.0, "block_use_xavier_init": true, "conv_use_xavier_init": true"#;
    expect(&folder, "lfm2", older, |spec| Spec { frequencies: frequencies(2e4, 16), ..spec });
    // Two thirds of 80 and of 40, times a factor, up to the next multiple.
    let listed = r#", "full_attn_idxs": [1, 4], "block_multiple_of": 40"#;
    expect(&folder, "lfm2", listed, |spec| Spec { ffn: 80, ..base(spec) });
    let scaled = r#", "full_attn_idxs": [1, 4], "block_multiple_of": 10, "block_ffn_dim_multiplier": 1.5"#;
    expect(&folder, "lfm2", scaled, |spec| Spec { ffn: 40, ..base(spec) });
    expect(&folder, "lfm2", r#", "block_auto_adjust_ff_dim": false"#, |spec| Spec {
        short_convolution: None,
        ..base(spec)
    });
    let biased =
        r#", "full_attn_idxs": [1, 4], "block_auto_adjust_ff_dim": false, "conv_bias": true, "conv_L_cache": 4"#;
    expect(&folder, "lfm2", biased, |spec| Spec {
        short_convolution: Some(ShortConvolution { taps: 4, biased: true, layers: |i| i != 1 && i != 4 }),
        ..base(spec)
    });
}

#[test]
fn experts_of_lfm2() {
    let folder = Folder::new("hybrids-lfm2moe");
    let choice = |choice: Choice, dense_layers: usize| {
        move |spec: Spec| Spec { experts: Some((5, 2, 32, Route::Chosen(choice))), dense_layers, ..spec }
    };
    let plain =
        Choice { sigmoid: true, biased: true, normalised: Some(1e-6), scale: 1.0, groups: None, weighs_inputs: false };
    let defaults = r#", "layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "num_experts": 5,
"num_experts_per_tok": 2, "moe_intermediate_size": 32"#;
    expect(&folder, "lfm2moe", defaults, choice(plain, 2));
    let others = r#", "layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "num_experts": 5,
"num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_dense_layers": 0, "use_expert_bias": false, "norm_topk_prob": false,
"routed_scaling_factor": 1.5"#;
    expect(&folder, "lfm2moe", others, choice(Choice { biased: false, normalised: None, scale: 1.5, ..plain }, 0));
    // GGUF files: a softmax, no sum, a factor.
    let model = model("lfm2moe");
    let tensors = model.spec.tensors(4, DType::F32);
    let further = [
        ("lfm2moe.expert_gating_func", Value::U32(1)),
        ("lfm2moe.expert_weights_norm", false.into()),
        ("lfm2moe.expert_weights_scale", Value::F32(2.5)),
    ];
    let other = Choice { sigmoid: false, normalised: None, scale: 2.5, ..plain };
    let spec = choice(other, 2)(model.spec.clone());
    expect_logits(&gguf_of(&folder, &model, &tensors, &further), &spec, &tensors);
    let mut unbiased = tensors.clone();
    unbiased.all.retain(|name, _| !name.contains("exp_probs_b"));
    let spec = choice(Choice { biased: false, ..plain }, 2)(model.spec.clone());
    expect_logits(&gguf_of(&folder, &model, &unbiased, &[]), &spec, &unbiased);
    expect_refused(
        &folder_of(&folder, &model, &unbiased, ""),
        "tensor 'model.layers.2.feed_forward.expert_bias' is missing",
    );
    let mut further = tensors.clone();
    further.add(&mut Random(1), "blk.0.shortconv.conv.bias", &[64], 0.0, 1.0, DType::F32);
    let with_bias = gguf_of(&folder, &model, &further, &[]);
    assert_eq!(open(&with_bias).warnings(), [""; 0]);
}

#[test]
fn settings_of_mamba2() {
    let folder = Folder::new("hybrids-mamba2");
    expect_folders_refused(
        &folder,
        "mamba2",
        &[
            (r#""num_heads": 3"#, "n_groups: is 2: a divisor of the 3 heads is valid"),
            (r#""expand": 3"#, "expand: is 3: 128 elements of all heads for 64 are expected"),
            (r#""conv_kernel": 1"#, "conv_kernel: is 1: 2 or more is valid"),
            (r#""state_size": 8"#, "mixer.in_proj.weight' is [64, 324] f32: [64, 292] is expected"),
            (r#""time_step_limit": [1, 0.5]"#, "time_step_limit: is [1,0.5]: two numbers, the lower one first"),
            (r#""time_step_limit": [0, NaN]"#, "time_step_limit: is [0,\"NaN\"]"),
            (r#""time_step_limit": 3"#, "time_step_limit: is 3"),
            (r#""use_bias": true"#, "mixer.in_proj.bias' is missing"),
            (r#""use_conv_bias": false"#, "mixer.conv1d.bias' is there"),
            (r#""hidden_act": "gelu""#, "hidden_act: is \"gelu\""),
        ],
    );
    expect_keys_refused(
        &folder,
        "mamba2",
        &[
            ("mamba2.ssm.inner_size", Value::U32(130), "ssm.inner_size: is 130: a multiple of the 4 heads is valid"),
            ("mamba2.ssm.group_count", Value::U32(3), "ssm.group_count: is 3: a divisor of the 4 heads is valid"),
            ("mamba2.ssm.time_step_rank", Value::U32(0), "ssm.time_step_rank: is 0"),
            ("mamba2.ssm.conv_kernel", Value::U32(3), "blk.0.ssm_conv1d.weight' is [4, 192]"),
        ],
    );
    let mamba = model("mamba2");
    let tensors = mamba.spec.tensors(3, DType::F32);
    let with = |further: &str| folder_of(&folder, &mamba, &tensors, further);
    assert_eq!(open(&with("")).warnings(), [""; 0]);
    // Steps within limits, and limits as newer folders write them.
    let of = mamba.spec.mamba.unwrap();
    for (further, limits) in [
        (r#", "time_step_limit": [0.6, 0.9]"#, (0.6, 0.9)),
        (r#", "time_step_limit": [0.7, {"__float__": "Infinity"}]"#, (0.7, f64::INFINITY)),
        (r#", "time_step_limit": [-Infinity, 0.5], "name": "an \"Infinity\" \\""#, (f64::NEG_INFINITY, 0.5)),
    ] {
        let spec = Spec { mamba: Some(Mamba { limits, ..of }), ..mamba.spec.clone() };
        expect_logits(&with(further), &spec, &tensors);
    }
    // Converters write these keys.
    let path = folder.path("plain.gguf");
    let mut metadata = mamba.metadata();
    let others = ["head_count_kv", "key_length", "value_length", "dimension_count"];
    metadata.retain(|(key, _)| !others.iter().any(|other| key.ends_with(other)));
    tensors.write_gguf(&path, &metadata);
    assert_eq!(open(&path).warnings(), [""; 0]);
    let sizes = r#", "num_heads": 4, "head_dim": 32, "state_size": 16, "n_groups": 2"#;
    expect(&folder, "mamba2", sizes, |spec| spec);
}

#[test]
fn settings_of_falcon_h1() {
    let folder = Folder::new("hybrids-falcon");
    expect_folders_refused(
        &folder,
        "falcon-h1 with factors",
        &[
            (r#""ssm_multipliers": [1, 2, 3, 4]"#, "ssm_multipliers: has 4 entries: 5 numbers are valid"),
            (r#""mlp_multipliers": [1]"#, "mlp_multipliers: has 1 entries: 2 numbers are valid"),
            (r#""key_multiplier": "x""#, "key_multiplier: is \"x\": a finite number is valid"),
            (r#""mamba_d_head": 8"#, "mamba_d_ssm: is 64: a multiple of the 4 heads is valid"),
            (r#""mamba_conv_bias": false"#, "mamba.conv1d.bias' is there"),
            (r#""mamba_proj_bias": true"#, "mamba.in_proj.bias' is missing"),
            (r#""projectors_bias": true"#, "mamba.out_proj.bias' is missing"),
            (r#""attention_bias": true"#, "self_attn.q_proj.bias' is missing"),
            (r#""mlp_bias": true"#, "feed_forward.up_proj.bias' is missing"),
        ],
    );
    // Factors of 1, and heads by the number of elements.
    let sizes = r#", "mamba_d_ssm": null, "mamba_expand": 1, "mamba_n_heads": 4, "mamba_d_head": "auto", "mamba_n_groups": 2,
"mamba_d_state": 16, "rope_theta": 100000.0"#;
    expect(&folder, "falcon-h1", sizes, |spec| spec);
    // GGUF files have norms if they have their tensors, and gates before them.
    let falcon = model("falcon-h1");
    let normed = Mamba { normed: true, ..falcon.spec.mamba.unwrap() };
    let spec = Spec { mamba: Some(normed), ..falcon.spec.clone() };
    let tensors = spec.tensors(3, DType::F32);
    let path = gguf_of(&folder, &falcon, &tensors, &[]);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &spec, &tensors);
    // llama.cpp's files name a norm without an ending.
    let path = gguf_of(&folder, &falcon, &tensors.with_plain_names_of_norms(), &[]);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &spec, &tensors);
}

#[test]
fn settings_of_nemotron_h() {
    let folder = Folder::new("hybrids-nemotron");
    expect_folders_refused(
        &folder,
        "nemotron_h",
        &[
            (
                r#""hybrid_override_pattern": "M-*""#,
                "hybrid_override_pattern: has 3 entries: one for each of the 6 layers",
            ),
            (
                r#""hybrid_override_pattern": "M-*MXM""#,
                "has 'X': M, *, - and E, for states, attention, neurons and experts",
            ),
            (r#""layers_block_type": ["mamba"]"#, "layers_block_type: has 1 entries"),
            (
                r#""layers_block_type": ["mamba", "conv", "attention", "mamba", "mlp", "mamba"]"#,
                "has 'conv': mamba and linear_attention and attention and full_attention and mlp and moe are known",
            ),
            (r#""mlp_hidden_act": "silu""#, "mlp_hidden_act: is 'silu': relu2 is known"),
            (r#""mamba_hidden_act": "gelu""#, "mamba_hidden_act: is 'gelu': silu is known"),
            (r#""use_bias": true"#, "mixer.in_proj.bias' is missing"),
            (r#""num_key_value_heads": 3"#, "num_key_value_heads: is 3: a divisor of the 4 heads is valid"),
        ],
    );
    // The epsilon has one of two keys.
    let nemotron = model("nemotron_h");
    let tensors = nemotron.spec.tensors(3, DType::F32);
    let renamed = |key: String| key.replace("layer_norm_rms_epsilon", "layer_norm_epsilon");
    let metadata: Vec<_> = nemotron.metadata().into_iter().map(|(key, value)| (renamed(key), value)).collect();
    let path = folder.path("epsilon.gguf");
    tensors.write_gguf(&path, &metadata);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &nemotron.spec, &tensors);
    let list = |values: [i32; 6]| -> Value { values.to_vec().into() };
    expect_keys_refused(
        &folder,
        "nemotron_h",
        &[
            ("nemotron_h.attention.head_count_kv", list([0, 0, 2, 0, 0, 1]), "has 2 and 1: 0 and one other number"),
            ("nemotron_h.feed_forward_length", list([0, 96, 96, 0, 96, 0]), "layers with attention have 0 neurons"),
            ("nemotron_h.feed_forward_length", list([0, 96, 0, 0, 95, 0]), "has 96 and 95: 0 and one other number"),
        ],
    );
    let sizes = |rest: &str| -> &'static str {
        let sizes = r#", "mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 2"#;
        Box::leak(format!("{sizes}{rest}").into_boxed_str())
    };
    let named = r#", "layers_block_type": ["mamba", "mlp", "attention", "linear_attention", "mlp", "mamba"], "n_routed_experts": 8,
"num_experts_per_tok": 2, "moe_intermediate_size": 7688, "norm_topk_prob": true, "rope_theta": 10000, "num_nextn_predict_layers": 0,
"attention_head_dim": 16, "mamba_ssm_cache_dtype": "float32", "num_logits_to_keep": 1"#;
    expect(&folder, "nemotron_h", sizes(named), |spec| spec);
    let pattern = r#", "hybrid_override_pattern": "*-M-MM", "time_step_limit": [0.6, Infinity]"#;
    expect(&folder, "nemotron_h", sizes(pattern), |spec| Spec {
        mamba: Some(Mamba { layers: |i| [2, 4, 5].contains(&i), limits: (0.6, f64::INFINITY), ..spec.mamba.unwrap() }),
        attention_layers: |i| i == 0,
        ffn_layers: |i| i == 1 || i == 3,
        ..spec
    });
}

#[test]
fn experts_of_nemotron_h() {
    let folder = Folder::new("hybrids-nemotron-experts");
    expect_folders_refused(
        &folder,
        "nemotron_h_moe with narrow experts",
        &[
            (r#""n_routed_experts": 0"#, "n_routed_experts: is 0: 1 or more is valid"),
            (r#""n_routed_experts": 8, "n_group": 4"#, "mixer.gate.weight' is [64, 6] f32: [64, 8] is expected"),
            (r#""num_experts_per_tok": 7"#, "num_experts_per_tok: is 7: up to the 6 experts is valid"),
            (r#""n_group": 4"#, "n_group: is 4: a divisor of the 6 experts, with 2 or more in each, is valid"),
            (r#""topk_group": 4"#, "n_group: is 3, of which 4 are used"),
            (r#""n_shared_experts": 0"#, "n_shared_experts: is 0: 1 is valid"),
            (r#""moe_shared_expert_intermediate_size": 32"#, "shared_experts.up_proj.weight' is [64, 64]"),
            (r#""moe_intermediate_size": 64"#, "mixer.experts.0.up_proj.weight' is [32, 32]"),
            (r#""moe_latent_size": null"#, "mixer.experts.0.up_proj.weight' is [32, 32] f32: [64, 32] is expected"),
            (r#""mlp_bias": true"#, "shared_experts.up_proj.bias' is missing"),
        ],
    );
    let list = |values: [i32; 6]| -> Value { values.to_vec().into() };
    expect_keys_refused(
        &folder,
        "nemotron_h_moe",
        &[
            ("nemotron_h_moe.expert_used_count", list([0, 2, 0, 0, 1, 0]), "expert_used_count: is [0,2,0,0,1,0]"),
            (
                "nemotron_h_moe.expert_feed_forward_length",
                list([0, 32, 0, 0, 16, 0]),
                "expert_feed_forward_length: is [",
            ),
            ("nemotron_h_moe.expert_gating_func", Value::U32(1), "expert_gating_func: is 1: 2, a sigmoid, is known"),
            ("nemotron_h_moe.moe_latent_size", Value::U32(32), "ffn_up_exps.weight' is [64, 32, 6]"),
            ("nemotron_h_moe.expert_count", Value::U32(5), "blk.1.ffn_gate_inp.weight' is [64, 6]"),
            (
                "nemotron_h_moe.nextn_predict_layers",
                Value::U32(6),
                "nextn_predict_layers: is 6: less than the 6 layers",
            ),
        ],
    );
    let model = model("nemotron_h_moe");
    let tensors = model.spec.tensors(3, DType::F32);
    // Layers that draft tokens come after the others, with attention and experts.
    let mut drafting = tensors.clone();
    drafting.copy("blk.2.attn_q.weight", "blk.6.attn_q.weight");
    drafting.copy("blk.1.ffn_up_exps.weight", "blk.6.ffn_up_exps.weight");
    let further = [
        ("nemotron_h_moe.block_count", Value::U32(7)),
        ("nemotron_h_moe.nextn_predict_layers", Value::U32(1)),
        ("nemotron_h_moe.attention.head_count_kv", vec![0i32, 0, 2, 0, 0, 0, 2].into()),
        ("nemotron_h_moe.feed_forward_length", vec![0i32, 32, 0, 0, 32, 0, 32].into()),
    ];
    let path = gguf_of(&folder, &model, &drafting, &further);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &model.spec, &tensors);
    // Older files have the neurons of all experts of a token as those of a layer, and no sum of shares.
    let mut metadata = model.metadata();
    let newer = ["feed_forward_length", "expert_feed_forward_length", "expert_weights_norm"];
    metadata.retain(|(key, _)| !newer.iter().any(|name| *key == format!("nemotron_h_moe.{name}")));
    metadata.push(("nemotron_h_moe.feed_forward_length".into(), vec![0i32, 64, 0, 0, 64, 0].into()));
    let path = folder.path("older.gguf");
    tensors.write_gguf(&path, &metadata);
    let (count, used, ffn, Route::Chosen(choice)) = model.spec.experts.unwrap() else { unreachable!() };
    let plain = Choice { normalised: None, ..choice };
    let spec = Spec { experts: Some((count, used, ffn, Route::Chosen(plain))), ..model.spec.clone() };
    expect_logits(&path, &spec, &tensors);
    // A folder with experts in some layers and without in others, and with as many layers as it lists.
    let sizes = r#", "mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 2, "n_routed_experts": 6,
"moe_intermediate_size": 32, "moe_shared_expert_intermediate_size": 64, "hybrid_override_pattern": "ME*M-M""#;
    expect(&folder, "nemotron_h_moe", sizes, |spec| Spec {
        experts: Some((count, used, ffn, Route::Chosen(Choice { scale: 1.0, ..choice }))),
        expert_layers: |i| i == 1,
        ..spec
    });
    let listed =
        r#", "num_hidden_layers": null, "layer_types": ["mamba", "moe", "attention", "mamba", "moe", "mamba"]"#;
    let path = folder_of(&folder, &model, &tensors, &format!("{listed}, \"hybrid_override_pattern\": null"));
    expect_logits(&path, &model.spec, &tensors);
    let fused = Model { name: "nemotron_h_moe in one tensor", ..model.clone() };
    expect_logits(&folder_of(&folder, &fused, &tensors, ""), &model.spec, &tensors);
}
