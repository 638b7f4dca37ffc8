//! `embed`, `generate` and `logits` with tiny models of random weights.

use crate::common::{command, ended, tool, Ended, Folder};
use crate::tiny_models::architectures::all;
use crate::tiny_models::encoder;
use crate::tiny_models::tiny::{tokenizer_json, vocabulary, Random, Tensors};
use serde_json::Value as Json;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use tensorlib::{BackendOptions, DType, Value};
use tensorlib_models::{Encoder, EncoderOptions};

/// A decoder's GGUF file with additional metadata.
fn decoder(folder: &Folder, extra: &[(&str, Value)]) -> String {
    let path = folder.path("decoder.gguf");
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let mut metadata = model.metadata();
    metadata.extend(extra.iter().map(|(k, v)| (k.to_string(), v.clone())));
    model.spec.tensors(3, DType::F32).write_gguf(Path::new(&path), &metadata);
    path
}

/// Runs the tool with this input.
fn tool_with(args: &[&str], input: &[u8]) -> Ended {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input); // it may end before it has read everything
    });
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

fn rows(ended: &Ended) -> Vec<Vec<f64>> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.out.lines().map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect()
}

/// The model of the examples writes plays; README begins with it.
#[test]
fn plays_go_on_without_a_download() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");
    assert!(std::fs::metadata(model).unwrap().len() < 3_000_000);
    let run = || tool(&["generate", model, "ROMEO:", "-n", "120", "--seed", "7"]);
    let text = run();
    assert_eq!(text.code, Some(0), "{text:?}");
    // English of that time: every tenth character or more is a space, and 40 of 100 letters are vowels, in words of 1
    // to 12 letters.
    let words: Vec<&str> = text.out.split_whitespace().collect();
    let letters = text.out.chars().filter(|c| c.is_ascii_alphabetic()).count();
    let vowels = text.out.chars().filter(|c| "aeiouAEIOU".contains(*c)).count();
    assert!(words.len() > 12 && words.iter().filter(|w| w.len() > 12).count() <= 2, "{}", text.out);
    assert!((25..55).contains(&(100 * vowels / letters)), "{}", text.out);
    assert_eq!(run().out, text.out);
}

#[test]
fn sessions_go_on_where_they_ended() {
    let folder = Folder::new("models-session");
    let (path, file) = (decoder(&folder, &[]), folder.path("session"));
    let generate = |prompt: &str, n: &str, more: &[&str]| {
        let args = ["generate", &path, prompt, "-n", n, "--temp", "0", "--json"];
        let ended = tool(&[&args[..], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let totals: Json = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
        let text: String = ended
            .out
            .lines()
            .filter_map(|line| serde_json::from_str::<Json>(line).unwrap()["text"].as_str().map(str::to_string))
            .collect();
        (text, totals["prompt_tokens"].as_u64().unwrap(), totals["cached_tokens"].as_u64().unwrap())
    };
    let with = ["--reproducible", "--session", &file];
    let (first, computed, cached) = generate("hello", "6", &with);
    assert_eq!(cached, 0);
    // The last token is computed again for its logits.
    assert_eq!(generate("hello", "6", &with), (first.clone(), 1, computed - 1));
    // A longer prompt gives the text that it gives without a session.
    let longer = format!("hello{first} hello");
    let (text, computed, cached) = generate(&longer, "6", &with);
    let alone = generate(&longer, "6", &["--reproducible"]);
    assert_eq!((alone.0, alone.1, alone.2), (text, computed + cached, 0));
    assert!(cached > 2, "{cached}");
    // Another cache, or a file of something else, is refused, and the file stays.
    let before = std::fs::read(&file).unwrap();
    let other = ["generate", &path, "hello", "-n", "2", "--reproducible", "--session", &file, "--cache", "f32"];
    tool(&other).expect(1, &["has a cache of f16, and this one is of f32", "hint: "]);
    tool(&["generate", &path, "hello", "-n", "2", "--session", &path]).expect(4, &["safetensors"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // A conversation.
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let chat = decoder(&folder, &[("tokenizer.chat_template", template.into())]);
    let file = folder.path("chat");
    let turns = ["generate", &chat, "-n", "3", "--temp", "0", "--json", "--session", &file];
    let cached = |ended: Ended| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let totals = ended.out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        totals.filter_map(|json| json["cached_tokens"].as_u64()).collect::<Vec<_>>()
    };
    let first = cached(tool_with(&turns, b"hello\nhello\n"));
    assert!(first[0] == 0 && first[1] > 0, "{first:?}");
    let again = cached(tool_with(&turns, b"hello\n"));
    assert!(again[0] > 0, "{again:?}");
}

#[test]
fn many_prompts_are_generated_together() {
    let folder = Folder::new("models-prompts");
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let (path, file) = (decoder(&folder, &[("tokenizer.chat_template", template.into())]), folder.path("prompts"));
    let lines = [
        r#"{"prompt": "hello", "id": {"a": 1}}"#,
        "",
        r#"{"prompt": "abc"}"#,
        r#"{"messages": [{"role": "system", "content": "he"}, {"role": "user", "content": "llo"}], "id": "chat"}"#,
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let with = ["generate", &path, "--prompts", &file, "-n", "6", "--temp", "0", "--reproducible"];
    let texts = |ended: Ended| {
        let mut lines: Vec<Json> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.sort_by_key(|line| line["index"].as_u64());
        lines
    };
    let all = tool(&with);
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(all.err.contains("tokens/s"), "{}", all.err);
    let all = texts(all);
    assert_eq!(all.len(), 3);
    let alone = |prompt: &str, more: &[&str]| {
        let args = ["generate", &path, prompt, "-n", "6", "--temp", "0", "--reproducible"];
        tool(&[&args[..], more].concat()).out.trim_end_matches('\n').to_string()
    };
    assert_eq!(
        (&all[0]["id"], all[0]["text"].as_str().unwrap()),
        (&serde_json::json!({"a": 1}), &*alone("hello", &[]))
    );
    assert_eq!((all[1].get("id"), all[1]["text"].as_str().unwrap()), (None, &*alone("abc", &[])));
    assert_eq!(
        (&all[2]["id"], all[2]["text"].as_str().unwrap()),
        (&"chat".into(), &*alone("llo", &["--system", "he"]))
    );
    assert_eq!((all[0]["tokens"].as_u64(), all[0]["prompt_tokens"].as_u64().is_some()), (Some(6), true));
    // Equal with one at a time and in a small pool.
    let small = tool(&[&with[..], &["--together", "1", "--pool", "64"]].concat());
    let only_texts = |lines: &[Json]| lines.iter().map(|line| line["text"].clone()).collect::<Vec<_>>();
    assert_eq!(only_texts(&texts(small)), only_texts(&all));
    // Text that does not fit is an error of its line alone.
    let long = format!("{}\n{{\"prompt\": \"{}\"}}\n", lines[0], "a".repeat(300));
    let some = tool_with(&["generate", &path, "--prompts", "-", "-n", "2", "--temp", "0"], long.as_bytes());
    assert_eq!(some.code, Some(1), "{some:?}");
    let found = texts(some);
    assert!(
        found[0]["text"].is_string() && found[1]["error"].as_str().unwrap().contains("the context has room for 256")
    );
    // A line that is none is refused before anything is computed.
    std::fs::write(&file, format!("{}\n{{\"prompts\": 1}}\n", lines[0])).unwrap();
    let refused = tool(&["generate", &path, "--prompts", &file]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(4), ""), "{refused:?}");
    assert!(refused.err.contains("line 2: has no prompt and no messages"), "{}", refused.err);
    tool(&["generate", &path, "hello", "--prompts", &file]).expect(2, &["cannot be used with"]);
    tool(&["generate", &path, "--prompts", &folder.path("none")]).expect(3, &["none"]);
    tool(&["generate", &path, "hello", "--together", "2"]).expect(2, &["--together", "cannot be used with"]);
}

#[test]
fn samplers_and_log_probabilities() {
    let folder = Folder::new("models-sampling");
    let path = decoder(&folder, &[]);
    let generate = |more: &[&str]| tool(&[&["generate", &path, "hello", "-n", "5", "--seed", "4"][..], more].concat());
    let all = "--dynatemp-range 0.2 --typical-p 0.9 --xtc-probability 0.5 --repeat-last-n -1 --presence-penalty 0.5 \
               --frequency-penalty -0.5 --dry-multiplier 0.8 --dry-sequence-breaker none --json --logprobs 2 --logit-bias 7=-inf";
    let ended = generate(&all.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<Json> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in lines.iter().filter(|line| line["token"].is_u64()) {
        let top = line["top_logprobs"].as_array().unwrap();
        assert!(line["token"] != 7 && line["logprob"].as_f64().unwrap() < 0.0 && top.len() == 2, "{line}");
        assert!(top[0]["logprob"].as_f64() >= top[1]["logprob"].as_f64() && top[0]["text"].is_string(), "{line}");
    }
    assert!(lines.len() > 2);
    assert_eq!(generate(&["--mirostat", "2"]).code, Some(0));
    generate(&["--mirostat", "1"]).expect(2, &["mirostat: is 1: 0 (off) and 2 are valid"]);
    generate(&["--dry-base", "0.5"]).expect(2, &["dry_base: is 0.5: 1 to"]);
    generate(&["--logit-bias", "7:1"]).expect(2, &["15=-2.5"]);
    generate(&["--logit-bias", "61=1"]).expect(1, &["logit_bias: no token 61: 0 to 60 are valid"]);
    generate(&["--logprobs", "1"]).expect(2, &["--json"]);
}

#[cfg(feature = "grammar")]
#[test]
fn texts_follow_constraints() {
    let made = crate::tiny_models::Folder::new("cli-constraints");
    let vocabulary = crate::tiny_models::tokenizers::byte_pairs();
    crate::tiny_models::tokenizers::decoder(
        &made,
        &vocabulary,
        &crate::tiny_models::backend(),
        &tensorlib_models::DecoderOptions::new(),
    );
    let model = made.path("model.gguf");
    let model = model.to_str().unwrap();
    let folder = Folder::new("models-constraints");
    let (schema, grammar) = (folder.path("schema.json"), folder.path("grammar.lark"));
    let text = r#"{"type": "object", "properties": {"who": {"enum": ["Romeo", "Juliet"]}, "n": {"type": "integer",
        "minimum": 1, "maximum": 9}}, "required": ["who", "n"], "additionalProperties": false}"#;
    std::fs::write(&schema, text).unwrap();
    std::fs::write(&grammar, "start: (\"ay\" | \"nay\") \", my \" /lord|lady/").unwrap();
    let generate =
        |more: &[&str]| tool(&[&["generate", model, "ROMEO:", "-n", "200", "--seed", "3"][..], more].concat());
    for given in [schema.as_str(), text] {
        let value: Json = serde_json::from_str(&generate(&["--json-schema", given]).out).unwrap();
        assert!(["Romeo", "Juliet"].contains(&value["who"].as_str().unwrap()), "{value}");
        assert!((1..=9).contains(&value["n"].as_i64().unwrap()), "{value}");
    }
    let said = generate(&["--regex", "(aye|nay){2}"]);
    assert!(said.out.trim().len() >= 6 && said.err.contains("the constraint is complete"), "{said:?}");
    let said = generate(&["--grammar", &grammar]);
    assert!(said.out.contains("ay, my l"), "{said:?}");
    let prompts = folder.path("prompts");
    std::fs::write(&prompts, "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n").unwrap();
    let both = tool(&["generate", model, "--prompts", &prompts, "-n", "200", "--regex", "(aye|nay){2}"]);
    let texts = both.out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["text"].clone());
    assert!(
        texts.into_iter().filter(|text| text.as_str().is_some_and(|text| text.len() == 6)).count() == 2,
        "{both:?}"
    );
    generate(&["--json-schema", r#"{"not": {}}"#]).expect(1, &["#/not: cannot be enforced"]);
    generate(&["--json-schema", "no-such-file"]).expect(3, &["no-such-file"]);
    generate(&["--regex", "("]).expect(1, &["regular expression: "]);
    generate(&["--regex", "a", "--grammar", &grammar]).expect(2, &["cannot be used with"]);
}

#[test]
fn speculation_gives_the_same_text() {
    let folder = Folder::new("models-speculate");
    let path = decoder(&folder, &[]);
    let with = |more: &[&str]| {
        let args = ["generate", &path, "abcabcabcabc", "-n", "120", "--temp", "0", "--reproducible", "--json"];
        let ended = tool(&[&args[..], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines: Vec<Json> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let tokens: Vec<Json> = lines.iter().filter_map(|line| line.get("token").cloned()).collect();
        let last = lines.last().unwrap();
        (tokens, last["drafted_tokens"].as_u64().unwrap(), last["accepted_tokens"].as_u64().unwrap())
    };
    let (plain, speculated) = (with(&["--speculate", "off"]), with(&["--speculate", "auto"]));
    assert_eq!((&plain.0, plain.1, plain.2), (&speculated.0, 0, 0));
    assert!(speculated.1 >= speculated.2);
    tool(&["generate", &path, "a", "--speculate", "on"]).expect(2, &["auto", "off"]);
}

#[test]
fn a_draft_model_gives_the_same_text() {
    let folder = Folder::new("models-draft");
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let path = decoder(&folder, &[("tokenizer.chat_template", template.into())]);
    let generate = |more: &[&str]| {
        let args = ["generate", &path, "abcabcabcabc", "-n", "120", "--seed", "3", "--reproducible"];
        tool(&[&args[..], more].concat())
    };
    let (plain, drafted) = (generate(&[]), generate(&["--draft", &path, "--verbose", "--threads", "1"]));
    assert_eq!((plain.code, drafted.code, &plain.out), (Some(0), Some(0), &drafted.out), "{drafted:?}");
    for line in ["right drafts: prompt lookup: ", "draft model: ", "draft model:\n", "cache: "] {
        assert!(drafted.err.contains(line), "{line}: {}", drafted.err);
    }
    assert!(!plain.err.contains("draft"), "{}", plain.err);
    // A conversation, which the draft model follows.
    let turns = |more: &[&str]| {
        let args = ["generate", &path, "-n", "20", "--temp", "0", "--reproducible"];
        tool_with(&[&args[..], more].concat(), b"hello\nabcabc\nhello\n")
    };
    let (plain, drafted) = (turns(&[]), turns(&["--draft", &path, "--speculate", "auto", "--ctx", "200"]));
    assert_eq!((plain.code, drafted.code, plain.out), (Some(0), Some(0), drafted.out), "{}", drafted.err);
    // Refusals.
    let usage = ["the argument '--draft <MODEL>' cannot be used with '--speculate off'"];
    generate(&["--draft", &path, "--speculate", "off"]).expect(2, &usage);
    let prompts = ["generate", &path, "--prompts", &path, "--draft", &path];
    tool(&prompts).expect(2, &["cannot be used with"]);
    generate(&["--draft", &folder.path("none")]).expect(3, &["none"]);
    let plays = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");
    generate(&["--draft", plays]).expect(1, &["plays.gguf: the draft model has another vocabulary: token ", "hint: "]);
}

#[test]
fn logits_of_every_position() {
    let folder = Folder::new("models-logits");
    let path = decoder(&folder, &[]);
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let want = model.spec.logits(&model.spec.tensors(3, DType::F32), &[1, 5, 9]);
    let text = rows(&tool(&["logits", &path, "--tokens", "1,5,9"]));
    let json = tool(&["logits", &path, "--tokens", "1,5,9", "--json", "--exact"]).json();
    assert_eq!((text.len(), json.as_array().unwrap().len()), (3, 3));
    for (i, want) in want.iter().enumerate() {
        let got: Vec<f32> = json[i].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
        assert!(crate::tiny_models::error(&got, want) < 1e-4);
        assert!(crate::tiny_models::error(&text[i].iter().map(|x| *x as f32).collect::<Vec<_>>(), want) < 1e-4);
    }
    tool(&["logits", &path, "--tokens", "1,61"]).expect(1, &["token 61: 0 to 60 are valid"]);
    tool(&["logits", &path]).expect(2, &["--tokens"]);
    tool(&["logits", &path, "--tokens", "1", "--device", "none"]).expect(1, &["no device 'none'"]);
}

#[test]
fn adapters_are_added_and_memory_is_told() {
    let folder = Folder::new("models-lora");
    let path = decoder(&folder, &[]);
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (mut tensors, mut adapter, mut random) = (model.spec.tensors(3, DType::F32), Tensors::default(), Random(8));
    let (name, file) = ("blk.1.ffn_down.weight", folder.path("adapter.gguf"));
    adapter.add(&mut random, &format!("{name}.lora_a"), &[96, 2], 0.0, 0.3, DType::F32);
    adapter.add(&mut random, &format!("{name}.lora_b"), &[2, 64], 0.0, 0.3, DType::F32);
    let metadata: [(&str, Value); 4] = [
        ("general.type", "adapter".into()),
        ("general.architecture", "llama".into()),
        ("adapter.type", "lora".into()),
        ("adapter.lora.alpha", Value::F32(4.0)),
    ];
    adapter.write_gguf(Path::new(&file), &metadata.map(|(key, value)| (key.to_string(), value)));
    tensors.merge(name, &adapter, 2.0);
    let want = model.spec.logits(&tensors, &[1, 5, 9]);
    for (i, row) in rows(&tool(&["logits", &path, "--tokens", "1,5,9", "--lora", &file])).iter().enumerate() {
        assert!(crate::tiny_models::error(&row.iter().map(|x| *x as f32).collect::<Vec<_>>(), &want[i]) < 1e-4);
    }
    let text = |more: &[&str]| tool(&[&["generate", &path, "hello", "-n", "12", "--temp", "0"][..], more].concat());
    assert_ne!(text(&["--lora", &file]).out, text(&[]).out);
    text(&["--lora", &path]).expect(4, &["general.type"]);
    text(&["--lora", &folder.path("none")]).expect(3, &["none: cannot be opened"]);
    let words = ["device: cpu (", "weights: 30 tensors, ", "packed copies stand in for", "cache: ", "for 256 tokens"];
    text(&["--verbose", "-t", "2"]).expect(0, &words);
    text(&["--verbose", "-t", "2"]).expect(0, &["2 threads"]);
}

#[test]
fn text_and_totals() {
    let folder = Folder::new("models-generate");
    let path = decoder(&folder, &[]);
    let greedy = ["generate", &path, "hello", "-n", "12", "--temp", "0"];
    let first = tool(&greedy);
    first.expect(0, &["prompt: ", "generation: 12 tokens", "tokens/s", "ended by: length"]);
    assert_eq!(first.out.lines().count(), 1);
    assert_eq!(tool(&greedy).out, first.out);
    // The JSON output, token by token.
    let json = tool(&[&greedy[..], &["--json"]].concat());
    assert_eq!(json.code, Some(0));
    let objects: Vec<Json> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text: String = objects.iter().filter_map(|o| o["text"].as_str()).collect();
    assert_eq!(text, first.out.trim_end_matches('\n'));
    let (totals, tokens) = objects.split_last().unwrap();
    assert_eq!(tokens.iter().filter(|o| o["token"].is_u64()).count(), 12);
    assert_eq!((totals["tokens"].as_u64(), totals["ending"].as_str()), (Some(12), Some("length")));
    // The seed alone determines random draws.
    let drawn = |seed: &str| tool(&["generate", &path, "hello", "-n", "30", "--temp", "1.5", "--seed", seed]);
    drawn("5").expect(0, &["seed 5"]);
    assert_eq!(drawn("5").out, drawn("5").out);
    assert_ne!(drawn("5").out, drawn("6").out);
    tool(&["generate", &path, "hello", "-n", "1"]).expect(0, &["seed "]);
    // The prompt from a file.
    let file = folder.path("prompt.txt");
    std::fs::write(&file, "hello").unwrap();
    let from_file = tool(&["generate", &path, "--file", &file, "-n", "12", "--temp", "0"]);
    assert_eq!(from_file.out, first.out);
}

#[test]
fn a_short_benchmark_of_a_model() {
    let folder = Folder::new("models-bench");
    let path = decoder(&folder, &[]);
    let quick = ["bench", &path, "-p", "9", "-n", "3", "-d", "5", "-t", "2", "--cache", "f32"];
    tool(&quick).expect(0, &["cpu, ", "2 threads", "this machine reads", "prompt", "generation", "tokens/s", " %"]);
    let json = tool(&[&quick[..], &["--json"]].concat()).json();
    assert!(json["machine"]["read_gb_s"].as_f64().unwrap() > 0.0, "{json}");
    let speeds = json["speeds"].as_array().unwrap();
    let of = |what: &str| speeds.iter().find(|speed| speed["what"] == what).unwrap();
    assert_eq!((of("prompt")["tokens"].as_u64(), of("generation")["depth"].as_u64()), (Some(9), Some(5)));
    for speed in speeds {
        assert!(speed["tokens_a_second"].as_f64().unwrap() > 0.0, "{speed}");
        let share = speed["share_of_products"].as_f64().unwrap();
        assert!(share > 0.0 && share < 1.0, "{speed}");
    }
    let one = tool(&["bench", &path, "-p", "0", "-n", "2", "--json"]).json();
    assert_eq!(one["speeds"].as_array().unwrap().len(), 1);
    tool(&["bench", &folder.path("none"), "-n", "2"]).expect(3, &["none"]);
    let several = ["bench", &path, "-p", "0", "-n", "2", "--together", "1,3", "--reproducible"];
    tool(&several).expect(0, &["generation, 3 together"]);
    let json = tool(&[&several[..], &["--json"]].concat()).json();
    let found: Vec<_> = json["speeds"].as_array().unwrap().iter().map(|s| (&s["sequences"], &s["tokens"])).collect();
    assert_eq!(found, [(&1.into(), &2.into()), (&1.into(), &2.into()), (&3.into(), &6.into())]);
    tool(&["bench", &path, "--together", "0"]).expect(2, &["--together", "1..=256"]);
}

#[test]
fn perplexity_is_that_of_double_precision() {
    let folder = Folder::new("models-perplexity");
    let path = decoder(&folder, &[]);
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let tensors = model.spec.tensors(3, DType::F32);
    // Each letter is a token; the token for the text's beginning begins each window.
    let text: String = (0..70u8).map(|i| char::from(b'a' + i.wrapping_mul(7) % 26)).collect();
    let file = folder.path("text.txt");
    std::fs::write(&file, &text).unwrap();
    let letters = text.bytes().map(|c| u32::from(c - b'a') + 4);
    let tokens: Vec<u32> = [1, 3].into_iter().chain(letters).collect();
    let (mut costs, window) = (Vec::new(), 20);
    for part in tokens.chunks_exact(window) {
        let part: Vec<u32> = [1].into_iter().chain(part[1..].iter().copied()).collect();
        let logits = model.spec.logits(&tensors, &part);
        for i in window / 2..window - 1 {
            let total: f64 = logits[i].iter().map(|x| x.exp()).sum();
            costs.push(total.ln() - logits[i][part[i + 1] as usize]);
        }
    }
    assert_eq!(costs.len(), 3 * 9);
    let want = (costs.iter().sum::<f64>() / costs.len() as f64).exp();
    let args = ["perplexity", &path, &file, "--ctx", "20", "--cache", "f32"];
    let json = tool(&[&args[..], &["--json"]].concat()).json();
    assert!((json["perplexity"].as_f64().unwrap() / want - 1.0).abs() < 1e-5, "{json} {want}");
    assert_eq!((json["tokens"].as_u64(), json["windows"].as_u64()), (Some(27), Some(3)));
    tool(&args).expect(0, &["perplexity ", " +/- ", "27 tokens of 3 windows of 20"]);
    tool(&["perplexity", &path, &file, "--ctx", "100"]).expect(1, &["72 tokens: 100, a window, is the least", "hint"]);
    tool(&["perplexity", &path, &folder.path("none")]).expect(3, &["cannot be read"]);
}

#[test]
fn all_endings() {
    let folder = Folder::new("models-endings");
    let path = decoder(&folder, &[]);
    tool(&["generate", &path, "hello", "--ctx", "16", "--temp", "0"]).expect(0, &["ended by: the context is full"]);
    let whole = tool(&["generate", &path, "hello", "-n", "12", "--temp", "0"]).out;
    let stop: String = whole.chars().skip(4).take(2).collect();
    let short = tool(&["generate", &path, "hello", "-n", "12", "--temp", "0", "--stop", &stop]);
    short.expect(0, &["ended by: stop"]);
    assert_eq!(short.out.trim_end_matches('\n'), &whole[..whole.find(&stop).unwrap()]);
    // Eventually the model ends the text: any token may be drawn when all are equally likely.
    tool(&["generate", &path, "a", "--temp", "1000", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "1"])
        .expect(0, &["ended by: end of text (token 2)"]);
}

#[test]
fn conversations_go_by_the_models_template() {
    let folder = Folder::new("models-chat");
    let template = "{% for m in messages %}{{ m.role }}. {{ m.content.strip() }}! {% endfor %}{% if add_generation_prompt %}bot{% endif %}";
    let path = decoder(&folder, &[("tokenizer.chat_template", template.into())]);
    let plain = tool(&["generate", &path, "user. hello! bot", "-n", "8", "--temp", "0"]);
    let chat = tool(&["generate", &path, " hello ", "--chat", "-n", "8", "--temp", "0"]);
    assert_eq!((chat.code, &chat.out), (Some(0), &plain.out));
    let plain = tool(&["generate", &path, "system. be kind! user. hello! bot", "-n", "8", "--temp", "0"]);
    let told = tool(&["generate", &path, "hello", "--system", "be kind", "-n", "8", "--temp", "0"]);
    assert_eq!((told.code, &told.out), (Some(0), &plain.out));
    // Variables of the template.
    let named = decoder(&folder, &[("tokenizer.chat_template", format!("{template}{{{{ mood }}}}").into())]);
    let plain = tool(&["generate", &named, "user. hello! botsad", "-n", "8", "--temp", "0"]);
    let with =
        |json: &str| tool(&["generate", &named, "hello", "--chat-template-kwargs", json, "-n", "8", "--temp", "0"]);
    let sad = with("{\"mood\": \"sad\"}");
    assert_eq!((sad.code, &sad.out), (Some(0), &plain.out));
    with("{\"moo\": 1}").expect(1, &["--chat-template-kwargs: the model's template has no variable \"moo\""]);
    with("{\"messages\": 1}").expect(1, &["variable messages is set already"]);
    with("[1]").expect(2, &["--chat-template-kwargs", "the text of a JSON object is valid"]);
    // Line by line; the second answer continues after the first.
    let talk = tool_with(&["generate", &path, "-n", "4", "--temp", "0"], b"hello\n\nyes\n");
    assert_eq!((talk.code, talk.out.lines().count()), (Some(0), 2), "{talk:?}");
    let answer = talk.out.lines().next().unwrap();
    let second = format!("user. hello! assistant. {}! user. yes! bot", answer.trim());
    let plain = tool(&["generate", &path, &second, "-n", "4", "--temp", "0"]);
    assert_eq!(talk.out.lines().nth(1), plain.out.lines().next());
    let without = decoder(&folder, &[]);
    tool_with(&["generate", &without], b"hello\n").expect(1, &["has no chat template", "hint: say a PROMPT"]);
    let broken = decoder(&folder, &[("tokenizer.chat_template", "{% for %}".into())]);
    tool(&["generate", &broken, "hello", "--chat"]).expect(4, &["chat template: ", "line 1"]);
    let raises = decoder(&folder, &[("tokenizer.chat_template", "{{ raise_exception('users first') }}".into())]);
    tool(&["generate", &raises, "hello", "--chat"]).expect(1, &["users first"]);
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}{% endfor %}{% endfor %}{% endfor %}";
    let endless = decoder(&folder, &[("tokenizer.chat_template", endless.into())]);
    tool(&["generate", &endless, "hello", "--chat"]).expect(1, &["chat template"]);
}

#[test]
fn bad_arguments() {
    let folder = Folder::new("models-arguments");
    let path = decoder(&folder, &[]);
    for args in [
        ["--temp", "-1"],
        ["--top-p", "2"],
        ["--min-p", "NaN"],
        ["--repeat-penalty", "0"],
        ["--cache", "q4_0"],
        ["--ctx", "0"],
    ] {
        tool(&[&["generate", &path, "hello"][..], &[&format!("{}={}", args[0], args[1])]].concat())
            .expect(2, &["valid"]);
    }
    tool(&["generate", &path, "hello", "--ctx", "3"]).expect(1, &["the context has room for 3", "hint"]);
    tool(&["generate", &path, "hello", "--cache", "q8_0"]).expect(1, &["multiples of 32 are valid"]);
    tool(&["generate", &path, "--file", &folder.path("none")]).expect(3, &["cannot be read"]);
    tool(&["generate", &folder.path("none"), "hello"]).expect(3, &["cannot be opened"]);
    tool(&["generate", &folder.path(""), "hello"]).expect(3, &["config.json"]);
    std::fs::write(folder.path("bad"), [0xFF, 0xFE]).unwrap();
    tool(&["generate", &path, "--file", &folder.path("bad")]).expect(4, &["is no UTF-8"]);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(folder.path("cut.gguf"), &whole[..whole.len() - 1]).unwrap();
    tool(&["generate", &folder.path("cut.gguf"), "hello"]).expect(4, &["hint: the file is damaged"]);
    tool(&["embed", &path]).expect(1, &["do not say how its vectors are pooled", "--pooling last, mean or cls"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_text_has_its_totals() {
    let folder = Folder::new("models-interrupt");
    let path = decoder(&folder, &[("llama.context_length.more", Value::U32(0))]);
    let args = ["generate", &path, "hello", "--temp", "0"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(130), "{err}");
    assert!(err.contains("ended by: interrupted") && out.stdout.ends_with(b"\n"), "{err}");
}

#[test]
fn a_reader_that_goes_ends_it_quietly() {
    let folder = Folder::new("models-pipe");
    let path = decoder(&folder, &[]);
    let args = ["generate", &path, "hello", "--temp", "0"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), String::from_utf8(out.stderr).unwrap().as_str()), (Some(0), ""));
}

/// The folder of an encoder.
fn encoder_folder(folder: &Folder) -> (String, encoder::Spec) {
    let (path, spec) = (folder.path("hub"), encoder::Spec::new());
    std::fs::create_dir_all(&path).unwrap();
    let config = format!(
        r#"{{"model_type": "bert", "num_hidden_layers": {}, "hidden_size": {}, "num_attention_heads": {}, "intermediate_size": {},
"max_position_embeddings": {}, "layer_norm_eps": {:e}}}"#,
        spec.layers, spec.width, spec.heads, spec.ffn, spec.positions, spec.eps
    );
    std::fs::write(Path::new(&path).join("config.json"), config).unwrap();
    std::fs::write(Path::new(&path).join("tokenizer.json"), tokenizer_json(spec.vocabulary)).unwrap();
    let tensors = spec.tensors(5, DType::F32);
    tensors.write_safetensors(&Path::new(&path).join("model.safetensors"), encoder_name, |_| false);
    (path, spec)
}

fn encoder_name(name: &str, _: Option<usize>) -> String {
    let table = [
        ("token_embd_norm", "embeddings.LayerNorm"),
        ("token_embd", "embeddings.word_embeddings"),
        ("position_embd", "embeddings.position_embeddings"),
        ("token_types", "embeddings.token_type_embeddings"),
        ("blk.", "encoder.layer."),
        ("attn_output_norm", "attention.output.LayerNorm"),
        ("attn_output", "attention.output.dense"),
        ("attn_q", "attention.self.query"),
        ("attn_k", "attention.self.key"),
        ("attn_v", "attention.self.value"),
        ("ffn_up", "intermediate.dense"),
        ("ffn_down", "output.dense"),
        ("layer_output_norm", "output.LayerNorm"),
    ];
    table.iter().fold(name.to_string(), |name, (from, to)| name.replacen(from, to, 1))
}

#[test]
fn a_vector_a_line() {
    let folder = Folder::new("models-embed");
    let (path, spec) = encoder_folder(&folder);
    let tensors = spec.tensors(5, DType::F32);
    let input = "w3 w5 w7\n\nw1 w2\r\nw3 w5 w7\nw9 ".to_string() + &"w4 ".repeat(50);
    let ended = tool_with(&["embed", &path], input.as_bytes());
    ended.expect(0, &["warning: 1 line with more than 40 tokens: they were cut"]);
    let vectors = rows(&ended);
    assert_eq!(vectors.len(), 5);
    let near = |got: &[f64], tokens: &[u32], mean: bool| {
        let got: Vec<f32> = got.iter().map(|x| *x as f32).collect();
        crate::tiny_models::error(&got, &spec.vector(&tensors, tokens, mean)) < 1e-4
    };
    assert!(near(&vectors[0], &[3, 5, 7], true) && near(&vectors[2], &[1, 2], true));
    assert_eq!(vectors[0], vectors[3]);
    assert!(near(&vectors[4], &[&[9][..], &[4; 39]].concat(), true));
    let json = tool_with(&["embed", &path, "--json", "--pooling", "cls", "-t", "1"], b"w3 w5 w7\nw1\n");
    let arrays: Vec<Vec<f64>> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(arrays.len() == 2 && near(&arrays[0], &[3, 5, 7], false), "{json:?}");
    let rounded = rows(&tool_with(&["embed", &path, "--type", "q8_0"], b"w3 w5 w7\n"));
    assert!(!near(&rounded[0], &[3, 5, 7], true));
    let off = rounded[0].iter().zip(&vectors[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 0.05, "{off}");
    assert_eq!(tool_with(&["embed", &path], b"").out, "");
    tool_with(&["embed", &path], b"w1 \xFF\n").expect(0, &["1 line with bytes that are no UTF-8"]);
    tool_with(&["embed", &path, "--pooling", "max"], b"").expect(2, &["mean, cls and last are valid"]);
    // The encoder as a GGUF file.
    let gguf = folder.path("encoder.gguf");
    let number = |n: usize| Value::U32(n as u32);
    let mut metadata: Vec<(String, Value)> = vec![("general.architecture".into(), "bert".into())];
    let settings = [
        ("block_count", number(spec.layers)),
        ("embedding_length", number(spec.width)),
        ("attention.head_count", number(spec.heads)),
        ("feed_forward_length", number(spec.ffn)),
        ("context_length", number(spec.positions)),
        ("attention.layer_norm_epsilon", Value::F32(spec.eps as f32)),
    ];
    metadata.extend(settings.map(|(k, v)| (format!("bert.{k}"), v)));
    metadata.extend(vocabulary(spec.vocabulary));
    tensors.write_gguf(Path::new(&gguf), &metadata);
    assert_eq!(rows(&tool_with(&["embed", &gguf], b"hello\nyou\n")).len(), 2);
}

#[test]
fn weights_and_vectors_of_tokens() {
    let folder = Folder::new("models-tokens");
    let (path, spec) = encoder_folder(&folder);
    tool_with(&["embed", &path, "--sparse"], b"w3\n").expect(1, &["no file sparse_linear.safetensors"]);
    tool_with(&["embed", &path, "--per-token"], b"w3\n").expect(1, &["no file colbert_linear.safetensors"]);
    for (name, outputs) in [("sparse_linear", 1), ("colbert_linear", 24)] {
        let (mut head, mut random) = (Tensors::default(), Random(outputs as u64));
        head.add(&mut random, "weight", &[spec.width as i64, outputs], 0.0, 0.25, DType::F32);
        head.add(&mut random, "bias", &[outputs], 0.0, 0.3, DType::F32);
        let file = Path::new(&path).join(format!("{name}.safetensors"));
        head.write_safetensors(&file, |name, _| name.into(), |_| false);
    }
    let texts = ["w3 w5 w7 w3", "", "w1 w2"];
    let input = texts.join("\n") + "\n";
    let run = |more: &[&str]| tool_with(&[&["embed", &path, "-t", "1"][..], more].concat(), input.as_bytes());
    let backend = BackendOptions::new().threads(1).open("cpu").unwrap();
    let encoder = Encoder::open(&path, &backend, &EncoderOptions::new()).unwrap();
    let weights = encoder.embed_sparse(&texts).unwrap();
    let lines = weights.iter().map(|one| one.iter().map(|(id, x)| format!("{id}:{x}")).collect::<Vec<_>>().join(" "));
    let ended = run(&["--sparse"]);
    assert_eq!(ended.out.lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>(), "{ended:?}");
    assert!(weights.iter().any(|weights| weights.len() > 1), "{weights:?}");
    let json: Vec<Json> =
        run(&["--sparse", "--json"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (json, weights) in json.iter().zip(&weights) {
        assert_eq!(json.as_object().unwrap().len(), weights.len());
        assert!(
            weights.iter().all(|(id, x)| json[id.to_string()].as_f64().unwrap() as f32 == *x),
            "{json} {weights:?}"
        );
    }
    let vectors = encoder.embed_each_token(&texts).unwrap();
    let json: Vec<Vec<Vec<f32>>> =
        run(&["--per-token", "--json"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json, vectors);
    let plain = run(&["--per-token"]).out;
    let of_line = |vectors: &Vec<Vec<f32>>| {
        let lines = vectors.iter().map(|v| v.iter().map(f32::to_string).collect::<Vec<_>>().join(" ") + "\n");
        lines.collect::<String>() + "\n"
    };
    assert_eq!(plain, vectors.iter().map(of_line).collect::<String>());
    for both in [["--sparse", "--per-token"], ["--sparse", "--pooling=cls"], ["--per-token", "--dimensions=3"]] {
        run(&both).expect(2, &["cannot be used with"]);
    }
    let decoder = decoder(&folder, &[]);
    for option in ["--sparse", "--per-token"] {
        tool_with(&["embed", &decoder, option], b"").expect(2, &[option, "encoders alone"]);
    }
}

/// A picture of this size as a BMP file.
fn bmp(width: u32, height: u32, seed: u32) -> Vec<u8> {
    let row = (width * 3).next_multiple_of(4);
    let mut bytes = b"BM".to_vec();
    for n in [54 + row * height, 0, 54, 40, width, height, 1 | 24 << 16, 0, row * height, 0, 0, 0, 0] {
        bytes.extend(n.to_le_bytes());
    }
    bytes.extend((0..row * height).map(|i| (i * i * 7 + i * 31 + seed * 57) as u8));
    bytes
}

#[test]
fn vectors_of_images() {
    let (folder, spec) = (Folder::new("models-images"), crate::tiny_models::clip::Spec::clip());
    let path = folder.path("hub");
    spec.write_folder(Path::new(&path), &spec.tensors(3, DType::F32));
    let (first, second, none) = (folder.path("a.bmp"), folder.path("b.bmp"), folder.path("none.png"));
    std::fs::write(&first, bmp(31, 20, 1)).unwrap();
    std::fs::write(&second, bmp(20, 45, 2)).unwrap();
    let backend = BackendOptions::new().threads(1).open("cpu").unwrap();
    let encoder = Encoder::open(&path, &backend, &EncoderOptions::new()).unwrap();
    let images = [&first, &second].map(|file| tensorlib_models::Image::open(file).unwrap());
    let wanted = encoder.embed_images(&images).unwrap();
    let ended = tool(&["embed", &path, "-t", "1", "--json", "--image", &first, &second]);
    let found: Vec<Vec<f32>> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found, wanted, "{ended:?}");
    // Texts are lines, as for other encoders.
    assert_eq!(rows(&tool_with(&["embed", &path], b"w3 w5\nw1\n")).len(), 2);
    tool(&["embed", &path, "--image", &none]).expect(3, &["none.png: cannot be read"]);
    std::fs::write(&none, "no image").unwrap();
    tool(&["embed", &path, "--image", &first, &none]).expect(4, &["none.png: is no image", "PNG, JPEG, WebP"]);
    tool(&["embed", &path, "--image"]).expect(2, &["--image"]);
    let (texts, _) = encoder_folder(&folder);
    drop(encoder);
    tool(&["embed", &texts, "--image", &first]).expect(2, &["texts alone", "CLIP and SigLIP"]);
    tool(&["embed", &decoder(&folder, &[]), "--image", &first]).expect(2, &["--image", "encoders alone"]);
}

#[test]
fn many_lines_stay_in_their_order() {
    let folder = Folder::new("models-many");
    let (path, spec) = encoder_folder(&folder);
    let line = |i: usize| {
        (0..i * 7 % 11 + 1).map(|j| format!("w{}", (i + j * j) % spec.vocabulary)).collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = (0..9000).map(line).collect();
    let all = rows(&tool_with(&["embed", &path], lines.join("\n").as_bytes()));
    assert_eq!(all.len(), lines.len());
    for i in [0, 1, 17, 4095, 4096, 8999] {
        let alone = &rows(&tool_with(&["embed", &path], lines[i].as_bytes()))[0];
        assert!(alone.iter().zip(&all[i]).all(|(a, b)| (a - b).abs() <= 1e-5), "line {i}");
    }
}

/// Runs the tool with two virtual CPUs in addition to the CPU.
fn on_two(args: &[&str]) -> Ended {
    ended(command(args).env("TENSORLIB_CPU_VIRTUAL_DEVICES", "2"))
}

#[test]
fn models_spread_over_devices_within_budgets() {
    let folder = Folder::new("models-place");
    let path = decoder(&folder, &[]);
    let two = ["--device", "cpu:0,cpu"];
    let place = |more: &[&str]| on_two(&[&["place", &path, "--ctx", "64"][..], &two, more].concat());
    place(&[]).expect(0, &["cpu:0: 30 tensors, ", "cpu: 0 tensors, ", "no bound", "blk.*.ffn_up.weight"]);
    let json = place(&["--json"]).json();
    let all = json["devices"][0]["bytes"].as_u64().unwrap();
    let budget = format!("CPU:0={}", all * 7 / 10);
    let json = place(&["--json", "--budget", &budget]).json();
    let (first, second) = (&json["devices"][0], &json["devices"][1]);
    assert!(first["bytes"].as_u64().unwrap() <= all * 7 / 10 && first["budget"] == all * 7 / 10, "{json}");
    assert_eq!(first["tensors"].as_u64().unwrap() + second["tensors"].as_u64().unwrap(), 30);
    let on = |name: &str| {
        let tensors = json["tensors"].as_array().unwrap();
        tensors.iter().find(|tensor| tensor["name"] == name).unwrap()["device"].clone()
    };
    // Without --device: the devices with budgets, and the CPU.
    let by_budget = on_two(&["place", &path, "--ctx", "64", "--budget", &budget, "--json"]).json();
    assert_eq!(by_budget["tensors"], json["tensors"]);
    // The embeddings go first, then the largest tensors; the norm before the logits stays.
    assert_eq!((on("token_embd.weight"), on("output_norm.weight")), ("cpu".into(), "cpu:0".into()));

    let text = |more: &[&str]| on_two(&[&["generate", &path, "hello", "-n", "12", "--temp", "0"][..], more].concat());
    let alone = text(&[]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    for more in
        [&["--budget", &budget][..], &["--put", "blk.*=cpu"], &["--put", "*attn_k.weight=cpu", "--verbose"], &[]]
    {
        let spread = text(&[&two, more].concat());
        assert_eq!((spread.code, &spread.out), (Some(0), &alone.out), "{more:?}: {spread:?}");
    }
    let bench = |more: &[&str]| on_two(&[&["bench", &path, "-p", "4", "-n", "2"][..], &two, more].concat());
    bench(&["--budget", &budget]).expect(0, &["cpu:0+cpu"]);
    bench(&["--budget", "cpu:0=1"]).expect(5, &["cpu:0 has a budget of 1 bytes"]);
    text(&[&two[..], &["--verbose"]].concat()).expect(0, &["device: cpu:0+cpu ("]);

    place(&["--budget", "cpu:0=1K"]).expect(5, &["cpu:0 has a budget of 1024 bytes", "more", "hint"]);
    place(&["--budget", "cpu:1=1G"]).expect(2, &["--budget cpu:1", "cpu:0, cpu"]);
    place(&["--put", "*=gpu"]).expect(2, &["--put gpu", "cpu:0, cpu"]);
    place(&["--budget", "cpu:0"]).expect(2, &["DEVICE=SIZE is valid"]);
    place(&["--put", "=cpu"]).expect(2, &["PATTERN=DEVICE is valid"]);
    on_two(&["place", &path, "--device", "cpu,none"]).expect(1, &["no device 'none'", "cpu:1"]);
    on_two(&["place", &path, "--device", "cpu,cpu"]).expect(1, &["one of each device"]);
    on_two(&["place", &folder.path("none")]).expect(3, &["none"]);
}

/// A model with ReLU, unchanged and with transposed down projections.
fn with_neurons(folder: &Folder) -> (String, String) {
    let (plain, turned) = (folder.path("plain.gguf"), folder.path("turned.gguf"));
    let model = all().into_iter().find(|model| model.name == "llama with relu").unwrap();
    model.spec.tensors(3, DType::F32).write_gguf(Path::new(&plain), &model.metadata());
    tool(&["transpose-down", &plain, &turned]).expect(0, &["3 down projections"]);
    (plain, turned)
}

#[test]
fn neurons_that_are_not_active_are_left_out() {
    let folder = Folder::new("models-activity");
    let (plain, turned) = with_neurons(&folder);
    let (text, file) = (folder.path("text.txt"), folder.path("a.json"));
    std::fs::write(&text, "abc defg hi. jk lmnop qrs tuv wx yz! abc defg hi. jk lmnop qrs tuv wx yz!").unwrap();
    let activity = |model: &str, out: &str, more: &[&str]| tool(&[&["activity", model, &text, out][..], more].concat());
    activity(&plain, &file, &[]).expect(0, &["threshold", "active", "tested: positive", "a.json"]);
    let logits =
        |model: &str, more: &[&str]| rows(&tool(&[&["logits", model, "--tokens", "5,9,12,33"][..], more].concat()));
    let near = |a: &[Vec<f64>], b: &[Vec<f64>]| {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-4
    };
    let dense = logits(&plain, &[]);
    assert!(near(&logits(&turned, &[]), &dense) && near(&logits(&turned, &["--activity", &file]), &dense));
    // Thresholds change results; safetensors and JSON give the same ones.
    let (json, tensors) = (folder.path("b.json"), folder.path("b.safetensors"));
    let how = ["--by", "gate", "--share", "0.1", "--tokens", "40"];
    let found = activity(&turned, &json, &[&how[..], &["--json"]].concat()).json();
    assert_eq!((found["tested"].as_str(), found["tokens"].as_u64()), (Some("gate"), Some(40)));
    let active = found["layers"][2]["active"].as_f64().unwrap();
    assert!((0.099..0.13).contains(&active), "{found}");
    activity(&turned, &tensors, &how).expect(0, &["tested: gate"]);
    let sparse = logits(&turned, &["--activity", &json]);
    assert!(!near(&sparse, &dense) && sparse == logits(&turned, &["--activity", &tensors]));
    let perplexity = |more: &[&str]| {
        tool(&[&["perplexity", &turned, &text, "--ctx", "32", "--json"][..], more].concat()).json()["perplexity"]
            .as_f64()
            .unwrap()
    };
    assert!(perplexity(&["--activity", &json]) != perplexity(&[]));
    tool(&["generate", &turned, "abc", "-n", "3", "--activity", &json]).expect(0, &[]);
    tool(&["bench", &turned, "-p", "4", "-n", "2", "--activity", &json]).expect(0, &["generation"]);

    activity(&plain, &file, &[]).expect(3, &["exists already"]);
    activity(&plain, &file, &["--force", "--share", "0"]).expect(1, &["above 0 and up to 1"]);
    activity(&plain, &file, &["--by", "up"]).expect(2, &["gate, hidden and positive are valid"]);
    activity(&plain, &text, &["--force"]).expect(2, &["is the input as well"]);
    tool(&["logits", &plain, "--tokens", "1", "--activity", &json])
        .expect(1, &["'blk.0.ffn_down_t.weight' is missing", "transpose-down"]);
    let (mut model, other) =
        (all().into_iter().find(|model| model.name == "llama").unwrap(), folder.path("other.gguf"));
    model.spec.layers = 2;
    model.spec.tensors(3, DType::F32).write_gguf(Path::new(&other), &model.metadata());
    tool(&["logits", &other, "--tokens", "1", "--activity", &json]).expect(1, &["it has 3 layers, this one 2", "hint"]);
    tool(&["logits", &turned, "--tokens", "1", "--activity", &text]).expect(4, &["text.txt", "is no JSON"]);
    tool(&["logits", &turned, "--tokens", "1", "--activity", &folder.path("none")]).expect(3, &["none"]);
}

#[test]
fn hot_neurons_go_to_the_first_device() {
    let folder = Folder::new("models-hot");
    let (_, turned) = with_neurons(&folder);
    let (text, file) = (folder.path("text.txt"), folder.path("a.json"));
    std::fs::write(&text, "abc defg hi. jk lmnop qrs tuv wx yz!").unwrap();
    tool(&["activity", &turned, &text, &file]).expect(0, &[]);
    let two = ["--device", "cpu:0,cpu", "--activity", &file];
    let place = |more: &[&str]| on_two(&[&["place", &turned, "--ctx", "64"][..], &two, more].concat());
    let whole = place(&["--json"]).json();
    assert!(whole["neurons"].is_null());
    let budget = format!("cpu:0={}", whole["devices"][0]["bytes"].as_u64().unwrap() * 8 / 10);
    let json = place(&["--json", "--budget", &budget]).json();
    let of = |key: &str| json["neurons"][key].as_f64().unwrap();
    assert!(of("served") > 0.2 && of("served") <= of("bound") && of("bound") < 1.0, "{json}");
    place(&["--budget", &budget]).expect(0, &["cpu:0 has ", "% of all activity (at most "]);
    let logits = |more: &[&str]| rows(&on_two(&[&["logits", &turned, "--tokens", "5,9,12,33"][..], more].concat()));
    let divided = logits(&[&two[..], &["--budget", &budget]].concat());
    let worst =
        divided.iter().flatten().zip(logits(&[]).iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4, "{worst:e}");

    // Divided as a file of PowerInfer says.
    let split = folder.path("split");
    let ctx = tensorlib::Context::new();
    let mut writer = tensorlib::GgufWriter::create(&split).unwrap();
    writer.set("general.architecture", "generic.gpu_index").unwrap();
    for layer in 0..3 {
        let flags: Vec<i32> = (0..96).map(|i| i32::from(i % 3 == layer)).collect();
        let leaf = ctx.zeros(DType::I32, [96]).unwrap();
        leaf.write(&flags).unwrap();
        leaf.set_name(&format!("blk.{layer}.gpu_idx")).unwrap();
        writer.add(&leaf).unwrap();
    }
    writer.finish().unwrap();
    let by_file = ["--device", "cpu:0,cpu", "--activity", &split];
    let worst =
        logits(&by_file).iter().flatten().zip(divided.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4, "{worst:e}");
    let there = on_two(&[&["place", &turned, "--json"][..], &by_file].concat()).json();
    let tensors = there["tensors"].as_array().unwrap();
    let parts: Vec<_> =
        tensors.iter().filter(|t| t["name"] == "blk.1.ffn_up.weight").map(|t| t["bytes"].as_u64().unwrap()).collect();
    assert_eq!(parts, [32 * 256, 64 * 256]);
    tool(&["logits", &turned, "--tokens", "1", "--activity", &split])
        .expect(2, &["over two devices, and there is one", "--device"]);
}

#[test]
fn encoders_spread_over_devices() {
    let folder = Folder::new("models-place-encoder");
    let (path, _) = encoder_folder(&folder);
    let embed = |more: &[&str]| {
        let args = [&["embed", &path][..], more].concat();
        let mut child = command(&args)
            .env("TENSORLIB_CPU_VIRTUAL_DEVICES", "2")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"a b c\nd\n").unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let alone = embed(&[]);
    assert_eq!(alone.lines().count(), 2);
    assert_eq!(embed(&["--device", "cpu:0,cpu", "--put", "blk.1.*=cpu"]), alone);
    assert_eq!(embed(&["--device", "cpu:0,cpu", "--put", "*ffn*=cpu", "--budget", "cpu:0=1G"]), alone);
}

#[test]
fn experts_that_were_used_last_have_copies_on_the_first_device() {
    let folder = Folder::new("models-place-experts");
    let path = folder.path("experts.gguf");
    let model = all().into_iter().find(|model| model.name == "qwen3moe").unwrap();
    model.spec.tensors(3, DType::Q8_0).write_gguf(Path::new(&path), &model.metadata());
    let there = ["--device", "cpu:0,cpu", "--put", "*_exps.*=cpu"];
    let text = |more: &[&str]| {
        let args = [&["logits", &path, "--tokens", "1,5,9,5,1"][..], &there, more].concat();
        let ended = on_two(&args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    };
    let alone = text(&["--verbose"]);
    assert!(!alone.err.contains("experts:"), "{}", alone.err);
    let with = text(&["--expert-slots", "2", "--verbose"]);
    assert!(with.err.contains("experts: ") && with.err.contains(" uses were of copies"), "{}", with.err);
    for (a, b) in rows(&alone).concat().iter().zip(rows(&with).concat()) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    let bytes = |slots: &str| {
        let args = [&["place", &path, "--json", "--expert-slots", slots][..], &there].concat();
        on_two(&args).json()["devices"][0]["bytes"].as_u64().unwrap()
    };
    assert!(bytes("2") > bytes("0"));
}
