//! A hub's cache in a temporary folder.
#![allow(dead_code)] // each test program uses some of it

use crate::common::{command, ended, Ended, Folder};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Runs the tool with this cache and settings, and none of the user's.
pub fn tool_with_cache(cache: &Folder, envs: &[(&str, &str)], args: &[&str]) -> Ended {
    ended(&mut command_with_cache(cache, envs, args))
}

pub fn command_with_cache(cache: &Folder, envs: &[(&str, &str)], args: &[&str]) -> Command {
    let mut command = command(args);
    for key in ["HF_HOME", "HF_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT", "HF_HUB_OFFLINE", "XDG_CACHE_HOME"] {
        command.env_remove(key);
    }
    for key in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(key);
    }
    command.env("HOME", &cache.0).env("HF_HUB_CACHE", cache.path("hub")).envs(envs.iter().copied());
    command
}

/// Adds a file to a snapshot, as the hub's own tools do.
pub fn add(cache: &Folder, repository: &str, commit: &str, file: &str, contents: &[u8]) -> PathBuf {
    let folder = cache.0.join("hub").join(format!("models--{}", repository.replace('/', "--")));
    let (blobs, link) = (folder.join("blobs"), folder.join("snapshots").join(commit).join(file));
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    let name = format!("{commit}-{}", file.replace('/', "-"));
    let blob = blobs.join(&name);
    std::fs::write(&blob, contents).unwrap();
    #[cfg(unix)]
    {
        let up = "../".repeat(2 + file.matches('/').count());
        std::os::unix::fs::symlink(format!("{up}blobs/{name}"), &link).unwrap();
    }
    #[cfg(not(unix))]
    std::fs::copy(&blob, &link).unwrap();
    link
}

/// Stores which commit a branch is.
pub fn refer(cache: &Folder, repository: &str, branch: &str, commit: &str) {
    let folder = cache.0.join("hub").join(format!("models--{}", repository.replace('/', "--")));
    let path = folder.join("refs").join(branch);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, commit).unwrap();
}

/// The bytes of the model of the examples.
pub fn plays() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/plays.gguf")).unwrap()
}
