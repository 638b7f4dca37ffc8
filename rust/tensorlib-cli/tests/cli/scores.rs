//! `rerank`, `classify`, and `embed` by a language model, with tiny models of random weights.

use crate::common::{command, Ended, Folder};
use crate::tiny_models::encoder::Spec;
use crate::tiny_models::encoder_files::{config, write_folder};
use crate::tiny_models::encoder_tasks::{additions, with_all, write_with_tasks};
use crate::tiny_models::reranker_files;
use crate::tiny_models::tiny::byte_pairs_json;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use tensorlib::DType;

pub fn tool_with(args: &[&str], input: &[u8]) -> Ended {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments reads nothing, and the pipe may be closed already.
    let _ = child.stdin.take().unwrap().write_all(input);
    let out = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A folder of a classifier with these labels.
fn classifier(folder: &Folder, name: &str, labels: &[&str]) -> String {
    let (path, spec) = (folder.path(name), Spec::new().with_labels(labels.len()));
    write_folder(Path::new(&path), &spec, &spec.tensors(5, DType::F32), "bert", "bert.");
    let names: Vec<String> = labels.iter().enumerate().map(|(i, label)| format!("\"{i}\": \"{label}\"")).collect();
    let further =
        format!(r#", "architectures": ["BertForSequenceClassification"], "id2label": {{{}}}"#, names.join(", "));
    std::fs::write(Path::new(&path).join("config.json"), config(&spec, "bert", &further)).unwrap();
    path
}

fn lines(json: &Ended) -> Vec<serde_json::Value> {
    json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const TEXTS: &[u8] = b"w1 w2\nw3\n\nw9 w10 w11 w12\nw3\n";

#[test]
fn lines_in_the_order_of_their_scores() {
    let folder = Folder::new("scores-rerank");
    let path = classifier(&folder, "hub", &["relevance"]);
    let json = lines(&tool_with(&["rerank", &path, "w5 w6", "--json"], TEXTS));
    let scores: Vec<f64> = json.iter().map(|line| line["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|x| (0.0..=1.0).contains(x)), "{scores:?}");
    let mut numbers: Vec<u64> = json.iter().map(|line| line["line"].as_u64().unwrap()).collect();
    let (third, fifth) = (numbers.iter().position(|n| *n == 2).unwrap(), numbers.iter().position(|n| *n == 5).unwrap());
    assert!(scores[third] == scores[fifth] && third < fifth, "equal lines stay in their order");
    for line in &json {
        let wanted = ["w1 w2", "w3", "", "w9 w10 w11 w12", "w3"][line["line"].as_u64().unwrap() as usize - 1];
        assert_eq!(line["text"], wanted);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let text = tool_with(&["rerank", &path, "w5 w6"], TEXTS);
    let wanted: Vec<String> = json
        .iter()
        .map(|line| format!("{:.4}\t{}", line["score"].as_f64().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert_eq!(text.out.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(
        tool_with(&["rerank", &path, "w5 w6", "--top", "2"], TEXTS).out.lines().collect::<Vec<_>>(),
        wanted[..2]
    );
    tool_with(&["rerank", &path, "w5"], b"").expect(0, &[]);
    tool_with(&["rerank", &path, "w5"], b"w1 \xFF\n").expect(0, &["1 line with bytes that are no UTF-8"]);
    let long = "w1 ".repeat(100);
    tool_with(&["rerank", &path, "w5"], long.as_bytes()).expect(0, &["1 line with more than 40 tokens: they were cut"]);
    tool_with(&["rerank", &path, "w5", "--type", "q8_0", "-v"], TEXTS).expect(0, &["weights: "]);
}

#[test]
fn a_language_model_ranks_lines() {
    let folder = Folder::new("scores-qwen");
    let (path, model) = (folder.path("Reranker"), reranker_files::qwen3());
    reranker_files::write_folder(Path::new(&path), &model, &model.spec.tensors(3, DType::F32), "");
    let json = |more: &[&str]| lines(&tool_with(&[&["rerank", &path, "w20", "--json"], more].concat(), TEXTS));
    let (usual, other) = (json(&[]), json(&["--instruction", "w30 w31 w32"]));
    assert_eq!((usual.len(), other.len()), (5, 5));
    assert_ne!(usual, other);
    tool_with(&["rerank", &path, "w20", "--ctx", "20"], TEXTS).expect(1, &["a context of 20 tokens has no room"]);
    tool_with(&["rerank", &path, "w20", "--put", "x=cpu"], TEXTS).expect(2, &["lies on one device"]);
}

#[test]
fn labels_of_lines_and_of_pairs() {
    let folder = Folder::new("scores-classify");
    let path = classifier(&folder, "hub", &["bad", "so so", "good"]);
    let texts = b"w1 w2\nw3\nw9 w10 w11 w12\nw3\n";
    let json = lines(&tool_with(&["classify", &path, "--json"], texts));
    assert_eq!(json.len(), 4);
    assert_eq!(json[1], json[3]);
    let text = tool_with(&["classify", &path, "--all"], texts);
    for (line, shown) in json.iter().zip(text.out.lines()) {
        let mut all: Vec<(f64, &str)> = line["labels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["score"].as_f64().unwrap(), of["label"].as_str().unwrap()))
            .collect();
        assert!((all.iter().map(|(score, _)| score).sum::<f64>() - 1.0).abs() < 1e-5);
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert_eq!((&line["label"], &line["score"]), (&all[0].1.into(), &all[0].0.into()));
        let wanted: Vec<String> = all.iter().map(|(score, label)| format!("{label}\t{score:.4}")).collect();
        assert_eq!(shown, wanted.join("\t"));
    }
    let best = tool_with(&["classify", &path], texts);
    for (one, all) in best.out.lines().zip(text.out.lines()) {
        assert!(all.starts_with(one) && one.split('\t').count() == 2);
    }
    let pairs = lines(&tool_with(&["classify", &path, "--pairs", "--json"], b"w1 w2\tw3\nw3\tw1 w2\n"));
    assert_eq!(pairs.len(), 2);
    assert_ne!(pairs[0], pairs[1]);
    tool_with(&["classify", &path, "--pairs"], b"w1\tw2\nw3\n")
        .expect(1, &["line 2: has no tab between its two texts"]);
    tool_with(&["classify", &path], b"").expect(0, &[]);
    // This tokenizer has no special tokens, so nothing is left of a blank line.
    tool_with(&["classify", &path], b"w1\n\n").expect(1, &["line 2: it has no tokens"]);
    tool_with(&["classify", &path, "--all", "--json"], b"").expect(2, &["cannot be used with"]);
}

#[test]
fn models_that_give_no_scores() {
    let folder = Folder::new("scores-none");
    let (plain, many) = (folder.path("plain"), classifier(&folder, "hub", &["a", "b"]));
    let spec = Spec::new();
    write_folder(Path::new(&plain), &spec, &spec.tensors(5, DType::F32), "bert", "");
    let words = ["the model has no head: it gives vectors", "ForSequenceClassification"];
    tool_with(&["rerank", &plain, "w1"], TEXTS).expect(1, &words);
    tool_with(&["classify", &plain], TEXTS).expect(1, &words);
    tool_with(&["rerank", &many, "w1"], TEXTS).expect(1, &["the model has 2 labels: one is valid", "classify"]);
    tool_with(&["rerank", &many, "w1", "--instruction", "x"], TEXTS)
        .expect(2, &["--instruction and --ctx: language models"]);
    tool_with(&["rerank", &folder.path("none"), "w1"], TEXTS).expect(3, &["none"]);
    let llama = crate::tiny_models::architectures::all().into_iter().find(|model| model.name == "llama").unwrap();
    let path = folder.path("llama.gguf");
    llama.spec.tensors(3, DType::F32).write_gguf(Path::new(&path), &llama.metadata());
    tool_with(&["rerank", &path, "w1"], TEXTS)
        .expect(1, &["architecture 'llama' is no language model that ranks texts"]);
    tool_with(&["classify", &path], TEXTS).expect(1, &["architecture 'llama' is no encoder that is known"]);
    let config = Path::new(&plain).join("config.json");
    let text = std::fs::read_to_string(&config).unwrap().replace("\"bert\"", "\"deberta-v5\"");
    std::fs::write(&config, text).unwrap();
    let words = ["architecture 'deberta-v5' is not known: encoders are bert, roberta", "decoders are llama, mistral"];
    tool_with(&["rerank", &plain, "w1"], TEXTS).expect(1, &words);
    tool_with(&["embed", &plain], TEXTS).expect(1, &words);
}

#[test]
fn a_language_model_makes_vectors() {
    let folder = Folder::new("scores-embed");
    let (path, model) = (folder.path("hub"), reranker_files::qwen3());
    reranker_files::write_folder(Path::new(&path), &model, &model.spec.tensors(3, DType::F32), "");
    let write = |name: &str, text: &str| std::fs::write(Path::new(&path).join(name), text).unwrap();
    write("config_sentence_transformers.json", r#"{"prompts": {"query": "w20 w21 "}}"#);
    let words = ["do not say how its vectors are pooled", "--pooling last, mean or cls"];
    tool_with(&["embed", &path], TEXTS).expect(1, &words);
    let vectors = |more: &[&str], input: &[u8]| {
        let told = tool_with(&[&["embed", &path, "--json"], more].concat(), input);
        assert_eq!(told.code, Some(0), "{}", told.err);
        lines(&told)
    };
    let found = vectors(&["--pooling", "last"], TEXTS);
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|vector| vector.as_array().unwrap().len() == 64));
    assert_eq!(found[1], found[4]);
    let asked = vectors(&["--pooling", "last", "--prompt", "query"], b"w3\n");
    assert_ne!(asked[0], found[1]);
    assert_eq!(asked, vectors(&["--pooling", "last"], b"w20 w21 w3\n"));
    tool_with(&["embed", &path, "--pooling", "last", "--prompt", "x"], b"")
        .expect(1, &["has no 'x': query can be chosen"]);
    let short = vectors(&["--pooling", "last", "--dimensions", "8"], TEXTS);
    assert!(short.iter().all(|vector| vector.as_array().unwrap().len() == 8));
    tool_with(&["embed", &path, "--pooling", "last", "--dimensions", "65"], b"").expect(1, &["1 to 64 are valid"]);
    let cut = tool_with(&["embed", &path, "--pooling", "mean", "--ctx", "2"], TEXTS);
    cut.expect(0, &["1 line with more than 2 tokens: they were cut"]);
    let encoder = classifier(&folder, "bert", &["a"]);
    tool_with(&["embed", &encoder, "--ctx", "2"], b"").expect(2, &["--ctx: language models alone have it"]);
}

/// A GGUF file of an encoder, and an adapter of it.
pub fn encoder_with_adapter(folder: &Folder) -> (String, String) {
    let (path, gguf, spec) = (folder.path("hub"), folder.path("made.gguf"), Spec::jina3());
    let tensors = spec.tensors(4, DType::F32);
    write_with_tasks(Path::new(&path), &spec, &with_all(&tensors, &additions(&tensors, DType::F32)), "roberta.", "");
    std::fs::write(Path::new(&path).join("tokenizer.json"), byte_pairs_json(spec.vocabulary)).unwrap();
    tool_with(&["convert", &path, &gguf], b"").expect(0, &["made.gguf: jina-bert-v3, "]);
    (gguf, folder.path("lora-text-matching-made.gguf"))
}

/// A folder with tasks: `embed --task`, and `convert`, whose adapters `embed --task` and `--lora` find.
#[test]
fn vectors_for_tasks() {
    let folder = Folder::new("scores-tasks");
    let (path, gguf, spec) = (folder.path("hub"), folder.path("made.gguf"), Spec::jina3());
    let tensors = spec.tensors(4, DType::F32);
    let all = with_all(&tensors, &additions(&tensors, DType::F32));
    write_with_tasks(Path::new(&path), &spec, &all, "roberta.", "");
    let vectors = |more: &[&str], input: &[u8]| {
        let told = tool_with(&[&["embed", "--json"], more].concat(), input);
        assert_eq!(told.code, Some(0), "{}", told.err);
        lines(&told)
    };
    let (plain, query) = (vectors(&[&path], TEXTS), vectors(&[&path, "--task", "retrieval.query"], TEXTS));
    assert_eq!((plain.len(), query.len()), (5, 5));
    assert_ne!(plain[1], query[1]);
    tool_with(&["embed", &path, "--task", "x"], b"")
        .expect(1, &["task 'x': retrieval.query, retrieval.passage, text-matching are valid"]);
    // Files need a tokenizer that GGUF expresses.
    std::fs::write(Path::new(&path).join("tokenizer.json"), byte_pairs_json(spec.vocabulary)).unwrap();
    let listed = tool_with(&["convert", &path, &gguf, "--dry-run"], b"");
    listed.expect(0, &["blk.1.ffn_down.weight.lora_b", "jina-bert-v3: 28 tensors", "nothing was written"]);
    let made = tool_with(&["convert", &path, &gguf], b"");
    made.expect(0, &["lora-retrieval.query-made.gguf: jina-bert-v3, 20 tensors", "made.gguf: jina-bert-v3, "]);
    tool_with(&["convert", &path, &gguf], b"").expect(3, &["made.gguf: exists already"]);
    let adapter = folder.path("lora-text-matching-made.gguf");
    let (folders, files) = (
        vectors(&[&path, "--task", "text-matching"], b"abc\n"),
        vectors(&[&gguf, "--task", "text-matching"], b"abc\n"),
    );
    assert_eq!(files, vectors(&[&gguf, "--lora", &adapter], b"abc\n"));
    assert_ne!(files, vectors(&[&gguf], b"abc\n"));
    assert_eq!(folders.len(), 1);
}
