//! Vectors of encoders beside those of a forward pass in double precision.

mod common;

use common::encoder::Spec;
use common::tiny::{tokenizer_json, vocabulary, Tensors};
use common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{DType, Value};
use tensorlib_models::{Encoder, EncoderOptions, Pooling};

/// Lines of many lengths, some of them alike.
fn lines(spec: &Spec) -> Vec<Vec<u32>> {
    let longest = spec.positions - spec.first_position;
    let lengths = [3, 1, 7, 3, longest, 12, 7, 3, 2, longest - 1, 1];
    let line = |(i, n): (usize, &usize)| (0..*n).map(|j| ((i * 31 + j * j * 5 + 1) % spec.vocabulary) as u32).collect();
    lengths.iter().enumerate().map(line).collect()
}

fn metadata(spec: &Spec) -> Vec<(String, Value)> {
    let number = |n: usize| Value::U32(n as u32);
    let mut all: Vec<(String, Value)> = vec![
        ("general.architecture".into(), "bert".into()),
        ("bert.block_count".into(), number(spec.layers)),
        ("bert.embedding_length".into(), number(spec.width)),
        ("bert.attention.head_count".into(), number(spec.heads)),
        ("bert.feed_forward_length".into(), number(spec.ffn)),
        ("bert.context_length".into(), number(spec.positions)),
        ("bert.attention.layer_norm_epsilon".into(), Value::F32(spec.eps as f32)),
        ("bert.pooling_type".into(), Value::U32(1)),
    ];
    all.extend(vocabulary(spec.vocabulary));
    all
}

fn hub_name(prefix: &str, name: &str) -> String {
    let (base, end) = name.rsplit_once('.').unwrap();
    let base = match base.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        None => match base {
            "token_embd" => "embeddings.word_embeddings".to_string(),
            "position_embd" => "embeddings.position_embeddings".into(),
            "token_types" => "embeddings.token_type_embeddings".into(),
            "token_embd_norm" => "embeddings.LayerNorm".into(),
            other => panic!("{other}"),
        },
        Some((layer, part)) => {
            let part = match part {
                "attn_q" => "attention.self.query",
                "attn_k" => "attention.self.key",
                "attn_v" => "attention.self.value",
                "attn_output" => "attention.output.dense",
                "attn_output_norm" => "attention.output.LayerNorm",
                "ffn_up" => "intermediate.dense",
                "ffn_down" => "output.dense",
                "layer_output_norm" => "output.LayerNorm",
                other => panic!("{other}"),
            };
            format!("encoder.layer.{layer}.{part}")
        }
    };
    format!("{prefix}{base}.{end}")
}

fn write_folder(path: &Path, spec: &Spec, tensors: &Tensors, kind: &str, prefix: &str) {
    std::fs::create_dir_all(path.join("1_Pooling")).unwrap();
    let config = format!(
        r#"{{"model_type": "{kind}", "num_hidden_layers": {}, "hidden_size": {}, "num_attention_heads": {}, "intermediate_size": {},
"max_position_embeddings": {}, "layer_norm_eps": {:e}, "hidden_act": "gelu", "pad_token_id": 1}}"#,
        spec.layers, spec.width, spec.heads, spec.ffn, spec.positions, spec.eps
    );
    std::fs::write(path.join("config.json"), config).unwrap();
    std::fs::write(path.join("tokenizer.json"), tokenizer_json(spec.vocabulary)).unwrap();
    tensors.write_safetensors(&path.join("model.safetensors"), |name, _| hub_name(prefix, name), |_| false);
}

fn pooling(path: &Path, mode: &str) {
    let modes = ["cls_token", "mean_tokens", "max_tokens"].map(|m| format!("\"pooling_mode_{m}\": {}", m == mode));
    let text = format!("{{\"word_embedding_dimension\": 64, {}}}", modes.join(", "));
    std::fs::write(path.join("1_Pooling/config.json"), text).unwrap();
}

fn worst(encoder: &Encoder, spec: &Spec, tensors: &Tensors, mean: bool) -> f64 {
    let lines = lines(spec);
    let got = encoder.embed_tokens(&lines, |_| true).unwrap();
    assert_eq!(got.len(), lines.len());
    let of = |(got, line): (&Vec<f32>, &Vec<u32>)| error(got, &spec.vector(tensors, line, mean));
    got.iter().zip(&lines).map(of).fold(0.0, f64::max)
}

#[test]
fn vectors_are_those_of_double_precision() {
    let cpu = backend();
    let roberta = Spec { first_position: 2, types: 1, ..Spec::new() };
    let kinds = [("bert", "", Spec::new()), ("bert", "bert.", Spec::new()), ("xlm-roberta", "roberta.", roberta)];
    for (i, (kind, prefix, spec)) in kinds.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let folder = Folder::new(&format!("encoder-{i}-{dtype}"));
            let tensors = spec.tensors(i as u64, dtype);
            let mut paths: Vec<PathBuf> = vec![folder.path("hub")];
            write_folder(&paths[0], &spec, &tensors, kind, prefix);
            if kind == "bert" {
                paths.push(folder.path("model.gguf"));
                tensors.write_gguf(&paths[1], &metadata(&spec));
            }
            for path in paths {
                let options = EncoderOptions::new().exact(true);
                let mean = Encoder::open(&path, &cpu, &options).unwrap();
                assert_eq!((mean.pooling(), mean.max_tokens()), (Pooling::Mean, spec.positions - spec.first_position));
                let off = worst(&mean, &spec, &tensors, true);
                assert!(off < 1e-4, "{kind} {dtype} {}: {off:e}", path.display());
                let first = Encoder::open(&path, &cpu, &options.pooling(Pooling::Cls)).unwrap();
                let off = worst(&first, &spec, &tensors, false);
                assert!(off < 1e-4, "{kind} {dtype} {}, first token: {off:e}", path.display());
            }
        }
    }
}

#[test]
fn a_line_has_the_vector_that_it_has_alone() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-alone"));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(7, DType::F32), "bert", "");
    for options in [EncoderOptions::new(), EncoderOptions::new().stored_as(DType::Q8_0)] {
        let encoder = Encoder::open(&path, &cpu, &options).unwrap();
        let lines = lines(&spec);
        for (line, together) in lines.iter().zip(encoder.embed_tokens(&lines, |_| true).unwrap()) {
            let alone = encoder.embed_tokens(std::slice::from_ref(line), |_| true).unwrap();
            for (a, b) in alone[0].iter().zip(&together) {
                assert!((a - b).abs() <= 1e-5, "{} tokens: {a} alone, {b} among others", line.len());
            }
        }
    }
}

#[test]
fn weights_in_blocks_stay_near() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-blocks"));
    let (path, tensors) = (folder.path("hub"), spec.tensors(3, DType::F32));
    write_folder(&path, &spec, &tensors, "bert", "");
    // A weight is off by half a step of 1/127 of its block's largest, so a product of 64 is by some 0.3 %, and two layers
    // with six products each some times that.
    let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new().stored_as(DType::Q8_0)).unwrap();
    let off = worst(&encoder, &spec, &tensors, true);
    assert!(off > 1e-5 && off < 0.05, "{off:e}");
}

#[test]
fn folders_say_how_to_pool_and_where_to_cut() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-folder"));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    pooling(&path, "cls_token");
    std::fs::write(path.join("sentence_bert_config.json"), r#"{"max_seq_length": 16}"#).unwrap();
    let open = || Encoder::open(&path, &cpu, &EncoderOptions::new());
    let encoder = open().unwrap();
    assert_eq!((encoder.pooling(), encoder.max_tokens(), encoder.width()), (Pooling::Cls, 16, 64));
    let long = "w3 ".repeat(40);
    assert_eq!(encoder.tokenize(&long).unwrap(), (vec![3; 16], true));
    assert_eq!(encoder.tokenize("w5 w7").unwrap(), (vec![5, 7], false));
    let vectors = encoder.embed(&[long.as_str(), "", "w5 w7"]).unwrap();
    assert_eq!(vectors[1], vec![0.0; 64]); // this tokenizer has no special tokens, so there is nothing
    for vector in [&vectors[0], &vectors[2]] {
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
    pooling(&path, "max_tokens");
    let refused = open().err().unwrap().to_string();
    assert!(refused.contains("pooling_mode_max_tokens"), "{refused}");
    let chosen = Encoder::open(&path, &cpu, &EncoderOptions::new().pooling(Pooling::Mean)).unwrap();
    assert_eq!(chosen.pooling(), Pooling::Mean);
    pooling(&path, "mean_tokens");
    std::fs::write(path.join("modules.json"), r#"[{"type": "sentence_transformers.models.Dense"}]"#).unwrap();
    let refused = open().err().unwrap().to_string();
    assert!(refused.contains("'Dense'") && refused.contains("Transformer, Pooling, Normalize"), "{refused}");
}

#[test]
fn bad_tokens_and_a_stop() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-bad"));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new()).unwrap();
    let refused = |lines: &[Vec<u32>]| encoder.embed_tokens(lines, |_| true).unwrap_err().to_string();
    assert_eq!(refused(&[vec![1], vec![53]]), "line 1: token 53: 0 to 52 are valid");
    assert_eq!(refused(&[vec![1; 41]]), "line 0: 41 tokens: up to 40 are valid");
    assert_eq!(encoder.embed_tokens(&[], |_| true).unwrap(), Vec::<Vec<f32>>::new());
    let stopped = encoder.embed_tokens(&[vec![1], vec![2]], |_| false).unwrap_err().to_string();
    assert!(stopped.contains("stopped"), "{stopped}");
}
