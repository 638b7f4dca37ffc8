//! `serve` as a process: what it prints, signals, kills, and what it refuses to start with.

use crate::client::{read_head, Client};
use crate::common::{command, tool, Folder};
use crate::scores::{encoder_with_adapter, tool_with};
use serde_json::{json, Value as Json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

const PLAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");
const COMPLETIONS: &str = "/v1/completions";

struct Server {
    child: Child,
    errors: BufReader<ChildStderr>,
    client: Client,
    /// What it printed before it served.
    said: String,
}

impl Server {
    /// A server of the repository's model on a free port.
    fn start(args: &[&str]) -> Self {
        Self::of(PLAYS, &[&["--reproducible"], args].concat())
    }

    /// A server of this model on a free port.
    fn of(model: &str, args: &[&str]) -> Self {
        let args = [&["serve", model, "--port", "0", "--threads", "2"], args].concat();
        let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut server = Server { child, errors, client: Client::new(([127, 0, 0, 1], 0).into()), said: String::new() };
        loop {
            let mut line = String::new();
            assert!(server.errors.read_line(&mut line).unwrap() > 0, "{}", server.said);
            if let Some(address) = line.trim().strip_prefix("serving at http://") {
                server.client = Client::new(address.parse().unwrap());
                return server;
            }
            server.said += &line;
        }
    }

    fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// The exit code, and what it printed last.
    fn end(mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it did not stop");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended already unless the test failed
        let _ = self.child.wait();
    }
}

fn long() -> Json {
    json!({ "prompt": "ROMEO:", "max_tokens": 200, "n": 16, "stream": true })
}

#[test]
fn signals_let_it_answer_what_it_accepted() {
    for name in ["-TERM", "-INT"] {
        let server = Server::start(&[]);
        assert!(server.said.contains("plays: language model"), "{}", server.said);
        let models = server.client.get("/v1/models").ok();
        assert_eq!(models["data"][0]["id"], "plays");
        let mut begun = server.client.begin(COMPLETIONS, &long());
        assert_eq!(read_head(&mut begun).unwrap().0, 200);
        server.signal(name);
        let mut rest = String::new();
        begun.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("data: [DONE]"), "{name}");
        let (code, said) = server.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("stopping"), "{said}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = Server::start(&[]);
    // A request whose body does not come keeps the server waiting.
    let mut stream = server.client.connect();
    let head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    let (mut stream, mut line) = (BufReader::new(stream), String::new());
    stream.read_line(&mut line).unwrap();
    assert!(line.contains("100 Continue"), "{line}");
    let mut errors = String::new();
    server.signal("-TERM");
    let mut server = server;
    server.errors.read_line(&mut errors).unwrap();
    assert!(errors.contains("stopping"), "{errors}");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(143));
}

#[test]
fn known_beginnings_outlive_stops_and_kills() {
    let folder = Folder::new("serve-store");
    let store = folder.path("store");
    let args = ["--prefix-store", &store];
    let request = json!({ "prompt": "Good my lord, ".repeat(12), "max_tokens": 16, "temperature": 0 });
    let cached = |answer: &Json| answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    let server = Server::start(&args);
    let first = server.client.post(COMPLETIONS, &request).ok();
    assert_eq!(cached(&first), 0);
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    let mut killed = Server::start(&args);
    assert!(killed.said.contains("128 tokens of prompts are known"), "{}", killed.said);
    drop(killed.client.begin(COMPLETIONS, &long()));
    killed.child.kill().unwrap();
    assert_eq!(killed.end().0, None);
    let third = Server::start(&args);
    let again = third.client.post(COMPLETIONS, &request).ok();
    assert_eq!((cached(&again), &again["choices"]), (128, &first["choices"]));
}

#[test]
fn keys_come_from_a_file() {
    let folder = Folder::new("serve-keys");
    let path = folder.path("keys");
    std::fs::write(&path, "# one per line\nalpha\n").unwrap();
    let server = Server::start(&["--api-key-file", &path]);
    server.client.get("/v1/models").failure(401);
    server.client.clone().with("Authorization", "Bearer alpha").get("/v1/models").ok();
    std::fs::write(&path, "\n").unwrap();
    tool(&["serve", PLAYS, "--port", "0", "--api-key-file", &path]).expect(4, &["keys: has no key"]);
    tool(&["serve", PLAYS, "--port", "0", "--api-key-file", &folder.path("none")]).expect(3, &["none: cannot be"]);
}

#[test]
fn limits_are_options() {
    let server = Server::start(&["--max-tokens", "5", "--max-body", "1K", "--max-texts", "2", "--waiting", "0"]);
    let post = |body: Json| server.client.post(COMPLETIONS, &body);
    assert!(post(json!({ "prompt": "a", "max_tokens": 6 })).failure(400).contains("up to 5 tokens"));
    assert!(post(json!({ "prompt": "a", "n": 3 })).failure(400).contains("1 to 2"));
    assert!(post(json!({ "prompt": "a".repeat(2000) })).failure(413).contains("1024 bytes"));
    assert_eq!(post(json!({ "prompt": "a", "max_tokens": 5, "n": 2 })).ok()["choices"].as_array().unwrap().len(), 2);
    let server = Server::start(&["--pool", "64", "--client-seconds", "1", "--together", "1"]);
    let long = server.client.post(COMPLETIONS, &json!({ "prompt": "a".repeat(100) }));
    assert!(long.failure(400).contains("the pool has room for 64"), "{}", long.text());
    let head = format!("POST {COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let part = format!("{head}Content-Length: 100\r\nConnection: close\r\n\r\n{{");
    assert!(server.client.send(part.as_bytes()).unwrap().failure(408).contains("within 1 seconds"));
}

#[test]
fn every_option_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/serving.md")).unwrap();
    let help = tool(&["serve", "--help"]).out;
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let options = lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
    let missing: Vec<&str> = options.filter(|option| *option != "--help" && !page.contains(option)).collect();
    assert!(missing.is_empty() && help.contains("--together"), "{missing:?}");
}

/// Adapters are the language models', or without one the encoders'. No option is ignored.
#[test]
fn adapters_of_encoders_count() {
    let folder = Folder::new("serve-lora");
    let (model, adapter) = encoder_with_adapter(&folder);
    let lora = ["--lora", &adapter];
    let vector = |args: &[&str]| {
        let server = Server::of(&model, args);
        let answer = server.client.post("/v1/embeddings", &json!({ "input": "abc" })).ok();
        serde_json::from_value::<Vec<f64>>(answer["data"][0]["embedding"].clone()).unwrap()
    };
    let wanted = |args: &[&str]| {
        let told = tool_with(&[&["embed", &model, "--json", "--threads", "2"], args].concat(), b"abc\n");
        serde_json::from_str::<Vec<f64>>(told.expect(0, &[]).out.trim()).unwrap()
    };
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    for args in [&[][..], &lora] {
        assert!(off(&vector(args), &wanted(args)) < 1e-5, "{args:?}");
    }
    assert!(off(&wanted(&[]), &wanted(&lora)) > 1e-3);
    let serve = |args: &[&str]| tool(&[&["serve", &model, "--port", "0"], args].concat());
    serve(&[&[PLAYS][..], &lora].concat()).expect(4, &["general.architecture is 'jina-bert-v3'"]);
    serve(&["--ctx", "128"]).expect(2, &["--ctx: none of the models has a use for it"]);
    serve(&["--put", "*=cuda:7"]).expect(2, &["--put"]);
    serve(&["--reproducible"]).expect(2, &["--reproducible: none of the models has a use for it"]);
    serve(&["--prefix-store", &folder.path("store")]).expect(2, &["--prefix-store: none of the models"]);
    serve(&["--activity", &folder.path("none")]).expect(2, &["--activity: none of the models"]);
}

#[test]
fn what_it_cannot_serve_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    tool(&["serve", PLAYS, "--port", &port]).expect(3, &["cannot be listened on", "hint: another process listens"]);
    tool(&["serve", "none.gguf", "--port", "0"]).expect(3, &["none.gguf: cannot be opened"]);
    tool(&["serve", PLAYS, PLAYS, "--port", "0"]).expect(1, &["two models have the name 'plays'"]);
    tool(&["serve"]).expect(2, &["<MODEL>..."]);
    tool(&["serve", PLAYS, "--host", "example.com"]).expect(2, &["invalid value 'example.com'"]);
    tool(&["serve", PLAYS, "--together", "0"]).expect(2, &["1..=256"]);
    tool(&["serve", PLAYS, "--port", "0", "--ctx", "128", "--pool", "64", "--cache", "q4_0"])
        .expect(2, &["f16, q8_0, f32"]);
}
