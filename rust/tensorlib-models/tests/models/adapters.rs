//! Models with adapters (LoRA), compared with double precision where the additions are merged into the matrices.

use crate::common::architectures::{all, Model};
use crate::common::tiny::{tokenizer_json, Random, Tensors};
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions, ErrorKind};

const TOKENS: [u32; 12] = [3, 10, 31, 5, 54, 56, 11, 41, 23, 18, 27, 1];
pub const RANK: i64 = 3;
pub const ALPHA: f64 = 6.0;

fn model(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

/// An adapter with additions to these matrices of a model.
pub fn adapter(tensors: &Tensors, matrices: &[&str], seed: u64) -> Tensors {
    let (mut made, mut random) = (Tensors::default(), Random(seed));
    for name in matrices {
        let shape = &tensors.all[*name].shape;
        let with = |columns, rows| [&[columns, rows], &shape[2..]].concat();
        made.add(&mut random, &format!("{name}.lora_a"), &with(shape[0], RANK), 0.0, 0.2, DType::F32);
        made.add(&mut random, &format!("{name}.lora_b"), &with(RANK, shape[1]), 0.0, 0.2, DType::F32);
    }
    made
}

fn metadata(architecture: &str) -> Vec<(String, Value)> {
    vec![
        ("general.type".into(), "adapter".into()),
        ("general.architecture".into(), architecture.into()),
        ("adapter.type".into(), "lora".into()),
        ("adapter.lora.alpha".into(), Value::F32(ALPHA as f32)),
    ]
}

/// The files of a model, of the kind that it has or that is asked for.
fn model_files(folder: &Folder, model: &Model, tensors: &Tensors) -> PathBuf {
    if model.gguf.is_some() {
        let path = folder.path("model.gguf");
        tensors.write_gguf(&path, &model.metadata());
        return path;
    }
    let path = folder.path("hub");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("config.json"), model.config()).unwrap();
    std::fs::write(path.join("tokenizer.json"), tokenizer_json(model.spec.vocabulary)).unwrap();
    tensors.write_safetensors(&path.join("model.safetensors"), |name, expert| model.hub_name(name, expert), |_| false);
    path
}

pub fn adapter_files(folder: &Folder, model: &Model, adapter: &Tensors, config: &str) -> PathBuf {
    if let Some((architecture, _)) = &model.gguf {
        let path = folder.path("adapter.gguf");
        adapter.write_gguf(&path, &metadata(architecture));
        return path;
    }
    let path = folder.path("adapter");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("adapter_config.json"), config).unwrap();
    let name_of = |name: &str, expert| {
        let (matrix, part) = name.rsplit_once(".lora_").unwrap();
        let module = model.hub_name(matrix, expert);
        format!("base_model.model.{}.lora_{}.weight", module.strip_suffix(".weight").unwrap(), part.to_uppercase())
    };
    adapter.write_safetensors(&path.join("adapter_model.safetensors"), name_of, |_| false);
    path
}

fn peft(more: &str) -> String {
    format!(
        r#"{{"peft_type": "LORA", "r": {RANK}, "lora_alpha": {ALPHA}, "use_dora": false, "alpha_pattern": {{}}{more}}}"#
    )
}

fn logits(path: &Path, options: &DecoderOptions) -> Vec<f32> {
    let decoder = Decoder::open(path, &backend(), options).unwrap_or_else(|e| panic!("{e}"));
    decoder.session(DType::F32).unwrap().feed_all(&TOKENS).unwrap()
}

#[test]
fn logits_are_those_of_matrices_merged_in_double_precision() {
    let dense = [
        "blk.0.attn_q.weight",
        "blk.0.attn_v.weight",
        "blk.1.attn_output.weight",
        "blk.2.ffn_down.weight",
        "output.weight",
    ];
    let fused = ["blk.0.attn_qkv.weight", "blk.1.ffn_up.weight"];
    let experts =
        ["blk.0.attn_k.weight", "blk.0.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight", "blk.2.ffn_down_exps.weight"];
    let table: [(&str, &[&str], &str, f64); 6] = [
        ("llama", &dense, "", ALPHA / RANK as f64),
        ("llama of a folder", &dense, "", ALPHA / RANK as f64),
        ("llama of a folder", &dense, r#", "use_rslora": true"#, ALPHA / (RANK as f64).sqrt()),
        ("qwen2", &dense[..2], "", ALPHA / RANK as f64),
        ("phi3", &fused, "", ALPHA / RANK as f64),
        ("llama with experts", &experts, "", ALPHA / RANK as f64),
    ];
    for (i, (name, matrices, config, scale)) in table.into_iter().enumerate() {
        let (folder, model) = (Folder::new(&format!("lora-{i}")), model(name));
        let plain = model.spec.tensors(5, DType::F16);
        let adapter = adapter(&plain, matrices, 9);
        let path = model_files(&folder, &model, &plain);
        let files = adapter_files(&folder, &model, &adapter, &peft(config));
        let want = |asked: f64| {
            let mut merged = plain.clone();
            matrices.iter().for_each(|name| merged.merge(name, &adapter, asked * scale));
            model.spec.logits(&merged, &TOKENS).concat()
        };
        let exact = DecoderOptions::new().exact(true);
        let without = logits(&path, &exact);
        assert!(error(&without, &want(0.0)) < 1e-4, "{name}");
        assert!(error(&without, &want(1.0)) > 1e-2, "{name}: the adapter is not seen");
        let worst = error(&logits(&path, &exact.clone().adapter(&files, 1.0)), &want(1.0));
        assert!(worst < 1e-4, "{name}: {worst:e}");
        // Two adapters add up, each with its own scale.
        let worst = error(&logits(&path, &exact.adapter(&files, 1.5).adapter(&files, -0.75)), &want(0.75));
        assert!(worst < 1e-4, "{name}, two: {worst:e}");
    }
}

#[test]
fn adapters_add_to_transposed_down_projections() {
    let matrices = ["blk.0.ffn_gate.weight", "blk.1.ffn_up.weight", "blk.1.ffn_down.weight", "blk.2.ffn_down.weight"];
    for name in ["llama", "llama with relu"] {
        let (folder, model) = (Folder::new("lora-transposed"), model(name));
        let plain = model.spec.tensors(5, DType::F16);
        let adapter = adapter(&plain, &matrices, 9);
        let path = model_files(&folder, &model, &plain.with_transposed_downs(DType::F16));
        let how = DecoderOptions::new().adapter(adapter_files(&folder, &model, &adapter, ""), 1.0);
        let mut merged = plain.clone();
        matrices.iter().for_each(|name| merged.merge(name, &adapter, ALPHA / RANK as f64));
        let want = model.spec.logits(&merged, &TOKENS).concat();
        let worst = error(&logits(&path, &how), &want);
        assert!(worst < 1e-4, "{name}: {worst:e}");
        let decoder = Decoder::open(&path, &backend(), &how).unwrap();
        let mut session = decoder.session(DType::F32).unwrap();
        let one_by_one: Vec<f32> = TOKENS.iter().flat_map(|token| session.feed(&[*token]).unwrap()).collect();
        let worst = error(&one_by_one, &want);
        assert!(worst < 1e-4, "{name}, one by one: {worst:e}");
    }
}

#[test]
fn the_file_alone_stands_for_its_folder_and_alpha_0_for_none() {
    let (folder, model) = (Folder::new("lora-file"), model("llama of a folder"));
    let plain = model.spec.tensors(5, DType::F32);
    let adapter = adapter(&plain, &["blk.1.ffn_gate.weight"], 9);
    let path = model_files(&folder, &model, &plain);
    let files = adapter_files(&folder, &model, &adapter, &peft("").replace("\"lora_alpha\": 6", "\"lora_alpha\": 0"));
    let mut merged = plain.clone();
    merged.merge("blk.1.ffn_gate.weight", &adapter, 1.0);
    let want = model.spec.logits(&merged, &TOKENS).concat();
    let options = DecoderOptions::new().exact(true).adapter(files.join("adapter_model.safetensors"), 1.0);
    assert!(error(&logits(&path, &options), &want) < 1e-4);
}

#[test]
fn weights_with_blocks_take_adapters() {
    let (folder, model) = (Folder::new("lora-blocks"), model("llama"));
    let plain = model.spec.tensors(5, DType::Q8_0);
    let adapter = adapter(&plain, &["blk.1.ffn_gate.weight"], 9);
    let (path, files) = (model_files(&folder, &model, &plain), adapter_files(&folder, &model, &adapter, ""));
    let mut merged = plain.clone();
    merged.merge("blk.1.ffn_gate.weight", &adapter, ALPHA / RANK as f64);
    let want = model.spec.logits(&merged, &TOKENS).concat();
    assert!(error(&logits(&path, &DecoderOptions::new().exact(true).adapter(&files, 1.0)), &want) < 1e-4);
    assert!(error(&logits(&path, &DecoderOptions::new().adapter(&files, 1.0)), &want) < 6e-2);
}

/// A small Llama in a file, and an adapter for it.
struct Adapted {
    folder: Folder,
    plain: Tensors,
    path: PathBuf,
    good: Tensors,
    /// Where a test writes an adapter.
    file: PathBuf,
}

impl Adapted {
    fn new(name: &str) -> Self {
        let (folder, gguf) = (Folder::new(name), model("llama"));
        let plain = gguf.spec.tensors(5, DType::F32);
        let path = model_files(&folder, &gguf, &plain);
        let good = adapter(&plain, &["blk.0.attn_q.weight"], 9);
        let file = folder.path("adapter.gguf");
        Self { folder, plain, path, good, file }
    }
}

fn refused(model: &Path, adapter: &Path) -> tensorlib_models::Error {
    Decoder::open(model, &backend(), &DecoderOptions::new().adapter(adapter, 1.0)).err().unwrap()
}

#[test]
fn keys_that_are_no_adapters() {
    let Adapted { path, good, file, folder: _folder, .. } = Adapted::new("lora-keys");
    let with = |key: &str, value: Option<Value>| {
        let mut all = metadata("llama");
        all.retain(|(k, _)| k != key);
        all.extend(value.map(|value| (key.into(), value)));
        all
    };
    let table = [
        (with("general.type", None), "general.type"),
        (with("general.type", Some("model".into())), "general.type is 'model': 'adapter' is valid"),
        (with("general.architecture", Some("qwen2".into())), "general.architecture is 'qwen2': 'llama' is valid"),
        (with("adapter.type", Some("other".into())), "adapter.type is 'other': 'lora' is valid"),
        (with("adapter.lora.alpha", None), "adapter.lora.alpha"),
        (with("adapter.lora.alpha", Some(Value::F32(f32::NAN))), "adapter.lora.alpha is NaN: a finite number is valid"),
    ];
    for (metadata, words) in table {
        good.write_gguf(&file, &metadata);
        let error = refused(&path, &file);
        assert!(error.to_string().contains(words) && error.to_string().contains("adapter.gguf"), "{error}");
    }
}

#[test]
fn tensors_that_fit_no_matrix_of_the_model() {
    let Adapted { path, good, file, folder: _folder, .. } = Adapted::new("lora-tensors");
    let mut random = Random(1);
    let mut with_tensor = |less: &str, name: &str, shape: &[i64], words: &str| {
        let mut tensors = good.clone();
        tensors.all.remove(less);
        if !name.is_empty() {
            tensors.add(&mut random, name, shape, 0.0, 1.0, DType::F32);
        }
        tensors.write_gguf(&file, &metadata("llama"));
        let error = refused(&path, &file);
        assert!(error.to_string().contains(words) && error.kind() == ErrorKind::Format, "{error}");
    };
    let (a, b) = ("blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b");
    with_tensor(b, "", &[], "tensor 'blk.0.attn_q.weight.lora_b' is missing: [3, 64] is expected");
    with_tensor(a, "", &[], "tensor 'blk.0.attn_q.weight.lora_b' fits no matrix of the model");
    with_tensor(a, a, &[63, 3], "tensor 'blk.0.attn_q.weight.lora_a' is [63, 3] f32: [64, 3] is expected");
    with_tensor(b, b, &[4, 64], "tensor 'blk.0.attn_q.weight.lora_b' is [4, 64] f32: [3, 64] is expected");
    with_tensor("", "blk.9.attn_q.weight.lora_a", &[64, 3], "tensor 'blk.9.attn_q.weight.lora_a' fits no matrix");
    with_tensor("", "token_embd.weight.lora_a", &[61, 3], "tensor 'token_embd.weight.lora_a' fits no matrix");
}

#[test]
fn files_that_are_no_adapters_of_the_model() {
    let Adapted { folder, plain, path, good, file } = Adapted::new("lora-bad");
    assert!(refused(&path, &folder.path("none.gguf")).to_string().contains("none.gguf"));
    std::fs::write(&file, "no adapter").unwrap();
    assert_eq!(refused(&path, &file).kind(), ErrorKind::Format);
    let options = DecoderOptions::new().adapter(&file, f64::INFINITY);
    let error = Decoder::open(&path, &backend(), &options).err().unwrap();
    assert!(error.to_string().contains("a scale of inf: a finite number is valid"), "{error}");

    let hub = model("llama of a folder");
    let hub_path = model_files(&folder, &hub, &plain);
    for (more, words) in [
        (r#", "use_dora": true"#, "use_dora: is true: false is supported"),
        (r#", "fan_in_fan_out": true"#, "fan_in_fan_out: is true: false is supported"),
        (r#", "alpha_pattern": {"q_proj": 4}"#, "alpha_pattern: is {\"q_proj\":4}: {} is supported"),
        (r#", "peft_type": "LOHA""#, "LOHA"),
        (r#", "lora_alpha": "much""#, "lora_alpha is missing: a number is expected"),
    ] {
        let files = adapter_files(&folder, &hub, &good, &peft(more));
        let error = refused(&hub_path, &files);
        assert!(error.to_string().contains(words) && error.to_string().contains("adapter_config.json"), "{error}");
    }
    // An adapter of one kind does not fit the other kind of model.
    let files = adapter_files(&folder, &hub, &good, &peft(""));
    assert!(refused(&path, &files).to_string().contains("the adapter is safetensors, the model GGUF"));
    good.write_gguf(&file, &metadata("llama"));
    assert!(refused(&hub_path, &file).to_string().contains("the adapter is GGUF, the model a folder"));
}
