//! The tool as a process: killed runs, closed pipes, completions, man pages, the benchmark.

use crate::common::*;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const COMMANDS: [&str; 21] = [
    "tune",
    "convert",
    "imatrix",
    "inspect",
    "quantize",
    "transpose-down",
    "compare",
    "embed",
    "rerank",
    "classify",
    "transcribe",
    "generate",
    "serve",
    "logits",
    "perplexity",
    "activity",
    "place",
    "devices",
    "bench",
    "completions",
    "man",
];

/// A long run in the middle of its work: the first tensor is announced, and seconds remain.
fn long_run(folder: &Folder) -> Child {
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    let x = values(4 << 20, 0);
    let names: Vec<String> = (0..4).map(|i| format!("w{i}")).collect();
    let tensors: Vec<(&str, &[i64], &[f32])> = names.iter().map(|n| (n.as_str(), &[1024, 4096][..], &x[..])).collect();
    write_gguf(&input, &tensors);
    let args = ["quantize", &input, &output, "--type", "iq2_xs", "--threads", "1", "--verbose"];
    let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("[1/4] w0 f32 -> iq2_xs"), "{line}");
    child
}

fn end_of(mut child: Child) -> Option<i32> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(120) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("it did not stop");
}

#[test]
fn a_killed_run_leaves_no_file() {
    let folder = Folder::new("process-kill");
    let mut child = long_run(&folder);
    child.kill().unwrap();
    assert_eq!(end_of(child), None);
    // With files without names nothing is left; on other systems a hidden file, but never OUT.
    let left = folder.names();
    assert!(!left.contains(&"q.gguf".to_string()), "{left:?}");
    if cfg!(target_os = "linux") {
        assert_eq!(left, ["m.gguf"]);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_cleans_up() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = Folder::new(&format!("process{signal}"));
        let child = long_run(&folder);
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(end_of(child), Some(code));
        assert_eq!(folder.names(), ["m.gguf"]);
    }
}

#[test]
fn a_pipe_that_ends_is_no_failure() {
    let folder = Folder::new("process-pipe");
    let path = folder.path("m.gguf");
    let names: Vec<String> = (0..3000).map(|i| format!("tensor.with.a.long.name.{i}")).collect();
    let tensors: Vec<(&str, &[i64], &[f32])> = names.iter().map(|n| (n.as_str(), &[1][..], &[0.5][..])).collect();
    write_gguf(&path, &tensors);
    for args in [
        &["inspect", &path][..],
        &["inspect", "--json", &path],
        &["compare", &path, &path],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take()); // as in `| true`
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((end_of(child), errors.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_one() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command(&["man"]).stdout(full).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("standard output: cannot be written"));
}

#[test]
fn completions_know_all() {
    // The last two shells have no completion of values.
    for (shell, value) in [("bash", "q4_K"), ("zsh", "q4_K"), ("fish", "q4_K"), ("elvish", ""), ("powershell", "")] {
        let ended = tool(&["completions", shell]);
        ended.expect(0, &COMMANDS).expect(0, &["importance", "fail-above", value]);
    }
}

#[test]
fn man_pages_know_all() {
    let folder = Folder::new("process-man");
    let page = tool(&["man"]);
    page.expect(0, &[".TH", "Exit codes"])
        .expect(0, &COMMANDS.map(|c| format!("tensorlib\\-{}", c.replace('-', "\\-"))).each_ref().map(|s| s.as_str()));
    let dir = folder.path("man1");
    tool(&["man", "--dir", &dir]).expect(0, &COMMANDS);
    let quantize = std::fs::read_to_string(folder.path("man1/tensorlib-quantize.1")).unwrap();
    for word in [".TH", "importance", "keep", "Exit codes", "allow"] {
        assert!(quantize.contains(word), "{word}");
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1 + COMMANDS.len());
    let taken = folder.path("man1/tensorlib.1");
    tool(&["man", "--dir", &taken]).expect(3, &["cannot be made"]);
}

#[test]
fn help_tells_of_exit_codes() {
    tool(&["--help"]).expect(0, &COMMANDS).expect(0, &["Exit codes", "70"]);
    for command in &COMMANDS[..10] {
        tool(&[command, "--help"]).expect(0, &["Exit codes", "Usage"]);
        tool(&[command, "-h"]).expect(0, &["Usage"]);
    }
    tool(&["--version"]).expect(0, &[env!("CARGO_PKG_VERSION")]);
}

#[test]
fn a_short_benchmark() {
    let quick =
        ["bench", "--seconds", "0.001", "--side", "256", "--types", "f32,Q4_k", "--sizes", "1,3", "--threads", "2"];
    tool(&quick).expect(0, &["cpu", "2 threads", "memcpy", "q4_K", "GFLOP/s"]);
    let json = tool(&[&quick[..], &["--json"]].concat()).json();
    assert_eq!((json["formats"].as_array().unwrap().len(), json["mul_mat"].as_array().unwrap().len()), (2, 4));
    for row in json["mul_mat"].as_array().unwrap() {
        assert!(row["gflop_s"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_memory_is_a_code_of_its_own() {
    let folder = Folder::new("process-memory");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    write_gguf(&input, &[("w", &[1024, 4096], &values(4 << 20, 0))]);
    // With a growing limit, runs fail because of memory (or threads, or a file that cannot be mapped) until one
    // succeeds; none is killed by a signal, and none leaves a file.
    let (mut codes, mut mib) = (Vec::new(), 8);
    while codes.last() != Some(&0) && mib < 4096 {
        let script = format!("ulimit -v {}; exec \"$@\"", mib << 10);
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_tensorlib"), "quantize", &input, &output]);
        let ended = sh.args(["--type", "q4_0", "--threads", "1"]).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        // Below some size the loader itself fails: 127, or a signal before main.
        let begun = errors.contains("tensorlib: ") && ended.status.code() != Some(127);
        if begun || ended.status.success() {
            codes.push(ended.status.code().unwrap_or_else(|| panic!("{mib} MiB: {ended:?}")));
        }
        mib += 4;
    }
    assert!(codes.contains(&5) && codes.last() == Some(&0), "{codes:?}");
    assert!(codes.iter().all(|c| [0, 3, 5].contains(c)), "{codes:?}");
}
