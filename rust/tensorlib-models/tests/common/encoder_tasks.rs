//! Low-rank additions for tasks, and the files of encoders with them.

use super::encoder::Spec;
use super::encoder_files::{config, hub_name, metadata, write_folder};
use super::tiny::{Random, Tensors};
use std::path::Path;
use tensorlib::{DType, Value};

pub const TASKS: [&str; 3] = ["retrieval.query", "retrieval.passage", "text-matching"];
/// The text before each text, for each task: words of the tiny tokenizer.
pub const INSTRUCTIONS: [&str; 3] = ["w7 w8 ", "w9 ", ""];
pub const RANK: i64 = 3;
pub const ALPHA: f64 = 6.0;

/// Matrices of a model to which tasks add.
fn matrices(tensors: &Tensors) -> impl Iterator<Item = &String> {
    tensors.all.keys().filter(|name| name.ends_with(".weight") && !name.ends_with("norm.weight"))
}

/// The additions of each task, by names of GGUF files.
pub fn additions(tensors: &Tensors, dtype: DType) -> Vec<Tensors> {
    let of_task = |seed: u64| {
        let (mut made, mut random) = (Tensors::default(), Random(seed));
        for name in matrices(tensors) {
            let (columns, rows) = (tensors.all[name].shape[0], tensors.all[name].shape[1]);
            let [a, b] = match name == "token_embd.weight" {
                true => [[RANK, rows], [RANK, columns]],
                false => [[columns, RANK], [RANK, rows]],
            };
            made.add(&mut random, &format!("{name}.lora_a"), &a, 0.0, 0.2, dtype);
            made.add(&mut random, &format!("{name}.lora_b"), &b, 0.0, 0.2, dtype);
        }
        made
    };
    (0..TASKS.len() as u64).map(|i| of_task(90 + i)).collect()
}

/// The model with a task's additions in its values.
pub fn merged(tensors: &Tensors, added: &Tensors) -> Tensors {
    let mut merged = tensors.clone();
    for name in matrices(tensors) {
        match name == "token_embd.weight" {
            true => merged.merge_rows(name, added, ALPHA / RANK as f64),
            false => merged.merge(name, added, ALPHA / RANK as f64),
        }
    }
    merged
}

/// The settings of tasks in config.json.
pub fn settings() -> String {
    let texts: Vec<String> =
        TASKS.iter().zip(INSTRUCTIONS).map(|(task, text)| format!("\"{task}\": \"{text}\"")).collect();
    format!(
        r#", "lora_adaptations": {TASKS:?}, "task_instructions": {{{}}}, "lora_rank": {RANK}, "lora_alpha": {ALPHA},
"lora_dropout_p": 0.0, "lora_main_params_trainable": false, "load_trained_adapters": true"#,
        texts.join(", ")
    )
}

/// The tensors of a folder that has all tasks.
pub fn with_all(tensors: &Tensors, added: &[Tensors]) -> Tensors {
    let mut all = tensors.clone();
    for name in matrices(tensors) {
        let of =
            |part: &str| added.iter().map(|added| added.all[&format!("{name}.{part}")].clone()).collect::<Vec<_>>();
        let (a, b) = match name.as_str() {
            "token_embd.weight" => (of("lora_a"), of("lora_b").iter().map(|b| b.transposed()).collect()),
            // Tables have A and B the other way round than matrices.
            "token_types.weight" => (of("lora_b"), of("lora_a")),
            _ => (of("lora_a"), of("lora_b")),
        };
        all.stack(&format!("{name}.0.lora_A"), &a.iter().collect::<Vec<_>>());
        all.stack(&format!("{name}.0.lora_B"), &b.iter().collect::<Vec<_>>());
    }
    all
}

/// The folder's name of a tensor of [`with_all`].
fn name(spec: &Spec, prefix: &str, name: &str) -> String {
    let (base, part) = match name.split_once(".0.lora_") {
        Some((base, part)) => (base, format!(".0.lora_{part}")),
        None => (name, ".original".to_string()),
    };
    let theirs = hub_name(spec.family, prefix, base);
    match theirs.strip_suffix(".weight").filter(|_| !base.ends_with("norm.weight")) {
        Some(module) => format!("{module}.parametrizations.weight{part}"),
        None => theirs,
    }
}

/// A folder with all tasks; `further` settings.
pub fn write_with_tasks(path: &Path, spec: &Spec, tensors: &Tensors, prefix: &str, further: &str) {
    write_folder(path, spec, &spec.tensors(1, DType::F32), "xlm-roberta", prefix);
    std::fs::write(path.join("config.json"), config(spec, "xlm-roberta", &(settings() + further))).unwrap();
    tensors.write_safetensors(&path.join("model.safetensors"), |ours, _| name(spec, prefix, ours), |_| false);
}

/// The file of a task's additions next to a GGUF file.
pub fn write_task(path: &Path, spec: &Spec, added: &Tensors, task: usize) {
    let architecture = metadata(spec)[0].1.clone();
    let metadata = [
        ("general.type".into(), "adapter".into()),
        ("general.architecture".into(), architecture),
        ("adapter.type".into(), "lora".into()),
        ("adapter.lora.alpha".into(), Value::F32(ALPHA as f32)),
        ("adapter.lora.task_name".into(), TASKS[task].into()),
        ("adapter.lora.prompt_prefix".into(), INSTRUCTIONS[task].into()),
    ];
    added.write_gguf(path, &metadata);
}
