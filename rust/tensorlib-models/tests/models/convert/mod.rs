//! Folders converted to GGUF files.

mod decoders;
mod encoders;
mod refused;
mod tokenizers;

use crate::common::Folder;
use std::path::{Path, PathBuf};
use tensorlib::{DType, GgufWriter};
use tensorlib_models::{Conversion, Error};

/// Converts a folder, and returns what was done.
pub fn convert(folder: &Path, to: Option<DType>, out: &Path) -> Result<Conversion, Error> {
    let conversion = Conversion::open(folder, to)?;
    let mut writer = GgufWriter::create(out)?;
    conversion.write(&mut writer, |_| true)?;
    writer.finish()?;
    Ok(conversion)
}

/// Writes texts as files of a folder.
fn write_files(folder: &Folder, files: &[(&str, &str)]) -> PathBuf {
    let path = folder.path("tiny-model");
    std::fs::create_dir_all(&path).unwrap();
    for (name, text) in files {
        std::fs::write(path.join(name), text).unwrap();
    }
    path
}
