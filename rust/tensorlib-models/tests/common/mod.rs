//! Shared by the tests of models: tiny models with random weights, their files, and their results in double precision.
#![allow(dead_code, missing_docs)] // each test program uses some of it

pub mod architectures;
pub mod behaviour;
pub mod checks;
pub mod clip;
pub mod decoder;
pub mod encoder;
pub mod encoder_files;
pub mod encoder_pass;
pub mod encoder_tasks;
pub mod families;
pub mod hybrids;
pub mod latent;
pub mod math;
pub mod mixtures;
pub mod recurrences;
pub mod reranker_files;
pub mod rwkv;
pub mod sampling;
pub mod streams;
pub mod tiny;
pub mod tokenizers;
pub mod whisper;
pub mod whisper_files;
pub mod whisper_search;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Folders made so far, so that tests of one process may use the same name.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

/// A temporary folder, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let count = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tensorlib-models-{}-{count}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path); // usually there is none
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // the system cleans its temporary folder anyway
    }
}

/// The device that tests run on: `TENSORLIB_DEVICE`, or the CPU by default.
pub fn backend() -> tensorlib::Backend {
    tensorlib::Backend::new(&std::env::var("TENSORLIB_DEVICE").unwrap_or("cpu".into())).unwrap()
}

/// The largest difference, divided by the largest expected magnitude.
pub fn error(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let largest = want.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let worst =
        got.iter()
            .zip(want)
            .map(|(g, w)| (f64::from(*g) - w).abs())
            .fold(0.0, |m, d| if d > m || d.is_nan() { d } else { m });
    worst / largest
}
