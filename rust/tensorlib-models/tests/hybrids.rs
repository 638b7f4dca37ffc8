//! Decoders with layers that keep states next to layers with attention: their settings, and what sessions and sequences
//! do with their states.

mod common;

use common::behaviour::*;
use common::checks::{expect_logits, folder_of, gguf_of, model, open};
use common::decoder::{frequencies, Choice, Route, Spec};
use common::recurrences::ShortConvolution;
use common::tiny::Random;
use common::Folder;
use tensorlib::{DType, Value};

/// Models of each kind of state.
const STATES: [&str; 2] = ["lfm2", "lfm2moe"];

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
