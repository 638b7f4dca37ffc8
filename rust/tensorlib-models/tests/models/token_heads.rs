//! Weights and vectors of tokens, compared with double precision.

use crate::common::encoder::Spec;
use crate::common::encoder_files::write_folder;
use crate::common::math::{product, sum, Row};
use crate::common::tiny::{Random, Tensors};
use crate::common::{backend, error, Folder};
use std::collections::BTreeMap;
use std::path::Path;
use tensorlib::DType;
use tensorlib_models::{Encoder, EncoderOptions, ErrorKind};

fn head(seed: u64, outputs: i64, dtype: DType) -> Tensors {
    let (mut tensors, mut random) = (Tensors::default(), Random(seed));
    tensors.add(&mut random, "weight", &[64, outputs], 0.0, 0.25, dtype);
    tensors.add(&mut random, "bias", &[outputs], 0.0, 0.3, DType::F32);
    tensors
}

fn write_head(path: &Path, name: &str, head: &Tensors) {
    head.write_safetensors(&path.join(format!("{name}.safetensors")), |name, _| name.into(), |_| false);
}

fn results(head: &Tensors, row: &[f64]) -> Row {
    sum(&product(head.get("weight"), row), head.get("bias"))
}

/// Lines of many lengths, with tokens that occur several times, and the unknown token 0.
fn lines() -> Vec<Vec<u32>> {
    let line = |(i, n): (usize, &usize)| (0..*n).map(|j| ((i * 31 + j * j * 5) % 23) as u32).collect();
    [7, 1, 40, 3, 0, 12, 7].iter().enumerate().map(line).collect()
}

fn open(path: &Path, options: &EncoderOptions) -> Encoder {
    Encoder::open(path, &backend(), options).unwrap()
}

#[test]
fn weights_and_vectors_are_those_of_double_precision() {
    let (folder, spec) =
        (Folder::new("token-heads"), Spec { first_position: 2, positions: 42, types: 1, ..Spec::new() });
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let path = folder.path(&dtype.to_string());
        let tensors = spec.tensors(5, dtype);
        write_folder(&path, &spec, &tensors, "xlm-roberta", "");
        let (sparse, vectors) = (head(1, 1, dtype), head(2, 24, dtype));
        std::fs::write(path.join("tokenizer_config.json"), r#"{"unk_token": "w0"}"#).unwrap();
        write_head(&path, "sparse_linear", &sparse);
        write_head(&path, "colbert_linear", &vectors);
        let encoder = open(&path, &EncoderOptions::new().exact(true));
        assert_eq!(encoder.warnings(), [""; 0]);
        assert_eq!(encoder.memory().tensors, tensors.all.len() + 4);
        let (mut seen, mut hidden) = (0, 0);
        let found = encoder.embed_sparse_lines(0, &lines(), |_| true).unwrap();
        for (found, line) in found.iter().zip(lines()) {
            let mut wanted: BTreeMap<u32, f64> = BTreeMap::new();
            for (id, row) in line.iter().zip(spec.hidden(&tensors, &line, &[])) {
                let weight = results(&sparse, &row)[0];
                hidden += usize::from(weight <= 0.0 || *id == 0);
                if weight > 0.0 && *id != 0 {
                    let kept = wanted.entry(*id).or_insert(0.0);
                    *kept = kept.max(weight);
                }
            }
            seen += wanted.len();
            assert!(found.iter().map(|(id, _)| id).eq(wanted.keys()), "{found:?} {wanted:?}");
            let (got, wanted): (Vec<f32>, Row) =
                (found.iter().map(|(_, x)| *x).collect(), wanted.into_values().collect());
            assert!(wanted.is_empty() || error(&got, &wanted) < 1e-4, "{got:?} {wanted:?}");
        }
        assert!(seen > 10 && hidden > 10, "{seen} {hidden}");
        let found = encoder.embed_each_token_lines(0, &lines(), |_| true).unwrap();
        for (found, line) in found.iter().zip(lines()) {
            assert_eq!(found.len(), line.len().saturating_sub(1));
            for (found, row) in found.iter().zip(spec.hidden(&tensors, &line, &[]).iter().skip(1)) {
                let wanted = results(&vectors, row);
                let length = wanted.iter().map(|x| x * x).sum::<f64>().sqrt();
                let off = error(found, &wanted.iter().map(|x| x / length).collect::<Row>());
                assert!(off < 1e-4, "{dtype}: {off:e}");
            }
        }
        // Texts are tokenised and cut; the whole text's vector is there as before.
        let texts = ["w3 w5 w3", ""];
        let by_lines = encoder.embed_sparse_lines(0, &[vec![3, 5, 3], vec![]], |_| true).unwrap();
        assert_eq!(encoder.embed_sparse(&texts).unwrap(), by_lines);
        assert_eq!(encoder.embed_each_token(&texts).unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
        assert_eq!(encoder.embed(&texts).unwrap()[0].len(), 64);
        let stopped = encoder.embed_sparse_lines(0, &lines(), |_| false).unwrap_err().to_string();
        assert!(stopped.contains("stopped"), "{stopped}");
        assert_eq!(
            encoder.embed_each_token_lines(4, &[vec![53]], |_| true).unwrap_err().to_string(),
            "line 4: token 53: 0 to 52 are valid"
        );
    }
}

#[test]
fn heads_that_are_missing_or_not_read() {
    let (folder, spec) = (Folder::new("token-heads-bad"), Spec::new());
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let encoder = || open(&path, &EncoderOptions::new());
    let missing = encoder().embed_sparse(&["w3"]).unwrap_err();
    assert!(missing.to_string().contains("no file sparse_linear.safetensors"), "{missing}");
    let missing = encoder().embed_each_token(&["w3"]).unwrap_err();
    assert!(missing.to_string().contains("no file colbert_linear.safetensors"), "{missing}");
    for name in ["sparse_linear", "colbert_linear"] {
        std::fs::write(path.join(format!("{name}.pt")), "PK").unwrap();
    }
    for refused in [
        encoder().embed_sparse(&["w3"]).map(drop).unwrap_err(),
        encoder().embed_each_token(&["w3"]).map(drop).unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert!(refused.to_string().contains("_linear.pt: files of PyTorch are programs"), "{refused}");
        assert!(refused.hint().unwrap().contains("save_file(torch.load("), "{:?}", refused.hint());
    }
    let expect = |head: &Tensors, words: &str| {
        write_head(&path, "sparse_linear", head);
        let error = Encoder::open(&path, &backend(), &EncoderOptions::new()).map(drop).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    expect(&head(1, 2, DType::F32), "sparse_linear.safetensors: makes 2 numbers of a token: one is valid");
    let mut bare = head(1, 1, DType::F32);
    bare.all.remove("bias");
    expect(&bare, "sparse_linear.safetensors: tensor 'bias' is missing");
    bare.all.remove("weight");
    bare.add(&mut Random(3), "other", &[3], 0.0, 1.0, DType::F32);
    expect(&bare, "sparse_linear.safetensors: tensor 'weight' is missing: [64, 1] is expected");
    let mut narrow = Tensors::default();
    narrow.add(&mut Random(3), "weight", &[63, 1], 0.0, 1.0, DType::F32);
    expect(&narrow, "'weight' is [63, 1]");
    std::fs::write(path.join("sparse_linear.safetensors"), "no tensors").unwrap();
    let error = Encoder::open(&path, &backend(), &EncoderOptions::new()).map(drop).unwrap_err().to_string();
    assert!(error.contains("sparse_linear.safetensors"), "{error}");
}
