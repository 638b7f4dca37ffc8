//! Invalid input, with its exit code and words of the message.

use crate::common::*;

/// A file with these bytes.
fn file(folder: &Folder, name: &str, bytes: &[u8]) -> String {
    let path = folder.path(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = Folder::new("errors-open");
    let good = folder.path("good.gguf");
    small_model(&good);
    let whole = std::fs::read(&good).unwrap();
    let safe = folder.path("good.safetensors");
    write_safetensors(&safe, &[("w", &[64], &values(64, 0))], &[]);
    let whole_safe = std::fs::read(&safe).unwrap();
    let header = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let table: Vec<(String, i32, &[&str])> = vec![
        (folder.path("none"), 3, &["cannot be opened", "hint: look for a typing mistake"]),
        (folder.path(""), 3, &["is a folder", "hint"]),
        (file(&folder, "empty", b""), 4, &["is empty"]),
        (file(&folder, "short", b"GG"), 4, &["neither GGUF nor safetensors"]),
        (file(&folder, "text", b"#!/bin/sh\necho no model"), 4, &["begins with 23 21", "hint"]),
        (file(&folder, "only-magic", b"GGUF"), 4, &["gguf"]),
        (file(&folder, "cut", &whole[..whole.len() - 1]), 4, &["hint: the file is damaged"]),
        (file(&folder, "cut-header", &whole[..100]), 4, &["hint: the file is damaged"]),
        (
            file(&folder, "safe-cut", &whole_safe[..whole_safe.len() - 1]),
            4,
            &["255 bytes of data: the header tells of 256"],
        ),
        (file(&folder, "safe-no-end", &whole_safe[..20]), 4, &["a header of"]),
        (file(&folder, "safe-no-json", &header("{\"w\": nothing}")), 4, &["its header"]),
        (
            file(&folder, "safe-gap", &header(r#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}        "#)),
            4,
            &["invalid offset for tensor `w`"],
        ),
        (
            file(&folder, "safe-size", &header(r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}    "#)),
            4,
            &["its header"],
        ),
        (
            file(
                &folder,
                "safe-huge",
                &header(r#"{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#),
            ),
            4,
            &["its header"],
        ),
    ];
    for (path, code, words) in &table {
        tool(&["inspect", path]).expect(*code, words).expect(*code, &["tensorlib: "]);
        tool(&["compare", path, &good]).expect(*code, words);
        tool(&["compare", &good, path]).expect(*code, words);
        tool(&["quantize", path, &folder.path("out"), "--type", "q4_0"]).expect(*code, words);
        tool(&["quantize", &good, &folder.path("out"), "--type", "q4_0", "--importance", path]).expect(*code, words);
        assert!(!folder.names().contains(&"out".to_string()));
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file() {
    let folder = Folder::new("errors-pipe");
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_str(), "/dev/null"] {
        tool(&["inspect", path]).expect(3, &["a regular file is valid", "hint"]);
    }
}

#[test]
fn wrong_usage() {
    let table: &[(&[&str], &[&str])] = &[
        (&[], &["Usage"]),
        (&["frobnicate"], &["unrecognized subcommand"]),
        (&["inspect"], &["FILE"]),
        (&["inspect", "--tensors", "--metadata", "x"], &["cannot be used with"]),
        (&["quantize", "a", "b"], &["--type"]),
        (&["quantize", "a", "b", "--type", "q9_k"], &["q9_k", "possible values", "q4_K"]),
        (&["quantize", "a", "b", "--type", "q8_1"], &["possible values"]),
        (&["quantize", "a", "b", "--type", "q4_k", "--keep", "x"], &["PATTERN=TYPE"]),
        (&["quantize", "a", "b", "--type", "q4_k", "--keep", "x=y"], &["no type 'y'", "same"]),
        (&["quantize", "a", "b", "--type", "q4_k", "--threads", "0"], &["1..=512"]),
        (&["quantize", "a", "b", "--type", "q4_k", "--arch", ""], &["--arch"]),
        (&["quantize", "a", "b", "--type", "q4_k", "--split-size", "4X"], &["4G"]),
        (&["bench", "--seconds", "0"], &["0.001 to 3600"]),
        (&["bench", "--side", "100"], &["a multiple of 256"]),
        (&["bench", "--depth", "5"], &["required", "MODEL"]),
        (&["bench", "m.gguf", "--sizes", "5"], &["cannot be used with", "MODEL"]),
        (&["bench", "m.gguf", "--cache", "q4_K"], &["possible values", "q8_0"]),
        (&["completions", "tcsh"], &["possible values"]),
    ];
    for (args, words) in table {
        tool(args).expect(2, words);
    }
}

#[test]
fn outputs_that_cannot_be() {
    let folder = Folder::new("errors-output");
    let (input, taken) = (folder.path("m.gguf"), file(&folder, "taken.gguf", b"precious"));
    small_model(&input);
    let run = |out: &str, more: &[&str]| tool(&[&["quantize", &input, out, "--type", "q4_k"][..], more].concat());
    run(&taken, &[]).expect(3, &["exists already", "--force"]);
    assert_eq!(std::fs::read(&taken).unwrap(), b"precious");
    run(&input, &["--force"]).expect(2, &["is the input as well"]);
    let alias = folder.path("../").to_string() + folder.0.file_name().unwrap().to_str().unwrap() + "/m.gguf";
    run(&alias, &["--force"]).expect(2, &["is the input as well"]);
    run(&folder.path("no/such/out.gguf"), &[]).expect(3, &["there is no folder", "hint"]);
    run(&folder.path(""), &[]).expect(3, &["is a folder"]);
    run(&taken, &["--force"]).expect(0, &["5 tensors"]);
    tool(&["inspect", &taken]).expect(0, &["q4_K"]);
    assert_eq!(folder.names(), ["m.gguf", "taken.gguf"]);
}

#[test]
fn data_that_do_not_allow_it() {
    let folder = Folder::new("errors-data");
    let (input, output, weights) = (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("i.gguf"));
    let mut x = values(512 * 3, 0);
    x[512 * 2 + 17] = f32::NAN;
    write_gguf(&input, &[("fine", &[512, 3], &values(512 * 3, 0)), ("bad", &[512, 3], &x)]);
    let words = ["tensor 'bad' holds NaN at column 17 of row 2", "--keep 'bad=same'"];
    tool(&["quantize", &input, &output, "--type", "q4_k"]).expect(1, &words);
    assert_eq!(folder.names(), ["m.gguf"]);
    tool(&["quantize", &input, &output, "--type", "q4_k", "--keep", "bad=same"]).expect(0, &[]);
    // A file that is already quantised.
    let again = folder.path("again.gguf");
    tool(&["quantize", &output, &again, "--type", "q6_k"]).expect(1, &["'fine' is q4_K already", "--allow-requantize"]);
    // Without changes nothing is lost.
    tool(&["quantize", &output, &again, "--type", "q4_k", "--keep", "bad=same"]).expect(0, &[]);
    // Importance weights that do not fit.
    let small = folder.path("s.gguf");
    write_gguf(&small, &[("w", &[256, 2], &values(512, 0))]);
    let run = |w: &[f32], words: &[&str]| {
        write_gguf(&weights, &[("w", &[w.len() as i64], w)]);
        let args = ["quantize", &small, &output, "--force", "--type", "q4_k", "--importance", &weights];
        tool(&args).expect(1, words);
    };
    run(&[1.0; 255], &["'w' has 255 weights: 256 is valid", "same model"]);
    let mut w = [1.0; 256];
    w[3] = -1.0;
    run(&w, &["'w': weight 3 is -1"]);
    w[3] = f32::NAN;
    run(&w, &["'w': weight 3 is NaN"]);
}

#[test]
fn names_and_shapes_that_gguf_lacks() {
    let folder = Folder::new("errors-names");
    let (input, output) = (folder.path("m.safetensors"), folder.path("q.gguf"));
    let long = "x".repeat(65);
    let table: [(&str, &[usize], &str); 3] = [
        ("", &[1], "tensor '' has no name"),
        (&long, &[1], "has a name of 65 bytes"),
        ("five", &[1, 1, 1, 1, 1], "'five' has 5 dimensions"),
    ];
    for (name, shape, words) in table {
        write_raw_safetensors(&input, &[(name, "I8", shape, &[1]), ("good", "I8", &[1], &[1])]);
        let args = ["quantize", &input, &output, "--type", "q8_0", "--force"];
        tool(&args).expect(1, &[words, &format!("--skip '{name}'")]);
        tool(&[&args[..], &["--skip", name]].concat()).expect(0, &["1 tensor,"]);
    }
}
