//! Sixteen clients that connect, leave, cancel and send garbage for a while: every text is right, and memory stays flat.

use crate::common::canary::{memory, seconds, Canaries};
use crate::common::client::read_head;
use crate::common::models::sampling::Uniform;
use crate::common::models::Folder;
use crate::common::{decoder, plays_that_converse, Running, TEMPLATE};
use serde_json::json;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tensorlib_models::SequencesOptions;
use tensorlib_server::{Server, ServerOptions};

const CLIENTS: usize = 16;

#[test]
fn sixteen_clients_for_a_while() {
    let folder = Folder::new("server-soak");
    let path = plays_that_converse(&folder, TEMPLATE);
    let model = decoder(&path);
    let canaries = Canaries::new(&model, 64);
    let time = seconds("TENSORLIB_SOAK_SECONDS", 10);
    let mut memory_then = 0;
    let (texts, left, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    // A small pool, so that sequences wait, are computed again, and lose known beginnings.
    let sequences = SequencesOptions { tokens: 1024, together: 8, ..SequencesOptions::default() };
    let options =
        ServerOptions { sequences, waiting: 6, client_time: Duration::from_secs(5), ..ServerOptions::default() };
    let mut server = Server::new(options);
    server.add_decoder("plays", &model).unwrap().unwrap();
    let (server, begin) = (Running::start(server), Instant::now());
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (client, canaries, texts, left, refused) = (server.client(), &canaries, &texts, &left, &refused);
            scope.spawn(move || {
                let mut random = Uniform(number as u64 + 1);
                while begin.elapsed() < time {
                    match random.below(10) {
                        0..5 => match canaries.ask(&client, random.below(64)) {
                            true => _ = texts.fetch_add(1, Ordering::Relaxed),
                            false => _ = refused.fetch_add(1, Ordering::Relaxed),
                        },
                        5 | 6 => {
                            // Leaves in the middle of a streamed answer.
                            let request = json!({ "prompt": "O", "max_tokens": 200, "stream": true, "n": 2 });
                            let mut stream = client.begin("/v1/completions", &request);
                            if read_head(&mut stream).is_ok_and(|(status, _)| status == 200) {
                                let _ = stream.read_line(&mut String::new());
                                left.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        7 => {
                            // Leaves before an answer.
                            let request = json!({ "prompt": "O".repeat(200), "max_tokens": 50, "n": 2 });
                            drop(client.begin("/v1/completions", &request));
                            left.fetch_add(1, Ordering::Relaxed);
                        }
                        8 => {
                            let mut stream = client.connect();
                            let garbage: Vec<u8> = (0..random.below(2000)).map(|_| random.below(256) as u8).collect();
                            let _ = stream.write_all(&garbage);
                            let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
                            let _ = stream.read(&mut [0; 100]);
                        }
                        _ => drop(client.connect()),
                    }
                }
            });
        }
        while begin.elapsed() < time {
            std::thread::sleep(Duration::from_millis(20));
            if begin.elapsed() > time / 3 && memory_then == 0 {
                memory_then = memory();
            }
        }
    });
    let grown = memory().saturating_sub(memory_then);
    let counts = [&texts, &left, &refused].map(|count| count.load(Ordering::Relaxed));
    eprintln!("{} texts, {} clients left, {} refused (429); {grown} bytes more", counts[0], counts[1], counts[2]);
    assert!(counts[0] > 20 && counts[1] > 5, "{counts:?}");
    assert!(grown < 64 << 20, "{grown} bytes more than after a third of the time");
    // Nothing is left of them.
    let begin = Instant::now();
    let is_idle = || server.client().get("/metrics").text().contains("tensorlib_sequences{model=\"plays\"} 0\n");
    while !is_idle() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    for i in 0..64 {
        assert!(canaries.ask(&server.client(), i));
    }
    server.end();
}
