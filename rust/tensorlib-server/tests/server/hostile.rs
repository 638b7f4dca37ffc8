//! Requests that nobody should send: a list of them, and a fuzzer. After each the server must write the texts that it
//! wrote before.

use crate::common::canary::{memory, seconds, Canaries};
use crate::common::client::{read, Client};
use crate::common::models::sampling::Uniform;
use crate::common::models::Folder;
use crate::common::{decoder, plays_that_converse, Running, TEMPLATE};
use serde_json::{json, Value};
use std::io::{BufReader, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use tensorlib_server::{Server, ServerOptions};

/// A server that ends requests early, so that hostile ones do not take the time of a test.
fn server(folder: &Folder) -> (Running, Canaries) {
    let options = ServerOptions {
        client_time: Duration::from_millis(500),
        request_time: Duration::from_secs(20),
        body_bytes: 1 << 20,
        ..ServerOptions::default()
    };
    let mut server = Server::new(options);
    let decoder = decoder(&plays_that_converse(folder, TEMPLATE));
    let canaries = Canaries::new(&decoder, 8);
    server.add_decoder("plays", &decoder).unwrap().unwrap();
    (Running::start(server), canaries)
}

/// Sends bytes and reads what comes, if anything does. A status must be one that the server documents. If the bytes may
/// be no whole request, the connection is closed after them, which also cancels a request that was whole.
fn send(client: &Client, bytes: &[u8], is_whole: bool) -> Option<u16> {
    let mut stream = client.connect();
    let _ = stream.write_all(bytes); // the server may have closed already
    if !is_whole {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut reader = BufReader::new(stream);
    let answer = read(&mut reader).ok()?;
    let known = [100, 200, 400, 401, 403, 404, 405, 408, 413, 414, 415, 429, 431, 501, 503, 504, 505];
    assert!(known.contains(&answer.status), "{} after {:?}", answer.status, String::from_utf8_lossy(bytes));
    Some(answer.status)
}

#[test]
fn a_corpus_of_hostile_requests() {
    let folder = Folder::new("server-corpus");
    let (server, canaries) = server(&folder);
    let client = server.client();
    let head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let with = |headers: &str, body: &str| format!("{head}{headers}\r\n{body}").into_bytes();
    let ok = r#"{"prompt": "a", "max_tokens": 1}"#;
    let n = ok.len();
    let raw: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\0\0\0\0".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), // TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /%00%2e%2e/%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /v1/models/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(60_000)).into_bytes(),
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(5000)).into_bytes(),
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\nHost: \xff\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n".to_vec(),
        // Bodies whose length is told twice, wrongly, or in two ways.
        with(&format!("Content-Length: {n}\r\nContent-Length: 5\r\n"), ok),
        with(&format!("Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n"), ok),
        with("Content-Length: -5\r\n", ok),
        with("Content-Length: 18446744073709551616\r\n", ok),
        with("Content-Length: 5\r\n", ok),
        with("Content-Length: 5000\r\n", ok),
        with("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nx"),
        with("Transfer-Encoding: chunked\r\n", "-1\r\nx"),
        with("Transfer-Encoding: gzip, chunked\r\n", "5\r\n\x1f\x08\r\n0\r\n\r\n"),
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", ok),
        with("Expect: 100-continue\r\nContent-Length: 10\r\n", ""),
        with("Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n", ""),
        // Many requests at once.
        with(&format!("Content-Length: {n}\r\n"), ok).repeat(50),
    ];
    for bytes in raw {
        send(&client, &bytes, false);
        assert!(canaries.ask(&client, 0));
    }
    let deep = |n: usize, open: &str, close: &str| format!("{}1{}", open.repeat(n), close.repeat(n));
    let bodies = [
        "null".to_string(),
        "\"\\ud800\"".into(),
        r#"{"prompt": "\ud800", "max_tokens": 1}"#.into(),
        "{\"prompt\": \"\u{0}\u{202e}\u{fffd}\", \"max_tokens\": 1}".into(),
        r#"{"prompt": "a", "prompt": "b", "max_tokens": 1}"#.into(),
        format!(r#"{{"prompt": "a", "max_tokens": {}}}"#, "9".repeat(10_000)),
        r#"{"prompt": "a", "temperature": 1e999}"#.into(),
        r#"{"prompt": "a", "seed": -9223372036854775808, "max_tokens": 1}"#.into(),
        format!(r#"{{"prompt": {}}}"#, deep(120, "[", "]")),
        format!(r#"{{"a": {}}}"#, deep(100_000, r#"{"a": "#, "}")),
        json!({ "prompt": vec![1; 100_000] }).to_string(),
        json!({ "prompt": "🏴‍☠️".repeat(10_000) }).to_string(),
        json!({ "prompt": " ".repeat(500_000) }).to_string(),
        json!({ "prompt": "a", "stop": vec!["\u{fffd}"; 16], "max_tokens": 4 }).to_string(),
        json!({ "prompt": "a", "logit_bias": (0..1000).map(|i| (i.to_string(), json!(0))).collect::<serde_json::Map<_, _>>() })
            .to_string(),
        json!({ "prompt": "a", "response_format": { "type": "grammar", "syntax": "regex", "definition": "(a{1000}){1000}" } })
            .to_string(),
        json!({ "prompt": "a", "response_format": { "type": "grammar", "syntax": "lark", "definition": "start: start start" } })
            .to_string(),
        json!({ "prompt": "a", "response_format": { "type": "json_schema", "json_schema": { "schema": { "$ref": "#" } } } })
            .to_string(),
    ];
    for body in bodies {
        let length = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
        assert!(send(&client, &with(&length, &body), true).is_some());
        assert!(canaries.ask(&client, 1));
    }
}

/// A valid request of each route.
fn valid() -> Vec<(&'static str, Value)> {
    let message = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Speak." }]);
    let schema = json!({ "type": "object", "properties": { "a": { "enum": [1, 2] } }, "required": ["a"] });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
    vec![
        ("/v1/chat/completions", json!({ "messages": message, "max_tokens": 3, "temperature": 0.5, "seed": 1 })),
        ("/v1/chat/completions", json!({ "messages": message, "max_tokens": 3, "stream": true, "n": 2 })),
        ("/v1/chat/completions", json!({ "messages": message, "max_tokens": 3, "response_format": format })),
        ("/v1/completions", json!({ "prompt": ["a", "b"], "max_tokens": 2, "logprobs": 1, "stop": ["x", "y"] })),
        ("/v1/completions", json!({ "prompt": [5, 6, 7], "max_tokens": 2, "logit_bias": { "5": -1.5 } })),
        ("/tokenize", json!({ "content": "a", "with_pieces": true })),
        ("/detokenize", json!({ "tokens": [1, 2, 3] })),
        ("/v1/embeddings", json!({ "input": ["a"] })),
    ]
}

/// A value with one part replaced, removed or repeated.
fn changed(value: &Value, random: &mut Uniform) -> Value {
    let odd = [
        json!(null),
        json!(-1),
        json!(1e308),
        json!(0.5),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("x".repeat(5000)),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!(true),
        json!({ "type": "function" }),
    ];
    match value {
        _ if random.below(4) == 0 => odd[random.below(odd.len())].clone(),
        Value::Object(object) if !object.is_empty() => {
            let mut made = object.clone();
            let key = object.keys().nth(random.below(object.len())).unwrap();
            let inner = changed(&object[key], random);
            match random.below(5) {
                0 => _ = made.remove(key),
                1 => _ = made.insert(format!("{key}x"), inner),
                _ => _ = made.insert(key.clone(), inner),
            }
            Value::Object(made)
        }
        Value::Array(values) if !values.is_empty() => {
            let (mut made, i) = (values.clone(), random.below(values.len()));
            match random.below(4) {
                0 => _ = made.remove(i),
                1 => made = std::iter::repeat_n(values[i].clone(), 1 + random.below(300)).collect(),
                _ => made[i] = changed(&values[i], random),
            }
            Value::Array(made)
        }
        Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) * [-1.0, 1e3, 1e18, 0.1][random.below(4)]),
        Value::String(text) => json!(format!("{text}{text}\u{fffd}")),
        _ => odd[random.below(odd.len())].clone(),
    }
}

/// Bytes with some changed, removed or repeated.
fn mangled(mut bytes: Vec<u8>, random: &mut Uniform) -> Vec<u8> {
    for _ in 0..1 + random.below(4) {
        let (at, n) = (random.below(bytes.len().max(1)), bytes.len());
        match random.below(5) {
            0 if n > 0 => bytes[at] = random.below(256) as u8,
            1 => bytes.truncate(at),
            2 if n > 0 => {
                let part = bytes[at..(at + random.below(40)).min(n)].to_vec();
                bytes.splice(at..at, part);
            }
            3 if n > 0 => _ = bytes.drain(at..(at + random.below(10)).min(n)),
            _ => bytes
                .splice(at..at, [b'\r', b'\n', 0, b':', b'"', b'{', 0xff][random.below(7)..].iter().copied().take(1))
                .for_each(drop),
        }
    }
    bytes
}

#[test]
fn a_fuzzer_does_not_change_other_texts() {
    let folder = Folder::new("server-fuzz");
    let (server, canaries) = server(&folder);
    let (client, begin, time) = (server.client(), Instant::now(), seconds("TENSORLIB_FUZZ_SECONDS", 15));
    let seed = std::env::var("TENSORLIB_FUZZ_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    let (mut random, valid) = (Uniform(seed), valid());
    let (mut sent, mut answered, mut fine, mut memory_then) = (0u64, 0u64, 0u64, 0);
    while begin.elapsed() < time {
        let (path, value) = &valid[random.below(valid.len())];
        let mut value = value.clone();
        for _ in 0..random.below(3) {
            value = changed(&value, &mut random);
        }
        let mut bytes = client.request("POST", path, Some(&value.to_string()));
        let is_whole = random.below(3) > 0;
        if !is_whole {
            bytes = mangled(bytes, &mut random);
        }
        sent += 1;
        if random.below(10) == 0 {
            // Leaves before the answer, or in the middle of it.
            let mut stream = client.connect();
            let _ = stream.write_all(&bytes);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            let _ = stream.read(&mut [0; 300]);
        } else if let Some(status) = send(&client, &bytes, is_whole) {
            answered += 1;
            fine += u64::from(status == 200);
        }
        if sent % 20 == 0 {
            canaries.ask(&client, sent as usize / 20);
        }
        if begin.elapsed() > time / 3 && memory_then == 0 {
            memory_then = memory();
        }
    }
    assert!(canaries.ask(&client, 0));
    let grown = memory().saturating_sub(memory_then);
    eprintln!("{sent} requests with seed {seed}: {answered} answered, {fine} of them with 200; {grown} bytes more");
    assert!(answered > sent / 3 && fine > sent / 20, "{sent}, {answered}, {fine}");
    assert!(grown < 64 << 20, "{grown} bytes more than after a third of the time");
}
