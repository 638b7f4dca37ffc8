//! Encoders: the same vectors as the folder's, and the same keys and tensors as in files that are written by hand.

use super::convert;
use crate::common::encoder::Spec;
use crate::common::encoder_files::{metadata, write_folder};
use crate::common::tiny::byte_pairs_json;
use crate::common::Folder;
use std::path::Path;
use tensorlib::{Backend, DType, Gguf};
use tensorlib_models::{Encoder, EncoderOptions};

fn kinds() -> Vec<(&'static str, Spec)> {
    vec![
        ("bert", Spec::new()),
        ("xlm-roberta", Spec { first_position: 2, types: 1, ..Spec::new() }),
        ("nomic_bert", Spec::nomic()),
        ("modernbert", Spec::modernbert()),
        ("distilbert", Spec::distilbert()),
        ("gemma3_text", Spec::gemma()),
        ("bert", Spec::jina()),
        ("bert", Spec::jina_code()),
        ("xlm-roberta", Spec::jina3()),
        ("t5", Spec::t5()),
        ("mt5", Spec::t5_gated()),
    ]
}

fn prefix(kind: &str) -> &'static str {
    match kind {
        "xlm-roberta" => "roberta.",
        "modernbert" => "model.",
        "distilbert" => "distilbert.",
        _ => "",
    }
}

fn vectors(path: &Path, spec: &Spec) -> Vec<Vec<f32>> {
    let encoder = Encoder::open(path, &Backend::cpu().unwrap(), &EncoderOptions::new().exact(true)).unwrap();
    let longest = spec.positions - spec.first_position;
    let line = |n: usize| -> Vec<u32> { (0..n).map(|j| ((j * j * 5 + n) % spec.vocabulary) as u32).collect() };
    let lines: Vec<Vec<u32>> = [3, 1, 7, longest].into_iter().map(line).collect();
    encoder.embed_tokens(&lines, |_| true).unwrap()
}

fn folder_of(folder: &Folder, kind: &str, spec: &Spec, dtype: DType) -> std::path::PathBuf {
    let path = folder.path("hub");
    write_folder(&path, spec, &spec.tensors(3, dtype), kind, prefix(kind));
    std::fs::write(path.join("tokenizer.json"), byte_pairs_json(spec.vocabulary)).unwrap();
    path
}

#[test]
fn vectors_are_the_folders() {
    let mut failures = Vec::new();
    for (i, (kind, spec)) in kinds().into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16] {
            let folder = Folder::new(&format!("convert-encoder-{i}-{dtype}"));
            let (path, out) = (folder_of(&folder, kind, &spec, dtype), folder.path("model.gguf"));
            match convert(&path, None, &out) {
                Err(e) => failures.push(format!("{kind} {dtype}: {e}")),
                Ok(_) if vectors(&path, &spec) != vectors(&out, &spec) => failures.push(format!("{kind} {dtype}")),
                Ok(_) => {}
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn keys_and_tensors_are_those_of_files_written_by_hand() {
    let mut failures = Vec::new();
    // Files that are written by hand have all rows of positions.
    let is_other = |kind: &str, spec: &Spec| spec.first_position > 0 || kind == "distilbert";
    for (i, (kind, spec)) in kinds().into_iter().enumerate().filter(|(_, (kind, spec))| !is_other(kind, spec)) {
        let folder = Folder::new(&format!("convert-encoder-keys-{i}"));
        let (path, out, by_hand) =
            (folder_of(&folder, kind, &spec, DType::F32), folder.path("model.gguf"), folder.path("hand.gguf"));
        convert(&path, None, &out).unwrap();
        let tensors = spec.tensors(3, DType::F32);
        let tensors = if spec.is_t5() { tensors.with_encoder_marks() } else { tensors };
        tensors.write_gguf(&by_hand, &metadata(&spec));
        let (made, hand) = (Gguf::open(&out).unwrap(), Gguf::open(&by_hand).unwrap());
        for (key, value) in hand.metadata().filter(|(key, _)| !key.starts_with("tokenizer.")) {
            if made.get(key) != Some(value.clone()) && !key.ends_with("vocab_size") && !key.ends_with("pooling_type") {
                failures.push(format!("{kind}: {key}: {value:?}, made {:?}", made.get(key)));
            }
        }
        for tensor in hand.tensors() {
            let info = made.tensor_info(tensor.name);
            let values = |t: &tensorlib::TensorInfo| t.dtype.dequantize(t.data).unwrap();
            let is_same = info.as_ref().is_some_and(|info| {
                let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
                info.shape == tensor.shape && values(info).iter().zip(&values(&tensor)).all(near)
            });
            if !is_same {
                failures.push(format!("{kind}: {}: {:?}, made {:?}", tensor.name, tensor.shape, info.map(|i| i.shape)));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
