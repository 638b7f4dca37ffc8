//! Opens files for reading if they are regular files.

use crate::{Error, Result};
use std::fs::File;
use std::path::Path;

/// Opens a regular file.
pub fn open_regular(path: &Path) -> Result<File> {
    // Checked before opening, which would wait for the other end of a pipe.
    let info = std::fs::metadata(path).map_err(|e| Error::io(path, "opened", &e))?;
    if info.is_dir() {
        let message = format!("{}: is a folder: a file is valid", path.display());
        return Err(
            Error::no_file(message).with_hint("name a file in it: .gguf, .safetensors or .safetensors.index.json")
        );
    }
    if !info.is_file() {
        let message = format!("{}: is a device, pipe or socket: a regular file is valid", path.display());
        return Err(Error::no_file(message).with_hint("write it to a file first: it is read at many places"));
    }
    File::open(path).map_err(|e| Error::io(path, "opened", &e))
}
