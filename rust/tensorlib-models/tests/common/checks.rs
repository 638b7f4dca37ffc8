//! Files of tiny models with further settings, and what they give.

use super::architectures::{all, Model};
use super::decoder::Spec;
use super::tiny::{tokenizer_json, Tensors};
use super::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions};

pub const TOKENS: [u32; 12] = [3, 10, 31, 5, 54, 56, 11, 41, 23, 18, 27, 1];

pub fn model(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

/// A folder of the model with further settings at the end: of two with one name the second counts.
pub fn folder_of(folder: &Folder, model: &Model, tensors: &Tensors, further: &str) -> PathBuf {
    let path = folder.path("hub");
    std::fs::create_dir_all(&path).unwrap();
    let config = model.config();
    let config = config.trim_end().strip_suffix('}').unwrap();
    std::fs::write(path.join("config.json"), format!("{config}{further}}}")).unwrap();
    std::fs::write(path.join("tokenizer.json"), tokenizer_json(model.spec.vocabulary)).unwrap();
    model.write_safetensors(&path.join("model.safetensors"), tensors);
    path
}

pub fn gguf_of(folder: &Folder, model: &Model, tensors: &Tensors, further: &[(&str, Value)]) -> PathBuf {
    let (path, mut metadata) = (folder.path("model.gguf"), model.metadata());
    for (key, value) in further {
        metadata.retain(|(known, _)| known != key);
        metadata.push((key.to_string(), value.clone()));
    }
    tensors.write_gguf(&path, &metadata);
    path
}

pub fn open(path: &Path) -> Decoder {
    Decoder::open(path, &backend(), &DecoderOptions::new().exact(true)).unwrap_or_else(|e| panic!("{e}"))
}

pub fn refused(path: &Path) -> String {
    Decoder::open(path, &backend(), &DecoderOptions::new()).expect_err("an error").to_string()
}

#[track_caller]
pub fn expect_logits(path: &Path, spec: &Spec, tensors: &Tensors) {
    let got = open(path).session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
    let off = error(&got, &spec.logits(tensors, &TOKENS).concat());
    assert!(off < 1e-4, "{off:e}");
}
