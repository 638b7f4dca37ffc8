//! Limits of size, number and time; clients that leave; the server's end.

use crate::common::client::{read, read_head};
use crate::common::models::Folder;
use crate::common::{decoder, plays_that_converse, random_decoder, Running, TEMPLATE};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};
use tensorlib_models::SequencesOptions;
use tensorlib_server::{Server, ServerOptions};

const COMPLETIONS: &str = "/v1/completions";

/// A text that takes a while: about 200 tokens.
fn long(n: usize) -> Value {
    json!({ "prompt": "ROMEO:", "max_tokens": 200, "n": n, "stream": true, "logit_bias": {} })
}

/// The number that the server shows under this name.
fn metric(server: &Running, name: &str) -> f64 {
    let text = server.client().get("/metrics").text().to_string();
    let line = text.lines().find(|line| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
}

/// Waits until a condition holds.
fn wait(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn large_bodies_are_refused_before_they_are_read() {
    let folder = Folder::new("server-bodies");
    let server = Running::plays(&folder, ServerOptions { body_bytes: 10_000, ..ServerOptions::default() });
    let client = server.client();
    let fits = json!({ "prompt": "a", "max_tokens": 1, "user": "x".repeat(9_900) });
    client.post(COMPLETIONS, &fits).ok();
    let large = json!({ "prompt": "a", "max_tokens": 1, "user": "x".repeat(10_000) });
    assert!(client.post(COMPLETIONS, &large).failure(413).contains("more than 10000 bytes"));
    // Announced, and never sent.
    let head = format!("POST {COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let announced = format!("{head}Connection: close\r\nContent-Length: 99999999999\r\n\r\n");
    assert!(client.send(announced.as_bytes()).unwrap().failure(413).contains("10000"));
    // In chunks without an end.
    let mut stream = client.connect();
    stream.write_all(format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    for _ in 0..20 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    assert!(read(&mut BufReader::new(stream)).unwrap().failure(413).contains("10000"));
    // Headers.
    let mut stream = client.connect();
    let _ = stream.write_all(format!("GET /health HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(200_000)).as_bytes());
    let answer = read(&mut BufReader::new(stream));
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 431));
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn large_bodies_wait_for_each_other() {
    let folder = Folder::new("server-large");
    let client_time = Duration::from_millis(500);
    let options = ServerOptions { body_bytes: 100_000, client_time, ..ServerOptions::default() };
    let server = Running::plays(&folder, options);
    let client = server.client();
    // Four bodies that are announced and not sent take all the memory for bodies.
    let head = format!("POST {COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let mut slow: Vec<_> = (0..4).map(|_| client.connect()).collect();
    slow.iter_mut().for_each(|stream| {
        stream.write_all(format!("{head}Content-Length: 99000\r\n\r\n").as_bytes()).unwrap();
    });
    std::thread::sleep(Duration::from_millis(100));
    // The next one waits until they are given up.
    let begin = Instant::now();
    client.post(COMPLETIONS, &json!({ "prompt": "a", "max_tokens": 1, "user": "x".repeat(90_000) })).ok();
    assert!(begin.elapsed() > Duration::from_millis(200));
    // Texts that cannot fit are refused before their tokens are found.
    let long = client.post(COMPLETIONS, &json!({ "prompt": "a ".repeat(20_000) }));
    assert!(long.failure(400).contains("prompt: 40000 bytes are more than the context of 256 tokens holds"));
    let turn = json!({ "role": "user", "content": "a ".repeat(10_000) });
    let long = client.post("/v1/chat/completions", &json!({ "messages": [turn, turn] }));
    assert!(long.failure(400).contains("messages: 40000 bytes"));
}

#[test]
fn a_full_queue_refuses() {
    let folder = Folder::new("server-queue");
    let sequences = SequencesOptions { together: 2, ..SequencesOptions::default() };
    let options = ServerOptions { sequences, waiting: 2, texts: 8, ..ServerOptions::default() };
    let server = Running::plays(&folder, options);
    let client = server.client();
    assert!(client.post(COMPLETIONS, &long(5)).failure(400).contains("5 texts: up to 4 at a time"));
    let mut first = client.begin(COMPLETIONS, &long(4));
    assert_eq!(read_head(&mut first).unwrap().0, 200);
    let answer = client.post(COMPLETIONS, &long(1));
    assert!(answer.failure(429).contains("of at most 4"), "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
    // Other routes answer.
    client.get("/v1/models").ok();
    let mut rest = String::new();
    first.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("[DONE]"));
    wait("the queue is empty", || metric(&server, "tensorlib_sequences") == 0.0);
    client.post(COMPLETIONS, &json!({ "prompt": "a", "max_tokens": 1, "n": 4 })).ok();
}

#[test]
fn tokens_and_time_are_limited() {
    let folder = Folder::new("server-time");
    let server = Running::plays(&folder, ServerOptions { max_tokens: 7, ..ServerOptions::default() });
    let client = server.client();
    let answer = client.post(COMPLETIONS, &json!({ "prompt": "a", "max_tokens": 8 }));
    assert!(answer.failure(400).contains("this server generates up to 7 tokens"));
    let chat = json!({ "messages": [{ "role": "user", "content": "a" }] });
    let tokens = |answer: Value| answer["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(tokens(client.post("/v1/chat/completions", &chat).ok()) <= 7);
    assert!(tokens(client.post(COMPLETIONS, &json!({ "prompt": "a" })).ok()) <= 7);
    let short = Duration::from_millis(1);
    let server = Running::plays(&folder, ServerOptions { request_time: short, ..ServerOptions::default() });
    let message = server.client().post(COMPLETIONS, &json!({ "prompt": "a".repeat(250) })).failure(504);
    assert!(message.contains("longer than the server allows"), "{message}");
    wait("the text is gone", || metric(&server, "tensorlib_sequences") == 0.0);
}

#[test]
fn slow_clients_are_closed() {
    let folder = Folder::new("server-slow");
    let client_time = Duration::from_millis(300);
    let server = Running::plays(&folder, ServerOptions { client_time, ..ServerOptions::default() });
    let client = server.client();
    // A body that never comes.
    let head = format!("POST {COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let answer = client.send(format!("{head}Content-Length: 100\r\nConnection: close\r\n\r\n{{").as_bytes()).unwrap();
    assert!(answer.failure(408).contains("0.3 seconds"));
    // Headers that never end, and no request at all.
    for bytes in [head.as_bytes(), b"", b"G"] {
        let (mut stream, begin) = (client.connect(), Instant::now());
        stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest); // a reset is an end too
        assert!(begin.elapsed() < Duration::from_secs(30), "{rest:?}");
    }
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn connections_beyond_the_limit_wait() {
    let folder = Folder::new("server-connections");
    let server = Running::plays(&folder, ServerOptions { connections: 2, ..ServerOptions::default() });
    let client = server.client();
    let idle: Vec<_> = (0..2).map(|_| client.connect()).collect();
    let waiting = std::thread::spawn({
        let client = client.clone();
        move || client.get("/health").status
    });
    std::thread::sleep(Duration::from_millis(200));
    assert!(!waiting.is_finished());
    drop(idle);
    assert_eq!(waiting.join().unwrap(), 200);
}

#[test]
fn a_client_that_leaves_ends_its_texts() {
    let folder = Folder::new("server-leaves");
    let mut server = Server::new(ServerOptions::default());
    server.add_decoder("random", &random_decoder(&folder, 4000, TEMPLATE)).unwrap().unwrap();
    let server = Running::start(server);
    let client = server.client();
    for (round, stream) in [true, false, true, false].into_iter().enumerate() {
        // Nothing ends these texts but the context, much later.
        let ends = json!({ "0": -100, "2": -100 });
        let request = json!({ "prompt": "O", "max_tokens": 4000, "n": 16, "stream": stream, "logit_bias": ends });
        let mut begun = client.begin(COMPLETIONS, &request);
        if stream {
            read_head(&mut begun).unwrap();
            begun.read_line(&mut String::new()).unwrap();
        } else {
            wait("it begins", || metric(&server, "tensorlib_sequences") > 0.0);
        }
        drop(begun);
        wait("they are cancelled", || metric(&server, "tensorlib_cancelled_texts_total") > round as f64);
        wait("the texts are gone", || metric(&server, "tensorlib_sequences") == 0.0);
    }
    // All pages are there for others.
    let texts = json!({ "prompt": "ROMEO:", "max_tokens": 200, "n": 3, "temperature": 0 });
    assert_eq!(client.post(COMPLETIONS, &texts).ok()["choices"].as_array().unwrap().len(), 3);
}

#[test]
fn a_server_that_stops_answers_what_it_accepted() {
    let folder = Folder::new("server-stops");
    let server = Running::plays(&folder, ServerOptions::default());
    let client = server.client();
    let mut begun = client.begin(COMPLETIONS, &long(2));
    assert_eq!(read_head(&mut begun).unwrap().0, 200);
    let mut kept = BufReader::new(client.connect());
    kept.get_mut().write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(read(&mut kept).unwrap().status, 200);
    server.stop.stop();
    let mut rest = String::new();
    begun.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("[DONE]"), "{rest}");
    wait("the server returns", || server.has_ended());
    assert!(std::net::TcpStream::connect(server.address).is_err());
    server.end();
}

#[test]
fn known_beginnings_outlive_the_server() {
    let folder = Folder::new("server-prefixes");
    let store = folder.path("store");
    std::fs::create_dir(&store).unwrap();
    let options = || ServerOptions { prefix_store: Some(store.clone()), ..ServerOptions::default() };
    let request = json!({ "prompt": "Good my lord, ".repeat(10), "max_tokens": 20, "temperature": 0 });
    let cached = |answer: &Value| answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    let first = Running::plays(&folder, options());
    let computed = first.client().post(COMPLETIONS, &request).ok();
    assert_eq!(cached(&computed), 0);
    first.end();
    let file = store.join("plays.prefixes");
    assert!(file.exists());
    let second = Running::plays(&folder, options());
    let known = second.client().post(COMPLETIONS, &request).ok();
    assert_eq!((cached(&known), &known["choices"]), (128, &computed["choices"]));
    second.end();
    // A file that is damaged, as by a full disk, is named, and the server begins without it.
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let mut server = Server::new(options());
    let model = decoder(&plays_that_converse(&folder, TEMPLATE));
    let error = server.add_decoder("plays", &model).unwrap().unwrap_err();
    assert!(error.to_string().contains("plays.prefixes"), "{error}");
    let third = Running::start(server);
    assert_eq!(cached(&third.client().post(COMPLETIONS, &request).ok()), 0);
    third.end();
    assert_eq!(std::fs::read(&file).unwrap().len(), bytes.len());
    assert_eq!(std::fs::read_dir(&store).unwrap().count(), 1);
    let error = Server::new(options()).add_decoder("../plays", &model).unwrap_err();
    assert!(error.to_string().contains("without slashes"), "{error}");
}
