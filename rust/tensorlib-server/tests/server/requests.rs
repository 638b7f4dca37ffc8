//! Requests that are refused, each with what would be valid.

use crate::common::models::Folder;
use crate::common::{encoder, plays, Running};
use serde_json::{json, Value};
use tensorlib_server::{Keys, Server, ServerOptions};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

/// A server of a model that converses, one that does not, and an encoder.
fn server(folder: &Folder, options: ServerOptions) -> Running {
    let mut server = Server::new(options);
    let converses = crate::common::plays_that_converse(folder, crate::common::TEMPLATE);
    server.add_decoder("plays", &crate::common::decoder(&converses)).unwrap().unwrap();
    server.add_decoder("base", &crate::common::decoder(&plays())).unwrap().unwrap();
    server.add_encoder("bert", encoder(folder)).unwrap();
    Running::start(server)
}

/// A valid chat with other fields; null removes one.
fn chat(fields: Value) -> Value {
    let mut object = json!({ "messages": [{ "role": "user", "content": "Speak." }], "max_tokens": 4 });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

#[test]
fn wrong_fields_are_named_with_what_is_valid() {
    let folder = Folder::new("server-fields");
    let server = server(&folder, ServerOptions::default());
    let client = server.client();
    let turn = |turn: Value| chat(json!({ "messages": [turn] }));
    let cases = [
        (CHAT, json!([]), "the request is no JSON object"),
        (CHAT, json!({}), "messages: a list of at least one turn is expected"),
        (CHAT, chat(json!({ "messages": [] })), "messages: a list of at least one turn"),
        (CHAT, chat(json!({ "messages": "hi" })), "messages: a list is valid"),
        (CHAT, chat(json!({ "messages": ["hi"] })), "messages[0]: an object is valid"),
        (CHAT, turn(json!({ "content": "x" })), "messages[0].role: is missing"),
        (CHAT, turn(json!({ "role": "king", "content": "x" })), "messages[0].role: is 'king': system"),
        (CHAT, turn(json!({ "role": "user" })), "messages[0].content: is missing"),
        (CHAT, turn(json!({ "role": "user", "content": 7 })), "messages[0].content: a text, or a list"),
        (
            CHAT,
            turn(json!({ "role": "user", "content": [{ "type": "image_url" }] })),
            "content[0].type: is 'image_url'",
        ),
        (CHAT, turn(json!({ "role": "user", "content": "x", "weight": 0 })), "messages[0].weight: is unknown"),
        (CHAT, chat(json!({ "temperature": -1 })), "temperature: a number from 0 to 100"),
        (CHAT, chat(json!({ "temperature": "1" })), "temperature: a number from 0 to 100"),
        (CHAT, chat(json!({ "temperatur": 1 })), "temperatur: is unknown: "),
        (CHAT, chat(json!({ "top_p": 1.5 })), "top_p: a number from 0 to 1"),
        (CHAT, chat(json!({ "presence_penalty": 3 })), "presence_penalty: a number from -2 to 2"),
        (CHAT, chat(json!({ "n": 0 })), "n: an integer from 1 to 16"),
        (CHAT, chat(json!({ "n": 17 })), "n: an integer from 1 to 16"),
        (CHAT, chat(json!({ "max_tokens": 0 })), "max_tokens: an integer from 1"),
        (CHAT, chat(json!({ "max_completion_tokens": 5 })), "max_tokens: differs from max_completion_tokens"),
        (CHAT, chat(json!({ "stop": [""] })), "stop: a list of texts"),
        (CHAT, chat(json!({ "stop": 5 })), "stop: a text, or a list of up to 16"),
        (CHAT, chat(json!({ "stop": vec!["x"; 17] })), "stop: a text, or a list of up to 16"),
        (CHAT, chat(json!({ "stop": "x".repeat(513) })), "stop: texts of 1 to 512 bytes"),
        (CHAT, chat(json!({ "logit_bias": { "999999": 1 } })), "logit_bias: '999999' is no token: 0 to"),
        (CHAT, chat(json!({ "logit_bias": { "a": 1 } })), "logit_bias: 'a' is no token"),
        (CHAT, chat(json!({ "logit_bias": { "1": 101 } })), "logit_bias: 1: a number from -100 to 100"),
        (CHAT, chat(json!({ "logit_bias": [1] })), "logit_bias: an object"),
        (CHAT, chat(json!({ "logprobs": 3 })), "logprobs: true and false"),
        (CHAT, chat(json!({ "top_logprobs": 3 })), "top_logprobs: is valid with \"logprobs\": true"),
        (CHAT, chat(json!({ "logprobs": true, "top_logprobs": 21 })), "top_logprobs: an integer from 0 to 20"),
        (CHAT, chat(json!({ "stream": "yes" })), "stream: true and false"),
        (CHAT, chat(json!({ "stream_options": {} })), "stream_options: is valid with \"stream\": true"),
        (CHAT, chat(json!({ "stream": true, "stream_options": { "x": 1 } })), "stream_options.x: is unknown"),
        (CHAT, chat(json!({ "seed": 1.5 })), "seed: an integer from"),
        (CHAT, chat(json!({ "mirostat": 1 })), "mirostat: 0 (off) and 2"),
        (CHAT, chat(json!({ "model": 5 })), "model: a text is valid"),
        (CHAT, chat(json!({ "model": "bert" })), "model: 'bert' generates no text: valid: plays, base"),
        (CHAT, chat(json!({ "model": "base" })), "messages: the model has no chat template"),
        (CHAT, chat(json!({ "audio": {} })), "audio: is unknown"),
        (COMPLETIONS, json!({}), "prompt: a text, a list of tokens, or a list of either"),
        (COMPLETIONS, json!({ "prompt": [] }), "prompt: a text, a list of tokens"),
        (COMPLETIONS, json!({ "prompt": [1, "a"] }), "prompt: tokens from 0 to"),
        (COMPLETIONS, json!({ "prompt": ["a", 1] }), "prompt: a text, a list of tokens"),
        (COMPLETIONS, json!({ "prompt": [-1] }), "prompt: tokens from 0 to"),
        (COMPLETIONS, json!({ "prompt": [1e9] }), "prompt: tokens from 0 to"),
        (COMPLETIONS, json!({ "prompt": [["a"]] }), "prompt: tokens from 0 to"),
        (COMPLETIONS, json!({ "prompt": vec!["a"; 17] }), "prompt: has 17 texts: up to 16"),
        (COMPLETIONS, json!({ "prompt": vec!["a"; 9], "n": 2 }), "18 texts: up to 16"),
        (COMPLETIONS, json!({ "prompt": "a", "echo": true }), "echo: is not supported: false is"),
        (COMPLETIONS, json!({ "prompt": "a", "suffix": "b" }), "suffix: is not supported"),
        (COMPLETIONS, json!({ "prompt": "a", "best_of": 3 }), "best_of: is not supported"),
        (COMPLETIONS, json!({ "prompt": "a", "logprobs": 6 }), "logprobs: an integer from 0 to 5"),
        (COMPLETIONS, json!({ "prompt": "a", "messages": [] }), "messages: is unknown"),
        (COMPLETIONS, json!({ "prompt": "x".repeat(300) }), "tokens: the context has room for 255"),
        ("/tokenize", json!({}), "content: is missing"),
        ("/tokenize", json!({ "content": "a", "x": 1 }), "x: is unknown: add_special, content"),
        ("/detokenize", json!({ "tokens": "a" }), "tokens: a list is valid"),
        ("/detokenize", json!({ "tokens": [99999] }), "tokens: tokens from 0 to"),
        ("/v1/embeddings", json!({}), "input: a text, a list of tokens"),
        ("/v1/embeddings", json!({ "input": "" }), "input: is empty"),
        ("/v1/embeddings", json!({ "input": ["a", ""] }), "input[1]: is empty"),
        ("/v1/embeddings", json!({ "input": [] }), "input: a text, a list of tokens"),
        ("/v1/embeddings", json!({ "input": [5000] }), "input: tokens from 0 to 52"),
        ("/v1/embeddings", json!({ "input": [[]] }), "input: has no tokens"),
        ("/v1/embeddings", json!({ "input": vec![1; 60] }), "input: 60 tokens: up to 40"),
        ("/v1/embeddings", json!({ "input": "a ".repeat(100) }), "input: the text has more tokens than the 40"),
        ("/v1/embeddings", json!({ "input": "a", "dimensions": 32 }), "dimensions: is not supported: 64"),
        (
            "/v1/embeddings",
            json!({ "input": "a", "encoding_format": "int8" }),
            "encoding_format: is 'int8': float, base64",
        ),
        ("/v1/embeddings", json!({ "input": "a", "model": "plays" }), "model: 'plays' is no encoder: valid: bert"),
        ("/v1/rerank", json!({ "query": "a" }), "documents: a list of at least one text"),
        ("/v1/rerank", json!({ "documents": ["a"] }), "query: is missing"),
        ("/v1/rerank", json!({ "query": "a", "documents": ["b"], "top_n": 0 }), "top_n: an integer from 1"),
        ("/v1/rerank", json!({ "query": "a", "documents": [5] }), "documents[0]: an object is valid"),
        ("/v1/rerank", json!({ "query": "a", "documents": [{ "title": "b" }] }), "documents[0].text: is missing"),
    ];
    for (path, body, words) in cases {
        let answer = client.post(path, &body);
        let message = answer.failure(400);
        assert!(message.contains(words), "{path} {body}: {message}");
        let param = &answer.json()["error"]["param"];
        assert!(param.is_null() || message.starts_with(param.as_str().unwrap()), "{param}: {message}");
    }
    // Fields that change nothing, and nulls, are taken.
    let harmless = json!({ "user": "me", "metadata": { "a": "b" }, "store": false, "service_tier": "auto", "stop": null,
        "prompt_cache_key": "k", "safety_identifier": "s", "logit_bias": null, "n": null, "stream": false });
    client.post(CHAT, &chat(harmless)).ok();
}

#[test]
fn what_is_no_request_is_refused() {
    let folder = Folder::new("server-requests");
    let server = server(&folder, ServerOptions::default());
    let client = server.client();
    assert!(client.post_text(CHAT, "{").failure(400).contains("the body is no JSON"));
    assert!(client.post_text(CHAT, "").failure(400).contains("the body is no JSON"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(client.post_text(CHAT, &deep).failure(400).contains("recursion limit"));
    let plain = client.clone().with("Content-Type", "text/plain");
    assert!(plain.post(CHAT, &chat(json!({}))).failure(415).contains("application/json"));
    let charset = client.clone().with("Content-Type", "Application/JSON; charset=utf-8");
    charset.post(CHAT, &chat(json!({}))).ok();
    assert!(client.get("/v1/chat").failure(404).contains("/v1/chat is no route: /v1/chat/completions"));
    assert!(client.get("/../etc/passwd").failure(404).contains("no route"));
    assert!(client.get(CHAT).failure(405).contains("POST"));
    assert!(client.post("/v1/models", &json!({})).failure(405).contains("GET"));
    assert!(client.get("/v1/models/x").failure(404).contains("model 'x' is not served: plays, base, bert are"));
    let answer = client.post(CHAT, &chat(json!({ "model": "gpt-5" })));
    assert!(answer.failure(404).contains("model 'gpt-5' is not served"));
    assert_eq!(answer.json()["error"]["code"], "model_not_found");
    // Long names are not sent back whole.
    let long = client.post(CHAT, &chat(json!({ "model": "x".repeat(100_000) })));
    assert!(long.failure(404).len() < 300);
}

#[test]
fn pages_elsewhere_and_strangers_are_refused() {
    let folder = Folder::new("server-strangers");
    let open = server(&folder, ServerOptions::default());
    let client = open.client();
    assert!(client.clone().with("Host", "evil.example").get("/health").failure(403).contains("evil.example"));
    assert!(client.clone().without("Host").get("/v1/models").failure(403).contains("Host"));
    assert!(client.clone().with("Origin", "http://evil.example").get("/v1/models").failure(403).contains("origin"));
    let named = server(&folder, ServerOptions { hosts: vec!["box.example".into()], ..ServerOptions::default() });
    named.client().with("Host", "box.example:8080").get("/v1/models").ok();
    let keys = Keys::parse("alpha\nbeta").unwrap();
    let closed = server(&folder, ServerOptions { keys, ..ServerOptions::default() });
    let client = closed.client();
    for path in ["/v1/models", "/metrics", "/v1/models/plays"] {
        let answer = client.get(path);
        assert!(answer.failure(401).contains("Bearer KEY"));
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    assert!(client.post(CHAT, &chat(json!({}))).failure(401).contains("no key"));
    for wrong in ["Bearer gamma", "Bearer ", "Basic alpha", "alpha"] {
        client.clone().with("Authorization", wrong).get("/v1/models").failure(401);
    }
    for key in ["alpha", "beta"] {
        client.clone().with("Authorization", &format!("Bearer {key}")).post(CHAT, &chat(json!({}))).ok();
    }
    // A page elsewhere has no key, so names do not matter.
    client.clone().with("Authorization", "Bearer alpha").with("Host", "any.example").get("/v1/models").ok();
    // What tells nothing needs none.
    assert_eq!(client.get("/health").ok(), json!({ "status": "ok" }));
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn models_are_listed() {
    let folder = Folder::new("server-models");
    let server = server(&folder, ServerOptions::default());
    let all = server.client().get("/v1/models").ok();
    let names: Vec<&str> = all["data"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!((names, &all["object"]), (vec!["plays", "base", "bert"], &json!("list")));
    let one = server.client().get("/v1/models/bert").ok();
    assert_eq!(
        (&one["object"], &one["kind"], &one["context_length"]),
        (&json!("model"), &json!("embedding"), &json!(40))
    );
    // Without a name requests get the first model of a kind.
    assert_eq!(server.client().post(CHAT, &chat(json!({}))).ok()["model"], "plays");
    let request = json!({ "model": "base", "prompt": "ROMEO:" });
    assert_eq!(server.client().post(COMPLETIONS, &request).ok()["model"], "base");
    let mut twice = Server::new(ServerOptions::default());
    twice.add_encoder("a", encoder(&folder)).unwrap();
    let error = twice.add_encoder("a", encoder(&folder)).unwrap_err();
    assert!(error.to_string().contains("two models have the name 'a'"), "{error}");
    assert!(twice.add_encoder("", encoder(&folder)).unwrap_err().to_string().contains("empty"));
}

#[test]
fn tokens_and_texts() {
    let folder = Folder::new("server-tokens");
    let server = server(&folder, ServerOptions::default());
    let client = server.client();
    let tokens = client.post("/tokenize", &json!({ "content": "To be" })).ok()["tokens"].clone();
    assert_eq!(tokens.as_array().unwrap().len(), 5);
    assert_eq!(client.post("/detokenize", &json!({ "tokens": tokens })).ok()["content"], "To be");
    let pieces = client.post("/tokenize", &json!({ "content": "To be", "with_pieces": true })).ok();
    assert_eq!(pieces["tokens"][0], json!({ "id": tokens[0], "piece": "T" }));
    assert_eq!(client.post("/tokenize", &json!({ "content": "" })).ok()["tokens"], json!([]));
}

#[test]
fn vectors_and_rankings() {
    let folder = Folder::new("server-vectors");
    let server = server(&folder, ServerOptions::default());
    let client = server.client();
    let want = encoder(&folder).embed(&["a b", "c", "a b c"]).unwrap();
    let request = json!({ "model": "bert", "input": ["a b", "c", "a b c"] });
    let answer = client.post("/v1/embeddings", &request).ok();
    let vector = |i: usize| -> Vec<f32> { serde_json::from_value(answer["data"][i]["embedding"].clone()).unwrap() };
    for (i, want) in want.iter().enumerate() {
        let far = vector(i).iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-5, "{far}");
        assert_eq!(answer["data"][i]["index"], i);
    }
    assert!(answer["usage"]["prompt_tokens"].as_u64().unwrap() >= 3);
    assert_eq!(answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"]);
    let encoded = client.post("/v1/embeddings", &json!({ "input": "a b", "encoding_format": "base64" })).ok();
    use base64::prelude::{Engine, BASE64_STANDARD};
    let bytes = BASE64_STANDARD.decode(encoded["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let floats: Vec<f32> = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(floats.len(), 64);
    assert!(floats.iter().zip(&want[0]).all(|(a, b)| (a - b).abs() < 1e-5));
    // Many lines are computed in several turns.
    let many: Vec<String> = (0..100).map(|i| ["a", "b", "c a"][i % 3].repeat(1 + i % 2)).collect();
    let all = client.post("/v1/embeddings", &json!({ "input": many })).ok();
    assert_eq!(all["data"].as_array().unwrap().len(), 100);
    let ranked =
        client.post("/v1/rerank", &json!({ "query": "a b", "documents": ["c", { "text": "a b" }, "a b c"] })).ok();
    let results = ranked["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!((&results[0]["index"], &results[0]["document"]["text"]), (&json!(1), &json!("a b")));
    assert!((results[0]["relevance_score"].as_f64().unwrap() - 1.0).abs() < 1e-5);
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    for result in results {
        let i = [1, 0, 2][result["index"].as_u64().unwrap() as usize];
        assert!((result["relevance_score"].as_f64().unwrap() - dot(&want[0], &want[i])).abs() < 1e-5);
    }
    let request = json!({ "query": "a b", "documents": ["c", "a b"], "top_n": 1, "return_documents": false });
    let top = client.post("/v1/rerank", &request).ok()["results"].clone();
    assert_eq!(top.as_array().unwrap().len(), 1);
    assert!(top[0].get("document").is_none() && top[0]["index"] == 1);
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let folder = Folder::new("server-page");
    let server = server(&folder, ServerOptions::default());
    for (path, kind) in [("/", "text/html"), ("/chat.js", "text/javascript"), ("/chat.css", "text/css")] {
        let file = server.client().get(path);
        assert_eq!(file.status, 200);
        assert!(file.header("content-type").unwrap().starts_with(kind));
        assert!(file.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        assert!(!file.text().contains("://"), "{path}");
    }
}
