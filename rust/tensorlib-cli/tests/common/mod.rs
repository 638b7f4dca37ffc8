//! Shared by the tests: temporary folders, small files, and runs of the tool.
#![allow(dead_code)] // each test program uses some of it

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use tensorlib::{Context, DType, GgufWriter, GgufWriterOptions};

/// Folders made so far, so that tests of one process may use the same name.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

/// A temporary folder, removed with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let count = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tensorlib-cli-{name}-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// The names of its files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn json(&self) -> Json {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    /// Panics if the code differs, or a word is missing on both outputs.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for word in words {
            assert!(self.out.contains(word) || self.err.contains(word), "no '{word}' in {self:#?}");
        }
        self
    }
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlib"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the tool to its end.
pub fn tool(args: &[&str]) -> Ended {
    ended(&mut command(args))
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let out = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A file of the reference implementation; says so if it is missing.
pub fn all_types() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/all-types.gguf");
    if path.exists() {
        return Some(path.to_str().unwrap().to_string());
    }
    println!("SKIP {} is not there", path.display());
    None
}

/// Numbers around zero.
pub fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i + seed) * 7919 % 10007) as f32 - 5003.0) / 5003.0).collect()
}

pub fn as_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Writes a GGUF file of F32 tensors.
pub fn write_gguf(path: &str, tensors: &[(&str, &[i64], &[f32])]) {
    let mut writer = GgufWriterOptions::new().alignment(64).create(path).unwrap();
    writer.set("general.architecture", "test").unwrap();
    writer.set("general.file_type", 0u32).unwrap();
    writer.set("test.list", (0..100i32).collect::<Vec<_>>()).unwrap();
    finish(writer, tensors);
}

pub fn finish(mut writer: GgufWriter, tensors: &[(&str, &[i64], &[f32])]) {
    for (name, shape, _) in tensors {
        writer.declare(name, DType::F32, shape).unwrap();
    }
    for (_, _, values) in tensors {
        writer.write(&as_bytes(values)).unwrap();
    }
    writer.finish().unwrap();
}

/// Writes a file like a small model: weights, rows that are not multiples of 256, rows that fit no type, a norm.
pub fn small_model(path: &str) {
    write_gguf(
        path,
        &[
            ("blk.0.weight", &[512, 6], &values(512 * 6, 0)),
            ("blk.1.weight", &[256, 4, 3], &values(256 * 12, 1)),
            ("rows96.weight", &[96, 4], &values(96 * 4, 2)),
            ("rows10.weight", &[10, 4], &values(40, 3)),
            ("norm.weight", &[512], &values(512, 4)),
        ],
    );
}

/// Writes a safetensors file by hand: name, type and shape as in the format, the contiguous dimension last; and bytes.
pub fn write_raw_safetensors(path: &str, tensors: &[(&str, &str, &[usize], &[u8])]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend_from_slice(bytes);
        let info = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
        header.insert((*name).into(), info);
    }
    let header = Json::Object(header).to_string();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    std::fs::write(path, bytes).unwrap();
}

/// Writes a safetensors file of F32 tensors; shapes have the contiguous dimension first.
pub fn write_safetensors(path: &str, tensors: &[(&str, &[i64], &[f32])], metadata: &[(&str, &str)]) {
    let ctx = Context::new();
    let leaf = |(name, shape, values): &(&str, &[i64], &[f32])| {
        let tensor = ctx.tensor(*shape, values).unwrap();
        tensor.set_name(name).unwrap();
        tensor
    };
    let tensors: Vec<_> = tensors.iter().map(leaf).collect();
    tensorlib::safetensors::write(path, &tensors.iter().collect::<Vec<_>>(), metadata).unwrap();
}
