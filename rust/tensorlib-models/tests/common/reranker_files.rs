//! The files of tiny language models that judge texts.

use super::architectures::{all, Model};
use super::tiny::Tensors;
use std::path::Path;

/// The tiny model of Qwen3.
pub fn qwen3() -> Model {
    all().into_iter().find(|model| model.name == "qwen3").unwrap()
}

/// A tokenizer of words that knows the answers and some of the template's words.
fn write_tokenizer(path: &Path, vocabulary: usize) {
    let mut words: Vec<String> =
        ["w0", "yes", "no", "<|im_start|>", "<|im_end|>", "Query", "Document", "user"].map(String::from).into();
    words.extend((words.len()..vocabulary).map(|i| format!("w{i}")));
    let vocab: Vec<String> = words.iter().enumerate().map(|(i, word)| format!("\"{word}\": {i}")).collect();
    let control = |id: usize| {
        format!(
            r#"{{"id": {id}, "content": "{}", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}}"#,
            words[id]
        )
    };
    let json = format!(
        r#"{{"version": "1.0", "added_tokens": [{}, {}], "normalizer": null, "pre_tokenizer": {{"type": "Whitespace"}},
"post_processor": null, "decoder": null, "model": {{"type": "WordLevel", "vocab": {{{}}}, "unk_token": "w0"}}}}"#,
        control(3),
        control(4),
        vocab.join(", ")
    );
    std::fs::write(path.join("tokenizer.json"), json).unwrap();
}

/// A folder of a model that judges texts, with further settings.
pub fn write_folder(path: &Path, model: &Model, tensors: &Tensors, further: &str) {
    std::fs::create_dir_all(path).unwrap();
    let config = model.config();
    std::fs::write(path.join("config.json"), format!("{}{further}}}", config.strip_suffix('}').unwrap())).unwrap();
    write_tokenizer(path, model.spec.vocabulary);
    let name = |name: &str, expert| match name {
        "cls.output.weight" => "score.weight".into(),
        _ => model.hub_name(name, expert),
    };
    tensors.write_safetensors(&path.join("model.safetensors"), name, |_| false);
}
