//! Settings and tensors of RWKV 7. What sessions and sequences do with its states is in `hybrids` and `sessions`.

use super::convert::convert;
use crate::common::architectures::Model;
use crate::common::behaviour::*;
use crate::common::checks::{expect_logits, folder_of, gguf_of, model, open};
use crate::common::decoder::Spec;
use crate::common::rwkv::Rwkv;
use crate::common::tiny::byte_pairs_json;
use crate::common::Folder;
use tensorlib::{DType, Gguf, Value};
use tensorlib_models::tokenizer::Tokenizer;

#[test]
fn settings_that_are_refused() {
    let folder = Folder::new("rwkv-refused");
    expect_folders_refused(
        &folder,
        "rwkv7",
        &[
            (r#""hidden_act": "silu""#, "hidden_act: is 'silu': sqrelu, relu2 is known"),
            (r#""attn": {"layers": [1], "num_heads": 4}"#, "attn: layers with attention are not supported: null is"),
            (r#""value_dim": [64, 128, 64]"#, "value_dim: has 128: values of 64 elements, as wide as the layers"),
            (r#""value_dim": 128"#, "value_dim: has 128"),
            (r#""head_dim": 24"#, "head_dim: is 24: a divisor of the width 64 is valid"),
            (r#""head_dim": null, "num_heads": 5"#, "num_heads: is 5: a divisor of the width 64 is valid"),
            (r#""head_dim": 32"#, "attn.r_k' is [16, 4] f32: [32, 2] is expected"),
            (r#""decay_low_rank_dim": 31"#, "attn.w_lora.lora.0.weight' is [64, 32] f32: [64, 31] is expected"),
            (r#""a_low_rank_dim": 0"#, "a_low_rank_dim: is 0"),
            (r#""v_low_rank_dim": 32"#, "layers.1.attn.v_lora.lora.0.weight' is [64, 96]"),
            (r#""intermediate_size": null"#, "ffn.key.weight' is [64, 96] f32: [64, 256] is expected"),
            (r#""norm_bias": false"#, "config.json says of such biases: false"),
        ],
    );
    expect_keys_refused(
        &folder,
        "rwkv7",
        &[
            ("rwkv7.token_shift_count", Value::U32(1), "rwkv7.token_shift_count: is 1: 2 is valid"),
            ("rwkv7.attention.gate_lora_rank", Value::U32(0), "rwkv7.attention.gate_lora_rank: is 0: 1 or more is"),
            ("rwkv7.wkv.head_size", Value::U32(48), "rwkv7.wkv.head_size: is 48: a divisor of the width 64 is valid"),
            ("rwkv7.attention.gate_lora_rank", Value::U32(64), "blk.0.time_mix_g1.weight' is [64, 128]"),
            ("rwkv7.feed_forward_length", Value::U32(64), "blk.0.channel_mix_key.weight' is [64, 96]"),
        ],
    );
    let model = model("rwkv7");
    let mut tensors = model.spec.tensors(1, DType::F32);
    let without = |name: &str| {
        let mut tensors = tensors.clone();
        tensors.all.remove(name).unwrap();
        gguf_of(&folder, &model, &tensors, &[])
    };
    for name in ["time_mix_lerp_fused.weight", "time_mix_ln.bias", "time_mix_k_a.weight", "channel_mix_lerp_k.weight"] {
        expect_refused(&without(&format!("blk.1.{name}")), &format!("tensor 'blk.1.{name}' is missing"));
    }
    expect_refused(&without("token_embd_norm.weight"), "tensor 'token_embd_norm.weight' is missing");
    for key in ["wkv.head_size", "attention.decay_lora_rank", "attention.layer_norm_epsilon"] {
        let mut metadata = model.metadata();
        metadata.retain(|(name, _)| name != &format!("rwkv7.{key}"));
        let path = folder.path("less.gguf");
        tensors.write_gguf(&path, &metadata);
        expect_refused(&path, &format!("rwkv7.{key}: is missing"));
    }
    tensors.copy("blk.1.time_mix_k_k.weight", "blk.1.time_mix_first.weight");
    expect_refused(&gguf_of(&folder, &model, &tensors, &[]), "have no use for: 'blk.1.time_mix_first.weight'");
}

#[test]
fn settings_of_arwkv7() {
    let folder = Folder::new("rwkv-arwkv7");
    expect_keys_refused(
        &folder,
        "arwkv7",
        &[
            ("arwkv7.token_shift_count", Value::U32(2), "arwkv7.token_shift_count: is 2: 1 is valid"),
            ("arwkv7.attention.gate_lora_rank", Value::U32(0), "time_mix_lerp_fused.weight' is [64, 1, 1, 6]"),
            ("arwkv7.wkv.head_size", Value::U32(0), "arwkv7.wkv.head_size: is 0"),
        ],
    );
    let model = model("rwkv7");
    let path = folder_of(&folder, &model, &model.spec.tensors(1, DType::F32), r#", "model_type": "arwkv7""#);
    expect_refused(&path, "model_type 'arwkv7': folders are not read: a GGUF file is valid");
}

#[test]
fn files_need_no_tensors_that_nothing_reads() {
    let (folder, model) = (Folder::new("rwkv-unused"), model("rwkv7"));
    let mut tensors = model.spec.tensors(2, DType::F32);
    tensors.all.retain(|name, _| !name.starts_with("blk.0.time_mix_v") || name == "blk.0.time_mix_value.weight");
    let path = gguf_of(&folder, &model, &tensors, &[("rwkv7.token_shift_count", Value::U32(2))]);
    expect_logits(&path, &model.spec, &tensors);
}

#[test]
fn settings_that_folders_leave_out() {
    let folder = Folder::new("rwkv-defaults");
    // Ranks that are null follow from the width, and neurons from a ratio.
    let null = r#", "head_dim": 16, "decay_low_rank_dim": null, "a_low_rank_dim": null, "v_low_rank_dim": null,
"gate_low_rank_dim": null, "intermediate_size": null, "hidden_ratio": 1.6"#;
    let (eps, usual) = (model("rwkv7").spec.eps, model("rwkv7").spec.rwkv.unwrap());
    let of =
        |decay, rate, value, gate, head: usize, head_eps| Rwkv { head, decay, rate, value, gate, head_eps, ..usual };
    expect(&folder, "rwkv7", null, |spec| Spec { rwkv: Some(of(32, 32, 32, 32, 16, 16.0 * eps)), ffn: 128, ..spec });
    // The published code's defaults.
    expect(&folder, "rwkv7", r#", "intermediate_size": 96"#, |spec| Spec {
        rwkv: Some(of(64, 64, 16, 128, 64, 64.0 * eps)),
        ..spec
    });
    let heads = r#", "head_dim": null, "num_heads": 2, "intermediate_size": 96"#;
    expect(&folder, "rwkv7", heads, |spec| Spec { rwkv: Some(of(64, 64, 16, 128, 32, 32.0 * eps)), ..spec });
}

#[test]
fn folders_of_other_versions() {
    let (folder, model) = (Folder::new("rwkv-versions"), model("rwkv7"));
    let tensors = model.spec.tensors(3, DType::F32);
    // A number of heads that another model had.
    let path = folder_of(&folder, &model, &tensors, r#", "num_heads": 32"#);
    assert!(open(&path).warnings()[0].contains("num_heads: is 32, and heads of 16 elements are 4, which counts"));
    expect_logits(&path, &model.spec, &tensors);
    // Norms without biases.
    let mut plain = tensors.clone();
    plain.all.retain(|name, _| !name.ends_with(".bias") || name.contains("time_mix"));
    let path = folder_of(&folder, &model, &plain, r#", "norm_bias": false"#);
    expect_logits(&path, &Spec { norm_biases: false, ..model.spec.clone() }, &plain);
    expect_refused(&folder_of(&folder, &model, &plain, ""), "pre_norm.bias' is missing, and config.json says");
    // The shares of all inputs in one tensor.
    let fused = Model { name: "rwkv7 with shares in one tensor", ..model.clone() };
    let path = folder_of(&folder, &fused, &tensors, "");
    expect_logits(&path, &model.spec, &tensors);
    // Without the norm of embeddings.
    let mut bare = tensors.clone();
    bare.all.retain(|name, _| !name.starts_with("token_embd_norm"));
    let path = folder_of(&folder, &model, &bare, r#", "norm_first": false"#);
    expect_logits(&path, &model.spec, &bare);
    expect_refused(&folder_of(&folder, &model, &bare, ""), "tensor 'model.layers.0.pre_norm.weight' is missing");
}

#[test]
fn folders_that_files_do_not_express() {
    let (folder, model) = (Folder::new("rwkv-unexpressed"), model("rwkv7"));
    let tensors = model.spec.tensors(3, DType::F32);
    let refusal = |further: &str| {
        let path = folder_of(&folder, &model, &tensors, further);
        std::fs::write(path.join("tokenizer.json"), byte_pairs_json(61)).unwrap();
        convert(&path, None, &folder.path("out.gguf")).unwrap_err().to_string()
    };
    let error = refusal(r#", "norm_eps": 1e-5"#);
    assert!(error.contains("recurrence.head_eps is 0.00016 in the folder and 0.00064 there"), "{error}");
    let error = refusal(r#", "norm_first": false"#);
    assert!(error.contains("embedding_norm is false in the folder and true there"), "{error}");
}

/// The lines of a vocabulary of all bytes and some words.
fn vocabulary_file() -> String {
    let byte = |byte: u8| match byte {
        b'\'' | b'\\' => format!("b'\\{}' 1", char::from(byte)),
        0x20..=0x7e => format!("'{}' 1", char::from(byte)),
        _ => format!("b'\\x{byte:02x}' 1"),
    };
    let words = ["'\\n\\n' 2", "'the' 3", "' the' 4", "'User' 4", "'caf\u{e9}' 5"].map(String::from);
    let all = (0..=255).map(byte).chain(words).enumerate();
    all.map(|(i, line)| format!("{} {line}\n", i + 1)).collect()
}

#[test]
fn the_vocabulary_of_a_folder_is_converted() {
    let folder = Folder::new("rwkv-vocabulary");
    let mut model = model("rwkv7");
    model.spec.vocabulary = 270;
    let tensors = model.spec.tensors(3, DType::F32);
    let path = folder_of(&folder, &model, &tensors, "");
    std::fs::remove_file(path.join("tokenizer.json")).unwrap();
    std::fs::write(path.join("rwkv_vocab_v20230424.txt"), vocabulary_file()).unwrap();
    let settings =
        r#"{"bos_token": "<|rwkv_tokenizer_end_of_text|>", "eos_token": "\n\n", "chat_template": "{{ eos_token }}"}"#;
    std::fs::write(path.join("tokenizer_config.json"), settings).unwrap();
    let out = folder.path("out.gguf");
    let conversion = convert(&path, None, &out).unwrap();
    assert_eq!(conversion.warnings(), [""; 0]);
    let file = Gguf::open(&out).unwrap();
    assert_eq!(file.string("tokenizer.ggml.model").unwrap(), "rwkv");
    let (ours, theirs) = (Tokenizer::from_hub(&path).unwrap(), Tokenizer::from_gguf(&file).unwrap());
    assert_eq!((ours.n_tokens(), theirs.n_tokens()), (262, 270));
    assert_eq!((theirs.bos(), theirs.eos()), (Some(0), Some(257)));
    for text in ["User: the caf\u{e9}\n\nthe", "'\\x", "\u{1f600}", "[PAD265]"] {
        let tokens = ours.encode(text, true, false).unwrap();
        assert_eq!(tokens, theirs.encode(text, true, false).unwrap());
        assert_eq!(theirs.decode(&tokens, true), text);
    }
    // A text may end an answer: templates get it as text.
    let chat = tensorlib_models::Chat::new(&theirs).unwrap();
    let prompt = chat.prompt(&theirs, &[tensorlib_models::Message::user("a")], &Default::default()).unwrap();
    assert_eq!(prompt.tokens, [257]);
    expect_logits(&out, &model.spec, &tensors);
}
