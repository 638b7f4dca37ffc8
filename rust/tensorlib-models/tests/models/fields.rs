//! Settings, keys and tensors that a model's files may have and the tiny models do not: supported, refused by name, or
//! reported once. Supported ones are compared with double precision.

use crate::common::architectures::{all, Model};
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open, refused, TOKENS};
use crate::common::decoder::{frequencies, Spec};
use crate::common::tiny::{write_raw, Random, Raw, Tensors};
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions, ErrorKind};

/// Models, and what is added to their config.json with words of the error.
const REFUSED: &[(&str, &[(&str, &str)])] = &[
    (
        "llama of a folder",
        &[
            (r#""use_bidirectional_attention": true"#, "use_bidirectional_attention: is true: false is supported"),
            (r#""is_causal": false"#, "is_causal: is false"),
            (r#""is_encoder_decoder": true"#, "is_encoder_decoder: is true"),
            (r#""logit_scale": 0.5"#, "logit_scale: is 0.5: 1 is supported"),
            (r#""rope_scaling": {"rope_type": "dynamic", "factor": 2}"#, "is 'dynamic'"),
            (
                r#""rope_scaling": {"rope_type": "linear", "factor": 2, "mrope_section": [1, 2]}"#,
                "mrope_section: is [1,2]",
            ),
            (r#""hidden_act": "gelu""#, "hidden_act: is 'gelu'"),
            (r#""attention_bias": true"#, "self_attn.q_proj.bias' is missing"),
            (r#""vocab_size": 60"#, "has 61 rows, and vocab_size is 60"),
            (
                r#""quantization_config": {"quant_method": "gptq", "bits": 4}"#,
                "quantization_config.quant_method: is \"gptq\"",
            ),
            (r#""text_config": {"use_bidirectional_attention": true}"#, "text_config: use_bidirectional_attention"),
        ],
    ),
    (
        "qwen2",
        &[
            (r#""hidden_act": "gelu""#, "hidden_act: is \"gelu\""),
            (r#""layer_types": ["full_attention"]"#, "layer_types: has 1"),
        ],
    ),
    (
        "qwen3moe",
        &[
            (r#""mlp_only_layers": [0]"#, "mlp_only_layers: is [0]"),
            (r#""decoder_sparse_step": 2"#, "decoder_sparse_step"),
        ],
    ),
    (
        "gemma3",
        &[
            (r#""use_bidirectional_attention": true"#, "use_bidirectional_attention"),
            (r#""hidden_activation": "relu""#, "is 'relu'"),
        ],
    ),
    ("mistral", &[(r#""layer_types": ["chunked_attention", "full_attention", "full_attention"]"#, "layer_types: has")]),
    (
        "qwen35",
        &[
            (
                r#""attn_output_gate": false"#,
                "attn_output_gate: is false: true, gates of what attention gives, is supported",
            ),
            (r#""linear_value_head_dim": 8"#, "linear_value_head_dim: is 8: 16, the elements of a head of keys"),
            (
                r#""linear_num_value_heads": 3"#,
                "linear_num_value_heads: is 3: a multiple of the 2 heads of keys is valid",
            ),
            (r#""linear_num_key_heads": 4"#, "in_proj_qkv.weight' is [64, 128] f32: [64, 192] is expected"),
            (r#""linear_conv_kernel_dim": 1"#, "linear_conv_kernel_dim: is 1: 2 or more is valid"),
            (r#""linear_conv_kernel_dim": 3"#, "conv1d.weight' is [4, 1, 128]"),
            (
                r#""layer_types": ["linear_attention"]"#,
                "layer_types: has 1 entries: one for each of the 5 layers is valid",
            ),
            (r#""mamba_ssm_dtype": "bfloat16""#, "mamba_ssm_dtype: is \"bfloat16\": \"float32\" is supported"),
            (r#""output_gate_type": "tanh""#, "output_gate_type: is \"tanh\""),
            (r#""attention_bias": true"#, "self_attn.q_proj.bias' is missing"),
        ],
    ),
    (
        "gemma4 with experts",
        &[
            (r#""use_bidirectional_attention": "all""#, "is \"all\": null and \"vision\" are supported"),
            (r#""hidden_activation": "relu""#, "is 'relu'"),
            (r#""num_kv_shared_layers": 8"#, "num_kv_shared_layers: is 8: less than the 8 layers is valid"),
            (r#""num_kv_shared_layers": 5"#, "is 5: layer 3 has no layer of its kind before the first 3"),
            (r#""num_global_key_value_heads": 3"#, "is 3: a divisor of the 4 heads is valid"),
            (r#""top_k_experts": 6"#, "is 6: up to the 5 experts is valid"),
            (r#""hidden_size_per_layer_input": 8"#, "embed_tokens_per_layer.weight' is missing"),
            (
                r#""rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1e6}}"#,
                "rope_type: is 'yarn': default and proportional are known",
            ),
            (
                r#""rope_parameters": {"full_attention": {"rope_theta": -1}}"#,
                "rope_theta: is -1: a number above 0 is valid",
            ),
        ],
    ),
    ("qwen3", &[(r#""tie_word_embeddings": false"#, "lm_head.weight' is missing, and tie_word_embeddings is false")]),
];

#[test]
fn settings_of_folders_are_refused_by_name_or_reported() {
    let folder = Folder::new("fields-hub");
    for (name, cases) in REFUSED {
        let model = model(name);
        let tensors = model.spec.tensors(1, DType::F32);
        for (further, words) in *cases {
            let error = refused(&folder_of(&folder, &model, &tensors, &format!(", {further}")));
            assert!(error.contains(words), "{further}: {error}");
        }
    }
    let model = model("llama of a folder");
    let tensors = model.spec.tensors(1, DType::F32);
    let known = r#", "architectures": ["LlamaForCausalLM"], "torch_dtype": "float16", "use_cache": true, "pretraining_tp": 1,
"bos_token_id": 1, "eos_token_id": 2, "attention_dropout": 0.0, "initializer_range": 0.02, "transformers_version": "5.0", "hidden_act": "silu",
"attention_bias": false, "mlp_bias": false, "rope_scaling": null, "is_decoder": false, "use_bidirectional_attention": null"#;
    assert_eq!(open(&folder_of(&folder, &model, &tensors, known)).warnings(), [""; 0]);
    let decoder = open(&folder_of(&folder, &model, &tensors, r#", "frobnicate": 1, "sliding_window": 4"#));
    let warnings = decoder.warnings();
    assert!(
        warnings.len() == 1
            && warnings[0].ends_with("config.json: fields that are not known are ignored: frobnicate, sliding_window"),
        "{warnings:?}"
    );
}

#[test]
fn keys_of_gguf_are_refused_or_reported() {
    let folder = Folder::new("fields-gguf");
    let llama = model("llama");
    let tensors = llama.spec.tensors(2, DType::F32);
    let cases: [(&str, Value, &str); 9] = [
        ("llama.attention.causal", false.into(), "llama: attention.causal: is false: true is supported"),
        ("llama.rope.scaling.type", "dynamic".into(), "is 'dynamic'"),
        ("llama.logit_scale", Value::F32(0.5), "logit_scale: is 0.5"),
        ("llama.expert_shared_count", Value::U32(1), "expert_shared_count: is 1: 0 is supported"),
        ("llama.nextn_predict_layers", Value::U32(1), "nextn_predict_layers"),
        ("llama.attention.max_alibi_bias", Value::F32(8.0), "attention.max_alibi_bias: is 8"),
        ("llama.rope.dimension_sections", vec![1i32, 2].into(), "rope.dimension_sections"),
        ("general.type", "mmproj".into(), "GGUF: general.type: is \"mmproj\""),
        ("tokenizer.ggml.escape_whitespaces", false.into(), "tokenizer.ggml.escape_whitespaces: is false"),
    ];
    for (key, value, words) in cases {
        let error = refused(&gguf_of(&folder, &llama, &tensors, &[(key, value)]));
        assert!(error.contains(words), "{key}: {error}");
    }
    let odd = [("llama.frobnicate", Value::U32(1)), ("tokenizer.ggml.odd", 1u32.into()), ("other.key", 1u32.into())];
    let warnings = open(&gguf_of(&folder, &llama, &tensors, &odd)).warnings().join("; ");
    for word in ["llama: fields that are not known are ignored: frobnicate", "tokenizer.ggml.odd", "other.key"] {
        assert!(warnings.contains(word), "{warnings}");
    }
}

/// Keys that published files of Qwen 3.5 have, and what they may not be.
#[test]
fn settings_of_recurrent_layers() {
    let folder = Folder::new("fields-recurrent");
    let qwen = model("qwen35");
    let tensors = qwen.spec.tensors(2, DType::F32);
    let of_folder = r#", "architectures": ["Qwen3_5ForConditionalGeneration"], "mtp_num_hidden_layers": 1,
"mtp_use_dedicated_embeddings": false, "output_gate_type": "swish", "full_attention_interval": 4, "hidden_act": "silu", "attention_bias": false,
"image_token_id": 5, "video_token_id": 6, "vision_start_token_id": 7, "vision_config": {"depth": 12}, "mlp_only_layers": []"#;
    let path = folder_of(&folder, &qwen, &tensors, of_folder);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &qwen.spec, &tensors);
    // The part of a head that turns, as newer and older folders state it.
    let half = Spec { frequencies: frequencies(1e7, 8), ..qwen.spec.clone() };
    let rotation =
        |rest: &str| format!(r#", "rope_parameters": {{"rope_theta": 10000000, "rope_type": "default"{rest}}}"#);
    let newer = rotation(r#", "partial_rotary_factor": 0.5"#);
    let older = rotation("") + r#", "partial_rotary_factor": 0.5"#;
    for (further, spec) in [(newer, &half), (older, &half), (rotation(""), &qwen.spec)] {
        expect_logits(&folder_of(&folder, &qwen, &tensors, &further), spec, &tensors);
    }
    let cases: [(&str, Value, &str); 8] = [
        ("qwen35.ssm.conv_kernel", Value::U32(1), "ssm.conv_kernel: is 1: 2 or more is valid"),
        ("qwen35.ssm.inner_size", Value::U32(60), "ssm.inner_size: is 60: 4 heads of 16 elements have 64"),
        ("qwen35.ssm.time_step_rank", Value::U32(5), "ssm.time_step_rank: is 5: a multiple of the 2 heads of keys"),
        ("qwen35.ssm.group_count", Value::U32(4), "'blk.0.attn_qkv.weight' is [64, 128] f32: [64, 192] is expected"),
        ("qwen35.full_attention_interval", Value::U32(2), "'blk.1.attn_qkv.weight' is [64, 128] f32: [64, 192]"),
        ("qwen35.full_attention_interval", Value::U32(0), "full_attention_interval: is 0"),
        ("qwen35.attention.recurrent_layers", vec![1i32, 1].into(), "true or false for each of the 5 layers"),
        ("qwen35.nextn_predict_layers", Value::U32(5), "nextn_predict_layers: is 5: less than the 5 layers"),
    ];
    for (key, value, words) in cases {
        let error = refused(&gguf_of(&folder, &qwen, &tensors, &[(key, value)]));
        assert!(error.contains(words), "{key}: {error}");
    }
    // Layers at the end that draft tokens are not read.
    let mut further = tensors.clone();
    for (name, shape) in [("blk.5.nextn.eh_proj.weight", vec![128, 64]), ("blk.5.attn_q.weight", vec![64, 128])] {
        further.add(&mut Random(3), name, &shape, 0.0, 1.0, DType::F32);
    }
    let drafting = [("qwen35.block_count", Value::U32(6)), ("qwen35.nextn_predict_layers", Value::U32(1))];
    let path = gguf_of(&folder, &qwen, &further, &drafting);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &qwen.spec, &tensors);
}

/// Keys that list numbers for each layer.
#[test]
fn numbers_of_each_layer() {
    let folder = Folder::new("fields-layers");
    let gemma = model("gemma4 with vectors for layers");
    let tensors = gemma.spec.tensors(2, DType::F32);
    let path = gguf_of(&folder, &gemma, &tensors, &[]);
    assert_eq!(open(&path).warnings(), [""; 0]);
    let ones = |n: usize, other: usize| -> Value {
        (0..n).map(|i| if i == other { 4i32 } else { 2 }).collect::<Vec<i32>>().into()
    };
    let cases: [(&str, Value, &str); 6] = [
        ("gemma4.feed_forward_length", vec![96i32, 96].into(), "or one for each of the 9 layers, is valid"),
        ("gemma4.feed_forward_length", Value::U32(96), "'blk.6.ffn_gate.weight' is [64, 192] f32: [64, 96]"),
        ("gemma4.attention.head_count_kv", ones(9, 1), "is 4 in layer 1: one number for all layers of a kind"),
        ("gemma4.attention.head_count_kv", vec![3i32; 9].into(), "is 3: a divisor of the 4 heads is valid"),
        ("gemma4.embedding_length_per_layer_input", Value::U32(0), "tensors that the model's settings have no use for"),
        ("gemma4.rope.dimension_count_swa", Value::U32(18), "is 18: an even number up to 16 is valid"),
    ];
    for (key, value, words) in cases {
        let error = refused(&gguf_of(&folder, &gemma, &tensors, &[(key, value)]));
        assert!(error.contains(words), "{key}: {error}");
    }
    // Tensors for keys in layers that read others' are ignored, as the models ignore them.
    let mut further = tensors.clone();
    further.add(&mut Random(3), "blk.7.attn_k.weight", &[64, 64], 0.0, 1.0, DType::F32);
    expect_logits(&gguf_of(&folder, &gemma, &further, &[]), &gemma.spec, &tensors);
    // A table with fewer tokens than the vocabulary.
    let mut short = tensors.clone();
    short.all.remove("per_layer_token_embd.weight");
    short.add(&mut Random(3), "per_layer_token_embd.weight", &[288, 60], 0.0, 1.0, DType::F32);
    assert!(refused(&gguf_of(&folder, &gemma, &short, &[])).contains("has 60 rows: one for each of the 61 tokens"));
}

#[test]
fn keys_of_gguf_change_the_model() {
    let folder = Folder::new("fields-gguf-honoured");
    let llama = model("llama");
    let tensors = llama.spec.tensors(2, DType::F32);
    // 0 means none, as if the setting were missing.
    let none = [
        ("llama.attention.sliding_window", Value::U32(0)),
        ("llama.expert_count", Value::U32(0)),
        ("llama.expert_used_count", Value::U32(0)),
        ("llama.rope.scaling.factor", Value::F32(0.0)),
        ("llama.attention.scale", Value::F32(0.0)),
        ("llama.rope.scaling.original_context_length", Value::U32(0)),
    ];
    let path = gguf_of(&folder, &llama, &tensors, &none);
    assert_eq!(open(&path).warnings(), [""; 0]);
    expect_logits(&path, &llama.spec, &tensors);

    let linear = Spec { frequencies: frequencies(1e4, 16).iter().map(|f| f / 4.0).collect(), ..llama.spec.clone() };
    for key in ["llama.rope.scale_linear", "llama.rope.scaling.factor"] {
        expect_logits(&gguf_of(&folder, &llama, &tensors, &[(key, Value::F32(4.0))]), &linear, &tensors);
    }
    let scaled = Spec { attention_scale: 0.07, ..llama.spec.clone() };
    expect_logits(
        &gguf_of(&folder, &llama, &tensors, &[("llama.attention.scale", Value::F32(0.07))]),
        &scaled,
        &tensors,
    );
    let stretched = Spec { magnitude: 1.5, ..linear.clone() };
    let further = [("llama.rope.scaling.factor", Value::F32(4.0)), ("llama.rope.scaling.attn_factor", Value::F32(1.5))];
    expect_logits(&gguf_of(&folder, &llama, &tensors, &further), &stretched, &tensors);

    let gemma = model("gemma3");
    let tensors = gemma.spec.tensors(2, DType::F32);
    let every_third =
        Spec { window: Some((7, |i| i % 3 < 2)), window_frequencies: Some(frequencies(5e3, 16)), ..gemma.spec.clone() };
    let further =
        [("gemma3.attention.sliding_window_pattern", Value::U32(3)), ("gemma3.rope.freq_base_swa", Value::F32(5e3))];
    expect_logits(&gguf_of(&folder, &gemma, &tensors, &further), &every_third, &tensors);
    let layers: Vec<bool> = (0..7).map(|i| i % 3 < 2).collect();
    let further =
        [("gemma3.attention.sliding_window_pattern", Value::Array(tensorlib::Array::Bool(layers))), further[1].clone()];
    expect_logits(&gguf_of(&folder, &gemma, &tensors, &further), &every_third, &tensors);
}

/// A missing setting and a null differ.
#[test]
fn nulls_and_what_is_left_out() {
    let folder = Folder::new("fields-null");
    let gemma = model("gemma2");
    let tensors = gemma.spec.tensors(4, DType::F32);
    let no_caps = Spec { attention_cap: 0.0, final_cap: 0.0, ..gemma.spec.clone() };
    let nulls = r#", "attn_logit_softcapping": null, "final_logit_softcapping": null"#;
    expect_logits(&folder_of(&folder, &gemma, &tensors, nulls), &no_caps, &tensors);
    let unsaid =
        Model { hub: Some(("gemma2", r#", "sliding_window": 7, "query_pre_attn_scalar": 16"#)), ..model("gemma2") };
    expect_logits(&folder_of(&folder, &unsaid, &tensors, ""), &gemma.spec, &tensors);

    let mistral = model("mistral");
    let tensors = mistral.spec.tensors(4, DType::F32);
    let all_keys = Spec { window: None, ..mistral.spec.clone() };
    expect_logits(&folder_of(&folder, &mistral, &tensors, r#", "sliding_window": null"#), &all_keys, &tensors);
    // The first layer with a window is layer 0, so all layers have one.
    let qwen = model("qwen2");
    let tensors = qwen.spec.tensors(4, DType::F32);
    let windows = Spec { window: Some((4, |_| true)), ..qwen.spec.clone() };
    let further = r#", "use_sliding_window": true, "max_window_layers": 0"#;
    expect_logits(&folder_of(&folder, &qwen, &tensors, further), &windows, &tensors);
}

#[test]
fn tensors_that_nothing_asks_for() {
    let folder = Folder::new("fields-left");
    let llama = model("llama");
    let mut tensors = llama.spec.tensors(3, DType::F32);
    tensors.add(&mut Random(1), "blk.0.attn_q_norm.weight", &[16], 1.0, 0.1, DType::F32);
    tensors.add(&mut Random(1), "blk.9.attn_q.weight", &[64, 64], 1.0, 0.1, DType::F32);
    let error = refused(&gguf_of(&folder, &llama, &tensors, &[]));
    assert!(error.contains("'blk.0.attn_q_norm.weight', 'blk.9.attn_q.weight'"), "{error}");

    let llama = model("llama of a folder");
    let mut tensors = llama.spec.tensors(3, DType::F32);
    tensors.add(&mut Random(1), "blk.0.attn_q_norm.weight", &[16], 1.0, 0.1, DType::F32);
    let decoder = open(&folder_of(&folder, &llama, &tensors, ""));
    let words = "are not read: 'model.layers.0.self_attn.q_norm.weight'";
    assert!(decoder.warnings()[0].ends_with(words), "{:?}", decoder.warnings());
    let long = Decoder::open(folder.path("hub"), &backend(), &DecoderOptions::new().context(300)).unwrap();
    assert!(long.warnings()[0].contains("300 tokens: the model was trained for 256"), "{:?}", long.warnings());

    // YaRN stretches it.
    let yarn = r#", "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}"#;
    let path = folder_of(&folder, &llama, &llama.spec.tensors(3, DType::F32), yarn);
    let warned =
        |tokens| Decoder::open(&path, &backend(), &DecoderOptions::new().context(tokens)).unwrap().warnings().len();
    assert_eq!((warned(1024), warned(1025)), (0, 1));

    // The matrix that the embeddings were tied to is not read.
    let mut tied = llama.spec.tensors(3, DType::F32);
    let spec = Spec { tied: true, ..llama.spec.clone() };
    let path = folder_of(&folder, &llama, &tied, r#", "tie_word_embeddings": true"#);
    tied.all.remove("output.weight").unwrap();
    expect_logits(&path, &spec, &tied);
}

/// Values of E4M3 by sign, exponent and mantissa, in double precision.
fn e4m3(code: u8) -> f64 {
    let (exponent, fraction) = (i32::from(code >> 3 & 15), f64::from(code & 7) / 8.0);
    let magnitude = if exponent == 0 { fraction * 2f64.powi(-6) } else { (1.0 + fraction) * 2f64.powi(exponent - 7) };
    if code & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// The folder's tensors, with the matrix of each layer's queries stored as codes with scales of this shape. `block` is
/// the number of elements per scale: [rows, columns].
fn with_scales(model: &Model, tensors: &mut Tensors, suffix: &str, block: [usize; 2], shape: &[i64]) -> Vec<Raw> {
    let mut random = Random(9);
    let mut raw: Vec<Raw> = Vec::new();
    for (name, stored) in tensors.all.clone() {
        let (theirs, rows): (String, Vec<i64>) =
            (model.hub_name(&name, None), stored.shape.iter().rev().copied().collect());
        if !name.ends_with("attn_q.weight") {
            raw.push((theirs, "F32", rows, stored.bytes));
            continue;
        }
        let (columns, n) = (stored.shape[0] as usize, stored.shape[0] as usize * stored.shape[1] as usize);
        let codes: Vec<u8> = (0..n)
            .map(|_| ((random.next() + 1.0) * 127.9) as u8)
            .map(|c| if c & 0x7F > 0x60 { c & 0x8F } else { c })
            .collect();
        let scales: Vec<f32> = (0..shape.iter().product()).map(|_| (0.02 + 0.01 * random.next()) as f32).collect();
        let of_row = columns.div_ceil(block[1]);
        let value = |i: usize| {
            let at = i / columns / block[0] * of_row + i % columns / block[1];
            e4m3(codes[i]) * scales.get(at).map_or(0.0, |scale| f64::from(*scale))
        };
        tensors.set_values(&name, (0..n).map(value).collect());
        let bytes = scales.iter().flat_map(|s| s.to_le_bytes()).collect();
        let scale = match suffix.strip_prefix("weight") {
            Some(rest) => format!("{theirs}{rest}"),
            None => theirs.replace("weight", suffix),
        };
        raw.push((scale, "F32", shape.to_vec(), bytes));
        raw.push((theirs, "F8_E4M3", rows, codes));
    }
    raw
}

#[test]
fn weights_of_8_bits_are_multiplied_by_their_scales() {
    let folder = Folder::new("fields-scales");
    let model = model("llama of a folder");
    let fp8 = r#", "quantization_config": {"quant_method": "fp8"}"#;
    let blocks = r#", "quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 48]}"#;
    let channels = r#", "quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized",
"config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}}"#;
    let tables = [
        (fp8, "weight_scale", [64, 64], vec![]),
        (fp8, "weight_scale_inv", [64, 64], vec![1]),
        ("", "scale_weight", [64, 64], vec![1]),
        (channels, "weight_scale", [1, 64], vec![64, 1]),
        (fp8, "weight_scale", [1, 64], vec![64]),
        (blocks, "weight_scale_inv", [16, 48], vec![4, 2]),
        (fp8, "weight_scale_inv", [32, 16], vec![2, 4]),
    ];
    for (config, suffix, block, shape) in tables {
        let mut tensors = model.spec.tensors(5, DType::F32);
        let path = folder_of(&folder, &model, &tensors, config);
        let raw = with_scales(&model, &mut tensors, suffix, block, &shape);
        write_raw(&path.join("model.safetensors"), &raw);
        expect_logits(&path, &model.spec, &tensors);
        assert_eq!(open(&path).warnings(), [""; 0], "{suffix} {shape:?}");
    }
    // Scales of another matrix, and no scales.
    let mut tensors = model.spec.tensors(5, DType::F32);
    let path = folder_of(&folder, &model, &tensors, fp8);
    write_raw(&path.join("model.safetensors"), &with_scales(&model, &mut tensors, "weight_scale", [1, 64], &[63]));
    assert!(refused(&path).contains("one for all, for each row or for each block is known"), "{}", refused(&path));
    let mut raw = with_scales(&model, &mut tensors, "weight_scale", [64, 64], &[]);
    raw.retain(|(name, ..)| !name.ends_with("scale"));
    write_raw(&path.join("model.safetensors"), &raw);
    assert!(refused(&path).contains("its scales are missing"), "{}", refused(&path));
}

/// GGUF files of Phi 3 have two lists of factors without saying so in `rope.scaling.type`.
#[test]
fn two_lists_of_factors_without_a_type() {
    let folder = Folder::new("fields-factors");
    let further =
        vec![("rope.scaling.original_context_length", Value::U32(64)), ("rope.scaling.attn_factor", Value::F32(1.25))];
    let model = Model { gguf: Some(("phi3", further)), ..model("phi3 long") };
    let mut tensors = model.spec.tensors(8, DType::F32);
    tensors.add(&mut Random(3), "rope_factors_long.weight", &[8], 3.0, 1.0, DType::F32);
    tensors.add(&mut Random(4), "rope_factors_short.weight", &[8], 1.5, 0.4, DType::F32);
    let path = gguf_of(&folder, &model, &tensors, &[]);
    for (context, list) in [(256, "rope_factors_long.weight"), (64, "rope_factors_short.weight")] {
        let factors = tensors.get(list).to_vec();
        let stretched = frequencies(1e4, 16).iter().zip(&factors).map(|(f, by)| f / by).collect();
        let spec = Spec { frequencies: stretched, magnitude: 1.25, ..model.spec.clone() };
        let options = DecoderOptions::new().exact(true).context(context);
        let decoder = Decoder::open(&path, &backend(), &options).unwrap();
        let got = decoder.session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
        let off = error(&got, &spec.logits(&tensors, &TOKENS).concat());
        assert!(off < 1e-4, "{context}: {off:e}");
    }
}

/// A bias of the logits is added, whether or not their matrix is the embeddings'.
#[test]
fn biases_of_logits_are_added() {
    let folder = Folder::new("fields-output-bias");
    let logits = |path: &Path| open(path).session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
    for (tied, is_hub) in [(false, false), (false, true), (true, false), (true, true)] {
        let has_files = |model: &Model| if is_hub { model.hub.is_some() } else { model.gguf.is_some() };
        let mut model = all().into_iter().find(has_files).unwrap();
        model.spec.tied = tied;
        let write = |tensors: &Tensors| match is_hub {
            true => folder_of(&folder, &model, tensors, ""),
            false => gguf_of(&folder, &model, tensors, &[]),
        };
        let mut tensors = model.spec.tensors(6, DType::F32);
        let without = logits(&write(&tensors));
        tensors.add(&mut Random(3), "output.bias", &[model.spec.vocabulary as i64], 0.0, 2.0, DType::F32);
        let path = write(&tensors);
        let (with, bias) = (logits(&path), tensors.get("output.bias"));
        let want: Vec<f64> = without.iter().zip(bias.iter().cycle()).map(|(x, b)| f64::from(*x) + b).collect();
        assert!(error(&with, &want) < 1e-5, "tied {tied}, hub {is_hub}");
        assert_eq!(open(&path).warnings(), [""; 0], "tied {tied}, hub {is_hub}");
    }
}

/// A bias of a norm by the root mean square would change results, so it is refused in files of both kinds.
#[test]
fn biases_of_rms_norms_are_refused() {
    let folder = Folder::new("fields-norm-bias");
    let with_bias = |model: &Model, name: &str| {
        let mut tensors = model.spec.tensors(6, DType::F32);
        let bias = tensors.all[&format!("{name}.weight")].clone();
        tensors.all.insert(format!("{name}.bias"), bias);
        tensors
    };
    for name in ["blk.0.attn_norm", "output_norm"] {
        let gguf = all().into_iter().find(|model| model.gguf.is_some()).unwrap();
        let hub = all().into_iter().find(|model| model.hub.is_some()).unwrap();
        let paths = [
            gguf_of(&folder, &gguf, &with_bias(&gguf, name), &[]),
            folder_of(&folder, &hub, &with_bias(&hub, name), ""),
        ];
        for path in paths {
            let said = refused(&path);
            let is_named = said.contains("norm.bias'") && said.contains("norms by the root mean square have no bias");
            assert!(is_named, "{name}: {said}");
        }
    }
}

/// Older GGUF files have a tensor per expert, newer folders one tensor for all experts.
#[test]
fn experts_of_older_files_and_newer_folders() {
    let folder = Folder::new("fields-experts");
    let gguf = model("llama with experts");
    let tensors = gguf.spec.tensors(6, DType::F32);
    let mut apart = tensors.with_experts_apart();
    let path = gguf_of(&folder, &gguf, &apart, &[]);
    expect_logits(&path, &gguf.spec, &tensors);
    assert_eq!(open(&path).warnings(), [""; 0]);
    apart.all.remove("blk.1.ffn_up.4.weight").unwrap();
    assert!(refused(&gguf_of(&folder, &gguf, &apart, &[])).contains("there are 4 of 5"));

    for (name, dtype) in [("qwen35moe", DType::F32), ("llama with experts", DType::F32), ("qwen3moe", DType::Q8_0)] {
        let gguf = model(name);
        let tensors = gguf.spec.tensors(6, dtype);
        let both = tensors.with_gates_and_ups();
        let path = gguf_of(&folder, &gguf, &both, &[]);
        expect_logits(&path, &gguf.spec, &tensors);
        assert_eq!(open(&path).warnings(), [""; 0]);
        let width = format!("{}.expert_feed_forward_length", gguf.gguf.as_ref().unwrap().0);
        let error = refused(&gguf_of(&folder, &gguf, &both, &[(&width, Value::U32(64))]));
        assert!(error.contains("'blk.0.ffn_gate_up_exps.weight' is [64, "), "{name}: {error}");
    }

    for name in ["mixtral", "qwen3moe"] {
        let model = model(name);
        let tensors = model.spec.tensors(6, DType::F32);
        let path = folder_of(&folder, &model, &tensors, "");
        let mut raw: Vec<Raw> = Vec::new();
        for (name, stored) in &tensors.all {
            let shape: Vec<i64> = stored.shape.iter().rev().copied().collect();
            let Some((layer, part)) = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) else {
                raw.push((model.hub_name(name, None), "F32", shape, stored.bytes.clone()));
                continue;
            };
            let newer = format!("model.layers.{layer}.mlp.");
            match part {
                "ffn_gate_inp.weight" => raw.push((newer + "gate.weight", "F32", shape, stored.bytes.clone())),
                "ffn_down_exps.weight" => raw.push((newer + "experts.down_proj", "F32", shape, stored.bytes.clone())),
                "ffn_gate_exps.weight" => {
                    let up = &tensors.all[&name.replace("gate", "up")];
                    let n = stored.bytes.len() / shape[0] as usize;
                    let both =
                        stored.bytes.chunks(n).zip(up.bytes.chunks(n)).flat_map(|(gate, up)| [gate, up].concat());
                    let shape = vec![shape[0], 2 * shape[1], shape[2]];
                    raw.push((newer + "experts.gate_up_proj", "F32", shape, both.collect()));
                }
                "ffn_up_exps.weight" => {}
                _ => raw.push((model.hub_name(name, None), "F32", shape, stored.bytes.clone())),
            }
        }
        write_raw(&path.join("model.safetensors"), &raw);
        expect_logits(&path, &model.spec, &tensors);
        assert_eq!(open(&path).warnings(), [""; 0]);
    }
}

#[test]
fn folders_of_a_cache_and_json_with_a_mark() {
    let folder = Folder::new("fields-cache");
    let model = model("llama of a folder");
    let tensors = model.spec.tensors(7, DType::F32);
    let path = folder_of(&folder, &model, &tensors, "");
    let config = std::fs::read(path.join("config.json")).unwrap();
    std::fs::write(path.join("config.json"), [b"\xEF\xBB\xBF", &config[..]].concat()).unwrap();
    let cache = folder.path("models--a--b");
    std::fs::create_dir_all(cache.join("snapshots")).unwrap();
    std::fs::create_dir_all(cache.join("refs")).unwrap();
    std::fs::rename(&path, cache.join("snapshots/abc")).unwrap();
    expect_logits(&cache, &model.spec, &tensors);
    std::fs::create_dir_all(cache.join("snapshots/other")).unwrap();
    assert!(refused(&cache).contains("several states"), "{}", refused(&cache));
    std::fs::write(cache.join("refs/main"), "abc\n").unwrap();
    expect_logits(&cache, &model.spec, &tensors);
    std::fs::write(cache.join("snapshots/abc/config.json"), "version https://git-lfs.github.com/spec/v1\n").unwrap();
    let error = Decoder::open(&cache, &backend(), &DecoderOptions::new()).err().unwrap();
    assert!(error.hint().unwrap().contains("git lfs pull") && error.kind() == ErrorKind::Format, "{error}");
}
