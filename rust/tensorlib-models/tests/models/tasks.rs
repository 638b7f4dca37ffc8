//! Encoders with low-rank additions for tasks, and with adapters, compared with double precision where the additions are
//! merged into the matrices.

use crate::common::encoder::Spec;
use crate::common::encoder_files::{metadata, write_folder};
use crate::common::encoder_tasks::*;
use crate::common::tiny::{byte_pairs_json, Random, Tensors};
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{DType, Gguf, GgufWriter, Value};
use tensorlib_models::{Conversion, Encoder, EncoderOptions, ErrorKind, Pooling};

const LINES: [&[u32]; 4] = [&[3, 10, 31, 5, 44, 52, 11], &[1], &[9, 8, 7], &[52, 51, 50]];

fn open(path: &Path, options: &EncoderOptions) -> Encoder {
    Encoder::open(path, &backend(), options).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(path: &Path, options: &EncoderOptions) -> tensorlib_models::Error {
    Encoder::open(path, &backend(), options).err().unwrap()
}

fn worst(encoder: &Encoder, spec: &Spec, tensors: &Tensors, mean: bool) -> f64 {
    let lines: Vec<Vec<u32>> = LINES.iter().map(|line| line.to_vec()).collect();
    let found = encoder.embed_tokens(&lines, |_| true).unwrap();
    found.iter().zip(&lines).map(|(found, line)| error(found, &spec.vector(tensors, line, mean))).fold(0.0, f64::max)
}

/// A model, its additions, and the folder of both forms.
struct Tasked {
    spec: Spec,
    plain: Tensors,
    added: Vec<Tensors>,
    folder: Folder,
}

impl Tasked {
    fn new(name: &str, dtype: DType) -> Self {
        let (spec, folder) = (Spec::jina3(), Folder::new(name));
        let plain = spec.tensors(4, dtype);
        let added = additions(&plain, if dtype == DType::BF16 { dtype } else { DType::F32 });
        let made = Tasked { spec, plain, added, folder };
        write_with_tasks(&made.hub(), &made.spec, &with_all(&made.plain, &made.added), "roberta.", "");
        made.plain.write_gguf(&made.gguf(), &metadata(&made.spec));
        for task in 0..TASKS.len() {
            write_task(&made.adapter(task), &made.spec, &made.added[task], task);
        }
        made
    }

    fn hub(&self) -> PathBuf {
        self.folder.path("hub")
    }

    fn gguf(&self) -> PathBuf {
        self.folder.path("model.gguf")
    }

    fn adapter(&self, task: usize) -> PathBuf {
        self.folder.path(&format!("lora-{}-model.gguf", TASKS[task]))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.hub().join(name), text).unwrap();
    }
}

#[test]
fn vectors_of_tasks_are_those_of_merged_matrices() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let of = Tasked::new(&format!("tasks-{dtype}"), dtype);
        for path in [of.hub(), of.gguf()] {
            for (mean, pooling) in [(true, Pooling::Mean), (false, Pooling::Cls)] {
                let options = EncoderOptions::new().exact(true).pooling(pooling);
                let encoder = open(&path, &options);
                assert_eq!(encoder.warnings(), [""; 0]);
                let off = worst(&encoder, &of.spec, &of.plain, mean);
                assert!(off < 1e-4, "{dtype}, no task: {off:e}");
                for (task, added) in TASKS.iter().zip(&of.added) {
                    let encoder = open(&path, &options.clone().task(*task));
                    assert_eq!(encoder.warnings(), [""; 0]);
                    let off = worst(&encoder, &of.spec, &merged(&of.plain, added), mean);
                    assert!(off < 1e-4, "{dtype} {task} {}: {off:e}", path.display());
                    assert!(worst(&encoder, &of.spec, &of.plain, mean) > 1e-2, "{task}: the additions are not seen");
                }
            }
        }
    }
}

/// The files that a folder becomes have the folder's vectors, and the tensors of files written by hand.
#[test]
fn folders_become_a_file_and_an_adapter_for_each_task() {
    for dtype in [DType::F32, DType::BF16] {
        let of = Tasked::new(&format!("tasks-convert-{dtype}"), dtype);
        of.write("tokenizer.json", &byte_pairs_json(of.spec.vocabulary));
        let path = of.folder.path("made.gguf");
        let conversion = Conversion::open(of.hub(), None).unwrap();
        assert_eq!(conversion.tasks(), TASKS);
        write(&conversion, &path);
        for (task, added) in TASKS.iter().zip(&of.added) {
            let adapter = of.folder.path(&format!("lora-{task}-made.gguf"));
            let conversion = Conversion::open_task(of.hub(), task).unwrap();
            assert_eq!(conversion.architecture(), "jina-bert-v3");
            write(&conversion, &adapter);
            let made = Gguf::open(&adapter).unwrap();
            assert_eq!(made.tensors().count(), added.all.len());
            for (name, stored) in &added.all {
                let info = made.tensor_info(name).unwrap_or_else(|| panic!("no {name}"));
                assert_eq!((info.dtype, &info.shape), (DType::F32, &stored.shape), "{name}");
                let values = info.dtype.dequantize(info.data).unwrap();
                assert!(values.iter().zip(added.get(name)).all(|(a, b)| f64::from(*a) == *b), "{name}");
            }
            let hand = Gguf::open(of.adapter(TASKS.iter().position(|other| other == task).unwrap())).unwrap();
            for (key, value) in hand.metadata() {
                assert_eq!(made.get(key), Some(value.clone()), "{key}");
            }
        }
        for options in [EncoderOptions::new(), EncoderOptions::new().task(TASKS[0])] {
            let vectors = |path: &Path| {
                let lines: Vec<Vec<u32>> = LINES.iter().map(|line| line.to_vec()).collect();
                open(path, &options.clone().exact(true)).embed_tokens(&lines, |_| true).unwrap()
            };
            let (hub, made) = (vectors(&of.hub()), vectors(&path));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
            assert!(hub.iter().flatten().zip(made.iter().flatten()).all(near), "{dtype}");
        }
        let error = Conversion::open_task(of.hub(), "x").unwrap_err().to_string();
        assert!(error.contains("task 'x': retrieval.query"), "{error}");
    }
}

fn write(conversion: &Conversion, path: &Path) {
    let mut writer = GgufWriter::create(path).unwrap();
    conversion.write(&mut writer, |_| true).unwrap();
    writer.finish().unwrap();
}

#[test]
fn weights_in_blocks_take_tasks() {
    let of = Tasked::new("tasks-blocks", DType::F32);
    for path in [of.hub(), of.gguf()] {
        let encoder = open(&path, &EncoderOptions::new().stored_as(DType::Q8_0).task(TASKS[1]));
        let off = worst(&encoder, &of.spec, &merged(&of.plain, &of.added[1]), true);
        assert!(off > 1e-5 && off < 0.05, "{off:e}");
        // SAFETY: nobody changes the files.
        let outline = unsafe { Encoder::outline(&path, &backend(), &EncoderOptions::new().task(TASKS[1])) }.unwrap();
        assert!(outline.bytes.iter().sum::<usize>() > 0);
    }
}

#[test]
fn a_task_puts_its_text_before_each_text() {
    let of = Tasked::new("tasks-texts", DType::F32);
    let prompts = r#"{"prompts": {"own": "w5 ", "query": "w7 w8 "}, "default_prompt_name": null}"#;
    of.write("config_sentence_transformers.json", prompts);
    let tokens = |options: EncoderOptions| open(&of.hub(), &options).tokenize("w3").unwrap().0;
    let task = |i: usize| EncoderOptions::new().task(TASKS[i]);
    assert_eq!(tokens(EncoderOptions::new()), [3]);
    assert_eq!(tokens(task(0)), [7, 8, 3]);
    assert_eq!(tokens(task(1)), [9, 3]);
    assert_eq!(tokens(task(2)), [3]);
    assert_eq!(tokens(task(0).prompt("own")), [5, 3]);
    of.write("1_Pooling/config.json", r#"{"pooling_mode": "mean", "include_prompt": false}"#);
    let error = refused(&of.hub(), &task(0)).to_string();
    assert!(error.contains("include_prompt: is false"), "{error}");
    assert_eq!(tokens(task(2)), [3]);
    // A GGUF file of an adapter has its text. The tokenizer of the tiny file has a token for each letter.
    let tokens = |options: EncoderOptions| open(&of.gguf(), &options).tokenize("a").unwrap().0;
    let (plain, query) = (tokens(EncoderOptions::new()), tokens(task(0)));
    assert!(query.len() > plain.len() && query.ends_with(&plain[plain.len() - 1..]), "{query:?}, {plain:?}");
    assert_eq!(tokens(task(2)), plain);
    assert_eq!(tokens(EncoderOptions::new().adapter(of.adapter(0), 0.5)), query);
    let both = EncoderOptions::new().adapter(of.adapter(0), 1.0).adapter(of.adapter(1), 1.0);
    let error = refused(&of.gguf(), &both);
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("('w7 w8 ', 'w9 ')"), "{error}");
}

#[test]
fn the_default_task_is_that_of_the_folder() {
    let of = Tasked::new("tasks-default", DType::F32);
    let modules = r#"[{"idx": 0, "name": "transformer", "path": "", "type": "custom_st.Transformer", "kwargs": ["task"]},
{"idx": 1, "name": "pooler", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
{"idx": 2, "name": "normalizer", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;
    of.write("modules.json", modules);
    let args = |args: &str| of.write("sentence_bert_config.json", &format!(r#"{{"model_args": {args}}}"#));
    args(r#"{"default_task": "retrieval.passage", "trust_remote_code": true}"#);
    let options = EncoderOptions::new().exact(true);
    let encoder = open(&of.hub(), &options);
    assert_eq!(encoder.warnings(), [""; 0]);
    assert!(worst(&encoder, &of.spec, &merged(&of.plain, &of.added[1]), true) < 1e-4);
    // The published code takes its matrices alone.
    assert_eq!(encoder.tokenize("w3").unwrap().0, [3]);
    let other = open(&of.hub(), &options.clone().task(TASKS[2]));
    assert!(worst(&other, &of.spec, &merged(&of.plain, &of.added[2]), true) < 1e-4);
    for (wrong, words) in [
        (r#"{"default_task": "x"}"#, "task 'x': retrieval.query, retrieval.passage, text-matching are valid"),
        (r#"{"default_task": 3}"#, "model_args"),
        ("3", "model_args: is 3: an object is valid"),
    ] {
        args(wrong);
        let error = refused(&of.hub(), &options).to_string();
        assert!(error.contains(words), "{error}");
    }
    args(r#"{"odd": 1}"#);
    assert!(open(&of.hub(), &options).warnings()[0].ends_with("model_args: fields that are not known are ignored: odd"));
}

#[test]
fn tasks_that_are_not_there() {
    let of = Tasked::new("tasks-none", DType::F32);
    let options = EncoderOptions::new().task("retrieval");
    let error = refused(&of.hub(), &options);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error
        .to_string()
        .contains("task 'retrieval': retrieval.query, retrieval.passage, text-matching are valid"));
    let error = refused(&of.gguf(), &options).to_string();
    for words in ["lora-retrieval-model.gguf next to the model", "there are lora-retrieval.passage-model.gguf, lora-"] {
        assert!(error.contains(words), "{error}");
    }
    // The adapter may have the name of the model in another type.
    std::fs::rename(of.adapter(0), of.folder.path("lora-retrieval.query-model-F16.gguf")).unwrap();
    open(&of.gguf(), &EncoderOptions::new().task(TASKS[0]));
    std::fs::copy(of.adapter(1), of.folder.path("lora-retrieval.query-other.gguf")).unwrap();
    let error = refused(&of.gguf(), &EncoderOptions::new().task(TASKS[0])).to_string();
    assert!(
        error.contains("lora-retrieval.query-model-F16.gguf and lora-retrieval.query-other.gguf may be"),
        "{error}"
    );
    std::fs::copy(of.adapter(1), of.adapter(0)).unwrap();
    let error = refused(&of.gguf(), &EncoderOptions::new().task(TASKS[0])).to_string();
    assert!(error.contains("task_name is 'retrieval.passage': 'retrieval.query' is expected"), "{error}");

    let bert = of.folder.path("bert");
    write_folder(&bert, &Spec::new(), &Spec::new().tensors(5, DType::F32), "bert", "");
    let error = refused(&bert, &options).to_string();
    assert!(error.contains("task 'retrieval': the folder has no tasks (lora_adaptations in config.json)"), "{error}");
}

#[test]
fn settings_of_tasks_that_are_not_known() {
    let of = Tasked::new("tasks-settings", DType::F32);
    let all = with_all(&of.plain, &of.added);
    for (further, words) in [
        (
            r#", "task_instructions": {"retrieval.query": "q: "}"#,
            "task_instructions: has no text for 'retrieval.passage'",
        ),
        (r#", "task_instructions": {"x": "q: "}"#, "task_instructions: has 'x', which is none of retrieval.query, "),
        (r#", "task_instructions": ["q: "]"#, "task_instructions: is no object: a text for each task is valid"),
        (
            r#", "load_trained_adapters": false"#,
            "load_trained_adapters: is false, although lora_adaptations names tasks",
        ),
        (r#", "lora_adaptations": ["a/b"]"#, "lora_adaptations: has 'a/b': names without slashes are valid"),
        (r#", "lora_adaptations": "all""#, "lora_adaptations: is \"all\": texts are valid"),
        (r#", "lora_rank": 0"#, "lora_rank: is 0: a whole number from 1"),
        (r#", "lora_rank": 4"#, ".0.lora_A' is [3, 53, 3] f32: [4, 53, 3] is expected"),
        (r#", "lora_alpha": "much""#, "lora_alpha: is \"much\": a finite number is valid"),
        (r#", "truncate_dim": 32"#, "truncate_dim: is 32: null is supported"),
        (r#", "emb_pooler": "cls""#, "emb_pooler: is \"cls\": \"mean\" is supported"),
        (r#", "rotary_emb_interleaved": true"#, "rotary_emb_interleaved: is true: false is supported"),
        (r#", "rotary_emb_base": null"#, "rotary_emb_base: is missing: a number is expected"),
        (r#", "rotary_emb_dim": 5"#, "rotary_emb_dim: 5 of a head's 16 elements turn"),
        (r#", "hidden_act": "relu""#, "hidden_act: is 'relu': gelu, gelu_new, gelu_pytorch_tanh is known"),
    ] {
        write_with_tasks(&of.hub(), &of.spec, &all, "roberta.", further);
        let error = refused(&of.hub(), &EncoderOptions::new().task(TASKS[0])).to_string();
        assert!(error.contains(words), "{further}: {error}");
    }
    for (name, shape, words) in [
        ("blk.1.ffn_up.weight.0.lora_B", None, "mlp.fc1.parametrizations.weight.0.lora_B' is missing: [3, 96]"),
        ("blk.1.ffn_up.weight.0.lora_A", None, "mlp.fc1.parametrizations.weight.0.lora_B' fits no matrix"),
        ("blk.0.attn_qkv.weight.0.lora_A", Some([64, 3, 2]), "is [64, 3, 2] f32: [64, 3, 3] is expected"),
        (
            "blk.7.ffn_up.weight.0.lora_A",
            Some([64, 3, 3]),
            "layers.7.mlp.fc1.parametrizations.weight.0.lora_A' fits no",
        ),
    ] {
        let mut tensors = all.clone();
        tensors.all.remove(name);
        if let Some(shape) = shape {
            tensors.add(&mut Random(1), name, &shape, 0.0, 1.0, DType::F32);
        }
        write_with_tasks(&of.hub(), &of.spec, &tensors, "roberta.", "");
        let error = refused(&of.hub(), &EncoderOptions::new().task(TASKS[0])).to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

/// Adapters of any encoder, in both forms.
#[test]
fn encoders_take_adapters() {
    let (spec, folder) = (Spec::new(), Folder::new("encoder-lora"));
    let (hub, gguf, peft, file) =
        (folder.path("hub"), folder.path("model.gguf"), folder.path("peft"), folder.path("adapter.gguf"));
    let plain = spec.tensors(5, DType::F32);
    let (mut added, mut random, mut merged) = (Tensors::default(), Random(3), plain.clone());
    for name in ["blk.0.attn_q.weight", "blk.1.ffn_up.weight", "blk.1.ffn_down.weight"] {
        let shape = &plain.all[name].shape;
        added.add(&mut random, &format!("{name}.lora_a"), &[shape[0], RANK], 0.0, 0.2, DType::F32);
        added.add(&mut random, &format!("{name}.lora_b"), &[RANK, shape[1]], 0.0, 0.2, DType::F32);
        merged.merge(name, &added, 0.5 * ALPHA / RANK as f64);
    }
    write_folder(&hub, &spec, &plain, "bert", "");
    plain.write_gguf(&gguf, &metadata(&spec));
    let keys = |prefix: Option<&str>| {
        let mut all: Vec<(String, Value)> = vec![
            ("general.type".into(), "adapter".into()),
            ("general.architecture".into(), "bert".into()),
            ("adapter.type".into(), "lora".into()),
            ("adapter.lora.alpha".into(), Value::F32(ALPHA as f32)),
        ];
        all.extend(prefix.map(|prefix| ("adapter.lora.prompt_prefix".into(), prefix.into())));
        all
    };
    added.write_gguf(&file, &keys(None));
    std::fs::create_dir_all(&peft).unwrap();
    let config = format!(r#"{{"peft_type": "LORA", "r": {RANK}, "lora_alpha": {ALPHA}}}"#);
    std::fs::write(peft.join("adapter_config.json"), config).unwrap();
    let name_of = |name: &str, _| {
        let (matrix, part) = name.rsplit_once(".weight.lora_").unwrap();
        let module = crate::common::encoder_files::hub_name(spec.family, "", &format!("{matrix}.weight"));
        let module = module.strip_suffix(".weight").unwrap();
        format!("base_model.model.{module}.lora_{}.weight", part.to_uppercase())
    };
    added.write_safetensors(&peft.join("adapter_model.safetensors"), name_of, |_| false);
    for (model, adapter) in [(&hub, &peft), (&gguf, &file)] {
        let encoder = open(model, &EncoderOptions::new().exact(true).adapter(adapter, 0.5));
        let off = worst(&encoder, &spec, &merged, true);
        assert!(off < 1e-4, "{off:e}");
        assert!(worst(&encoder, &spec, &plain, true) > 1e-3);
    }
    let error = refused(&hub, &EncoderOptions::new().adapter(&file, 1.0)).to_string();
    assert!(error.contains("the adapter is GGUF, the model a folder"), "{error}");
    let mut other = added.clone();
    other.add(&mut random, "blk.9.ffn_up.weight.lora_a", &[64, RANK], 0.0, 0.2, DType::F32);
    other.write_gguf(&file, &keys(None));
    let error = refused(&gguf, &EncoderOptions::new().adapter(&file, 1.0)).to_string();
    assert!(error.contains("tensor 'blk.9.ffn_up.weight.lora_a' fits no matrix of the model"), "{error}");
}
