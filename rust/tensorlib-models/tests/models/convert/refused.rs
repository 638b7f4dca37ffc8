//! Folders that are not converted, and what is reported.

use super::convert;
use super::decoders::write_folder;
use crate::common::architectures::{all, Model};
use crate::common::encoder::Spec;
use crate::common::encoder_files::write_folder as write_encoder;
use crate::common::tiny::{byte_pairs_json, tokenizer_json};
use crate::common::Folder;
use tensorlib::DType;
use tensorlib_models::Conversion;

fn model(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

#[track_caller]
fn expect(error: Result<Conversion, tensorlib_models::Error>, words: &[&str]) {
    let error = error.unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
}

#[test]
fn half_a_folder() {
    let folder = Folder::new("convert-half");
    let model = model("qwen3");
    let tensors = model.spec.tensors(1, DType::F32);
    for (name, words) in [
        ("config.json", "config.json"),
        ("tokenizer.json", "tokenizer.json"),
        ("model.safetensors", "model.safetensors"),
    ] {
        let path = write_folder(&folder, &model, &tensors);
        std::fs::remove_file(path.join(name)).unwrap();
        expect(convert(&path, None, &folder.path("out.gguf")), &[words]);
        assert!(!folder.path("out.gguf").exists());
    }
    expect(convert(&folder.path("nowhere"), None, &folder.path("out.gguf")), &["nowhere"]);
    let path = write_folder(&folder, &model, &tensors);
    expect(
        convert(&path.join("config.json"), None, &folder.path("out.gguf")),
        &["is a file: a model's folder is valid"],
    );
    expect(convert(&path, Some(DType::I32), &folder.path("out.gguf")), &["matrices as i32: floats"]);
    // A tensor that is missing.
    let mut fewer = tensors.clone();
    fewer.all.remove("blk.1.ffn_up.weight");
    let path = write_folder(&folder, &model, &fewer);
    expect(convert(&path, None, &folder.path("out.gguf")), &["model.layers.1.mlp.up_proj.weight", "is missing"]);
}

#[test]
fn models_that_gguf_files_do_not_express() {
    let folder = Folder::new("convert-unknown");
    for (kind, spec, words) in [
        ("mpnet", Spec::mpnet(), "architecture 'mpnet' has no GGUF form that is known: bert, "),
        ("electra", Spec::electra(), "architecture 'electra' has no GGUF form"),
        ("nomic_bert", Spec::nomic_experts(), "experts, whose bias GGUF files lack"),
    ] {
        let path = folder.path(kind);
        write_encoder(&path, &spec, &spec.tensors(1, DType::F32), kind, "");
        std::fs::write(path.join("tokenizer.json"), byte_pairs_json(spec.vocabulary)).unwrap();
        expect(convert(&path, None, &folder.path("out.gguf")), &[words]);
    }
    let model = model("qwen2");
    let path = write_folder(&folder, &model, &model.spec.tensors(1, DType::F32));
    let config = std::fs::read_to_string(path.join("config.json")).unwrap();
    let windowed =
        config.replace(r#""use_sliding_window": false"#, r#""use_sliding_window": true, "max_window_layers": 1"#);
    std::fs::write(path.join("config.json"), windowed).unwrap();
    expect(convert(&path, None, &folder.path("out.gguf")), &["'qwen2' do not express this model", "window"]);
    std::fs::write(path.join("config.json"), config.replace('{', r#"{"unheard_of": 3, "#)).unwrap();
    let warnings = convert(&path, None, &folder.path("out.gguf")).unwrap().warnings();
    assert_eq!(warnings.iter().filter(|line| line.contains("unheard_of")).count(), 1, "{warnings:?}");
    std::fs::write(path.join("config.json"), config.replace('{', r#"{"clip_qkv": 8, "#)).unwrap();
    expect(convert(&path, None, &folder.path("out.gguf")), &["clip_qkv"]);
    std::fs::write(path.join("tokenizer.json"), tokenizer_json(61)).unwrap();
    std::fs::write(path.join("config.json"), config).unwrap();
    expect(convert(&path, None, &folder.path("out.gguf")), &["model: is WordLevel", "Unigram and WordPiece"]);
}
