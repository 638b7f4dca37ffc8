//! `--hf OWNER/NAME[:FILE]`: models in a hub's cache, without a network.

use crate::cache::{add, plays, refer, tool_with_cache, COMMIT};
use crate::common::*;
use crate::tiny_models::encoder::Spec;
use std::io::{BufRead, Write};

/// Never a download: builds with the feature `hub` are tested too.
const OFFLINE: (&str, &str) = ("HF_HUB_OFFLINE", "1");

fn run(cache: &Folder, args: &[&str]) -> Ended {
    tool_with_cache(cache, &[OFFLINE], args)
}

/// A GGUF file with one tensor, whose name tells the file.
fn marked(folder: &Folder, mark: &str) -> Vec<u8> {
    let path = folder.path("marked.gguf");
    write_gguf(&path, &[(mark, &[32], &values(32, 0))]);
    std::fs::read(path).unwrap()
}

#[test]
fn a_model_generates_by_its_name() {
    let cache = Folder::new("hub-generate");
    add(&cache, "o/plays", COMMIT, "plays-Q8_0.gguf", &plays());
    refer(&cache, "o/plays", "main", COMMIT);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");
    let more = ["ROMEO:", "-n", "8", "--seed", "7"];
    let want = tool(&[&["generate", path][..], &more].concat());
    want.expect(0, &[]);
    for model in [&["--hf", "o/plays"][..], &["--hf=o/plays:q8_0"], &["hf:o/plays:plays-Q8_0.gguf"]] {
        let got = run(&cache, &[&["generate"][..], model, &more].concat());
        assert_eq!((got.code, &got.out), (Some(0), &want.out), "{got:?}");
    }
    // After the prompt as well, and as the draft model.
    let args = ["generate", "ROMEO:", "-n", "8", "--seed", "7", "--hf", "o/plays", "--draft", "hf:o/plays"];
    run(&cache, &args).expect(0, &[]);
    // Commands that read tensors, or write.
    run(&cache, &["inspect", "--hf", "o/plays", "--tensors"]).expect(0, &["token_embd.weight"]);
    run(&cache, &["quantize", "--hf", "o/plays", &cache.path("q.gguf"), "--type", "q8_0", "--allow-requantize"])
        .expect(0, &["q.gguf: "]);
    run(&cache, &["compare", "hf:o/plays", &cache.path("q.gguf")]).expect(0, &["token_embd.weight"]);
    // Where the cache is.
    let home = tool_with_cache(
        &cache,
        &[OFFLINE, ("HF_HUB_CACHE", ""), ("HF_HOME", &cache.path(""))],
        &["inspect", "--hf", "o/plays"],
    );
    home.expect(0, &["plays-Q8_0.gguf"]);
    std::fs::create_dir_all(cache.path("x/huggingface")).unwrap();
    std::fs::rename(cache.path("hub"), cache.path("x/huggingface/hub")).unwrap();
    let envs = [OFFLINE, ("HF_HUB_CACHE", ""), ("XDG_CACHE_HOME", &cache.path("x"))];
    tool_with_cache(&cache, &envs, &["inspect", "--hf", "o/plays"]).expect(0, &["plays-Q8_0.gguf"]);
}

#[test]
fn the_right_file_and_revision_are_taken() {
    let cache = Folder::new("hub-files");
    let other = "f".repeat(40);
    for (commit, file) in [
        (COMMIT, "m-Q4_K_M.gguf"),
        (COMMIT, "m-Q8_0.gguf"),
        (COMMIT, "mmproj-F16.gguf"),
        (COMMIT, "sub/m-IQ2_M.gguf"),
        (other.as_str(), "m-Q4_K_M.gguf"),
    ] {
        add(&cache, "o/n", commit, file, &marked(&cache, &format!("{}-{file}", &commit[..2])));
    }
    refer(&cache, "o/n", "main", COMMIT);
    refer(&cache, "o/n", "refs/pr/1", &other);
    for (name, tensor) in [
        ("o/n", "01-m-Q4_K_M.gguf"),
        ("o/n:Q8_0", "01-m-Q8_0.gguf"),
        ("o/n:mmproj-F16.gguf", "01-mmproj-F16.gguf"),
        ("o/n:sub/m-IQ2_M.gguf", "01-sub/m-IQ2_M.gguf"),
        ("o/n:iq2_m", "01-sub/m-IQ2_M.gguf"),
        ("o/n@refs/pr/1", "ff-m-Q4_K_M.gguf"),
        (&format!("o/n@{other}:m-Q4_K_M.gguf"), "ff-m-Q4_K_M.gguf"),
    ] {
        run(&cache, &["inspect", "--hf", name]).expect(0, &[tensor]);
    }
    // A split file: any of its shards needs all of them.
    let split = Folder::new("hub-split");
    small_model(&split.path("m.gguf"));
    tool(&["quantize", &split.path("m.gguf"), &split.path("s.gguf"), "-t", "q8_0", "--split-size", "5K"])
        .expect(0, &[]);
    let shards: Vec<String> = split.names().into_iter().filter(|name| name.contains("-of-")).collect();
    assert!(shards.len() > 2);
    let shard = |name: &String| std::fs::read(split.path(name)).unwrap();
    shards.iter().skip(1).for_each(|name| drop(add(&cache, "o/split", COMMIT, &format!("Q8_0/{name}"), &shard(name))));
    run(&cache, &["inspect", "--hf", "o/split:Q8_0"]).expect(3, &["no GGUF file of such a type"]);
    add(&cache, "o/split", COMMIT, &format!("Q8_0/{}", shards[0]), &shard(&shards[0]));
    run(&cache, &["inspect", "--hf", "o/split:Q8_0"]).expect(0, &["blk.1.weight", " parts"]);
    let last = cache.0.join(format!("hub/models--o--split/snapshots/{COMMIT}/Q8_0/{}", shards[shards.len() - 1]));
    std::fs::remove_file(last).unwrap();
    run(&cache, &["inspect", "--hf", "o/split"])
        .expect(3, &["only a part of it", &format!("of {} shards", shards.len())]);
}

#[test]
fn a_folder_is_opened_as_a_folder() {
    let (cache, source) = (Folder::new("hub-folder"), Folder::new("hub-folder-source"));
    let (spec, path) = (Spec::new(), source.0.join("bert"));
    crate::tiny_models::encoder_files::write_folder(&path, &spec, &spec.tensors(3, tensorlib::DType::F32), "bert", "");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        add(&cache, "o/bert", COMMIT, file, &std::fs::read(path.join(file)).unwrap());
    }
    let embed = |command: &mut std::process::Command| {
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"w3 w5\n").unwrap();
        child.wait_with_output().unwrap()
    };
    let want = embed(&mut command(&["embed", path.to_str().unwrap(), "--pooling", "mean"]));
    let mut named = command(&["embed", "--hf", "o/bert", "--pooling", "mean"]);
    let got = embed(named.env("HF_HUB_CACHE", cache.path("hub")).env("HF_HUB_OFFLINE", "1"));
    assert!(want.status.success() && got.status.success() && !want.stdout.is_empty());
    assert_eq!(got.stdout, want.stdout);
    run(&cache, &["inspect", "--hf", "o/bert"]).expect(0, &["model.safetensors"]);
    // A server's name for it is the repository's, not the commit.
    #[cfg(feature = "server")]
    {
        let mut server = command(&["serve", "--hf", "o/bert", "--port", "0"]);
        server.env("HF_HUB_CACHE", cache.path("hub")).env("HF_HUB_OFFLINE", "1").stderr(std::process::Stdio::piped());
        let mut server = server.spawn().unwrap();
        let mut lines = std::io::BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said = lines.find(|line| line.contains(": encoder"));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(said.as_deref(), Some("bert: encoder"));
    }
    // Without the settings, or with a link that leads to nothing, it is no model.
    let snapshot = cache.0.join(format!("hub/models--o--bert/snapshots/{COMMIT}"));
    std::fs::rename(snapshot.join("config.json"), cache.0.join("config.json")).unwrap();
    run(&cache, &["embed", "--hf", "o/bert"]).expect(3, &["only a part of it", "no config.json", "hint"]);
    std::fs::rename(cache.0.join("config.json"), snapshot.join("config.json")).unwrap();
    std::fs::remove_file(snapshot.join("model.safetensors").canonicalize().unwrap()).unwrap();
    run(&cache, &["embed", "--hf", "o/bert"]).expect(3, &["lead to nothing: model.safetensors"]);
    std::fs::remove_file(snapshot.join("model.safetensors")).unwrap();
    run(&cache, &["embed", "--hf", "o/bert"]).expect(3, &["has neither model.safetensors nor"]);
}

#[test]
fn bad_names_and_missing_models_are_errors() {
    let cache = Folder::new("hub-errors");
    run(&cache, &["inspect", "--hf", "o/none"]).expect(3, &["o/none: the cache", "no such repository", "hint"]);
    if cfg!(not(feature = "hub")) {
        run(&cache, &["inspect", "--hf", "o/none"]).expect(3, &["hf download OWNER/NAME", "the feature `hub`"]);
    } else {
        run(&cache, &["inspect", "--hf", "o/none"]).expect(3, &["HF_HUB_OFFLINE forbids"]);
    }
    for name in ["n", "o/n:../x", "../n", "o/n@../../x", "o/n:/etc/passwd"] {
        run(&cache, &["inspect", "--hf", name]).expect(2, &[name, "OWNER/NAME"]);
    }
    add(&cache, "o/n", COMMIT, "m-Q5_K_M.gguf", &marked(&cache, "a"));
    add(&cache, "o/n", COMMIT, "m-Q6_K.gguf", &marked(&cache, "b"));
    run(&cache, &["inspect", "--hf", "o/n"])
        .expect(1, &["2 GGUF files that fit: m-Q5_K_M.gguf, m-Q6_K.gguf", "o/n:m-Q5_K_M.gguf"]);
    let missing = run(&cache, &["inspect", "--hf", "o/n:Q2_K"]);
    missing.expect(3, &["no file 'Q2_K'", "there are m-Q5_K_M.gguf, m-Q6_K.gguf"]);
    run(&cache, &["inspect", "--hf", "o/n@v2"]).expect(3, &["no revision 'v2'"]);
    add(&cache, "o/n", &"a".repeat(40), "m-Q6_K.gguf", &marked(&cache, "c"));
    run(&cache, &["inspect", "--hf", "o/n"]).expect(3, &["several states of the model"]);
    // A reference that is a path leads nowhere.
    refer(&cache, "o/n", "main", "../../..");
    run(&cache, &["inspect", "--hf", "o/n"]).expect(3, &["several states of the model"]);
    run(&cache, &["generate", "--hf", "o/n", "--hf", "o/m"]).expect(2, &["--hf", "multiple times"]);
    run(&cache, &["devices", "--hf", "o/n"]).expect(2, &["unexpected argument '--hf'"]);
    run(&cache, &["logits", "m.gguf", "--tokens", "1", "--hf", "o/n"]).expect(2, &["unexpected argument 'm.gguf'"]);
    run(&cache, &["generate", "--hf"]).expect(2, &["a value is required for '--hf"]);
}
