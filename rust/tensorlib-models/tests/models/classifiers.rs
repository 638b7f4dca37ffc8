//! Scores of cross-encoders and classifiers, compared with a forward pass in double precision.

use crate::common::encoder::{Family, Spec};
use crate::common::encoder_files::{config, metadata, write_folder};
use crate::common::tiny::Tensors;
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{DType, Value};
use tensorlib_models::{Encoder, EncoderOptions, Pooling, ScorePairs, TokenizedText};

const CLASSIFIER: &str = r#", "architectures": ["XForSequenceClassification"]"#;
const LOGITS: &str = r#", "architectures": ["XForSequenceClassification"],
"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.1.0"}"#;

/// Pairs of many lengths; the second text's tokens have type 1 if the model has two types.
fn pairs(spec: &Spec) -> Vec<TokenizedText> {
    let longest = spec.positions - spec.first_position;
    let lengths = [5, 2, 7, 5, longest, 12, 5, 1, longest - 1];
    let pair = |(i, n): (usize, &usize)| TokenizedText {
        ids: (0..*n).map(|j| ((i * 31 + j * j * 5 + 1) % spec.vocabulary) as u32).collect(),
        types: if spec.types > 1 { (0..*n).map(|j| u32::from(2 * j > *n)).collect() } else { Vec::new() },
        was_cut: false,
    };
    lengths.iter().enumerate().map(pair).collect()
}

/// A folder's settings of a model.
fn write_config(path: &Path, spec: &Spec, kind: &str, further: &str) {
    std::fs::write(path.join("config.json"), config(spec, kind, further)).unwrap();
}

fn open(path: &Path) -> Encoder {
    Encoder::open(path, &backend(), &EncoderOptions::new().exact(true)).unwrap()
}

/// The error for which this folder or file is not opened.
fn refused(path: &Path) -> String {
    Encoder::open(path, &backend(), &EncoderOptions::new()).err().unwrap().to_string()
}

#[track_caller]
fn expect_logits(found: &[Vec<f32>], spec: &Spec, tensors: &Tensors, mean: bool, what: &str) {
    for (found, pair) in found.iter().zip(pairs(spec)) {
        let off = error(found, &spec.logits(tensors, &pair.ids, &pair.types, mean));
        assert!(off < 2e-4, "{what}, {} tokens: {off:e}", pair.ids.len());
    }
}

#[test]
fn logits_are_those_of_double_precision() {
    let roberta = Spec { first_position: 2, types: 1, ..Spec::new() };
    let kinds = [
        ("bert", "", Spec::new().with_labels(3), false),
        ("bert", "bert.", Spec::new().with_labels(1), false),
        ("xlm-roberta", "roberta.", roberta.clone().with_labels(1), false),
        ("roberta", "roberta.", roberta.with_labels(5), false),
        ("mpnet", "mpnet.", Spec::mpnet().with_labels(2), false),
        ("distilbert", "distilbert.", Spec::distilbert().with_labels(2), false),
        ("electra", "electra.", Spec::electra().with_labels(3), false),
        ("deberta-v2", "deberta.", Spec::deberta().with_labels(3), false),
        ("new", "new.", Spec::gte().with_labels(1), false),
        ("bert", "bert.", Spec::jina().with_labels(1), false),
        ("modernbert", "model.", Spec::modernbert().with_labels(1), false),
        ("modernbert", "", Spec::modernbert().with_labels(4), true),
    ];
    for (i, (kind, prefix, spec, mean)) in kinds.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16] {
            let folder = Folder::new(&format!("classifier-{i}-{dtype}"));
            let tensors = spec.tensors(i as u64, dtype);
            let mut paths: Vec<PathBuf> = vec![folder.path("hub")];
            write_folder(&paths[0], &spec, &tensors, kind, prefix);
            let pooling = if mean { r#", "classifier_pooling": "mean""# } else { "" };
            write_config(&paths[0], &spec, kind, &format!("{LOGITS}{pooling}"));
            if kind == "bert" || kind == "modernbert" {
                paths.push(folder.path("model.gguf"));
                let mut data = metadata(&spec);
                if kind == "modernbert" {
                    data.push(("modern-bert.classifier.pooling_type".into(), Value::U32(if mean { 1 } else { 2 })));
                }
                tensors.write_gguf(&paths[1], &data);
            }
            for path in paths {
                let encoder = open(&path);
                assert_eq!(encoder.warnings(), [""; 0]);
                assert_eq!(encoder.labels().len(), spec.labels);
                let what = format!("{kind} {dtype} {}", path.display());
                let scores = encoder.classify_tokens(&pairs(&spec), |_| true).unwrap();
                match path.is_dir() {
                    true => expect_logits(&scores, &spec, &tensors, mean, &what),
                    // A file says nothing of its scores: those of labels add up to 1, and a single one is a sigmoid's.
                    false => {
                        for (scores, pair) in scores.iter().zip(pairs(&spec)) {
                            let powers: Vec<f64> =
                                spec.logits(&tensors, &pair.ids, &pair.types, mean).iter().map(|x| x.exp()).collect();
                            let sum: f64 = powers.iter().sum();
                            let whole = if spec.labels == 1 { 1.0 + sum } else { sum };
                            for (score, power) in scores.iter().zip(powers) {
                                assert!((f64::from(*score) - power / whole).abs() < 1e-4, "{what}: {scores:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_pair_has_the_score_that_it_has_alone() {
    let folder = Folder::new("classifier-alone");
    for (kind, prefix, spec) in [("bert", "bert.", Spec::new()), ("modernbert", "model.", Spec::modernbert())] {
        let (spec, path) = (spec.with_labels(1), folder.path(kind));
        write_folder(&path, &spec, &spec.tensors(7, DType::F32), kind, prefix);
        let pooling = if kind == "modernbert" { r#", "classifier_pooling": "mean""# } else { "" };
        write_config(&path, &spec, kind, &format!("{LOGITS}{pooling}"));
        for options in [EncoderOptions::new(), EncoderOptions::new().stored_as(DType::Q8_0)] {
            let encoder = Encoder::open(&path, &backend(), &options).unwrap();
            let pairs = pairs(&spec);
            for (pair, together) in pairs.iter().zip(encoder.score_tokens(&pairs).unwrap()) {
                let alone = encoder.score_tokens(std::slice::from_ref(pair)).unwrap()[0];
                assert!((alone - together).abs() <= 2e-5, "{kind}: {alone} alone, {together} among others");
            }
        }
    }
}

/// Common converters leave out BERT's first product, and give the second one its name or keep its own.
#[test]
fn files_without_the_first_product() {
    let (folder, spec) = (Folder::new("classifier-gguf"), Spec::new().with_labels(2));
    let whole = spec.tensors(5, DType::F32);
    for name in ["cls", "cls.output"] {
        let mut tensors = spec.tensors(5, DType::F32);
        for end in ["weight", "bias"] {
            tensors.all.remove(&format!("cls.{end}")).unwrap();
            let kept = tensors.all.remove(&format!("cls.output.{end}")).unwrap();
            tensors.all.insert(format!("{name}.{end}"), kept);
        }
        let (path, mut data) = (folder.path("model.gguf"), metadata(&spec));
        data.retain(|(key, _)| key != "bert.pooling_type");
        data.push(("bert.pooling_type".into(), Value::U32(4)));
        data.push(("bert.classifier.output_labels".into(), vec!["no".to_string(), "yes".to_string()].into()));
        tensors.write_gguf(&path, &data);
        let encoder = open(&path);
        let warnings = encoder.warnings();
        assert!(
            warnings.len() == 1 && warnings[0].contains("lacks the first product of the model's head"),
            "{warnings:?}"
        );
        assert_eq!(encoder.labels(), ["no", "yes"]);
        for (scores, pair) in encoder.classify_tokens(&pairs(&spec), |_| true).unwrap().iter().zip(pairs(&spec)) {
            let first = spec.pooled(&whole, &pair.ids, &pair.types, false);
            let logits: Vec<f64> = (0..2)
                .map(|i| {
                    let row = &whole.get("cls.output.weight")[i * spec.width..(i + 1) * spec.width];
                    row.iter().zip(&first).map(|(a, b)| a * b).sum::<f64>() + whole.get("cls.output.bias")[i]
                })
                .collect();
            let yes = 1.0 / (1.0 + (logits[0] - logits[1]).exp());
            assert!((f64::from(scores[1]) - yes).abs() < 1e-4, "{scores:?} {yes}");
        }
        // The file says that its model gives scores alone.
        let error = encoder.embed_tokens(&[vec![1, 2]], |_| true).unwrap_err();
        assert!(error.to_string().starts_with("bert.pooling_type: is 4 (rank)"), "{error}");
        assert!(error.hint().unwrap().contains("--pooling mean"));
        let chosen = Encoder::open(&path, &backend(), &EncoderOptions::new().pooling(Pooling::Cls)).unwrap();
        assert_eq!(chosen.embed_tokens(&[vec![1, 2]], |_| true).unwrap()[0].len(), spec.width);
    }
}

#[test]
fn labels_and_scores_are_what_the_folder_says() {
    let folder = Folder::new("classifier-labels");
    let words = |n: usize| (0..n).map(|i| format!("\"{i}\": \"L{i}\"")).collect::<Vec<_>>().join(", ");
    for labels in [1usize, 3] {
        let (spec, path) = (Spec::new().with_labels(labels), folder.path("hub"));
        let tensors = spec.tensors(5, DType::F32);
        write_folder(&path, &spec, &tensors, "bert", "bert.");
        let pairs = pairs(&spec);
        let logits = spec.logits(&tensors, &pairs[0].ids, &pairs[0].types, false);
        let sigmoid: fn(f64) -> f64 = |x| 1.0 / (1.0 + (-x).exp());
        let sum: f64 = logits.iter().map(|x| x.exp()).sum();
        let softmax: Vec<f64> = logits.iter().map(|x| x.exp() / sum).collect();
        let each = |of: fn(f64) -> f64| logits.iter().map(|x| of(*x)).collect::<Vec<f64>>();
        let usual = if labels == 1 { each(sigmoid) } else { softmax.clone() };
        let of_torch = |name: &str| format!(r#", "sentence_transformers": {{"activation_fn": "torch.nn.{name}"}}"#);
        let older = |name: &str| format!(r#", "sbert_ce_default_activation_function": "torch.nn.{name}""#);
        let problem = |name: &str| format!(r#", "problem_type": "{name}""#);
        for (further, wanted) in [
            (String::new(), usual.clone()),
            (r#", "problem_type": null, "sentence_transformers": {"version": "5.0"}"#.into(), usual.clone()),
            (problem("single_label_classification"), usual.clone()),
            (problem("multi_label_classification"), each(sigmoid)),
            (problem("regression"), each(|x| x)),
            (of_torch("modules.activation.Sigmoid"), each(sigmoid)),
            (of_torch("modules.linear.Identity"), each(|x| x)),
            (of_torch("Tanh"), each(f64::tanh)),
            (older("modules.linear.Identity"), each(|x| x)),
            (older("modules.linear.Identity") + &of_torch("modules.activation.Sigmoid"), each(sigmoid)),
            (problem("regression") + &of_torch("modules.activation.Sigmoid"), each(sigmoid)),
        ] {
            write_config(&path, &spec, "bert", &format!("{CLASSIFIER}, \"id2label\": {{{}}}{further}", words(labels)));
            let encoder = open(&path);
            assert_eq!(encoder.warnings(), [""; 0]);
            assert_eq!(encoder.labels(), (0..labels).map(|i| format!("L{i}")).collect::<Vec<_>>());
            let found = encoder.classify_tokens(&pairs[..1], |_| true).unwrap();
            for (a, b) in found[0].iter().zip(&wanted) {
                assert!((f64::from(*a) - b).abs() < 1e-4, "{further}: {found:?}, not {wanted:?}");
            }
        }
        for (further, words) in [
            (problem("token_classification"), "problem_type: is 'token_classification': regression"),
            (of_torch("modules.activation.GELU"), "activation_fn: is 'torch.nn.modules.activation.GELU': Identity"),
            (older("evil.Sigmoid").replace("torch.nn.", ""), "sbert_ce_default_activation_function: is 'evil.Sigmoid'"),
            (r#", "id2label": {"0": "a", "2": "b"}"#.into(), "id2label: a text for each number from 0 on is valid"),
            (r#", "id2label": {"0": "a", "1": "b"}"#.into(), "id2label: has 2 names: the head's weights make"),
        ] {
            write_config(&path, &spec, "bert", &format!("{CLASSIFIER}{further}"));
            assert!(refused(&path).contains(words), "{}", refused(&path));
        }
        write_config(&path, &spec, "bert", &format!(r#"{CLASSIFIER}, "sentence_transformers": {{"odd": 1}}"#));
        assert!(open(&path).warnings()[0].contains("sentence_transformers: fields that are not known are ignored: odd"));
        // Without names, labels are numbered.
        write_config(&path, &spec, "bert", CLASSIFIER);
        assert_eq!(open(&path).labels()[0], "LABEL_0");
    }
}

/// A tokenizer with these special tokens around texts.
fn write_tokenizer(path: &Path, processor: &str) {
    let words: Vec<String> = (0..20).map(|i| format!("\"w{i}\": {i}")).collect();
    let json = format!(
        r#"{{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {{"type": "Whitespace"}},
"post_processor": {processor}, "decoder": null,
"model": {{"type": "WordLevel", "vocab": {{{}}}, "unk_token": "w0"}}}}"#,
        words.join(", ")
    );
    std::fs::write(path.join("tokenizer.json"), json).unwrap();
}

#[test]
fn pairs_are_put_together_as_the_files_say() {
    let (folder, spec) = (Folder::new("classifier-pairs"), Spec::new().with_labels(1));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "bert.");
    write_config(&path, &spec, "bert", CLASSIFIER);
    let piece = |kind: &str, id: &str, of: u32| format!(r#"{{"{kind}": {{"id": "{id}", "type_id": {of}}}}}"#);
    let special = |id: &str, n: u32| format!(r#""{id}": {{"id": "{id}", "ids": [{n}], "tokens": ["{id}"]}}"#);
    let [begin, end] = [piece("SpecialToken", "w1", 0), piece("SpecialToken", "w2", 0)];
    let pair = [
        begin.clone(),
        piece("Sequence", "A", 0),
        end.clone(),
        piece("Sequence", "B", 1),
        piece("SpecialToken", "w2", 1),
    ];
    let template = format!(
        r#"{{"type": "TemplateProcessing", "single": [{begin}, {}, {end}], "pair": [{}],
"special_tokens": {{{}, {}}}}}"#,
        piece("Sequence", "A", 0),
        pair.join(", "),
        special("w1", 1),
        special("w2", 2)
    );
    let bert = r#"{"type": "BertProcessing", "sep": ["w2", 2], "cls": ["w1", 1]}"#;
    let roberta = r#"{"type": "RobertaProcessing", "sep": ["w2", 2], "cls": ["w1", 1], "trim_offsets": true, "add_prefix_space": false}"#;
    let typed = (vec![1, 7, 8, 2, 9, 2], vec![0, 0, 0, 0, 1, 1]);
    for (processor, (ids, types)) in [
        (template.as_str(), typed.clone()),
        (bert, typed),
        (roberta, (vec![1, 7, 8, 2, 2, 9, 2], vec![0; 7])),
        ("null", (vec![7, 8, 9], vec![0, 0, 1])),
    ] {
        write_tokenizer(&path, processor);
        let found = open(&path).tokenize_pair("w7 w8", "w9").unwrap();
        assert_eq!(found, TokenizedText { ids, types, was_cut: false }, "{processor}");
    }
    // The longer text is cut first, on the side that the files choose.
    write_tokenizer(&path, bert);
    std::fs::write(path.join("tokenizer_config.json"), r#"{"model_max_length": 8}"#).unwrap();
    let cut = |first: &str, second: &str| open(&path).tokenize_pair(first, second).unwrap();
    assert_eq!(cut("w3 w4 w5 w6", "w7 w8").ids, [1, 3, 4, 5, 2, 7, 8, 2]);
    assert_eq!(cut("w3", "w4 w5 w6 w7 w8").ids, [1, 3, 2, 4, 5, 6, 7, 2]);
    assert_eq!(cut("w3 w4 w5 w6", "w7 w8 w9 w10").ids, [1, 3, 4, 2, 7, 8, 9, 2]);
    assert!(cut("w3 w4 w5 w6", "w7 w8").was_cut && !cut("w3", "w7 w8").was_cut);
    let from_the_left = r#"{"model_max_length": 8, "truncation_side": "left"}"#;
    std::fs::write(path.join("tokenizer_config.json"), from_the_left).unwrap();
    assert_eq!(cut("w3 w4 w5 w6", "w7 w8").ids, [1, 4, 5, 6, 2, 7, 8, 2]);
    std::fs::write(path.join("tokenizer_config.json"), r#"{"model_max_length": 2}"#).unwrap();
    let error = open(&path).tokenize_pair("w3", "w4").unwrap_err().to_string();
    assert_eq!(error, "2 tokens have no room for the 3 special ones of a pair");
    // A model whose files name its inputs without types gets none.
    let inputs = r#"{"model_input_names": ["input_ids", "attention_mask"]}"#;
    std::fs::write(path.join("tokenizer_config.json"), inputs).unwrap();
    assert_eq!(cut("w7 w8", "w9").types, [0; 6]);
    // The score of texts is that of their tokens.
    std::fs::write(path.join("tokenizer_config.json"), "{}").unwrap();
    let encoder = open(&path);
    let scores = encoder.score("w7 w8", &["w9", "w3 w4"]).unwrap();
    let tokens = ["w9", "w3 w4"].map(|text| encoder.tokenize_pair("w7 w8", text).unwrap());
    assert_eq!(scores, encoder.score_tokens(&tokens).unwrap());
    assert_ne!(scores[0], scores[1]);
    // Files may define texts of their own before each text, which pairs have not.
    let prompts = r#"{"prompts": {"q": "w7 "}, "default_prompt_name": "q"}"#;
    std::fs::write(path.join("config_sentence_transformers.json"), prompts).unwrap();
    let error = open(&path).tokenize_pair("w3", "w4").unwrap_err().to_string();
    assert!(error.contains("default_prompt_name: pairs of texts with a prompt are not known"), "{error}");
}

/// A GGUF file does not say how pairs are put together, but its vocabulary does.
#[test]
fn pairs_of_gguf_files() {
    let folder = Folder::new("classifier-gguf-pairs");
    let spec = Spec::new().with_labels(1);
    let words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "\u{2581}a", "\u{2581}b"].map(String::from);
    let others = (words.len()..spec.vocabulary).map(|i| format!("\u{2581}word{i}"));
    let tokens: Vec<String> = words.iter().cloned().chain(others).collect();
    let kinds: Vec<i32> = (0..spec.vocabulary).map(|i| if i < 4 { 3 } else { 1 }).collect();
    let mut data: Vec<(String, Value)> = metadata(&spec);
    data.retain(|(key, _)| !key.starts_with("tokenizer."));
    data.extend([
        ("tokenizer.ggml.model".to_string(), "bert".into()),
        ("tokenizer.ggml.tokens".into(), tokens.into()),
        ("tokenizer.ggml.token_type".into(), kinds.into()),
        ("tokenizer.ggml.cls_token_id".into(), Value::U32(1)),
        ("tokenizer.ggml.seperator_token_id".into(), Value::U32(2)),
    ]);
    let path = folder.path("bert.gguf");
    spec.tensors(5, DType::F32).write_gguf(&path, &data);
    let found = open(&path).tokenize_pair("a", "b a").unwrap();
    assert_eq!((found.ids, found.types), (vec![1, 4, 2, 5, 4, 2], vec![0, 0, 0, 1, 1, 1]));
    // SentencePiece's vocabulary, as RoBERTa's multilingual models have it: two ends between the texts, and no types.
    let (path, spec) = (folder.path("xlm.gguf"), Spec { types: 1, ..spec });
    let mut data = metadata(&spec);
    data.push(("tokenizer.ggml.add_eos_token".into(), Value::Bool(true)));
    spec.tensors(5, DType::F32).write_gguf(&path, &data);
    let found = open(&path).tokenize_pair("a", "b").unwrap();
    let [a, b] = [4, 5];
    assert_eq!((found.ids, found.types), (vec![1, 3, a, 2, 2, 3, b, 2], vec![]));
}

#[test]
fn models_without_a_head_and_bad_lines() {
    let (folder, spec) = (Folder::new("classifier-bad"), Spec::new());
    let (plain, path) = (folder.path("plain"), folder.path("hub"));
    write_folder(&plain, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let encoder = open(&plain);
    assert_eq!(encoder.labels(), [""; 0]);
    for error in [encoder.score("w1", &["w2"]).unwrap_err(), encoder.classify(&["w1"]).unwrap_err()] {
        assert_eq!(error.to_string(), "the model has no head: it gives vectors, not scores");
        assert!(error.hint().unwrap().contains("ForSequenceClassification"));
    }
    // A classifier of tokens has a tensor of the same name.
    let spec = spec.with_labels(3);
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "bert.");
    write_config(&path, &spec, "bert", r#", "architectures": ["BertForTokenClassification"]"#);
    assert_eq!(open(&path).labels(), [""; 0]);
    write_config(&path, &spec, "bert", CLASSIFIER);
    let encoder = open(&path);
    let error = encoder.score("w1", &["w2"]).unwrap_err().to_string();
    assert_eq!(error, "the model has 3 labels: one is valid for scores of pairs");
    let line = |ids: &[u32], types: &[u32]| TokenizedText { ids: ids.into(), types: types.into(), was_cut: false };
    let one = line(&[1, 2], &[0, 1]);
    for (bad, words) in [
        (line(&[], &[]), "line 8: it has no tokens: at least one is valid"),
        (line(&[53], &[]), "line 8: token 53: 0 to 52 are valid"),
        (line(&[1; 41], &[]), "line 8: 41 tokens: up to 40 are valid"),
        (line(&[1, 2], &[0]), "line 8: 1 token types for 2 tokens: one for each, or none, is valid"),
        (line(&[1, 2], &[0, 2]), "line 8: token type 2: 0 to 1 are valid"),
    ] {
        let error = encoder.classify_lines(7, &[one.clone(), bad], |_| true).unwrap_err().to_string();
        assert_eq!(error, words);
    }
    assert_eq!(encoder.classify_tokens(&[], |_| true).unwrap(), Vec::<Vec<f32>>::new());
    let error = encoder.classify_tokens(&[one.clone(), one.clone()], |_| false).unwrap_err().to_string();
    assert!(error.starts_with("stopped after 2 of 2 lines"), "{error}");
    // A head without its first product.
    let mut tensors = spec.tensors(5, DType::F32);
    tensors.all.remove("cls.weight").unwrap();
    write_folder(&path, &spec, &tensors, "bert", "bert.");
    write_config(&path, &spec, "bert", CLASSIFIER);
    assert!(refused(&path).contains("tensor 'bert.pooler.dense.weight' is missing: [64, 64] is expected"));
    // A damaged weight.
    let mut tensors = spec.tensors(5, DType::F32);
    tensors.all.get_mut("cls.output.bias").unwrap().bytes[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    write_folder(&path, &spec, &tensors, "bert", "bert.");
    write_config(
        &path,
        &spec,
        "bert",
        &format!("{CLASSIFIER}, \"id2label\": {{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}"),
    );
    let error = open(&path).classify_lines(3, &[one], |_| true).unwrap_err().to_string();
    assert!(error.starts_with("line 3: the logit of 'b' is NaN"), "{error}");
    assert!(error.contains("tensor 'cls.output.bias' holds NaN"), "{error}");
}

#[test]
fn settings_of_modernbert_that_are_not_known() {
    let (folder, spec) = (Folder::new("classifier-modernbert"), Spec::modernbert().with_labels(1));
    assert_eq!(spec.family, Family::ModernBert);
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "modernbert", "model.");
    for (further, words) in [
        (r#""hidden_activation": "mish""#, "hidden_activation: is 'mish': gelu, gelu_new"),
        (r#""classifier_activation": "mish""#, "classifier_activation: is 'mish': gelu, gelu_new"),
        (r#""classifier_pooling": "max""#, "classifier_pooling: is 'max': cls, mean is known"),
        (r#""global_rope_theta": 0"#, "global_rope_theta: is 0: a number from 1 on is valid"),
        (r#""local_attention": -1"#, "local_attention: is -1: a whole number from 0"),
        (r#""global_attn_every_n_layers": 0"#, "global_attn_every_n_layers: is 0: a whole number from 1"),
        (
            r#""layer_types": ["full_attention"]"#,
            "layer_types: full_attention in each layer whose number is a multiple of 2",
        ),
        (
            r#""rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 5000.0}}"#,
            "rope_parameters.full_attention.rope_type: is 'yarn': default is known",
        ),
        (r#""num_attention_heads": 64"#, "heads of 1 elements cannot be rotated"),
    ] {
        write_config(&path, &spec, "modernbert", &format!("{CLASSIFIER}, {further}"));
        assert!(refused(&path).contains(words), "{further}: {}", refused(&path));
    }
    // Newer folders have the rotations by the kind of layer, and say the kind of each.
    let newer = r#", "global_rope_theta": null, "local_rope_theta": null, "rope_parameters":
{"full_attention": {"rope_type": "default", "rope_theta": 5000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}},
"layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"]"#;
    let mut scores = Vec::new();
    for further in [newer, "", r#", "local_rope_theta": null"#] {
        write_config(&path, &spec, "modernbert", &format!("{LOGITS}{further}"));
        let encoder = open(&path);
        assert_eq!(encoder.warnings(), [""; 0]);
        scores.push(encoder.score_tokens(&pairs(&spec)).unwrap());
    }
    assert_eq!(scores[0], scores[1]);
    // Without a base of their own, layers with a window have that of the others.
    let alike = Spec { near_base: spec.rope_base, ..spec };
    let logits = scores[2].iter().map(|score| vec![*score]).collect::<Vec<_>>();
    expect_logits(&logits, &alike, &alike.tensors(5, DType::F32), false, "one base");
}
