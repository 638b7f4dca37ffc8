//! Rankings by cross-encoders and language models, and classes.

use crate::common::models::encoder::Spec;
use crate::common::models::encoder_files::{config, write_folder};
use crate::common::models::{backend, reranker_files, Folder};
use crate::common::{encoder, Running};
use serde_json::{json, Value};
use tensorlib::DType;
use tensorlib_models::{DecoderOptions, Embedder, Encoder, EncoderOptions, Pooling, Reranker};
use tensorlib_server::{Server, ServerOptions};

/// A language model that makes vectors of last tokens.
fn embedder(folder: &Folder) -> Embedder {
    let (path, model) = (folder.path("embedder"), reranker_files::qwen3());
    reranker_files::write_folder(&path, &model, &model.spec.tensors(3, DType::F32), "");
    Embedder::open(&path, &backend(), &EncoderOptions::new().pooling(Pooling::Last), 0).unwrap()
}

/// A classifier with these labels.
fn classifier(folder: &Folder, labels: &[&str]) -> Encoder {
    let (path, spec) = (folder.path(&labels.join("-")), Spec::new().with_labels(labels.len()));
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "bert.");
    let names: Vec<String> = labels.iter().enumerate().map(|(i, label)| format!("\"{i}\": \"{label}\"")).collect();
    let further =
        format!(r#", "architectures": ["BertForSequenceClassification"], "id2label": {{{}}}"#, names.join(", "));
    std::fs::write(path.join("config.json"), config(&spec, "bert", &further)).unwrap();
    Encoder::open(&path, &backend(), &EncoderOptions::new()).unwrap()
}

fn reranker(folder: &Folder) -> Reranker {
    let (path, model) = (folder.path("qwen"), reranker_files::qwen3());
    reranker_files::write_folder(&path, &model, &model.spec.tensors(3, DType::F32), "");
    Reranker::open(&path, &backend(), &DecoderOptions::new()).unwrap()
}

fn server(folder: &Folder) -> Running {
    let mut server = Server::new(ServerOptions::default());
    server.add_encoder("vectors", encoder(folder)).unwrap();
    server.add_encoder("cross", classifier(folder, &["relevance"])).unwrap();
    server.add_reranker("qwen", reranker(folder)).unwrap();
    server.add_encoder("moods", classifier(folder, &["bad", "so so", "good"])).unwrap();
    Running::start(server)
}

/// Texts of words that all vocabularies have.
const TEXTS: [&str; 3] = ["w11 w12", "w13", "w9 w10 w8"];

#[track_caller]
fn expect_ranking(answer: &Value, wanted: &[f32]) {
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), wanted.len());
    assert!(results.is_sorted_by(|a, b| a["relevance_score"].as_f64() >= b["relevance_score"].as_f64()));
    for result in results {
        let i = result["index"].as_u64().unwrap() as usize;
        assert!((result["relevance_score"].as_f64().unwrap() - f64::from(wanted[i])).abs() < 1e-5, "{answer}");
        assert_eq!(result["document"]["text"], TEXTS[i]);
    }
}

#[test]
fn rankings_by_scores() {
    let folder = Folder::new("server-scores");
    let (server, cross, qwen) = (server(&folder), classifier(&folder, &["relevance"]), reranker(&folder));
    let client = server.client();
    let ask = |model: Option<&str>| {
        client.post("/v1/rerank", &json!({ "model": model, "query": "w5 w6", "documents": TEXTS }))
    };
    let answer = ask(Some("cross")).ok();
    expect_ranking(&answer, &cross.score("w5 w6", &TEXTS).unwrap());
    let tokens: usize = TEXTS.iter().map(|text| cross.tokenize_pair("w5 w6", text).unwrap().ids.len()).sum();
    assert_eq!(answer["usage"]["total_tokens"], tokens);
    expect_ranking(&ask(Some("qwen")).ok(), &qwen.score("w5 w6", &TEXTS).unwrap());
    // Without a name, a model that scores pairs comes before one that gives vectors.
    assert_eq!(ask(None).ok()["model"], "cross");
    assert_eq!(ask(Some("vectors")).ok()["model"], "vectors");
    let refused = ask(Some("moods")).failure(400);
    assert!(refused.contains("model: 'moods' ranks no texts: valid: vectors, cross, qwen"), "{refused}");
    let long = json!({ "model": "cross", "query": "w5", "documents": ["w1", "w1 ".repeat(100)] });
    let refused = client.post("/v1/rerank", &long).failure(400);
    assert!(refused.contains("documents[1]: the text has more tokens than the 40 that the model takes"), "{refused}");
    let empty = json!({ "model": "cross", "query": "w5", "documents": [""] });
    assert!(client.post("/v1/rerank", &empty).failure(400).contains("documents[0]: is empty"));
    // Many lines are computed in several turns.
    let many: Vec<String> = (0..100).map(|i| format!("w{}", i % 50)).collect();
    let all =
        client.post("/v1/rerank", &json!({ "model": "cross", "query": "w5", "documents": many, "top_n": 7 })).ok();
    assert_eq!(all["results"].as_array().unwrap().len(), 7);
    let vectors = client.post("/v1/embeddings", &json!({ "model": "qwen", "input": "w1" })).failure(400);
    assert!(vectors.contains("'qwen' is no encoder: valid: vectors, cross, moods"), "{vectors}");
}

#[test]
fn classes() {
    let folder = Folder::new("server-classes");
    let (server, moods) = (server(&folder), classifier(&folder, &["bad", "so so", "good"]));
    let client = server.client();
    let answer = client.post("/v1/classify", &json!({ "model": "moods", "input": TEXTS })).ok();
    assert_eq!((&answer["labels"], &answer["model"]), (&json!(["bad", "so so", "good"]), &json!("moods")));
    for (i, wanted) in moods.classify(&TEXTS).unwrap().iter().enumerate() {
        let entry = &answer["data"][i];
        assert_eq!((&entry["index"], &entry["num_classes"]), (&json!(i), &json!(3)));
        let found: Vec<f32> = serde_json::from_value(entry["probs"].clone()).unwrap();
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {wanted:?}");
        let best = (0..3).max_by(|a, b| wanted[*a].total_cmp(&wanted[*b])).unwrap();
        assert_eq!(entry["label"], moods.labels()[best]);
    }
    let tokens: usize = TEXTS.iter().map(|text| moods.tokenize(text).unwrap().0.len()).sum();
    assert_eq!(answer["usage"], json!({ "prompt_tokens": tokens, "total_tokens": tokens }));
    let pair = moods.tokenize_pair("w1", "w2 w3").unwrap();
    let wanted = moods.classify_tokens(&[pair], |_| true).unwrap();
    let answer = client.post("/v1/classify", &json!({ "model": "moods", "input": [["w1", "w2 w3"]] })).ok();
    let found: Vec<f32> = serde_json::from_value(answer["data"][0]["probs"].clone()).unwrap();
    assert!(found.iter().zip(&wanted[0]).all(|(a, b)| (a - b).abs() < 1e-5));
    assert_eq!(
        client.post("/v1/classify", &json!({ "model": "moods", "input": "w1" })).ok()["data"].as_array().unwrap().len(),
        1
    );
    let valid = "input: a text, or a list of texts or of pairs of texts, is valid";
    for (body, words) in [
        (json!({ "model": "moods" }), valid),
        (json!({ "model": "moods", "input": [] }), valid),
        (json!({ "model": "moods", "input": [1] }), valid),
        (json!({ "model": "moods", "input": [["w1"]] }), "input[0]: a text, or a list of two texts, is valid"),
        (json!({ "model": "moods", "input": ["w1", ""] }), "input[1]: is empty"),
        (json!({ "model": "moods", "input": "w1 ".repeat(100) }), "more tokens than the 40"),
        (json!({ "model": "moods", "input": "w1", "odd": 1 }), "odd: is unknown"),
        (json!({ "model": "vectors", "input": "w1" }), "'vectors' has no labels: valid: cross, moods"),
        (json!({ "model": "moods", "input": vec!["w1"; 5000] }), "input: has 5000 texts"),
    ] {
        let refused = client.post("/v1/classify", &body).failure(400);
        assert!(refused.contains(words), "{refused}");
    }
    let kinds: Vec<Value> =
        client.get("/v1/models").ok()["data"].as_array().unwrap().iter().map(|m| m["kind"].clone()).collect();
    assert_eq!(kinds, ["embedding", "reranking", "reranking", "classification"]);
}

#[test]
fn vectors_of_a_language_model() {
    let folder = Folder::new("server-embedder");
    let mut server = Server::new(ServerOptions::default());
    server.add_embedder("qwen", embedder(&folder)).unwrap();
    let (server, wanted) = (Running::start(server), embedder(&folder).embed(&TEXTS).unwrap());
    let client = server.client();
    let answer = client.post("/v1/embeddings", &json!({ "input": TEXTS })).ok();
    for (i, wanted) in wanted.iter().enumerate() {
        let found: Vec<f32> = serde_json::from_value(answer["data"][i]["embedding"].clone()).unwrap();
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6));
    }
    let ranked = client.post("/v1/rerank", &json!({ "query": TEXTS[1], "documents": TEXTS })).ok();
    assert_eq!(ranked["results"][0]["index"], 1, "{ranked}");
    assert_eq!(client.get("/v1/models").ok()["data"][0]["kind"], "embedding");
    let refused = client.post("/v1/classify", &json!({ "input": "w1" })).failure(400);
    assert!(refused.contains("the model has no labels: valid: none that does is served"), "{refused}");
}
