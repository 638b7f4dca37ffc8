//! The keys of a GGUF file that is not written yet, as readers of GGUF files see them.

use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tensorlib::{Gguf, GgufWriter, Value};

/// A file of keys alone in the folder for temporary files, removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Temporary(std::env::temp_dir().join(format!("tensorlib-keys-{}-{number}.gguf", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // the system cleans its temporary folder anyway
    }
}

/// These keys, read again.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind) if the folder for temporary files takes no file.
pub fn read_back<'a>(keys: impl Iterator<Item = (&'a str, &'a Value)>) -> Result<Gguf> {
    let file = Temporary::new();
    let about = |e: tensorlib::Error| Error::from(e).about("the keys of the file");
    let mut writer = GgufWriter::create(&file.0).map_err(about)?;
    for (key, value) in keys {
        writer.set(key, value.clone()).map_err(about)?;
    }
    writer.finish().map_err(about)?;
    Gguf::open(&file.0).map_err(about)
}
