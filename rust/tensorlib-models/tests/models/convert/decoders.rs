//! Decoders: the same logits as the folder's, and the same keys and tensors as in files that are written by hand.

use super::{convert, write_files};
use crate::common::architectures::{all, Model};
use crate::common::tiny::{byte_pairs_json, Tensors};
use crate::common::{error, Folder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tensorlib::{Backend, DType, Gguf, Value};
use tensorlib_models::{Decoder, DecoderOptions};

/// More tokens than any window of the tiny models holds.
fn tokens() -> Vec<u32> {
    (0..41).map(|i| (i * i * 7 + 3) % 61).collect()
}

pub fn write_folder(folder: &Folder, model: &Model, tensors: &Tensors) -> PathBuf {
    let tokenizer = byte_pairs_json(model.spec.vocabulary);
    let path = write_files(folder, &[("config.json", &model.config()), ("tokenizer.json", &tokenizer)]);
    model.write_safetensors(&path.join("model.safetensors"), tensors);
    path
}

fn logits(path: &Path) -> Result<Vec<f32>, String> {
    let decoder = Decoder::open(path, &Backend::cpu().unwrap(), &DecoderOptions::new().exact(true));
    Ok(decoder.map_err(|e| e.to_string())?.session(DType::F32).unwrap().feed_all(&tokens()).unwrap())
}

/// GGUF files of Falcon H1 have norms after gates.
const UNEXPRESSED: &str = "falcon-h1 with factors";

/// What the folder's logits and those of its GGUF file differ by.
fn checked(model: &Model, i: usize, dtype: DType) -> Result<(), String> {
    let folder = Folder::new(&format!("convert-{i}-{dtype}"));
    let tensors = model.spec.tensors(i as u64, dtype);
    let (path, out) = (write_folder(&folder, model, &tensors), folder.path("model.gguf"));
    convert(&path, None, &out).map_err(|e| e.to_string())?;
    let (ours, theirs) = (logits(&path)?, logits(&out)?);
    let theirs64: Vec<f64> = theirs.iter().map(|x| f64::from(*x)).collect();
    match error(&ours, &theirs64) {
        worst if worst <= bound(model) => Ok(()),
        worst => Err(format!("logits differ by {worst:e}")),
    }
}

/// By how much logits may differ, compared with the largest: not at all, except where a sum of F32 has another order.
fn bound(model: &Model) -> f64 {
    // A sum over a head's elements, in another order: some steps of 2^-24 in each layer.
    const OF_HEADS: f64 = 2e-6;
    let (kind, _) = model.hub.unwrap();
    match kind {
        // Files have pairs that rotate next to each other.
        "llama" | "mistral" | "mixtral" | "mistral3" | "ministral3" | "smollm3" | "granite" | "arcee" => OF_HEADS,
        // The base is rounded to F32.
        "hunyuan_v1_dense" => OF_HEADS,
        // Value heads have another order, the decay is not a logarithm, and errors of a state remain in it.
        _ if model.spec.delta.is_some() => 2e-5,
        _ => 0.0,
    }
}

#[test]
fn logits_are_the_folders() {
    let mut failures = Vec::new();
    for (i, model) in all().iter().enumerate().filter(|(_, model)| model.hub.is_some() && model.name != UNEXPRESSED) {
        for dtype in [DType::F32, DType::BF16] {
            if let Err(e) = checked(model, i, dtype) {
                failures.push(format!("{} {dtype}: {e}", model.name));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// The keys of a file but those of tokenizers, and numbers as F64.
fn keys(file: &Gguf) -> BTreeMap<String, String> {
    let shown = |value: Value| match value {
        Value::F32(x) => f64::from(x).to_string(),
        other => format!("{other:?}"),
    };
    let own = file.metadata().filter(|(key, _)| !key.starts_with("tokenizer.") && !key.starts_with("general."));
    own.map(|(key, value)| (key.to_string(), shown(value))).collect()
}

/// Keys of files written by hand that are not made, or have another value.
fn is_left_out(model: &Model, name: &str) -> bool {
    match model.name {
        // Nothing is stretched, which is what files without these keys mean too.
        "hunyuan-dense" | "cohere2" | "bitnet" => name.starts_with("rope.scaling."),
        // Files may misstate it, and readers look at the tensors.
        "stablelm" => name == "use_parallel_residual",
        // There is no attention, and config.json names no context.
        "mamba2" => name.starts_with("attention.") || name.starts_with("rope.") || name == "context_length",
        "rwkv7" => {
            let heads = ["head_count_kv", "key_length", "value_length"];
            name.starts_with("rope.") || name == "context_length" || heads.iter().any(|end| name.ends_with(end))
        }
        // The older form, of keys and values by one matrix.
        "deepseek2" => {
            ["head_count_kv", "key_length", "value_length"].iter().any(|end| name == format!("attention.{end}"))
        }
        _ => false,
    }
}

#[test]
fn keys_and_tensors_are_those_of_files_written_by_hand() {
    let mut failures = Vec::new();
    for (i, model) in all().iter().enumerate().filter(|(_, model)| model.hub.is_some() && model.gguf.is_some()) {
        let folder = Folder::new(&format!("convert-keys-{i}"));
        let tensors = model.spec.tensors(i as u64, DType::F32);
        let (path, out, by_hand) =
            (write_folder(&folder, model, &tensors), folder.path("model.gguf"), folder.path("hand.gguf"));
        let apart = match model.spec.latent {
            Some(latent) => tensors.with_keys_and_values_apart(model.spec.heads, latent.plain),
            None if model.name.starts_with("falcon-h1") => tensors.with_plain_names_of_norms(),
            None => tensors.clone(),
        };
        apart.write_gguf(&by_hand, &model.metadata());
        if let Err(e) = convert(&path, None, &out) {
            failures.push(format!("{}: {e}", model.name));
            continue;
        }
        let (made, hand) = (Gguf::open(&out).unwrap(), Gguf::open(&by_hand).unwrap());
        let ours = keys(&made);
        for (key, value) in keys(&hand) {
            let name = key.split_once('.').map_or(key.as_str(), |(_, name)| name);
            if ours.get(&key) != Some(&value) && !is_left_out(model, name) {
                failures.push(format!("{}: {key}: {value}, made {:?}", model.name, ours.get(&key)));
            }
        }
        for tensor in hand.tensors() {
            match made.tensor_info(tensor.name) {
                None => failures.push(format!("{}: {} is missing", model.name, tensor.name)),
                Some(info) if info.shape != tensor.shape => {
                    failures.push(format!("{}: {}: {:?}, made {:?}", model.name, tensor.name, tensor.shape, info.shape))
                }
                Some(info) => {
                    let (a, b) =
                        (info.dtype.dequantize(info.data).unwrap(), tensor.dtype.dequantize(tensor.data).unwrap());
                    let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    if worst > 1e-6 {
                        failures.push(format!("{}: {} differs by {worst}", model.name, tensor.name));
                    }
                }
            }
        }
        let is_new = |name: &str| hand.tensor_info(name).is_none() && !name.starts_with("rope_factors_");
        for tensor in made.tensors().filter(|tensor| is_new(tensor.name)) {
            failures.push(format!("{}: {} is too much", model.name, tensor.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn factors_of_products_are_in_the_matrices() {
    let mut model = all().into_iter().find(|model| model.name == UNEXPRESSED).unwrap();
    let folder = Folder::new("convert-factors");
    let tensors = model.spec.tensors(5, DType::F32);
    let (path, out) = (write_folder(&folder, &model, &tensors), folder.path("model.gguf"));
    let refusal = convert(&path, None, &out).unwrap_err().to_string();
    assert!(refusal.contains("recurrence.gates_last is true in the folder and false there"), "{refusal}");
    // Without norms after the states there are no gates before them.
    let mamba = model.spec.mamba.as_mut().unwrap();
    mamba.normed = false;
    let (kind, settings) = model.hub.unwrap();
    let settings = settings.replace(r#""mamba_rms_norm": true"#, r#""mamba_rms_norm": false"#);
    model.hub = Some((kind, settings.leak()));
    let tensors = model.spec.tensors(5, DType::F32);
    let path = write_folder(&folder, &model, &tensors);
    convert(&path, None, &out).unwrap();
    // Factors of weights instead of products: a rounding of each weight.
    let want: Vec<f64> = logits(&path).unwrap().iter().map(|x| f64::from(*x)).collect();
    let off = error(&logits(&out).unwrap(), &want);
    assert!(off < 2e-5, "{off:e}");
}

#[test]
fn matrices_get_the_type_that_was_asked_for() {
    let model = all().into_iter().find(|model| model.name == "qwen3moe").unwrap();
    let folder = Folder::new("convert-types");
    let tensors = model.spec.tensors(7, DType::BF16);
    let (path, out) = (write_folder(&folder, &model, &tensors), folder.path("model.gguf"));
    for (to, matrix) in
        [(None, "bf16"), (Some(DType::F16), "f16"), (Some(DType::Q8_0), "q8_0"), (Some(DType::Q4_K), "f16")]
    {
        let conversion = convert(&path, to, &out).unwrap();
        let file = Gguf::open(&out).unwrap();
        let type_of = |name: &str| file.tensor_info(name).unwrap().dtype.name();
        // Rows of 64 elements are no blocks of 256.
        for name in ["token_embd.weight", "blk.0.attn_q.weight", "blk.1.ffn_up_exps.weight"] {
            assert_eq!(type_of(name), matrix, "{name}");
        }
        assert_eq!(type_of("blk.0.attn_norm.weight"), "f32");
        assert_eq!(type_of("blk.0.ffn_gate_inp.weight"), if to.is_none() { "bf16" } else { "f32" });
        let bytes: u64 = conversion.tensors().iter().map(|tensor| tensor.nbytes).sum();
        assert_eq!(bytes, file.tensors().map(|tensor| tensor.data.len() as u64).sum::<u64>());
        logits(&out).unwrap();
    }
    assert_eq!(Gguf::open(&out).unwrap().string("general.name").unwrap(), "tiny-model");
}
