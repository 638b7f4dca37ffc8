//! Vectors of language models, compared with a forward pass in double precision.

use crate::common::architectures::Model;
use crate::common::decoder::Spec;
use crate::common::reranker_files::{qwen3, write_folder};
use crate::common::tiny::{Random, Tensors};
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::{DType, Value};
use tensorlib_models::{EmbedTexts, Embedder, Encoder, EncoderOptions, ModelKind, Pooling};

/// The vector of a line: the last token's, the first one's, or their mean, with length 1.
fn vector(model: &Model, tensors: &Tensors, line: &[u32], pooling: Pooling) -> Vec<f64> {
    let spec = &model.spec;
    // With the identity as the matrix of the logits, the logits are the vectors before it.
    let mut plain = Tensors::default();
    for (name, stored) in &tensors.all {
        plain.add(&mut Random(1), name, &stored.shape, 0.0, 1.0, DType::F32);
        plain.set_values(name, tensors.get(name).to_vec());
    }
    plain.all.remove("output.weight");
    plain.add(&mut Random(1), "output.weight", &[spec.width as i64; 2], 0.0, 1.0, DType::F32);
    let identity = |i: usize| if i % (spec.width + 1) == 0 { 1.0 } else { 0.0 };
    plain.set_values("output.weight", (0..spec.width * spec.width).map(identity).collect());
    let rows = Spec { tied: false, ..spec.clone() }.logits(&plain, line);
    let kept = match pooling {
        Pooling::Last => &rows[rows.len() - 1..],
        Pooling::Cls => &rows[..1],
        Pooling::Mean => &rows[..],
    };
    let sums: Vec<f64> = (0..spec.width).map(|i| kept.iter().map(|row| row[i]).sum()).collect();
    let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
    sums.iter().map(|x| x / length).collect()
}

/// A folder as sentence-transformers writes it.
fn write_sentences(path: &Path, model: &Model, tensors: &Tensors, mode: &str) {
    write_folder(path, model, tensors, "");
    std::fs::create_dir_all(path.join("1_Pooling")).unwrap();
    std::fs::write(path.join("1_Pooling/config.json"), format!(r#"{{"pooling_mode_{mode}": true}}"#)).unwrap();
    let modules = ["Transformer", "Pooling", "Normalize"]
        .map(|kind| format!(r#"{{"type": "sentence_transformers.models.{kind}"}}"#));
    std::fs::write(path.join("modules.json"), format!("[{}]", modules.join(", "))).unwrap();
}

fn open(path: &Path, options: &EncoderOptions) -> Embedder {
    Embedder::open(path, &backend(), &options.clone().exact(true), 0).unwrap()
}

fn refused(path: &Path, options: &EncoderOptions) -> String {
    Embedder::open(path, &backend(), options, 0).map(drop).unwrap_err().to_string()
}

fn lines() -> Vec<Vec<u32>> {
    [1usize, 7, 30, 2].iter().map(|n| (0..*n as u32).map(|i| (i * 7 + 5) % 61).collect()).collect()
}

#[test]
fn vectors_are_those_of_double_precision() {
    let folder = Folder::new("embedder");
    let tied = qwen3();
    let untied = Model { spec: Spec { tied: false, ..tied.spec.clone() }, ..qwen3() };
    for (i, model) in [tied, untied].iter().enumerate() {
        for dtype in [DType::F32, DType::F16] {
            let tensors = model.spec.tensors(3, dtype);
            for (mode, number, pooling) in
                [("lasttoken", 3, Pooling::Last), ("mean_tokens", 1, Pooling::Mean), ("cls_token", 2, Pooling::Cls)]
            {
                let (hub, file) = (folder.path(&format!("hub-{i}")), folder.path("model.gguf"));
                write_sentences(&hub, model, &tensors, mode);
                let mut data = model.metadata();
                data.push(("qwen3.pooling_type".into(), Value::U32(number)));
                tensors.write_gguf(&file, &data);
                for path in [hub, file] {
                    // SAFETY: nobody changes the files.
                    assert_eq!(unsafe { ModelKind::of_mapped(&path).unwrap() }, ModelKind::Embedder);
                    let embedder = open(&path, &EncoderOptions::new());
                    assert_eq!(embedder.warnings(), [""; 0]);
                    assert_eq!((embedder.pooling(), embedder.width()), (pooling, model.spec.width));
                    let found = embedder.embed_lines(0, &lines(), &mut |_| true).unwrap();
                    for (found, line) in found.iter().zip(lines()) {
                        let off = error(found, &vector(model, &tensors, &line, pooling));
                        assert!(off < 2e-3, "{} {dtype} {pooling:?}, {} tokens: {off:e}", path.display(), line.len());
                    }
                    // A line has the vector that it has alone, to the bit.
                    assert_eq!(embedder.embed_lines(0, &lines()[2..3], &mut |_| true).unwrap()[0], found[2]);
                }
            }
        }
    }
}

#[test]
fn prompts_and_lengths_are_those_of_the_files() {
    let (folder, model) = (Folder::new("embedder-prompts"), qwen3());
    let path = folder.path("hub");
    write_sentences(&path, &model, &model.spec.tensors(3, DType::F32), "lasttoken");
    let prompts = r#"{"prompts": {"query": "w20 w21 ", "document": ""}, "default_prompt_name": null}"#;
    std::fs::write(path.join("config_sentence_transformers.json"), prompts).unwrap();
    let tokens = |options: &EncoderOptions| open(&path, options).tokenize_text("w9").unwrap().ids;
    assert_eq!(tokens(&EncoderOptions::new()), [9]);
    assert_eq!(tokens(&EncoderOptions::new().prompt("query")), [20, 21, 9]);
    assert_eq!(tokens(&EncoderOptions::new().prompt("document")), [9]);
    let error = refused(&path, &EncoderOptions::new().prompt("other"));
    assert!(error.contains("prompts: has no 'other': document, query can be chosen"), "{error}");
    std::fs::write(path.join("config_sentence_transformers.json"), prompts.replace("null", "\"query\"")).unwrap();
    assert_eq!(tokens(&EncoderOptions::new()), [20, 21, 9]);
    assert_eq!(tokens(&EncoderOptions::new().prompt("document")), [9]);
    let query = open(&path, &EncoderOptions::new()).embed(&["w9"]).unwrap();
    let document = open(&path, &EncoderOptions::new().prompt("document")).embed(&["w20 w21 w9"]).unwrap();
    assert_eq!(query, document);
    std::fs::remove_file(path.join("config_sentence_transformers.json")).unwrap();
    let error = refused(&path, &EncoderOptions::new().prompt("query"));
    assert!(error.contains("config_sentence_transformers.json does not exist, which has prompts"), "{error}");
    std::fs::write(path.join("sentence_bert_config.json"), r#"{"max_seq_length": 4}"#).unwrap();
    let embedder = open(&path, &EncoderOptions::new());
    assert_eq!(embedder.max_tokens(), 4);
    let cut = embedder.tokenize_text("w1 w9 w10 w11 w12 w13").unwrap();
    assert_eq!((cut.ids.len(), cut.was_cut), (4, true));
    assert_eq!(Embedder::open(&path, &backend(), &EncoderOptions::new(), 3).unwrap().max_tokens(), 3);
    // Vectors may be cut, and have length 1 again.
    let whole = open(&path, &EncoderOptions::new()).embed(&["w9 w10"]).unwrap().remove(0);
    let expect_cut = |embedder: &Embedder, n: usize| {
        let cut = embedder.embed(&["w9 w10", ""]).unwrap();
        assert_eq!((embedder.width(), cut[1].len()), (n, n));
        let length = whole[..n].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        assert_eq!(cut[0].len(), n);
        for (a, b) in cut[0].iter().zip(&whole) {
            assert!((f64::from(*a) - f64::from(*b) / length).abs() < 1e-6, "{cut:?}");
        }
    };
    expect_cut(&open(&path, &EncoderOptions::new().dimensions(16)), 16);
    std::fs::write(path.join("config_sentence_transformers.json"), r#"{"truncate_dim": 24}"#).unwrap();
    expect_cut(&open(&path, &EncoderOptions::new()), 24);
    expect_cut(&open(&path, &EncoderOptions::new().dimensions(64)), 64);
    for (n, words) in [(0, "dimensions: is 0: 1 to 64 are valid"), (65, "dimensions: is 65: 1 to 64 are valid")] {
        assert_eq!(refused(&path, &EncoderOptions::new().dimensions(n)), words);
    }
    std::fs::write(path.join("config_sentence_transformers.json"), r#"{"truncate_dim": 65}"#).unwrap();
    let error = refused(&path, &EncoderOptions::new());
    assert_eq!(error, "config_sentence_transformers.json: truncate_dim: is 65: 1 to 64 are valid");
    // Encoders take prompts and dimensions of files in the same way.
    let spec = crate::common::encoder::Spec::new();
    let bert = folder.path("bert");
    crate::common::encoder_files::write_folder(&bert, &spec, &spec.tensors(5, DType::F32), "bert", "");
    std::fs::write(bert.join("config_sentence_transformers.json"), prompts).unwrap();
    let encoder = Encoder::open(&bert, &backend(), &EncoderOptions::new().prompt("query")).unwrap();
    assert_eq!(encoder.tokenize("w9").unwrap().0, [20, 21, 9]);
    std::fs::write(bert.join("config_sentence_transformers.json"), r#"{"truncate_dim": 8}"#).unwrap();
    let encoder = Encoder::open(&bert, &backend(), &EncoderOptions::new()).unwrap();
    assert_eq!((encoder.width(), encoder.embed_tokens(&[vec![3, 5], vec![]], |_| true).unwrap()[1].len()), (8, 8));
    std::fs::write(bert.join("config_sentence_transformers.json"), "{}").unwrap();
    // They pool last tokens too. A line of one token has the same vector either way.
    let pooled = |pooling: Pooling, line: &[u32]| {
        let options = EncoderOptions::new().pooling(pooling).exact(true);
        Encoder::open(&bert, &backend(), &options).unwrap().embed_tokens(&[line.to_vec()], |_| true).unwrap().remove(0)
    };
    assert_eq!(pooled(Pooling::Last, &[3]), pooled(Pooling::Mean, &[3]));
    let [first, last, mean] = [Pooling::Cls, Pooling::Last, Pooling::Mean].map(|pooling| pooled(pooling, &[3, 5]));
    assert_ne!(first, last);
    // The mean of two vectors lies in their plane.
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let (ab, am, bm) = (dot(&first, &last), dot(&first, &mean), dot(&last, &mean));
    let volume = 1.0 + 2.0 * ab * am * bm - ab * ab - am * am - bm * bm;
    assert!(volume.abs() < 1e-5, "{volume:e}");
}

#[test]
fn models_and_lines_that_are_refused() {
    let (folder, model) = (Folder::new("embedder-bad"), qwen3());
    let (path, plain) = (folder.path("hub"), folder.path("plain.gguf"));
    let tensors = model.spec.tensors(3, DType::F32);
    tensors.write_gguf(&plain, &model.metadata());
    let error = Embedder::open(&plain, &backend(), &EncoderOptions::new(), 0).unwrap_err();
    assert_eq!(error.to_string(), "the files of this language model do not say how its vectors are pooled");
    assert_eq!(error.hint(), Some("say --pooling last, mean or cls"));
    assert_eq!(open(&plain, &EncoderOptions::new().pooling(Pooling::Last)).pooling(), Pooling::Last);
    assert!(refused(&plain, &EncoderOptions::new().prompt("query")).contains("GGUF files have none: folders do"));
    let mut data = model.metadata();
    data.push(("qwen3.pooling_type".into(), Value::U32(4)));
    tensors.write_gguf(&plain, &data);
    assert!(refused(&plain, &EncoderOptions::new()).contains("qwen3.pooling_type: is 4 (rank)"));
    write_sentences(&path, &model, &tensors, "lasttoken");
    let embedder = open(&path, &EncoderOptions::new());
    let refused = |line: Vec<u32>| embedder.embed_lines(7, &[vec![1], line], &mut |_| true).unwrap_err().to_string();
    assert_eq!(refused(vec![61]), "line 8: token 61: 0 to 60 are valid");
    assert_eq!(refused(vec![1; 257]), "line 8: 257 tokens: up to 256 are valid");
    assert_eq!(embedder.embed_lines(0, &[vec![]], &mut |_| true).unwrap(), [vec![0.0; 64]]);
    let error = embedder.embed_lines(0, &lines(), &mut |n| n < 2).unwrap_err().to_string();
    assert_eq!(error, "stopped after 2 of 4 lines");
    let mut broken = model.spec.tensors(3, DType::F32);
    broken.all.get_mut("output_norm.weight").unwrap().bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    write_sentences(&path, &model, &broken, "lasttoken");
    let error = open(&path, &EncoderOptions::new()).embed(&["w9"]).unwrap_err().to_string();
    assert!(
        error.starts_with("line 0: position 0: the vector of a token holds NaN")
            && error.contains("output_norm.weight"),
        "{error}"
    );
}
