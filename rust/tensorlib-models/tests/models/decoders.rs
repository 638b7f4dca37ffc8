//! Logits of each architecture, compared with a forward pass in double precision.

use crate::common::architectures::{all, Model};
use crate::common::decoder::Spec;
use crate::common::tiny::{tokenizer_json, Random, Tensors};
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::DType;
use tensorlib_models::{Decoder, DecoderOptions, ErrorKind};

/// More tokens than any window of the tiny models holds.
fn tokens() -> Vec<u32> {
    (0..41).map(|i| (i * i * 7 + 3) % 61).collect()
}

/// The model's files, of each kind that it has.
fn files(folder: &Folder, model: &Model, tensors: &Tensors) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if model.gguf.is_some() {
        let path = folder.path("model.gguf");
        tensors.write_gguf(&path, &model.metadata());
        paths.push(path);
    }
    if let Some((kind, _)) = model.hub {
        let path = folder.path("hub");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("config.json"), model.config()).unwrap();
        std::fs::write(path.join("tokenizer.json"), tokenizer_json(model.spec.vocabulary)).unwrap();
        let mut tensors = tensors.clone();
        if kind == "gemma3" {
            let name = "vision_tower.vision_model.embeddings.position_embedding.weight";
            tensors.add(&mut Random(1), name, &[8, 3], 0.0, 1.0, DType::F32);
        }
        model.write_safetensors(&path.join("model.safetensors"), &tensors);
        paths.push(path);
    }
    paths
}

#[test]
fn logits_are_those_of_double_precision() {
    let device = backend();
    let on_cpu = device.device() == "cpu";
    for (i, model) in all().iter().enumerate() {
        // A simulated GPU takes a hundred times as long.
        let types = if on_cpu { &[DType::F32, DType::F16, DType::BF16][..] } else { &[DType::F16] };
        let tokens = &tokens()[..if on_cpu { 41 } else { 12 }];
        for dtype in types {
            let folder = Folder::new(&format!("logits-{i}-{dtype}"));
            let tensors = model.spec.tensors(i as u64, *dtype);
            let want: Vec<f64> = model.spec.logits(&tensors, tokens).concat();
            for path in files(&folder, model, &tensors) {
                let decoder = Decoder::open(&path, &device, &DecoderOptions::new().exact(true))
                    .unwrap_or_else(|e| panic!("{}: {e}", model.name));
                let at_once = decoder.session(DType::F32).unwrap().feed_all(tokens).unwrap();
                let worst = error(&at_once, &want);
                assert!(worst < 1e-4, "{} {dtype} {}: {worst:e}", model.name, path.display());
                let mut session = decoder.session(DType::F32).unwrap();
                let by_one: Vec<f32> = tokens.iter().flat_map(|token| session.feed(&[*token]).unwrap()).collect();
                let worst = error(&by_one, &want);
                assert!(worst < 1e-4, "{} {dtype} token by token: {worst:e}", model.name);
            }
        }
    }
}

/// A GGUF file of the architecture with this name.
fn file(folder: &Folder, name: &str, dtype: DType) -> (PathBuf, Spec, Tensors) {
    let model = all().into_iter().find(|model| model.name == name).unwrap();
    let tensors = model.spec.tensors(11, dtype);
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    (path, model.spec, tensors)
}

fn open(path: &Path, options: &DecoderOptions) -> Decoder {
    Decoder::open(path, &backend(), options).unwrap()
}

#[test]
fn exact_products_of_any_weights() {
    for dtype in [DType::Q8_0, DType::Q4_0, DType::Q5_1, DType::IQ4_NL, DType::MXFP4] {
        let folder = Folder::new(&format!("exact-{dtype}"));
        for name in ["llama", "qwen3moe", "gpt-oss"] {
            let (path, spec, tensors) = file(&folder, name, dtype);
            let want = spec.logits(&tensors, &tokens()).concat();
            let decoder = open(&path, &DecoderOptions::new().exact(true));
            let worst = error(&decoder.session(DType::F32).unwrap().feed_all(&tokens()).unwrap(), &want);
            assert!(worst < 1e-4, "{name} {dtype}: {worst:e}");
        }
    }
}

#[test]
fn products_that_round_and_small_caches_stay_near() {
    // Errors of rounding: quantised products round columns by half a step of 1/127 of the largest of 32, about 0.5 % of
    // an element; a logit is a sum of many such errors of either sign. Caches: F16 by 2^-12 of an element, Q8_0 as
    // quantised products.
    let bounds = [
        (DType::BF16, DType::F32, 1e-4),
        (DType::Q8_0, DType::F32, 6e-2),
        (DType::Q4_0, DType::F32, 6e-2),
        (DType::F32, DType::F16, 2e-3),
        (DType::F32, DType::Q8_0, 6e-2),
    ];
    for (dtype, cache, bound) in bounds {
        let folder = Folder::new(&format!("round-{dtype}-{cache}"));
        // Rounding may choose other experts, so models with experts have no such bound.
        for name in ["llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"] {
            if cache == DType::Q8_0 && name != "qwen3" {
                continue; // heads of 16 elements are not a whole block
            }
            let (path, spec, tensors) = file(&folder, name, dtype);
            let want = spec.logits(&tensors, &tokens()).concat();
            let decoder = open(&path, &DecoderOptions::new());
            let worst = error(&decoder.session(cache).unwrap().feed_all(&tokens()).unwrap(), &want);
            assert!(worst < bound, "{name} {dtype}, cache {cache}: {worst:e}");
            let mut session = decoder.session(cache).unwrap();
            let by_one: Vec<f32> = tokens().iter().flat_map(|token| session.feed(&[*token]).unwrap()).collect();
            let worst = error(&by_one, &want);
            assert!(worst < bound, "{name} {dtype}, cache {cache}, token by token: {worst:e}");
        }
    }
}

#[test]
fn a_long_prompt_goes_in_by_parts() {
    let folder = Folder::new("long");
    let (path, spec, tensors) = file(&folder, "gemma2", DType::F32);
    let tokens: Vec<u32> = (0..700).map(|i| (i * i * 7 + i + 3) % 61).collect();
    let want = spec.logits(&tensors, &tokens);
    let decoder = open(&path, &DecoderOptions::new().context(700));
    let mut session = decoder.session(DType::F32).unwrap();
    let worst = error(&session.feed(&tokens).unwrap(), &want[699]);
    assert!(worst < 1e-4, "{worst:e}");
    // Truncated tokens are no longer seen.
    assert_eq!((session.rewind(130), session.rewind(131), session.position()), (130, 130, 130));
    assert_eq!(session.tokens(), &tokens[..130]);
    let worst = error(&session.feed_all(&tokens[130..400]).unwrap(), &want[130..400].concat());
    assert!(worst < 1e-4, "{worst:e}");
}

#[test]
fn weights_may_be_converted_when_they_are_loaded() {
    let folder = Folder::new("converted");
    let (path, spec, tensors) = file(&folder, "llama", DType::F32);
    let want = spec.logits(&tensors, &tokens()).concat();
    let decoder = open(&path, &DecoderOptions::new().stored_as(DType::Q8_0).exact(true));
    let worst = error(&decoder.session(DType::F32).unwrap().feed_all(&tokens()).unwrap(), &want);
    // Now the weights are off by half a step.
    assert!(worst > 1e-4 && worst < 3e-2, "{worst:e}");
}

#[test]
fn settings_of_two_levels_that_contradict_each_other() {
    let folder = Folder::new("nested");
    let model = all().into_iter().find(|model| model.name == "gemma3 with pictures").unwrap();
    let path = files(&folder, &model, &model.spec.tensors(1, DType::F16)).remove(0);
    let open = |from: &str, to: &str| {
        std::fs::write(path.join("config.json"), model.config().replacen(from, to, 1)).unwrap();
        Decoder::open(&path, &backend(), &DecoderOptions::new()).map(|decoder| decoder.context())
    };
    let refused = |from: &str, to: &str| open(from, to).unwrap_err().to_string();
    let top = r#""mm_tokens_per_image": 256"#;
    // A setting at both levels: equal values are accepted, different ones refused.
    assert_eq!(open(top, r#""hidden_size": 64.0, "max_position_embeddings": 300"#).unwrap(), 300);
    let error = refused(top, r#""hidden_size": 65"#);
    assert!(error.contains("hidden_size: is 65, and in text_config 64: one value is valid"), "{error}");
    let error = refused(r#""model_type": "gemma3_text""#, r#""model_type": "llama""#);
    assert!(
        error.contains("text_config.model_type: is 'llama' in one that is 'gemma3': gemma3, gemma3_text"),
        "{error}"
    );
    let error = refused(r#""num_hidden_layers": 6"#, r#""num_hidden_layers": null"#);
    assert!(error.contains("num_hidden_layers: is missing: a whole number is expected"), "{error}");
    let error = refused(r#""num_hidden_layers": 6"#, r#""num_hidden_layers": 7"#);
    assert!(error.contains("tensor 'language_model.model.layers.6.self_attn.q_proj.weight' is missing"), "{error}");
    let error = refused(r#""text_config": {"#, r#""text_config": [], "other": {"#);
    assert!(error.contains("num_hidden_layers: is missing"), "{error}");
}

#[test]
fn rotations_by_kinds_of_layers_are_for_those_that_have_them() {
    let mut model = all().into_iter().find(|model| model.name == "llama of a folder").unwrap();
    model.hub =
        Some(("llama", r#", "rope_parameters": {"full_attention": {"rope_theta": 1e6, "rope_type": "default"}}"#));
    let (folder, tensors) = (Folder::new("kinds"), model.spec.tensors(1, DType::F32));
    let path = files(&folder, &model, &tensors).remove(0);
    let error = Decoder::open(&path, &backend(), &DecoderOptions::new()).err().unwrap();
    assert!(error.to_string().contains("rope_parameters: is given by kinds of layers"), "{error}");
}

#[test]
fn a_token_costs_what_the_tensors_have() {
    for (name, experts, tied, windowed) in
        [("llama", 1.0, false, 0.0), ("gemma2", 1.0, true, 2.0), ("llama with experts", 2.0 / 5.0, false, 0.0)]
    {
        let model = all().into_iter().find(|model| model.name == name).unwrap();
        let (folder, tensors) = (Folder::new("cost"), model.spec.tensors(1, DType::F16));
        let path = files(&folder, &model, &tensors).remove(0);
        let decoder = open(&path, &DecoderOptions::new());
        let (mut bytes, mut products, mut logits) = (0.0, 0.0, 0.0);
        for (name, tensor) in tensors.all.iter().filter(|(name, _)| tied || *name != "token_embd.weight") {
            let share = if name.ends_with("_exps.weight") { experts } else { 1.0 };
            bytes += share * tensor.bytes.len() as f64;
            if tensor.shape.len() > 1 {
                products += share * 2.0 * tensor.shape.iter().product::<i64>() as f64;
            }
            if name == "output.weight" || name == "token_embd.weight" {
                logits = 2.0 * tensor.shape.iter().product::<i64>() as f64;
            }
        }
        let cost = decoder.cost();
        assert_eq!((cost.weight_bytes, cost.operations), (bytes, products), "{name}");
        assert_eq!(cost.operations_inside, products - logits, "{name}");
        // Two heads of 16 elements of keys and values in each of three layers; windows have 7.
        let element = 2.0 * 2.0 * 2.0 * 16.0;
        assert_eq!(cost.cache_bytes(20, DType::F16), element * ((3.0 - windowed) * 20.0 + windowed * 7.0), "{name}");
        assert_eq!(cost.cache_bytes(5, DType::Q8_0), element / 2.0 * 34.0 / 32.0 * 15.0, "{name}");
    }
}

#[test]
fn bad_tokens_and_full_contexts() {
    let folder = Folder::new("tokens");
    let (path, _, _) = file(&folder, "llama", DType::F32);
    let decoder = open(&path, &DecoderOptions::new().context(10));
    assert_eq!((decoder.context(), decoder.vocabulary()), (10, 61));
    assert_eq!(open(&path, &DecoderOptions::new()).context(), 256);
    let mut session = decoder.session(DType::F16).unwrap();
    let refused = |e: tensorlib_models::Error| (e.kind(), e.to_string());
    assert_eq!(
        refused(session.feed(&[]).unwrap_err()),
        (ErrorKind::Invalid, "no tokens: at least one is valid".into())
    );
    assert_eq!(
        refused(session.feed(&[1, 61]).unwrap_err()),
        (ErrorKind::Invalid, "token 61: 0 to 60 are valid".into())
    );
    assert_eq!(session.position(), 0);
    session.feed(&[1; 8]).unwrap();
    let full = session.feed(&[1; 3]).unwrap_err();
    assert_eq!(full.to_string(), "3 tokens after 8: the context has room for 10");
    assert_eq!(session.position(), 8);
    session.feed(&[1; 2]).unwrap();
    // Heads of 16 elements are not a whole block.
    let refused = decoder.session(DType::Q8_0).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("multiples of 32 are valid"), "{refused}");
}

/// Keys of a small Llama's file with values that it refuses, and words of the error.
fn refused_values() -> Vec<(&'static str, tensorlib::Value, &'static str)> {
    vec![
        (
            "general.architecture",
            "no such".into(),
            "architecture 'no such' is no decoder that is known: llama, mistral",
        ),
        ("llama.block_count", 4u32.into(), "tensor 'blk.3."),
        ("llama.block_count", 0u32.into(), "llama.block_count: is 0: a whole number from 1 to 1048576 is valid"),
        ("llama.block_count", (-1i32).into(), "llama.block_count: is -1"),
        ("llama.block_count", u64::MAX.into(), "llama.block_count: is 18446744073709551615"),
        ("llama.block_count", "three".into(), "llama.block_count: is \"three\""),
        ("llama.embedding_length", 128u32.into(), "tensor 'token_embd.weight' is [64, 61]: [128, tokens] is expected"),
        (
            "llama.attention.head_count_kv",
            3u32.into(),
            "llama.attention.head_count_kv: is 3: a divisor of the 4 heads is valid",
        ),
        (
            "llama.attention.head_count",
            8u32.into(),
            "tensor 'blk.0.attn_q.weight' is [64, 64] f32: [64, 128] is expected",
        ),
        (
            "llama.feed_forward_length",
            95u32.into(),
            "tensor 'blk.0.ffn_gate.weight' is [64, 96] f32: [64, 95] is expected",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::NAN.into(),
            "llama.attention.layer_norm_rms_epsilon: is \"NaN\"",
        ),
        ("llama.rope.dimension_count", 18u32.into(), "llama.rope.dimension_count: 18 of a head's 16 elements turn"),
        ("llama.rope.scaling.type", "curved".into(), "is 'curved': none, linear, yarn, llama3 and longrope are known"),
        ("llama.expert_count", 5u32.into(), "llama.expert_used_count: is missing"),
    ]
}

#[test]
fn files_that_are_no_such_models() {
    let folder = Folder::new("bad");
    let path = folder.path("bad.gguf");
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let tensors = model.spec.tensors(1, DType::F32);
    let refused = |metadata: Vec<(String, tensorlib::Value)>, tensors: &Tensors| {
        tensors.write_gguf(&path, &metadata);
        Decoder::open(&path, &backend(), &DecoderOptions::new()).err().unwrap()
    };
    for (key, value, words) in refused_values() {
        let mut metadata = model.metadata();
        metadata.retain(|(k, _)| k != key);
        metadata.push((key.into(), value));
        let error = refused(metadata, &tensors);
        assert!(error.to_string().contains(words), "{error}");
    }
    for name in ["token_embd.weight", "output_norm.weight", "blk.1.ffn_down.weight", "blk.2.attn_norm.weight"] {
        let mut less = tensors.clone();
        less.all.remove(name);
        let error = refused(model.metadata(), &less);
        assert!(error.to_string().contains(&format!("tensor '{name}' is missing")), "{error}");
        assert_eq!(error.kind(), ErrorKind::Format);
    }
    tensors.write_gguf(&path, &model.metadata());
    let whole = std::fs::read(&path).unwrap();
    for n in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..n]).unwrap();
        let error = Decoder::open(&path, &backend(), &DecoderOptions::new()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Format, "{n} bytes: {error}");
    }
}
