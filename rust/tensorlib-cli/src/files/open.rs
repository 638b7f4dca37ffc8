//! Opens the files that commands are given.

use crate::failure::{warn, Exit, Failure, Outcome};
use std::path::Path;
use tensorlib_models::files::Source;

/// Opens a model's files, and prints warnings about their oddities.
pub fn source(path: &Path) -> Outcome<Source> {
    if path == Path::new("-") {
        let message = "-: standard input cannot be read: a model is read at many places, not from front to back";
        return Err(Failure::new(Exit::Usage, message).hint("write it to a file first; a file of that name is ./-"));
    }
    // SAFETY: that nobody changes or shortens a file while it is read is a promise that the tool passes on to its user
    // (README, "Files that change"): a copy in memory would not do for files larger than that.
    let source = unsafe { Source::open_mapped(path)? };
    source.warnings().iter().for_each(warn);
    Ok(source)
}
