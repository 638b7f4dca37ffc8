//! The example that trains on several ranks, as processes that the launcher TENSORLIB_TEST_MPIRUN starts: its program and
//! options, separated by blanks. `cargo xtask test --only groups` sets it.

use std::process::Command;
use std::time::{Duration, Instant};
use tensorlib_example_tests::{accuracy_of, folder, Program};

/// The process that was started last of those with this text in their arguments: a rank, as the launcher is older.
fn newest_process_with(text: &str) -> Option<u32> {
    let numbers =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has_text = |number: &u32| {
        let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    };
    numbers.filter(has_text).max()
}

/// One rank is killed after the first checkpoint. That ends the other one, and the checkpoint is good: two new ranks go on from it and
/// reach what one rank does.
#[test]
#[ignore = "needs mpirun"]
fn two_ranks_learn_and_go_on_after_one_was_killed() {
    let launcher = std::env::var("TENSORLIB_TEST_MPIRUN").expect("TENSORLIB_TEST_MPIRUN names the launcher");
    let file = folder("ranks").join("digits.safetensors");
    let ranks = Program::example("digits_conv").args(["--group", "auto", "--checkpoint"]).arg(&file).arg("1");
    let ranks = ranks.started_by(&launcher, 2);
    let killer = std::thread::spawn({
        let file = file.clone();
        move || {
            let begin = Instant::now();
            while !file.exists() {
                assert!(begin.elapsed() < Duration::from_secs(300), "no checkpoint");
                std::thread::sleep(Duration::from_millis(20));
            }
            let rank = newest_process_with(&file.to_string_lossy()).expect("a rank runs");
            let kill = Command::new("sh").args(["-c", &format!("kill -KILL {rank}")]).status().unwrap();
            assert!(kill.success(), "nobody was killed");
            Instant::now()
        }
    });
    let ended = ranks.run();
    let killed = killer.join().unwrap();
    assert!(ended.code != Some(0) && !ended.out.contains("\naccuracy "), "{ended:?}");
    assert!(killed.elapsed() < Duration::from_secs(60), "the other rank went on for {:?}", killed.elapsed());
    let out = ranks.succeed();
    assert!(accuracy_of(&out) > 98.0, "{out}");
    assert_eq!(out.lines().filter(|line| line.starts_with("accuracy ")).count(), 1, "both ranks print: {out}");
    assert_eq!(out.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(), 30, "{out}");
}
