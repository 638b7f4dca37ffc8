//! Decoders with attention to latent vectors and with experts in groups: their settings, both ways to store the matrix of
//! keys and values, and their cache.

use crate::common::behaviour::*;
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open, refused};
use crate::common::decoder::{frequencies, Choice, Route, Spec};
use crate::common::latent::Latent;
use crate::common::tiny::Random;
use crate::common::{backend, error, Folder};
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions, Sequences, SequencesOptions};

const LATENT: [&str; 2] = ["deepseek2", "deepseek3"];

#[test]
fn sequences() {
    sequences_are_computed_together(&Folder::new("mixtures-sequences"), &LATENT);
}

#[test]
fn sessions_keep_one_row_for_each_token() {
    let folder = Folder::new("mixtures-sessions");
    for name in LATENT {
        let (decoder, path, all) = (decoder(&folder, name), folder.path("session"), tokens(90, 1));
        let mut session = decoder.session(DType::F16).unwrap();
        // 256 rows of 32 + 8 elements in each of three layers.
        assert_eq!(session.cache_memory(), 3 * 256 * 40 * 2, "{name}");
        session.feed(&all[..60]).unwrap();
        let mut fork = session.fork().unwrap();
        session.save(&path).unwrap();
        assert_eq!(session.rewind(33), 33, "{name}");
        check(&mut session, &all, name);
        check(&mut fork, &all, name);
        let mut restored = decoder.session(DType::F16).unwrap();
        restored.restore(&path).unwrap();
        check(&mut restored, &all, name);
    }
}

#[test]
fn keys_and_values_are_made_by_one_matrix_or_by_two() {
    let folder = Folder::new("mixtures-split");
    for name in LATENT {
        let model = model(name);
        for dtype in [DType::F32, DType::BF16] {
            let tensors = model.spec.tensors(6, dtype);
            let want = model.spec.logits(&tensors, &tokens(20, 2)).concat();
            for stored in [tensors.clone(), tensors.with_keys_and_values_apart(4, 16)] {
                let path = gguf_of(&folder, &model, &stored, &[]);
                let got = open(&path).session(DType::F32).unwrap().feed_all(&tokens(20, 2)).unwrap();
                let off = error(&got, &want);
                assert!(off < 1e-4, "{name} {dtype}: {off:e}");
            }
            let mut both = tensors.clone();
            both.all.extend(tensors.with_keys_and_values_apart(4, 16).all);
            expect_refused(&gguf_of(&folder, &model, &both, &[]), "have no use for: 'blk.0.attn_k_b.weight'");
        }
    }
}

#[test]
fn quantised_weights() {
    let folder = Folder::new("mixtures-quantised");
    for name in LATENT {
        let mut model = model(name);
        // Rows of whole blocks.
        let latent = Latent { plain: 32, value: 32, ..model.spec.latent.unwrap() };
        model.spec.latent = Some(latent);
        let lengths = |key: &str, older: u32, newer: u32| {
            let newest = key.ends_with("_mla");
            (
                format!("deepseek2.attention.{key}"),
                Value::U32(if newest || name == "deepseek2" { older } else { newer }),
            )
        };
        let mut further = vec![lengths("key_length", 40, 40), lengths("value_length", 32, 32)];
        if name == "deepseek3" {
            further.extend([lengths("key_length_mla", 40, 40), lengths("value_length_mla", 32, 32)]);
        }
        let further: Vec<(&str, Value)> = further.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        model.spec.attention_scale *= (24f64 / 40.0).sqrt();
        for dtype in [DType::Q8_0, DType::Q4_0] {
            let tensors = model.spec.tensors(7, dtype);
            let want = model.spec.logits(&tensors, &tokens(20, 2)).concat();
            // One matrix has its rows transposed, in F16.
            let path = gguf_of(&folder, &model, &tensors, &further);
            let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new().exact(true)).unwrap();
            let off = error(&decoder.session(DType::F32).unwrap().feed_all(&tokens(20, 2)).unwrap(), &want);
            assert!(off < 2e-3, "{name} {dtype}: {off:e}");
        }
    }
}

#[test]
fn settings_of_deepseek() {
    let folder = Folder::new("mixtures-deepseek");
    expect_folders_refused(
        &folder,
        "deepseek3",
        &[
            (r#""num_key_value_heads": 2"#, "num_key_value_heads: is 2: 4, the number of heads, is valid"),
            (r#""scoring_func": "tanh""#, "scoring_func: is \"tanh\": softmax and sigmoid are known"),
            (r#""topk_method": "random""#, "topk_method: is 'random': greedy, group_limited_greedy and noaux_tc are"),
            (r#""n_group": 4"#, "n_group: is 4: a divisor of the 6 experts, with 2 or more in each, is valid"),
            (r#""n_group": 6"#, "n_group: is 6: a divisor of the 6 experts, with 2 or more in each"),
            (r#""topk_group": 4"#, "n_group: is 3, of which 4 are used: as many as have the 2 experts of a token"),
            (r#""moe_layer_freq": 2"#, "moe_layer_freq: is 2: 1 is supported"),
            (r#""head_dim": 9"#, "head_dim: is 9: 8 is valid"),
            (r#""q_lora_rank": 32"#, "q_a_proj.weight' is [64, 64] f32: [64, 32] is expected"),
            (r#""kv_lora_rank": 0"#, "kv_lora_rank: is 0"),
            (r#""v_head_dim": 13"#, "kv_b_proj.weight' is [32, 128] f32: [32, 116] is expected"),
            (r#""attention_bias": true"#, "kv_a_proj_with_mqa.bias' is missing"),
            (r#""hidden_act": "gelu""#, "hidden_act: is \"gelu\""),
            (r#""rope_scaling": {"type": "dynamic", "factor": 2}"#, "is 'dynamic'"),
            (r#""topk_method": "greedy", "scoring_func": "sigmoid", "num_experts_per_tok": 7"#, "up to the 6 experts"),
        ],
    );
    expect_keys_refused(
        &folder,
        "deepseek3",
        &[
            ("deepseek2.attention.head_count_kv", Value::U32(2), "head_count_kv: is 2: 4, the number of heads, is"),
            ("deepseek2.attention.key_length", Value::U32(41), "key_length: is 41: 24 is valid"),
            (
                "deepseek2.attention.key_length_mla",
                Value::U32(8),
                "is 8: more than the 8 elements that rotate is valid",
            ),
            ("deepseek2.expert_gating_func", Value::U32(3), "is 3: 1, a softmax, and 2, a sigmoid, are known"),
            ("deepseek2.expert_group_count", Value::U32(5), "is 5: a divisor of the 6 experts"),
            ("deepseek2.nextn_predict_layers", Value::U32(3), "is 3: less than the 3 layers of the file is valid"),
            ("deepseek2.attention.kv_lora_rank", Value::U32(16), "key_length: is 40: 24 is valid"),
        ],
    );
}

#[test]
fn folders_of_deepseek_leave_out_what_the_published_code_assumes() {
    let folder = Folder::new("mixtures-defaults");
    let heads =
        r#", "head_dim": 8, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16"#;
    let choice = |choice: Choice, used: usize, dense: usize, shared: usize| {
        move |spec: Spec| Spec {
            experts: Some((6, used, 32, Route::Chosen(choice))),
            dense_layers: dense,
            shared: Some(shared),
            ..spec
        }
    };
    let settings = |rest: &str| -> &'static str { Box::leak(format!("{heads}{rest}").into_boxed_str()) };
    let third =
        Choice { sigmoid: true, biased: true, normalised: Some(1e-20), scale: 2.5, groups: None, weighs_inputs: false };
    // A bias of the choice, a sum of 1 and a factor of 2.5.
    let sizes = r#", "q_lora_rank": 64, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1,
"topk_group": 1, "first_k_dense_replace": 1"#;
    expect(&folder, "deepseek3", settings(sizes), choice(third, 2, 1, 32));
    let second =
        Choice { sigmoid: false, biased: false, normalised: None, scale: 1.0, groups: None, weighs_inputs: false };
    let sizes =
        r#", "q_lora_rank": null, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32"#;
    let plain = |spec: Spec| Spec { frequencies: frequencies(1e4, 8), attention_scale: 1.0 / 24f64.sqrt(), ..spec };
    expect(&folder, "deepseek2", settings(sizes), |spec| choice(second, 2, 0, 64)(plain(spec)));
    // The best score of a group is its own.
    let grouped = format!(
        r#"{sizes}, "topk_method": "group_limited_greedy", "n_group": 3, "topk_group": 2, "norm_topk_prob": true"#
    );
    let of_groups = Choice { normalised: Some(1e-20), groups: Some((3, 2, 1)), ..second };
    expect(&folder, "deepseek2", settings(&grouped), |spec| choice(of_groups, 2, 0, 64)(plain(spec)));
}

#[test]
fn rotations_of_deepseek() {
    let folder = Folder::new("mixtures-rotations");
    let model = model("deepseek3");
    let tensors = model.spec.tensors(2, DType::F32);
    let halves = Spec { neox: true, ..model.spec.clone() };
    expect_logits(&folder_of(&folder, &model, &tensors, r#", "rope_interleave": false"#), &halves, &tensors);
    // Without a factor of the logarithm, rotated values grow and products do not.
    let yarn = r#", "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}"#;
    let grown = Spec {
        frequencies: crate::common::architectures::yarn(1e4, 8, 4.0, 64.0),
        magnitude: 1.0 + 0.1 * 4f64.ln(),
        ..model.spec.clone()
    };
    expect_logits(&folder_of(&folder, &model, &tensors, yarn), &grown, &tensors);
    let keys = [
        ("deepseek2.rope.scaling.type", "yarn".into()),
        ("deepseek2.rope.scaling.factor", Value::F32(4.0)),
        ("deepseek2.rope.scaling.original_context_length", Value::U32(64)),
    ];
    expect_logits(&gguf_of(&folder, &model, &tensors, &keys), &grown, &tensors);
    // Queries that grow with their positions.
    let hotter = Spec { temperature: Some((0.3, 4)), ..model.spec.clone() };
    let keys = [
        ("deepseek2.attention.temperature_scale", Value::F32(0.3)),
        ("deepseek2.attention.temperature_length", Value::U32(4)),
    ];
    expect_logits(&gguf_of(&folder, &model, &tensors, &keys), &hotter, &tensors);
}

#[test]
fn layers_that_draft_are_not_read() {
    let folder = Folder::new("mixtures-drafting");
    let model = model("deepseek3");
    let tensors = model.spec.tensors(2, DType::F32);
    let mut further = tensors.clone();
    further.add(&mut Random(3), "blk.3.attn_q.weight", &[64, 96], 0.0, 1.0, DType::F32);
    for path in [
        folder_of(&folder, &model, &further, ""),
        gguf_of(
            &folder,
            &model,
            &further,
            &[("deepseek2.block_count", Value::U32(4)), ("deepseek2.nextn_predict_layers", Value::U32(1))],
        ),
    ] {
        assert_eq!(open(&path).warnings(), [""; 0]);
        expect_logits(&path, &model.spec, &tensors);
    }
    let error = refused(&gguf_of(&folder, &model, &further, &[]));
    assert!(error.contains("'blk.3.attn_q.weight'"), "{error}");
}

#[test]
fn settings_of_llama4() {
    let folder = Folder::new("mixtures-llama4");
    expect_folders_refused(
        &folder,
        "llama4",
        &[
            (r#""no_rope_layers": [1, 0]"#, "no_rope_layers: has 2 entries: one for each of the 5 layers is valid"),
            (r#""layer_types": ["chunked_attention"]"#, "layer_types: has 1 entries"),
            (
                r#""layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention", "full_attention"]"#,
                "has 'sliding_attention': chunked_attention and full_attention are known",
            ),
            (r#""attn_temperature_tuning": "yes""#, "attn_temperature_tuning: is \"yes\": true or false, or a number"),
            (r#""num_experts_per_tok": 6"#, "num_experts_per_tok: is 6: up to the 5 experts is valid"),
            (r#""attention_chunk_size": 0"#, "attention_chunk_size: is 0"),
            (r#""moe_layers": [0]"#, "feed_forward.router.weight' is missing"),
            (r#""hidden_act": "gelu""#, "hidden_act: is \"gelu\""),
            (r#""attention_bias": true"#, "self_attn.q_proj.bias' is missing"),
            (r#""intermediate_size": 31"#, "feed_forward.experts.0.gate_proj.weight' is [64, 32] f32: [64, 31]"),
        ],
    );
    let base = llama4_settings("");
    expect(&folder, "llama4", llama4_settings(r#", "interleave_moe_layer_step": 2"#), unscaled);
    // Lists and switches.
    let listed = r#", "moe_layers": [1, 3], "no_rope_layers": [0, 1, 1, 1, 1, 1], "attn_temperature_tuning": false"#;
    let spec = |spec: Spec| Spec { rotated: |i| i != 0, window: None, temperature: None, ..unscaled(spec) };
    expect(&folder, "llama4", llama4_settings(listed), spec);
    let chunks = r#", "interleave_moe_layer_step": 2, "attention_chunk_size": 5, "no_rope_layer_interval": 2, "use_qk_norm": false,
"layer_types": ["chunked_attention", "chunked_attention", "full_attention", "full_attention", "full_attention"]"#;
    expect(&folder, "llama4", llama4_settings(chunks), |spec| Spec {
        rotated: |i| i % 2 == 0,
        window: Some((5, |i| i < 2)),
        plain_norms: false,
        ..unscaled(spec)
    });
    let unchunked = r#", "interleave_moe_layer_step": 2, "attention_chunk_size": null"#;
    expect(&folder, "llama4", llama4_settings(unchunked), |spec| Spec { window: None, ..unscaled(spec) });
    let everywhere = |spec| Spec { expert_layers: |_| true, ..unscaled(spec) };
    expect(&folder, "llama4", base, everywhere);
    let model = model("llama4");
    let tensors = model.spec.tensors(4, DType::F32);
    // Without a window, all layers rotate and attend to all tokens.
    let plain = Spec { window: None, rotated: |_| true, temperature: None, ..model.spec.clone() };
    let path = gguf_of(&folder, &model, &tensors, &[("llama4.attention.sliding_window", Value::U32(0))]);
    expect_logits(&path, &plain, &tensors);
    let scaled =
        Choice { sigmoid: true, biased: false, normalised: None, scale: 1.5, groups: None, weighs_inputs: true };
    let further =
        [("llama4.expert_weights_scale", Value::F32(1.5)), ("llama4.attention.sliding_window_pattern", Value::U32(2))];
    let spec = Spec {
        experts: Some((5, 2, 32, Route::Chosen(scaled))),
        rotated: |i| i % 2 == 0,
        window: Some((16, |i| i % 2 == 0)),
        ..model.spec.clone()
    };
    expect_logits(&gguf_of(&folder, &model, &tensors, &further), &spec, &tensors);
}

/// What 12 tokens show of the defaults: chunks of 8192 tokens and growth after as many.
fn unscaled(spec: Spec) -> Spec {
    Spec { window: None, temperature: None, ..spec }
}

fn llama4_settings(rest: &str) -> &'static str {
    let sizes =
        r#", "intermediate_size": 32, "intermediate_size_mlp": 96, "num_local_experts": 5, "num_experts_per_tok": 2"#;
    Box::leak(format!("{sizes}{rest}").into_boxed_str())
}

/// Chunks of whole pages, in sequences; others only in sessions.
#[test]
fn chunks_of_tokens() {
    let folder = Folder::new("mixtures-chunks");
    sequences_of(&folder, "llama4", &[("llama4.attention.sliding_window", Value::U32(64))]);
    let decoder = decoder(&folder, "llama4");
    let refused = Sequences::new(&decoder, &SequencesOptions::default()).err().unwrap();
    assert!(refused.to_string().contains("in chunks of 16 tokens: multiples of 64 are valid"), "{refused}");
    let mut session = decoder.session(DType::F16).unwrap();
    let all = tokens(90, 1);
    session.feed(&all[..60]).unwrap();
    assert_eq!(session.rewind(33), 33);
    check(&mut session, &all, "chunks");
    // Logits beyond several chunks.
    let model = model("llama4");
    let tensors = model.spec.tensors(4, DType::F32);
    let want = model.spec.logits(&tensors, &all).concat();
    let off = error(
        &open(&gguf_of(&folder, &model, &tensors, &[])).session(DType::F32).unwrap().feed_all(&all).unwrap(),
        &want,
    );
    assert!(off < 1e-4, "{off:e}");
}
