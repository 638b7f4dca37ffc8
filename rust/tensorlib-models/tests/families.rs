//! Settings that only some families of decoders have: honoured, refused by name, or known without effect.

mod common;

use common::architectures::Model;
use common::checks::{expect_logits, folder_of, gguf_of, model, open, refused};
use common::decoder::{frequencies, Spec};
use common::tiny::Random;
use common::Folder;
use tensorlib::{DType, Value};

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

/// A folder of this model without the settings of its own, and with these instead.
fn expect(folder: &Folder, name: &str, settings: &'static str, change: impl Fn(Spec) -> Spec) {
    let model = model(name);
    let kind = model.hub.unwrap().0;
    let model = Model { spec: change(model.spec.clone()), hub: Some((kind, settings)), ..model };
    let tensors = model.spec.tensors(3, DType::F32);
    let path = folder_of(folder, &model, &tensors, "");
    assert_eq!(open(&path).warnings(), [""; 0], "{name} {settings}");
    expect_logits(&path, &model.spec, &tensors);
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
        frequencies: common::architectures::yarn(1e6, 16, 16.0, 16384.0),
        ..spec
    });
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
