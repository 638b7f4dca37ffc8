//! Ctrl-C and other polite signals: they stop the work between two pieces, so that a file in the making is removed.

use crate::failure::{Exit, Failure, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on a first signal is what [`check`] looks at; a second one ends the process.
pub fn catch() {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    // Where it cannot be set (a second call), signals end the process as they always did.
    let _ = ctrlc::set_handler(handler);
}

/// Whether a signal has come.
pub fn came() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// An error once a signal has come; `left` is what the user then has.
pub fn check(left: &str) -> Outcome<()> {
    if came() {
        return Err(Failure::new(Exit::Interrupted, format!("interrupted: {left}")));
    }
    Ok(())
}
