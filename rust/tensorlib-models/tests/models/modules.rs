//! Modules after the pooling, compared with double precision: vectors, and scores of cross-encoders.

use crate::common::encoder::Spec;
use crate::common::encoder_files::{config, metadata, write_folder};
use crate::common::math::{gelu_erf, layer_norm, product, silu, sum, Row};
use crate::common::reranker_files::qwen3;
use crate::common::tiny::{Random, Tensors};
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::{DType, Value};
use tensorlib_models::{EmbedTexts, Embedder, Encoder, EncoderOptions, ModelKind, Pooling, ScorePairs};

const LINES: [&[u32]; 4] = [&[3, 5, 7, 11, 2], &[1], &[8, 8, 8, 40, 9, 17, 23], &[4, 2]];

/// A module's weights, and its kind in words that a test chooses.
struct Module {
    kind: &'static str,
    /// Its settings.
    config: String,
    tensors: Tensors,
    of: fn(f64) -> f64,
}

fn dense(seed: u64, (inputs, outputs): (i64, i64), function: &'static str, further: &str, dtype: DType) -> Module {
    let mut tensors = Tensors::default();
    let mut random = Random(seed);
    tensors.add(&mut random, "linear.weight", &[inputs, outputs], 0.0, 2.0 / (inputs as f64).sqrt(), dtype);
    let has_bias = !further.contains("\"bias\": false");
    if has_bias {
        tensors.add(&mut random, "linear.bias", &[outputs], 0.0, 0.3, DType::F32);
    }
    if further.contains("\"use_residual\": true") && inputs != outputs {
        tensors.add(&mut random, "residual.weight", &[inputs, outputs], 0.0, 2.0 / (inputs as f64).sqrt(), dtype);
    }
    let of: fn(f64) -> f64 = match function {
        "linear.Identity" => |x| x,
        "activation.GELU" => gelu_erf,
        "activation.SiLU" => silu,
        "activation.ReLU" => |x| x.max(0.0),
        "activation.Sigmoid" => |x| 1.0 / (1.0 + (-x).exp()),
        _ => f64::tanh,
    };
    let function = match function {
        "" => String::new(),
        name => format!(r#""activation_function": "torch.nn.modules.{name}", "#),
    };
    let config = format!(r#"{{{function}"in_features": {inputs}, "out_features": {outputs}{further}}}"#);
    Module { kind: "Dense", config, tensors, of }
}

fn norm(seed: u64, width: i64) -> Module {
    let (mut tensors, mut random) = (Tensors::default(), Random(seed));
    tensors.add(&mut random, "norm.weight", &[width], 1.0, 0.3, DType::F32);
    tensors.add(&mut random, "norm.bias", &[width], 0.0, 0.3, DType::F32);
    Module { kind: "LayerNorm", config: format!(r#"{{"dimension": {width}}}"#), tensors, of: |x| x }
}

fn plain(kind: &'static str) -> Module {
    Module { kind, config: "{}".into(), tensors: Tensors::default(), of: |x| x }
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The result of these modules.
fn after(modules: &[Module], x: Row) -> Row {
    modules.iter().fold(x, |x, module| match module.kind {
        "Normalize" => x.iter().map(|y| y / length(&x)).collect(),
        "LayerNorm" => layer_norm(&x, module.tensors.get("norm.weight"), module.tensors.get("norm.bias"), 1e-5),
        "Dense" => {
            let y = product(module.tensors.get("linear.weight"), &x);
            let y = module.tensors.find("linear.bias").map_or(y.clone(), |bias| sum(&y, bias));
            let y: Row = y.into_iter().map(module.of).collect();
            match (module.config.contains("\"use_residual\": true"), module.tensors.find("residual.weight")) {
                (true, Some(matrix)) => sum(&y, &product(matrix, &x)),
                (true, None) => sum(&y, &x),
                (false, _) => y,
            }
        }
        _ => x,
    })
}

/// Adds the list of these modules, after a pooling of this mode, to a folder.
fn write_modules(path: &Path, mode: &str, modules: &[Module]) {
    let mut list: Vec<String> = ["models.Transformer\", \"path\": \"", "models.Pooling\", \"path\": \"1_Pooling"]
        .iter()
        .map(|rest| format!(r#"{{"type": "sentence_transformers.{rest}"}}"#))
        .collect();
    std::fs::create_dir_all(path.join("1_Pooling")).unwrap();
    std::fs::write(path.join("1_Pooling/config.json"), format!(r#"{{"pooling_mode": "{mode}"}}"#)).unwrap();
    for (i, module) in modules.iter().enumerate() {
        let folder = format!("{}_{}", i + 2, module.kind);
        let kind = format!("sentence_transformers.base.modules.{}.{}", module.kind.to_lowercase(), module.kind);
        list.push(format!(r#"{{"idx": {}, "name": "{}", "path": "{folder}", "type": "{kind}"}}"#, i + 2, i + 2));
        std::fs::create_dir_all(path.join(&folder)).unwrap();
        std::fs::write(path.join(&folder).join("config.json"), &module.config).unwrap();
        if !module.tensors.all.is_empty() {
            let file = path.join(&folder).join("model.safetensors");
            module.tensors.write_safetensors(&file, |name, _| name.into(), |_| false);
        }
    }
    std::fs::write(path.join("modules.json"), format!("[{}]", list.join(", "))).unwrap();
}

fn lines() -> Vec<Vec<u32>> {
    LINES.iter().map(|line| line.to_vec()).collect()
}

fn unit(x: Row) -> Row {
    let length = length(&x);
    x.into_iter().map(|x| x / length).collect()
}

#[track_caller]
fn expect_vectors(encoder: &Encoder, wanted: impl Fn(&[u32]) -> Row, bound: f64) {
    let found = encoder.embed_tokens(&lines(), |_| true).unwrap();
    for (found, line) in found.iter().zip(LINES) {
        let off = error(found, &unit(wanted(line)));
        assert!(off < bound, "{} tokens: {off:e}", line.len());
        let alone = encoder.embed_tokens(&[line.to_vec()], |_| true).unwrap();
        for (a, b) in alone[0].iter().zip(found) {
            assert!((a - b).abs() <= 1e-5, "{a} alone, {b} among others");
        }
    }
}

fn open(path: &Path) -> Encoder {
    Encoder::open(path, &backend(), &EncoderOptions::new().exact(true)).unwrap()
}

fn refused(path: &Path) -> String {
    Encoder::open(path, &backend(), &EncoderOptions::new()).map(drop).unwrap_err().to_string()
}

#[test]
fn vectors_are_those_of_double_precision() {
    let folder = Folder::new("modules");
    let no_bias = r#", "bias": false, "module_input_name": "sentence_embedding""#;
    for (i, dtype) in [DType::F32, DType::F16, DType::BF16].into_iter().enumerate() {
        let lists = [
            // EmbeddingGemma's.
            vec![
                dense(1, (64, 96), "linear.Identity", no_bias, dtype),
                dense(2, (96, 64), "linear.Identity", no_bias, dtype),
                plain("Normalize"),
            ],
            vec![dense(3, (64, 32), "", "", dtype), plain("Dropout"), norm(4, 32)],
            vec![plain("Normalize"), dense(5, (64, 64), "activation.GELU", r#", "use_residual": true"#, dtype)],
            vec![norm(6, 64), dense(7, (64, 40), "activation.SiLU", r#", "use_residual": true"#, dtype)],
            vec![dense(8, (64, 33), "activation.ReLU", "", dtype), dense(9, (33, 5), "activation.Sigmoid", "", dtype)],
        ];
        for (j, modules) in lists.iter().enumerate() {
            for (kind, spec, mode) in
                [("bert", Spec::new(), "mean"), ("bert", Spec::new(), "cls"), ("gemma3_text", Spec::gemma(), "mean")]
            {
                let path = folder.path(&format!("{i}-{j}-{kind}-{mode}"));
                let tensors = spec.tensors(5, dtype);
                write_folder(&path, &spec, &tensors, kind, "");
                write_modules(&path, mode, modules);
                let encoder = open(&path);
                assert_eq!(encoder.warnings(), [""; 0]);
                let wanted = |line: &[u32]| after(modules, spec.pooled(&tensors, line, &[], mode == "mean"));
                assert_eq!(encoder.width(), wanted(&[1]).len());
                expect_vectors(&encoder, wanted, 1e-4);
            }
        }
    }
}

#[test]
fn gguf_files_have_dense_modules() {
    let (folder, spec) = (Folder::new("modules-gguf"), Spec::gemma());
    let path = folder.path("model.gguf");
    for dtype in [DType::F32, DType::F16, DType::Q8_0] {
        let mut tensors = spec.tensors(5, DType::F32);
        let modules = [(2, (64, 96)), (3, (96, 64))]
            .map(|(i, widths)| (i, dense(i, widths, "linear.Identity", r#", "bias": false"#, dtype)));
        let mut data = metadata(&spec);
        for (i, module) in &modules {
            let stored = module.tensors.all["linear.weight"].clone();
            for (end, n) in [("in", stored.shape[0]), ("out", stored.shape[1])] {
                data.push((format!("gemma-embedding.dense_{i}_feat_{end}"), Value::U32(n as u32)));
            }
            tensors.all.insert(format!("dense_{i}.weight"), stored);
        }
        tensors.write_gguf(&path, &data);
        let encoder = open(&path);
        assert_eq!(encoder.warnings(), [""; 0]);
        let modules = modules.map(|(_, module)| module);
        expect_vectors(&encoder, |line| after(&modules, spec.pooled(&tensors, line, &[], true)), 1e-4);
        // Fewer elements, and the memory that is taken.
        let cut = Encoder::open(&path, &backend(), &EncoderOptions::new().dimensions(8)).unwrap();
        assert_eq!((cut.width(), cut.embed_tokens(&lines(), |_| true).unwrap()[0].len()), (8, 8));
        assert_eq!(encoder.memory().tensors, tensors.all.len());
        // SAFETY: nobody changes the file.
        let outline = unsafe { Encoder::outline(&path, &backend(), &EncoderOptions::new()).unwrap() };
        assert_eq!(outline.tensors.len(), tensors.all.len());
        // SAFETY: as above.
        assert_eq!(unsafe { ModelKind::of_mapped(&path).unwrap() }, ModelKind::Encoder);
        // Widths that contradict the tensor, and a tensor that is missing.
        data.iter_mut().find(|(key, _)| key.ends_with("dense_2_feat_out")).unwrap().1 = Value::U32(95);
        tensors.write_gguf(&path, &data);
        assert!(refused(&path).contains("'dense_2.weight' is [64, 96]"), "{}", refused(&path));
        tensors.all.remove("dense_2.weight");
        tensors.write_gguf(&path, &data);
        assert!(refused(&path).contains("tensor 'dense_2.weight' is missing: gemma-embedding.dense_2_feat_in says"));
        data.retain(|(key, _)| !key.contains("dense_2"));
        tensors.write_gguf(&path, &data);
        assert!(refused(&path).contains("dense_3: takes vectors of 96 elements: it gets 64"), "{}", refused(&path));
    }
    // A file without them is that of another model, which a warning says.
    spec.tensors(5, DType::F32).write_gguf(&path, &metadata(&spec));
    assert!(open(&path).warnings()[0].contains("lack the Dense modules"), "{:?}", open(&path).warnings());
}

#[test]
fn language_models_have_modules_too() {
    let (folder, model) = (Folder::new("modules-embedder"), qwen3());
    let path = folder.path("hub");
    crate::common::reranker_files::write_folder(&path, &model, &model.spec.tensors(3, DType::F32), "");
    write_modules(&path, "lasttoken", &[]);
    let open = || Embedder::open(&path, &backend(), &EncoderOptions::new().exact(true), 0).unwrap();
    let plain = open().embed_lines(0, &lines(), &mut |_| true).unwrap();
    // A module whose result depends on the direction alone.
    let modules = [dense(1, (64, 24), "linear.Identity", r#", "bias": false"#, DType::F32)];
    write_modules(&path, "lasttoken", &modules);
    let embedder = open();
    assert_eq!((embedder.width(), embedder.memory().tensors), (24, model.spec.tensors(3, DType::F32).all.len() + 1));
    for (found, before) in embedder.embed_lines(0, &lines(), &mut |_| true).unwrap().iter().zip(plain) {
        let wanted = unit(after(&modules, before.into_iter().map(f64::from).collect()));
        assert!(error(found, &wanted) < 1e-5);
    }
}

#[test]
fn scores_of_cross_encoders_are_those_of_double_precision() {
    let folder = Folder::new("modules-scores");
    let spec = Spec::modernbert();
    // That of the rerankers over Ettin's encoders.
    let list = |labels: i64| {
        vec![
            dense(1, (64, 64), "activation.GELU", r#", "bias": false"#, DType::F32),
            norm(2, 64),
            dense(3, (64, labels), "linear.Identity", r#", "module_output_name": "scores""#, DType::F32),
        ]
    };
    let path = folder.path("hub");
    for (labels, mode, said) in [
        (1, "cls", r#"{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"}"#),
        (1, "mean", r#"{"model_type": "CrossEncoder"}"#),
        (3, "mean", r#"{"model_type": "CrossEncoder"}"#),
    ] {
        let (tensors, modules) = (spec.tensors(7, DType::F32), list(labels));
        write_folder(&path, &spec, &tensors, "modernbert", "");
        write_modules(&path, mode, &modules);
        std::fs::write(path.join("config_sentence_transformers.json"), said).unwrap();
        let encoder = open(&path);
        assert_eq!((encoder.warnings(), encoder.labels().len()), (vec![], labels as usize));
        let texts: Vec<_> = LINES
            .iter()
            .map(|line| tensorlib_models::TokenizedText { ids: line.to_vec(), ..Default::default() })
            .collect();
        for (found, line) in encoder.classify_tokens(&texts, |_| true).unwrap().iter().zip(LINES) {
            let mut wanted = after(&modules, spec.pooled(&tensors, line, &[], mode == "mean"));
            if labels == 1 && mode == "mean" {
                wanted = wanted.into_iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
            }
            assert!(error(found, &wanted) < 2e-4, "{found:?} {wanted:?}");
        }
        match labels {
            1 => assert_eq!(encoder.score_tokens(&texts).unwrap().len(), 4),
            _ => assert!(encoder.score_tokens(&texts).unwrap_err().to_string().contains("3 labels")),
        }
        let error = encoder.embed_tokens(&lines(), |_| true).unwrap_err().to_string();
        assert!(
            error.contains("4_Dense/config.json: module_output_name: is 'scores': the model gives scores"),
            "{error}"
        );
        let chosen = EncoderOptions::new().pooling(Pooling::Mean).exact(true);
        let chosen = Encoder::open(&path, &backend(), &chosen).unwrap();
        expect_vectors(&chosen, |line| spec.pooled(&tensors, line, &[], true), 1e-4);
        assert_eq!(
            chosen.classify_tokens(&texts, |_| true).unwrap(),
            encoder.classify_tokens(&texts, |_| true).unwrap()
        );
    }
}

#[test]
fn lists_and_modules_that_are_refused() {
    let (folder, spec) = (Folder::new("modules-bad"), Spec::new());
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let expect = |modules: &[Module], words: &str| {
        write_modules(&path, "mean", modules);
        assert!(refused(&path).contains(words), "{}", refused(&path));
    };
    let simple = |further: &str| dense(1, (64, 32), "linear.Identity", further, DType::F32);
    for (further, words) in [
        (r#", "in_features": 63"#, "takes vectors of 63 elements: it gets 64"),
        (r#", "in_features": 0"#, "in_features: is 0: a whole number from 1"),
        (r#", "out_features": null"#, "out_features: is null: a whole number from 1"),
        (r#", "out_features": 31"#, "'linear.weight' is [64, 32]"),
        (r#", "bias": 1"#, "bias: is 1: true or false is valid"),
        (r#", "activation_function": "torch.nn.modules.activation.Mish""#, "is 'torch.nn.modules.activation.Mish'"),
        (r#", "activation_function": "os.system""#, "is 'os.system': Identity, Tanh"),
        (r#", "module_input_name": "token_embeddings""#, "module_input_name: is 'token_embeddings'"),
        (r#", "module_output_name": "x""#, "module_output_name: is 'x'"),
    ] {
        expect(&[simple(further)], words);
    }
    expect(&[norm(1, 63)], "takes vectors of 63 elements: it gets 64");
    expect(
        &[simple(r#", "module_output_name": "scores""#), plain("Normalize")],
        "'Normalize' after one that makes scores",
    );
    let mut bare = simple("");
    bare.tensors.all.remove("linear.bias");
    expect(&[bare], "2_Dense/model.safetensors: tensor 'linear.bias' is missing, and config.json says of it: true");
    let mut other = simple(r#", "bias": false"#);
    other.tensors.add(&mut Random(1), "linear.bias", &[32], 0.0, 1.0, DType::F32);
    expect(&[other], "tensor 'linear.bias' is there, and config.json says of it: false");
    expect(&[plain("WeightedLayerPooling")], "module 'WeightedLayerPooling': Transformer, Pooling, Dense, LayerNorm");
    write_modules(&path, "mean", &[simple("")]);
    std::fs::rename(path.join("2_Dense/model.safetensors"), path.join("2_Dense/pytorch_model.bin")).unwrap();
    assert!(refused(&path).contains("2_Dense/model.safetensors: does not exist"), "{}", refused(&path));
    std::fs::remove_file(path.join("2_Dense/config.json")).unwrap();
    assert!(refused(&path).contains("2_Dense/config.json: does not exist: modules.json names its folder"));
    write_modules(&path, "mean_sqrt_len_tokens", &[simple("")]);
    assert!(refused(&path).contains("mean_sqrt_len_tokens before modules with weights"), "{}", refused(&path));
    let list = r#"[{"type": "a.Transformer"}, {"type": "a.Dense", "path": "2_Dense"}, {"type": "a.Pooling"}]"#;
    std::fs::write(path.join("modules.json"), list).unwrap();
    assert!(refused(&path).contains("module 'Dense' before the module 'Pooling'"), "{}", refused(&path));
    // An unknown field is reported once; a weight that is not finite is named.
    let mut odd = simple(r#", "odd": 1"#);
    write_modules(&path, "mean", &[simple(r#", "odd": 1"#)]);
    assert!(open(&path).warnings()[0].ends_with("2_Dense/config.json: fields that are not known are ignored: odd"));
    odd.tensors.all.get_mut("linear.bias").unwrap().bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    write_modules(&path, "mean", &[odd]);
    let error = open(&path).embed_tokens(&lines(), |_| true).unwrap_err().to_string();
    assert!(error.contains("makes NaN") && error.contains("dense_2.bias"), "{error}");
    // A folder of Gemma that is no encoder.
    let gemma = Spec::gemma();
    let path = folder.path("gemma");
    write_folder(&path, &gemma, &gemma.tensors(5, DType::F32), "gemma3_text", "");
    assert!(open(&path).warnings()[0].contains("lack the Dense modules"));
    let text = config(&gemma, "gemma3_text", r#", "use_bidirectional_attention": false"#);
    std::fs::write(path.join("config.json"), text).unwrap();
    assert!(refused(&path).contains("use_bidirectional_attention: is not true"), "{}", refused(&path));
    // SAFETY: nobody changes the files.
    assert_eq!(unsafe { ModelKind::of_mapped(&path).unwrap() }, ModelKind::Decoder);
    for (further, words) in [
        (r#", "hidden_activation": "relu""#, "hidden_activation: is 'relu'"),
        (
            r#", "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 20}"#,
            "a factor for each pair",
        ),
        (r#", "num_key_value_heads": 3"#, "num_key_value_heads: is 3"),
        (r#", "attn_logit_softcapping": 50.0"#, "attn_logit_softcapping: is 50"),
    ] {
        std::fs::write(path.join("config.json"), config(&gemma, "gemma3_text", further)).unwrap();
        assert!(refused(&path).contains(words), "{}", refused(&path));
    }
}
