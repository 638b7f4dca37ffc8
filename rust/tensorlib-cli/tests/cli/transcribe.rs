//! `transcribe`, with a tiny Whisper of random weights and sounds that are computed.

use crate::common::{tool, Folder};
use crate::tiny_models::whisper::{chirp, Spec};
use crate::tiny_models::whisper_files::{bands, ggml, renamed, Wav};
use serde_json::Value as Json;
use std::path::Path;
use tensorlib::DType;

/// A folder of Whisper, and a sound of 2.2 s.
fn model_and_sound(folder: &Folder) -> (String, String) {
    let (path, spec) = (folder.path("hub"), Spec::tiny());
    spec.write_folder(Path::new(&path), &spec.tensors(3, DType::F32), "", "");
    (path, sound(folder, "sound.wav", 22_050, 2.2))
}

fn sound(folder: &Folder, name: &str, rate: u32, seconds: f64) -> String {
    let path = folder.path(name);
    let wav = Wav { format: 1, bits: 16, channels: 1, rate };
    std::fs::write(&path, wav.of(&chirp(rate as usize, seconds)).0).unwrap();
    path
}

#[test]
fn segments_in_all_formats() {
    let folder = Folder::new("transcribe");
    let (model, sound) = model_and_sound(&folder);
    let run = |further: &[&str]| {
        let base = ["transcribe", &model, &sound, "--language", "german", "--no-fallback"];
        tool(&[&base[..], further].concat())
    };
    let json = run(&["--format", "json"]).json();
    assert_eq!((&json["language"], &json["file"]), (&Json::from("de"), &Json::from(sound.as_str())));
    assert!((json["seconds"].as_f64().unwrap() - 2.2).abs() < 0.01);
    let segments = json["segments"].as_array().unwrap();
    assert!(!segments.is_empty());
    let parts: Vec<(f64, f64, &str)> = segments
        .iter()
        .map(|s| (s["start"].as_f64().unwrap(), s["end"].as_f64().unwrap(), s["text"].as_str().unwrap()))
        .collect();
    let time = |seconds: f64, mark: char| {
        let ms = (seconds * 1000.0).round() as u64;
        format!("{:02}:{:02}{mark}{:03}", ms / 60_000, ms / 1000 % 60, ms % 1000)
    };
    let text: String =
        parts.iter().map(|(a, b, text)| format!("[{} --> {}] {text}\n", time(*a, '.'), time(*b, '.'))).collect();
    run(&[]).expect(0, &[]);
    assert_eq!(run(&[]).out, text);
    let numbered = (1..).zip(&parts);
    let srt: String = numbered
        .map(|(i, (a, b, text))| format!("{i}\n00:{} --> 00:{}\n{text}\n\n", time(*a, ','), time(*b, ',')))
        .collect();
    assert_eq!(run(&["--format", "srt"]).out, srt);
    let vtt: String =
        parts.iter().map(|(a, b, text)| format!("00:{} --> 00:{}\n{text}\n\n", time(*a, '.'), time(*b, '.'))).collect();
    assert_eq!(run(&["--format", "vtt"]).out, format!("WEBVTT\n\n{vtt}"));
    // Any number of threads gives one text.
    for threads in ["1", "3"] {
        assert_eq!(run(&["--threads", threads]).out, text);
    }
    run(&["--beam", "1", "--task", "translate", "--type", "q8_0", "--no-context", "-v"]).expect(0, &["device: cpu"]);
}

#[test]
fn several_files_and_the_language_that_is_detected() {
    let folder = Folder::new("transcribe-files");
    let (model, first) = model_and_sound(&folder);
    let second = sound(&folder, "second.wav", 8_000, 0.7);
    let run = |format: &str| tool(&["transcribe", &model, &first, &second, "--no-fallback", "--format", format]);
    let text = run("text").out;
    assert!(text.starts_with(&format!("{first}:\n[00:")) && text.contains(&format!("\n\n{second}:\n")), "{text}");
    let lines: Vec<Json> = run("json").out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| ["en", "de", "sv"].contains(&line["language"].as_str().unwrap())));
    run("vtt").expect(0, &["NOTE "]);
    // A text at other temperatures depends on the seed.
    let drawn = |seed: &str| tool(&["transcribe", &model, &second, "--seed", seed, "--language", "en"]).out;
    assert_eq!(drawn("1"), drawn("1"));
}

#[test]
fn files_of_other_formats() {
    let folder = Folder::new("transcribe-formats");
    let (hub, sound) = model_and_sound(&folder);
    let spec = Spec { ffn: 256, ..Spec::tiny() };
    let tensors = spec.tensors(3, DType::Q8_0);
    let bin = folder.path("ggml-tiny.bin");
    std::fs::write(&bin, ggml(&spec, &tensors, &bands(spec.mels), 2007, DType::Q8_0 as i32)).unwrap();
    tool(&["transcribe", &bin, &sound, "--no-fallback", "--format", "json"]).expect(0, &[r#""language":"en""#]);
    let gguf = format!("{hub}/model-q.gguf");
    spec.write_settings(Path::new(&hub), "", "");
    renamed(&tensors, |name| format!("model.{name}")).write_gguf(Path::new(&gguf), &[]);
    tool(&["transcribe", &gguf, &sound, "--no-fallback", "--format", "json"]).expect(0, &[r#""language":"#]);
}

#[test]
fn bad_input_is_refused_with_what_is_valid() {
    let folder = Folder::new("transcribe-wrong");
    let (model, sound) = model_and_sound(&folder);
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let good = std::fs::read(&sound).unwrap();
    for (name, bytes, words) in [
        ("text.wav", &b"this is no sound"[..], &["no WAV file", "ffmpeg"][..]),
        ("empty.wav", b"", &["no WAV file"]),
        ("short.wav", &good[..good.len() - 100], &["ends after", "was not copied to its end"]),
    ] {
        tool(&["transcribe", &model, &file(name, bytes)]).expect(4, words).expect(4, &[name]);
    }
    let nothing = Wav { format: 1, bits: 16, channels: 1, rate: 16_000 }.file(&[]);
    tool(&["transcribe", &model, &file("none.wav", &nothing)]).expect(4, &["without samples: at least one is valid"]);
    tool(&["transcribe", &model, &folder.path("missing.wav")]).expect(3, &["missing.wav", "typing mistake"]);
    tool(&["transcribe", &folder.path("missing"), &sound]).expect(3, &["missing"]);
    tool(&["transcribe", &model]).expect(2, &["<FILE>"]);
    tool(&["transcribe", &model, &sound, "--beam", "0"]).expect(2, &["1..=64"]);
    tool(&["transcribe", &model, &sound, "--format", "doc"]).expect(2, &["text, srt, vtt, json"]);
    tool(&["transcribe", &model, &sound, "--language", "xx"]).expect(1, &["the model knows en, de, sv"]);
    tool(&["transcribe", &model, &sound, "--device", "cpu", "--put", "*=cpu"]).expect(2, &["lies on one device"]);
    // A model of texts is none of speech, and the other way round.
    let other = folder.path("bert");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(format!("{other}/config.json"), r#"{"model_type": "bert"}"#).unwrap();
    tool(&["transcribe", &other, &sound]).expect(1, &["'bert' is no model of speech that is known: whisper is"]);
    for args in [
        &["generate", &model, "text"][..],
        &["embed", &model],
        &["rerank", &model, "text"],
        &["classify", &model],
        &["logits", &model, "--tokens", "1"],
        &["perplexity", &model, &file("text.txt", b"a text")],
    ] {
        tool(args).expect(1, &["turns speech into text", "tensorlib transcribe"]);
    }
}
