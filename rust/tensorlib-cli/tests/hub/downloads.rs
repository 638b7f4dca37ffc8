//! `--hf OWNER/NAME[:FILE]`: downloads from a server in this process.

use crate::cache::{command_with_cache, plays, tool_with_cache};
use crate::common::*;
use crate::server::{Faults, HubServer, COMMIT};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A cache and a server.
struct Hub {
    cache: Folder,
    server: HubServer,
}

impl Hub {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        Hub { cache: Folder::new(name), server: HubServer::new(files) }
    }

    fn run(&self, envs: &[(&str, &str)], args: &[&str]) -> Ended {
        let endpoint = [("HF_ENDPOINT", self.server.address.as_str())];
        tool_with_cache(&self.cache, &[&endpoint, envs].concat(), args)
    }

    fn inspect(&self) -> Ended {
        self.run(&[], &["inspect", "--hf", "o/n", "--tensors"])
    }

    fn folder(&self) -> PathBuf {
        self.cache.0.join("hub/models--o--n")
    }

    fn blobs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder().join("blobs")).into_iter().flatten();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_model_is_downloaded_once_into_the_usual_layout() {
    let model = plays();
    let hub =
        Hub::new("hub-once", &[("plays-Q8_0.gguf", &model), ("sub/plays-F16.gguf", b"GGUF"), ("README.md", b"x")]);
    let run = || hub.run(&[], &["generate", "--hf", "o/n", "ROMEO:", "-n", "8", "--seed", "7"]);
    let first = run();
    first.expect(0, &["downloading o/n: "]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");
    assert_eq!(first.out, tool(&["generate", path, "ROMEO:", "-n", "8", "--seed", "7"]).out);
    let file = "/o/n/resolve/89abcdef89abcdef89abcdef89abcdef89abcdef/plays-Q8_0.gguf";
    let requests = [
        "GET /api/models/o/n/revision/main",
        &format!("HEAD {file}"),
        &format!("GET {file}"),
        &format!("GET /moved{file}"),
    ];
    assert_eq!(hub.server.requests(), requests);
    assert_eq!(hub.blobs(), [sha256(&model)]);
    let link = hub.folder().join("snapshots").join(COMMIT).join("plays-Q8_0.gguf");
    #[cfg(unix)]
    assert_eq!(std::fs::read_link(&link).unwrap(), PathBuf::from(format!("../../blobs/{}", sha256(&model))));
    assert_eq!(std::fs::read(&link).unwrap(), model);
    assert_eq!(std::fs::read_to_string(hub.folder().join("refs/main")).unwrap(), COMMIT);
    // Then the cache has it.
    assert_eq!(run().out, first.out);
    assert!(hub.server.requests().is_empty());
    // A file in a folder, of a revision: the link goes up one folder more.
    hub.run(&[], &["inspect", "--hf", "o/n@refs/pr/1:F16"]).expect(4, &["sub/plays-F16.gguf"]);
    assert_eq!(hub.server.requests()[0], "GET /api/models/o/n/revision/refs%2Fpr%2F1");
    assert_eq!(std::fs::read_to_string(hub.folder().join("refs/refs/pr/1")).unwrap(), COMMIT);
    assert_eq!(std::fs::read(link.with_file_name("sub").join("plays-F16.gguf")).unwrap(), b"GGUF");
}

#[test]
fn a_folder_and_a_split_file_come_with_all_their_files() {
    let source = Folder::new("hub-folder-files");
    write_safetensors(&source.path("model.safetensors"), &[("w", &[32], &values(32, 0))], &[]);
    let tensors = std::fs::read(source.path("model.safetensors")).unwrap();
    let files: [(&str, &[u8]); 8] = [
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("chat_template.jinja", b"x"),
        ("1_Pooling/config.json", b"{}"),
        ("onnx/config.json", b"{}"),
        ("model.safetensors", &tensors),
        ("consolidated.safetensors", &tensors),
        ("pytorch_model.bin", b"x"),
    ];
    let hub = Hub::new("hub-folder-all", &files);
    hub.inspect().expect(0, &["f32", "w "]);
    let heads: Vec<String> = hub.server.requests().into_iter().filter(|line| line.starts_with("HEAD")).collect();
    let asked: Vec<&str> = heads.iter().map(|line| line.rsplit_once(COMMIT).unwrap().1).collect();
    let want =
        ["/1_Pooling/config.json", "/chat_template.jinja", "/config.json", "/model.safetensors", "/tokenizer.json"];
    assert_eq!(asked, want);
    small_model(&source.path("m.gguf"));
    tool(&["quantize", &source.path("m.gguf"), &source.path("s.gguf"), "-t", "q8_0", "--split-size", "5K"])
        .expect(0, &[]);
    let shards: Vec<String> = source.names().into_iter().filter(|name| name.contains("-of-")).collect();
    let contents: Vec<Vec<u8>> = shards.iter().map(|name| std::fs::read(source.path(name)).unwrap()).collect();
    let files: Vec<(&str, &[u8])> = shards.iter().map(String::as_str).zip(contents.iter().map(Vec::as_slice)).collect();
    Hub::new("hub-split-all", &files).inspect().expect(0, &["blk.1.weight", "norm.weight"]);
    let none = Hub::new("hub-no-model", &[("README.md", b"x")]);
    none.inspect().expect(3, &["has no GGUF file, and no config.json with model.safetensors"]);
}

#[test]
fn a_broken_download_goes_on_where_it_ended() {
    let model = plays();
    let hub = Hub::new("hub-broken", &[("m.gguf", &model)]);
    let fault = |times| hub.server.fault(Faults { breaks_after: Some((1 << 20, times)), ..Faults::default() });
    // Connections that bring something are made again.
    fault(1);
    hub.inspect().expect(0, &["token_embd.weight"]);
    let ranges = |requests: Vec<String>| {
        requests.into_iter().filter(|line| line.contains("/moved") && line.contains("bytes=")).collect::<Vec<_>>()
    };
    assert_eq!(ranges(hub.server.requests()).len(), 1);
    // A process that was killed left a part.
    std::fs::remove_dir_all(hub.folder()).unwrap();
    std::fs::create_dir_all(hub.folder().join("blobs")).unwrap();
    let part = hub.folder().join(format!("blobs/{}.incomplete", sha256(&model)));
    std::fs::write(&part, &model[..1000]).unwrap();
    hub.inspect().expect(0, &["token_embd.weight"]);
    assert!(ranges(hub.server.requests())[0].ends_with("bytes=1000-"));
    assert_eq!(hub.blobs(), [sha256(&model)]);
    // A server without parts sends all of it again; a part that is too long is not one.
    for part in [&model[..1000], &[&model[..], b"x"].concat()] {
        std::fs::remove_dir_all(hub.folder()).unwrap();
        std::fs::create_dir_all(hub.folder().join("blobs")).unwrap();
        std::fs::write(hub.folder().join(format!("blobs/{}.incomplete", sha256(&model))), part).unwrap();
        hub.server.fault(Faults { has_no_ranges: true, ..Faults::default() });
        hub.inspect().expect(0, &["token_embd.weight"]);
        assert_eq!(hub.blobs(), [sha256(&model)]);
    }
}

/// Ctrl-C ends a download at once, even if the server sends nothing, and keeps what has arrived.
#[cfg(unix)]
#[test]
fn an_interrupted_download_goes_on_later() {
    use std::time::{Duration, Instant};
    let model = plays();
    let hub = Hub::new("hub-interrupted", &[("m.gguf", &model)]);
    hub.server.fault(Faults { stalls_after: Some(100_000), ..Faults::default() });
    let envs = [("HF_ENDPOINT", hub.server.address.as_str())];
    let mut command = command_with_cache(&hub.cache, &envs, &["inspect", "--hf", "o/n", "--tensors"]);
    let child = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let part = hub.folder().join(format!("blobs/{}.incomplete", sha256(&model)));
    let begin = Instant::now();
    while !std::fs::metadata(&part).is_ok_and(|info| info.len() == 100_000) {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing arrived");
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted: 100000 bytes of m.gguf are kept"), "{said}");
    hub.server.fault(Faults::default());
    hub.inspect().expect(0, &["token_embd.weight"]);
    assert!(hub.server.requests().iter().any(|line| line.ends_with("bytes=100000-")));
}

#[test]
fn what_arrives_is_checked() {
    let model = plays();
    let hub = Hub::new("hub-checked", &[("m.gguf", &model)]);
    hub.server.fault(Faults { is_damaged: true, ..Faults::default() });
    hub.inspect().expect(3, &["arrived with the SHA-256", &sha256(&model), "try again"]);
    assert!(hub.blobs().is_empty());
    // It never gives a byte: the error says how much is kept.
    hub.server.fault(Faults { breaks_after: Some((0, 9)), ..Faults::default() });
    hub.inspect().expect(3, &["broke off after 0 of", "the download goes on"]);
    for (name, word) in [("../../x.gguf", "'../../x.gguf'"), ("/x.gguf", "'/x.gguf'"), ("a\\..\\x.gguf", "outside")] {
        hub.server.fault(Faults { lists: vec![name.into()], ..Faults::default() });
        hub.inspect().expect(4, &["a path outside of the repository", word, "do not trust"]);
    }
    let sha = r#"{"sha": "../../x", "siblings": []}"#;
    for (text, word) in
        [("<html>", "none of a hub"), (sha, "names no commit"), (r#"{"sha": "abcdef"}"#, "lists no files")]
    {
        hub.server.fault(Faults { text: Some(text), ..Faults::default() });
        hub.inspect().expect(4, &[word, "HF_ENDPOINT"]);
    }
    hub.server.fault(Faults { etag: Some("../../x"), ..Faults::default() });
    hub.inspect().expect(4, &["m.gguf: it names no hash"]);
    assert_eq!(hub.cache.names(), ["hub"]);
}

#[test]
fn refusals_have_names() {
    let hub = Hub::new("hub-refusals", &[("m.gguf", b"GGUF")]);
    for (status, code, words) in [
        (401, "RepoNotFound", ["there is none of that name, or it is private (401)", "HF_TOKEN"]),
        (403, "GatedRepo", ["is gated", "ask for access"]),
        (404, "RepoNotFound", ["has no such repository", "OWNER/NAME"]),
        (404, "RevisionNotFound", ["has no revision 'main'", "lists branches"]),
        (503, "", ["answers with status 503", "try again later"]),
    ] {
        hub.server.fault(Faults { refuses: Some((status, code)), ..Faults::default() });
        hub.inspect().expect(3, &words);
    }
    hub.server.fault(Faults::default());
    hub.run(&[("HF_HUB_OFFLINE", "1")], &["inspect", "--hf", "o/n"])
        .expect(3, &["no such repository", "HF_HUB_OFFLINE forbids"]);
    hub.run(&[], &["inspect", "--hf", "o/n:Q2_K"])
        .expect(3, &["the repository has no file 'Q2_K'", "there are m.gguf"]);
    hub.run(&[("HF_ENDPOINT", "http://127.0.0.1:9")], &["inspect", "--hf", "o/n"]).expect(3, &["cannot be reached"]);
    assert!(!hub.folder().exists());
}

#[test]
fn the_token_goes_to_the_server() {
    let hub = Hub::new("hub-token", &[("m.gguf", &plays())]);
    hub.server.fault(Faults { token: Some("hf_x"), ..Faults::default() });
    hub.inspect().expect(3, &["is gated", "HF_TOKEN"]);
    hub.run(&[("HF_TOKEN", "bad\ttoken")], &["inspect", "--hf", "o/n"]).expect(1, &["blanks or control characters"]);
    std::fs::write(hub.cache.path("token"), "hf_x\n").unwrap();
    hub.run(&[("HF_TOKEN_PATH", &hub.cache.path("token"))], &["inspect", "--hf", "o/n", "--tensors"])
        .expect(0, &["token_embd"]);
    std::fs::remove_dir_all(hub.folder()).unwrap();
    hub.run(&[("HF_TOKEN", "hf_x")], &["inspect", "--hf", "o/n", "--tensors"]).expect(0, &["token_embd"]);
}

/// Writing to this device fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let model = plays();
    let hub = Hub::new("hub-full", &[("m.gguf", &model)]);
    std::fs::create_dir_all(hub.folder().join("blobs")).unwrap();
    let part = hub.folder().join(format!("blobs/{}.incomplete", sha256(&model)));
    std::os::unix::fs::symlink("/dev/full", part).unwrap();
    hub.inspect().expect(3, &["the disk is full", "bytes are missing", "HF_HUB_CACHE"]);
    assert!(!hub.folder().join("refs").exists());
}
