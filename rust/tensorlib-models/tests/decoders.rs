//! Logits of each architecture beside those of a forward pass in double precision.

mod common;

use common::architectures::{all, Model};
use common::tiny::{tokenizer_json, Tensors};
use common::{error, Folder};
use std::path::PathBuf;
use tensorlib::{Backend, DType};
use tensorlib_models::{Decoder, DecoderOptions};

/// Tokens behind every window of the tiny models.
fn tokens() -> Vec<u32> {
    (0..41).map(|i| (i * i * 7 + 3) % 61).collect()
}

/// The model's files: of each kind that it has.
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
        let less_one = |name: &str| kind.starts_with("gemma") && name.ends_with("norm.weight");
        tensors.write_safetensors(
            &path.join("model.safetensors"),
            |name, expert| model.hub_name(name, expert),
            less_one,
        );
        paths.push(path);
    }
    paths
}

#[test]
fn logits_are_those_of_double_precision() {
    let cpu = Backend::cpu().unwrap();
    for (i, model) in all().iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let folder = Folder::new(&format!("logits-{i}-{dtype}"));
            let tensors = model.spec.tensors(i as u64, dtype);
            let want: Vec<f64> = model.spec.logits(&tensors, &tokens()).concat();
            for path in files(&folder, model, &tensors) {
                let decoder = Decoder::open(&path, &cpu, &DecoderOptions::new().exact(true))
                    .unwrap_or_else(|e| panic!("{}: {e}", model.name));
                let at_once = decoder.session(DType::F32).unwrap().feed_all(&tokens()).unwrap();
                let worst = error(&at_once, &want);
                assert!(worst < 1e-4, "{} {dtype} {}: {worst:e}", model.name, path.display());
                let mut session = decoder.session(DType::F32).unwrap();
                let by_one: Vec<f32> = tokens().iter().flat_map(|token| session.feed(&[*token]).unwrap()).collect();
                let worst = error(&by_one, &want);
                assert!(worst < 1e-4, "{} {dtype} token by token: {worst:e}", model.name);
            }
        }
    }
}
