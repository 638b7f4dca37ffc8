//! `tune`: the adapter that it writes, runs that go on, and what it refuses.

use crate::common::*;

const PLAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");

/// Lines to learn.
fn data(folder: &Folder) -> String {
    let path = folder.path("data.jsonl");
    let line = |i: usize| format!("{{\"prompt\": \"ROMEO:\", \"completion\": \" OH NO, I AM {i} OF THEM.\"}}\n");
    std::fs::write(&path, (0..12).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn an_adapter_of_the_plays() {
    let folder = Folder::new("tune");
    let (data, whole, parts) = (data(&folder), folder.path("whole.gguf"), folder.path("parts.gguf"));
    let usual = ["--context", "40", "--rank", "2", "--learning-rate", "0.02", "--seed", "7"];
    let tune = |out: &str, more: &[&str]| tool(&[&["tune", PLAYS, &data, "-o", out][..], &usual, more].concat());
    let ended = tune(&whole, &["--steps", "9", "--validation", "0.25"]);
    ended.expect(0, &["loss ", " steps", "whole.gguf: ", "from 9 sequences"]);
    let curve = std::fs::read_to_string(format!("{whole}.csv")).unwrap();
    assert!(curve.starts_with("step,loss,rate,validation_loss\n1,"), "{curve}");
    assert_eq!(curve.lines().filter(|line| line.ends_with(',')).count(), 9, "{curve}");
    assert!(curve.lines().any(|line| line.contains(",,,")), "{curve}");
    assert!(!folder.names().iter().any(|name| name.ends_with(".checkpoint")), "{:?}", folder.names());
    // An adapter changes what the model says, by its scale.
    let logits =
        |lora: &[&str]| tool(&[&["logits", PLAYS, "--tokens", "1,5,9"][..], lora].concat()).expect(0, &[]).out.clone();
    let (plain, adapted) = (logits(&[]), logits(&["--lora", &whole]));
    assert_ne!(plain, adapted);
    assert_eq!(plain, logits(&["--lora", &format!("{whole}:0")]));
    assert_ne!(adapted, logits(&["--lora", &format!("{whole}:0.5")]));
    tool(&["generate", PLAYS, "ROMEO:", "-n", "4", "--lora", &whole]).expect(0, &["4 tokens"]);
    // Runs of the same seed have the same bits, and OUT stays unless --force is said.
    tune(&parts, &["--steps", "9", "--validation", "0.25"]).expect(0, &[]);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
    tune(&parts, &[]).expect(3, &["exists already"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on() {
    let folder = Folder::new("tune-resume");
    let (data, whole, parts) = (data(&folder), folder.path("whole.gguf"), folder.path("parts.gguf"));
    let usual = ["--context", "40", "--rank", "2", "--learning-rate", "0.02", "--steps", "30", "--checkpoint", "2"];
    let arguments = |out: &str, more: &[&str]| -> Vec<String> {
        let all = [&["tune", PLAYS, &data, "-o", out][..], &usual, more].concat();
        all.into_iter().map(String::from).collect()
    };
    let run = |arguments: Vec<String>| tool(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    run(arguments(&whole, &[])).expect(0, &["30 steps"]);
    let first = arguments(&parts, &[]);
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let mut child =
        command(&first).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let checkpoint = format!("{parts}.checkpoint");
    while !std::path::Path::new(&checkpoint).exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!std::path::Path::new(&parts).exists());
    run(arguments(&parts, &["--resume"])).expect(0, &["30 steps"]);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
    let curve = |out: &str| std::fs::read_to_string(format!("{out}.csv")).unwrap();
    assert_eq!(curve(&whole), curve(&parts));
}

#[test]
fn what_is_refused() {
    let folder = Folder::new("tune-refused");
    let (data, out) = (data(&folder), folder.path("out.gguf"));
    let small = folder.path("small.gguf");
    small_model(&small);
    for (code, words, args) in [
        (2, "above 0", vec![PLAYS, &data, "--alpha", "0"]),
        (2, "between 0 and 1", vec![PLAYS, &data, "--validation", "2"]),
        (1, "adapters of 'attn_x'", vec![PLAYS, &data, "--targets", "attn_q,attn_x"]),
        (1, "up to the model's 256", vec![PLAYS, &data, "--context", "1000"]),
        (3, "nowhere", vec![PLAYS, "nowhere.jsonl"]),
        (3, "there is no such checkpoint", vec![PLAYS, &data, "--resume"]),
        (4, "tokenizer.ggml.model", vec![&small, &data]),
    ] {
        tool(&[&["tune"], &args[..], &["-o", &out]].concat()).expect(code, &[words]);
    }
    std::fs::write(format!("{out}.checkpoint"), "x").unwrap();
    tool(&["tune", PLAYS, &data, "-o", &out]).expect(3, &["a run is not finished", "--resume"]);
    tool(&["tune", PLAYS, &data, "-o", &out, "--resume"]).expect(4, &["checkpoint"]);
    // An adapter of another shape.
    let other = folder.path("other.gguf");
    let mut writer = tensorlib::GgufWriter::create(&other).unwrap();
    for (key, value) in [("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")] {
        writer.set(key, value).unwrap();
    }
    writer.set("adapter.lora.alpha", 2f32).unwrap();
    finish(
        writer,
        &[
            ("blk.0.attn_q.weight.lora_a", &[64, 2], &values(128, 0)),
            ("blk.0.attn_q.weight.lora_b", &[2, 64], &values(128, 1)),
        ],
    );
    tool(&["generate", PLAYS, "ROMEO:", "-n", "1", "--lora", &other])
        .expect(4, &["blk.0.attn_q.weight.lora_a", "is expected"]);
}
