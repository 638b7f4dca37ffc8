//! Several processes that compute a model together. The launcher TENSORLIB_TEST_MPIRUN starts them: its program and options,
//! separated by blanks. `cargo xtask test --only groups` sets it.

use crate::common::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NEEDED: &str = "TENSORLIB_TEST_MPIRUN names the launcher";

/// The model of the repository.
fn plays() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/plays.gguf");
    path.to_str().unwrap().to_string()
}

/// The command as `n` processes.
fn on_ranks(n: usize, args: &[&str]) -> Command {
    let launcher = std::env::var("TENSORLIB_TEST_MPIRUN").expect(NEEDED);
    let mut words = launcher.split(' ');
    let mut command = Command::new(words.next().expect(NEEDED));
    command.args(words).args(["-n", &n.to_string(), env!("CARGO_BIN_EXE_tensorlib")]).args(args).stdin(Stdio::null());
    command
}

/// Runs a command that reads this text.
fn reading(mut command: Command, text: &str) -> Ended {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

#[test]
#[ignore = "needs mpirun"]
fn ranks_generate_what_one_process_does_and_print_once() {
    let model = plays();
    let drawn = ["generate", &model, "ROMEO:", "-n", "40", "--seed", "2", "--threads", "1"];
    let greedy = ["generate", &model, "JULIET:", "-n", "30", "--temp", "0", "--threads", "1"];
    for args in [&drawn[..], &greedy[..]] {
        let alone = tool(args);
        alone.expect(0, &[]);
        for n in [2, 3] {
            let ended = ended(&mut on_ranks(n, args));
            ended.expect(0, &["generation: "]);
            assert_eq!(ended.out, alone.out, "{n} ranks");
            assert_eq!(ended.err.matches("generation: ").count(), 1, "{ended:?}");
        }
    }
    // Without a seed the first rank draws one for all.
    let ended = ended(&mut on_ranks(2, &["generate", &model, "ROMEO:", "-n", "20", "--json"]));
    assert_eq!(ended.out.lines().count(), 21, "{ended:?}");
}

#[test]
#[ignore = "needs mpirun"]
fn the_first_rank_shares_its_input() {
    let model = plays();
    let generate = ["generate", &model, "--file", "-", "-n", "20", "--temp", "0"];
    let alone = reading(command(&generate), "ROMEO:");
    assert_eq!(reading(on_ranks(2, &generate), "ROMEO:").expect(0, &[]).out, alone.out);
    let prompts = ["generate", &model, "--prompts", "-", "-n", "8", "--temp", "0"];
    let lines = "{\"prompt\": \"ROMEO:\", \"id\": 1}\n{\"prompt\": \"My lord\", \"id\": 2}\n";
    let sorted = |ended: &Ended| {
        let mut lines: Vec<String> = ended.out.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let (alone, together) = (reading(command(&prompts), lines), reading(on_ranks(2, &prompts), lines));
    assert_eq!(sorted(together.expect(0, &[])), sorted(&alone));
    let text = "Good morrow to you both. What counterfeit did I give you? ".repeat(8);
    let perplexity = ["perplexity", &model, "-", "--ctx", "32", "--json"];
    let value = |ended: Ended| ended.json()["perplexity"].as_f64().unwrap();
    let (alone, together) =
        (value(reading(command(&perplexity), &text)), value(reading(on_ranks(2, &perplexity), &text)));
    assert!((alone - together).abs() < 1e-2 * alone, "{alone} {together}");
}

#[test]
#[ignore = "needs mpirun"]
fn what_one_process_alone_does_is_refused() {
    let model = plays();
    let folder = Folder::new("ranks");
    let session = folder.path("session");
    let others: [(&[&str], &str); 3] = [
        (&["ROMEO:", "--session", &session], "--session: 2 processes compute the model"),
        (&["ROMEO:", "--speculate", "auto"], "--speculate and --draft: 2 processes"),
        (&[], "a conversation, without PROMPT or --file: 2 processes"),
    ];
    for (args, words) in &others {
        let ended = ended(&mut on_ranks(2, &[&["generate", &model, "-n", "2"], *args].concat()));
        assert!(ended.code != Some(0) && ended.err.contains(words) && ended.err.contains("rank 1: "), "{ended:?}");
    }
    // Without the others a process is one.
    tool(&["generate", &model, "ROMEO:", "-n", "2", "--group", "self"]).expect(0, &[]);
    tool(&["generate", &model, "ROMEO:", "-n", "2", "--group", "nobody"]).expect(2, &["auto"]);
    let missing = folder.path("none.gguf");
    let ended = ended(&mut on_ranks(2, &["generate", &missing, "ROMEO:", "-n", "2"]));
    assert!(ended.code != Some(0) && ended.err.contains("none.gguf"), "{ended:?}");
}

/// The processes with this text in their arguments, the launcher first.
fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has_text = |number: &u32| {
        let arguments = std::fs::read(PathBuf::from(format!("/proc/{number}/cmdline"))).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    };
    let mut found: Vec<u32> = numbers.filter(has_text).collect();
    found.sort_unstable();
    found
}

#[test]
#[ignore = "needs mpirun"]
fn a_killed_rank_ends_the_others() {
    let (model, prompt) = (plays(), format!("killed {}:", std::process::id()));
    let args = ["generate", &model, &prompt, "--ctx", "4096", "--stop", "no such text", "--json"];
    let mut child = on_ranks(2, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert!(line.contains("token"), "{line}");
    let rank = processes_with(&prompt).pop().expect("a rank runs");
    assert!(Command::new("sh").args(["-c", &format!("kill -KILL {rank}")]).status().unwrap().success());
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the other rank goes on");
        line.clear();
        let _ = std::io::BufRead::read_line(&mut out, &mut line); // an end, or a rest of the text
    }
    assert!(!child.wait().unwrap().success());
    assert!(processes_with(&prompt).is_empty());
}
