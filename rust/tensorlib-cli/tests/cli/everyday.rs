//! Everyday conditions: pipes that stay open, signals, closed outputs, texts that are not UTF-8, files of other kinds,
//! patterns without a match, numbers that are not finite.

use crate::common::{command, ended, tool, write_gguf, Ended, Folder};
use crate::tiny_models::architectures::all;
use crate::tiny_models::encoder::Spec;
use crate::tiny_models::encoder_files::write_folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tensorlib::{DType, Value};

/// A decoder's GGUF file with changes.
fn decoder(
    folder: &Folder,
    extra: &[(&str, Value)],
    change: impl Fn(&mut crate::tiny_models::tiny::Tensors),
) -> String {
    let path = folder.path("decoder.gguf");
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (mut metadata, mut tensors) = (model.metadata(), model.spec.tensors(3, DType::F32));
    metadata.extend(extra.iter().map(|(k, v)| (k.to_string(), v.clone())));
    change(&mut tensors);
    tensors.write_gguf(Path::new(&path), &metadata);
    path
}

fn spawned(args: &[&str]) -> Child {
    command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn tool_with(args: &[&str], input: &[u8]) -> Ended {
    let mut child = spawned(args);
    child.stdin.take().unwrap().write_all(input).unwrap();
    let out = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

fn encoder(folder: &Folder) -> String {
    let (path, spec) = (folder.path("hub"), Spec::new());
    write_folder(Path::new(&path), &spec, &spec.tensors(5, DType::F32), "bert", "");
    path
}

#[test]
fn a_line_is_answered_while_more_may_come() {
    let folder = Folder::new("everyday-embed");
    let mut child = spawned(&["embed", &encoder(&folder)]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for text in ["w1 w2\n", "w3\nw4\n"] {
        input.write_all(text.as_bytes()).unwrap();
        for _ in text.lines() {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line.split(' ').count(), 64);
        }
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn settings_and_vectors_of_encoders_are_told() {
    let folder = Folder::new("everyday-encoder");
    let path = encoder(&folder);
    std::fs::write(folder.path("hub/sentence_bert_config.json"), r#"{"odd": 1}"#).unwrap();
    let told = tool_with(&["embed", &path], b"w1\n");
    told.expect(0, &["warning: ", "sentence_bert_config.json: fields that are not known are ignored: odd"]);
    assert_eq!(told.err.matches("odd").count(), 1);
    let (spec, file) = (Spec::new(), folder.path("hub"));
    let mut tensors = spec.tensors(5, DType::F32);
    let bytes = &mut tensors.all.get_mut("blk.0.ffn_up.bias").unwrap().bytes;
    bytes[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    write_folder(Path::new(&file), &spec, &tensors, "bert", "");
    for json in [&["embed", &path][..], &["embed", &path, "--json"]] {
        let refused = tool_with(json, b"w1 w2\n");
        refused.expect(1, &["line 1: the vector of its token 0 holds", "tensor 'blk.0.ffn_up.bias' holds inf"]);
        assert_eq!(refused.out, "");
    }
}

#[test]
fn numbers_that_are_none_are_said_and_json_stays_valid() {
    let folder = Folder::new("everyday-nan");
    let nan = |tensors: &mut crate::tiny_models::tiny::Tensors| {
        let bytes = &mut tensors.all.get_mut("output_norm.weight").unwrap().bytes;
        bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    };
    let path = decoder(&folder, &[], nan);
    tool(&["generate", &path, "abc", "-n", "5", "--seed", "1"]).expect(1, &["position 4", "NaN", "output_norm.weight"]);
    let json = tool(&["generate", &path, "abc", "-n", "5", "--json"]);
    json.expect(1, &["position 4"]);
    assert!(json.out.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{json:?}");
    let logits = tool(&["logits", &path, "--tokens", "1,2", "--json"]);
    assert!(
        logits.json()[0][0].is_null() && logits.err.contains("position 0: the logit of token 0 is NaN"),
        "{logits:?}"
    );
    std::fs::write(folder.path("text"), "abcdefghijklmnopqrstuvwxyz").unwrap();
    tool(&["perplexity", &path, &folder.path("text"), "--ctx", "8"]).expect(1, &["window 1 of", "no number"]);
    tool(&["activity", &path, &folder.path("text"), &folder.path("out.json")]).expect(0, &[]);
}

#[test]
fn values_that_f16_has_not_are_reported() {
    let folder = Folder::new("everyday-range");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    let mut x = vec![1.0; 64];
    (x[3], x[9], x[40]) = (65519.0, 65520.0, -7e4);
    let mut y = vec![1.0; 64];
    (y[0], y[1]) = (f32::NAN, f32::INFINITY);
    write_gguf(&input, &[("large", &[32, 2], &x), ("bad", &[32, 2], &y), ("fine", &[32, 2], &[2.0; 64])]);
    let run = |dtype: &str| tool(&["quantize", &input, &output, "--type", dtype, "--force"]);
    let told = run("f16");
    told.expect(
        0,
        &["tensor 'large': 2 of 64 values are out of the range of f16", "'bad': 2 of 64 values are NaN or infinite"],
    );
    assert!(!told.err.contains("'fine'"));
    let told = run("f32");
    told.expect(0, &["'bad': 2 of 64 values"]);
    assert!(!told.err.contains("'large'"), "{told:?}");
    assert!(!run("bf16").err.contains("'large'"));
}

#[test]
fn conversations_survive_broken_bytes() {
    let folder = Folder::new("everyday-chat");
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let path = decoder(&folder, &[("tokenizer.chat_template", template.into())], |_| ());
    let talk = tool_with(&["generate", &path, "-n", "3", "--temp", "0"], b"a\xFFb\nyes\r\n");
    talk.expect(0, &["bytes that are no UTF-8 were read as U+FFFD"]);
    assert_eq!(talk.out.lines().count(), 2, "{talk:?}");
}

#[test]
fn control_tokens_of_users_are_text_unless_asked_for() {
    let folder = Folder::new("everyday-special");
    let path = decoder(&folder, &[("tokenizer.chat_template", "{{ messages[-1].content }}</s>".into())], |_| ());
    let count = |text: &str, more: &[&str]| {
        let ended = tool(&[&["generate", &path, text, "-n", "0", "--json"][..], more].concat());
        ended.json()["prompt_tokens"].as_u64().unwrap()
    };
    // The token of the text's beginning, the space before its first word, and the characters; a run of characters
    // without tokens counts as one.
    assert_eq!((count("a", &[]), count("</s>", &[]), count("</s>", &["--special"])), (3, 5, 2));
    assert_eq!((count("</s>", &["--chat"]), count("</s>", &["--chat", "--special"])), (6, 3));
}

#[test]
fn standard_input_as_a_file() {
    let folder = Folder::new("everyday-dash");
    let path = decoder(&folder, &[], |_| ());
    let named = tool(&["generate", &path, "hello", "-n", "4", "--temp", "0"]);
    let piped = tool_with(&["generate", &path, "--file", "-", "-n", "4", "--temp", "0"], b"hello");
    assert_eq!((piped.code, &piped.out), (Some(0), &named.out), "{piped:?}");
    tool_with(&["perplexity", &path, "-", "--ctx", "8"], b"abcdefghijklmnopqrst").expect(0, &["perplexity "]);
    tool_with(&["generate", &path, "--file", "-"], b"\xFF").expect(4, &["standard input: is no UTF-8"]);
}

#[test]
fn patterns_that_fit_nothing() {
    let folder = Folder::new("everyday-pattern");
    let path = decoder(&folder, &[], |_| ());
    let put = |pattern: &str| tool(&["generate", &path, "a", "-n", "1", "--put", pattern]);
    put("blk.*=cpu").expect(0, &[]);
    put("norm.*=cpu").expect(1, &["--put: no tensor fits 'norm.*'", "hint"]);
    tool(&["place", &path, "--put", "x=cpu"]).expect(1, &["--put: no tensor fits 'x'"]);
    let embed = tool_with(&["embed", &encoder(&folder), "--put", "x=cpu"], b"");
    embed.expect(1, &["--put: no tensor fits 'x'"]);
}

#[cfg(unix)]
#[test]
fn signals_have_their_own_codes() {
    let folder = Folder::new("everyday-signals");
    let template = "{{ messages[-1].content }}";
    let path = decoder(&folder, &[("tokenizer.chat_template", template.into())], |_| ());
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        // While it generates, and while it waits for a line.
        for args in [&["generate", &path, "hello", "--temp", "0"][..], &["generate", &path, "-n", "1", "--temp", "0"]] {
            let mut child = spawned(args);
            if args.len() > 5 {
                child.stdin.as_mut().unwrap().write_all(b"a\n").unwrap();
            }
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
            let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            assert!(kill.success());
            let input = child.stdin.take();
            let status = child.wait().unwrap();
            drop(input);
            assert_eq!(status.code(), Some(code), "{signal} {args:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_output_is_a_failure() {
    let run = |redirection: &str| {
        let line = format!("\"$0\" devices {redirection}");
        ended(Command::new("sh").args(["-c", &line, env!("CARGO_BIN_EXE_tensorlib")]))
    };
    run(">&-").expect(3, &["standard output: cannot be written: it is closed"]);
    assert_eq!((run(">/dev/null").code, run("1<>/dev/null").code), (Some(0), Some(0)));
}

#[test]
fn files_of_other_kinds_are_not_called_damaged() {
    let folder = Folder::new("everyday-kinds");
    let whole = {
        write_gguf(&folder.path("m.gguf"), &[("w", &[32], &[1.0; 32])]);
        std::fs::read(folder.path("m.gguf")).unwrap()
    };
    let with_version = |version: [u8; 4]| [&whole[..4], &version, &whole[8..]].concat();
    let old = [&3i32.to_le_bytes()[..], &19i32.to_le_bytes(), b"blk.0.attn_q.weight", &[0; 40]].concat();
    let cases: [(Vec<u8>, &str); 6] = [
        (with_version([1, 0, 0, 0]), "hint: convert the model again"),
        (with_version([0, 0, 0, 3]), "hint: get the little-endian file"),
        (with_version([9, 0, 0, 0]), "hint: the file is newer than this program"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n".to_vec(), "git lfs pull"),
        (old, "an imatrix file of the older kind"),
        (b"PK\x03\x04 archive/data.pkl".to_vec(), "weights of PyTorch are programs"),
    ];
    for (bytes, words) in cases {
        let path = folder.path("other.gguf");
        std::fs::write(&path, bytes).unwrap();
        let said = tool(&["inspect", &path]);
        said.expect(4, &[words]);
        assert!(!said.err.contains("damaged"), "{said:?}");
        let args =
            ["quantize", &folder.path("m.gguf"), &folder.path("q.gguf"), "--type", "q4_0", "--importance", &path];
        tool(&args).expect(4, &[words]);
    }
}

#[test]
fn every_command_that_opens_a_model_says_what_is_odd_once() {
    let folder = Folder::new("everyday-odd");
    let path = decoder(&folder, &[("llama.odd", Value::U32(1))], |_| ());
    let (text, out) = (folder.path("text"), folder.path("out.json"));
    std::fs::write(&text, "abcdefghijklmnopqrstuvwxyz").unwrap();
    let commands: [&[&str]; 7] = [
        &["generate", &path, "abc", "-n", "1"],
        &["logits", &path, "--tokens", "1,2"],
        &["perplexity", &path, &text, "--ctx", "8"],
        &["activity", &path, &text, &out],
        &["bench", &path, "--prompt", "2", "--tokens", "2"],
        &["place", &path],
        &["place", &path, "--json"],
    ];
    for command in commands {
        let told = tool(command);
        assert_eq!(
            (told.code, told.err.matches("fields that are not known are ignored: odd").count()),
            (Some(0), 1),
            "{command:?}: {told:?}"
        );
    }
    let told = tool(&["place", &path, "--ctx", "100000"]);
    told.expect(0, &["warning: a context of 100000 tokens: the model was trained for"]);
}
