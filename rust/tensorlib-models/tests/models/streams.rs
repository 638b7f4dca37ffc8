//! Decoders with several streams between layers (Gemma 3n): their settings, and what sessions and sequences do.

use crate::common::behaviour::*;
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open, TOKENS};
use crate::common::decoder::{frequencies, Spec};
use crate::common::streams::AltUp;
use crate::common::tiny::Random;
use crate::common::Folder;
use tensorlib::{DType, Value};

#[test]
fn sessions_and_sequences() {
    let folder = Folder::new("streams-sessions");
    let (decoder, path, all) = (decoder(&folder, "gemma3n"), folder.path("session"), tokens(40, 1));
    let mut session = decoder.session(DType::F16).unwrap();
    session.feed(&all[..20]).unwrap();
    session.save(&path).unwrap();
    let mut fork = session.fork().unwrap();
    assert_eq!(session.rewind(9), 9);
    check(&mut session, &all, "rewound");
    check(&mut fork, &all, "forked");
    let mut restored = decoder.session(DType::F16).unwrap();
    restored.restore(&path).unwrap();
    check(&mut restored, &all, "restored");
    sequences_are_computed_together(&folder, &["gemma3n"]);
}

#[test]
fn quantised_weights() {
    quantised_weights_are_exact(&Folder::new("streams-quantised"), &["gemma3n"]);
}

#[test]
fn refused_settings() {
    let folder = Folder::new("streams-refused");
    expect_folders_refused(
        &folder,
        "gemma3n",
        &[
            (r#""altup_num_inputs": 1"#, "altup_num_inputs: is 1: 2 or more is valid"),
            (r#""altup_num_inputs": 4"#, "altup_projections.0.weight' and its like: there are 2 of 3"),
            (r#""altup_active_idx": 3"#, "altup_active_idx: is 3: less than the 3 streams is valid"),
            (r#""altup_correct_scale": 2"#, "altup_correct_scale: is 2"),
            (r#""laurel_rank": 8"#, "laurel.linear_left.weight' is [64, 32] f32: [64, 8]"),
            (r#""activation_sparsity_pattern": [0.5]"#, "has 1 entries: one for each of the 10 layers is valid"),
            (r#""activation_sparsity_pattern": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]"#, "has 1: shares from 0 to less than 1"),
            (r#""activation_sparsity_pattern": [0, 0, 0, 0, 0, 0, 0, 0, 0, ""]"#, "has \"\": numbers are valid"),
            (r#""activation_sparsity_pattern": -0.5"#, "is -0.5: a share from 0 to less than 1, or a list, is valid"),
            (r#""num_kv_shared_layers": 10"#, "num_kv_shared_layers: is 10: less than the 10 layers is valid"),
            (r#""hidden_activation": "silu""#, "hidden_activation: is 'silu': gelu_pytorch_tanh is known"),
            (r#""layer_types": ["full_attention"]"#, "layer_types: has 1 entries"),
            (r#""num_key_value_heads": 3"#, "num_key_value_heads: is 3: a divisor of the 4 heads is valid"),
        ],
    );
    let number = |n: u32| Value::U32(n);
    expect_keys_refused(
        &folder,
        "gemma3n",
        &[
            ("gemma3n.altup.num_inputs", number(4), "'altup_proj.weight' is [64, 64, 2] f32: [64, 64, 3]"),
            ("gemma3n.altup.active_idx", number(3), "is 3: less than the 3 streams is valid"),
            ("gemma3n.activation_sparsity_scale", vec![1f32].into(), "has 1 entries: one for each of the 10 layers"),
            ("gemma3n.activation_sparsity_scale", number(1), "is 1: numbers are valid"),
        ],
    );
}

#[test]
fn honoured_settings() {
    let folder = Folder::new("streams-honoured");
    const PLAIN: &str = r#", "sliding_window": 7, "num_kv_shared_layers": 4, "hidden_size_per_layer_input": 32,
"vocab_size_per_layer_input": 61, "altup_num_inputs": 3, "laurel_rank": 32, "rope_theta": 1000000.0, "altup_active_idx": 0,
"altup_correct_scale": false, "activation_sparsity_pattern": 0.0"#;
    let of = |spec: Spec, change: fn(AltUp) -> AltUp| Spec { altup: spec.altup.map(change), ..spec };
    expect(&folder, "gemma3n", PLAIN, |spec| {
        of(spec, |altup| AltUp { active: 0, scaled: false, cuts: |_| None, ..altup })
    });
    const HALVES: &str = r#", "sliding_window": 7, "num_kv_shared_layers": 0, "rope_local_base_freq": 50000.0, "hidden_size_per_layer_input": 32,
"altup_num_inputs": 3, "laurel_rank": 32, "rope_theta": 1000000.0, "activation_sparsity_pattern": 0.5, "final_logit_softcapping": null"#;
    expect(&folder, "gemma3n", HALVES, |spec| Spec {
        final_cap: 0.0,
        sharing: 0,
        window_frequencies: Some(frequencies(5e4, 16)),
        ..of(spec, |altup| AltUp { active: 0, cuts: |_| Some(0.0), ..altup })
    });
    // Tokens without a row of the table for layers have the first one.
    let gemma = model("gemma3n");
    let mut tensors = gemma.spec.tensors(3, DType::F32);
    let row = 10 * 32;
    let name = "per_layer_token_embd.weight";
    tensors.all.remove(name);
    tensors.add(&mut Random(4), name, &[row, 40], 0.0, 0.1, DType::F32);
    let mut all = tensors.clone();
    all.all.remove(name);
    all.add(&mut Random(5), name, &[row, 61], 0.0, 0.1, DType::F32);
    let known = tensors.get(name).to_vec();
    let values = (0..61usize).flat_map(|i| {
        let first = if i < 40 { i * row as usize } else { 0 };
        known[first..first + row as usize].to_vec()
    });
    all.set_values(name, values.collect());
    assert!(TOKENS.iter().any(|token| *token >= 40));
    expect_logits(&gguf_of(&folder, &gemma, &tensors, &[]), &gemma.spec, &all);
    let path = folder_of(&folder, &gemma, &tensors, r#", "vocab_size_per_layer_input": 40"#);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &gemma.spec, &all);
}
