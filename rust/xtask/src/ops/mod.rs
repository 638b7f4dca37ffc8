//! `cargo xtask ops`: what follows from the operations' descriptions (`cpp/ops/*.toml`), written anew.

mod cpp;
mod description;
mod document;

use std::path::Path;

use crate::workspace::first_difference;
use description::Family;

/// The files, and what is in them.
fn files(families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("cpp/graph/op_list.inc", cpp::list(families)),
        ("cpp/ops/op_facts.hpp", cpp::facts(families)?),
        ("docs/ops.md", document::text(families)),
    ])
}

/// Writes them.
pub fn write(root: &Path) -> Result<(), String> {
    for (file, text) in files(&description::read(root)?)? {
        std::fs::write(root.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Fails where one is not what the descriptions say.
pub fn check(root: &Path) -> Result<(), String> {
    for (file, fresh) in files(&description::read(root)?)? {
        let committed = std::fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        if let Some(line) = first_difference(&committed, &fresh) {
            let folder = description::FOLDER;
            return Err(format!("{file}:{line} differs from {folder}/*.toml: run `cargo xtask ops`"));
        }
    }
    Ok(())
}
