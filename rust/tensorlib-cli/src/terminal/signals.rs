//! Handles Ctrl-C and other polite signals: they stop the work between two pieces, so that an incomplete file is
//! removed.

use crate::failure::{Exit, Failure, Outcome};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Written by the handlers: the number of the last signal.
struct Caught {
    number: Arc<AtomicUsize>,
}

static CAUGHT: OnceLock<Caught> = OnceLock::new();

/// Signals that ask a process to end, and the exit codes that shells use for them.
#[cfg(unix)]
const SIGNALS: [(i32, Exit); 3] = [
    (signal_hook::consts::SIGINT, Exit::Interrupted),
    (signal_hook::consts::SIGTERM, Exit::Terminated),
    (signal_hook::consts::SIGHUP, Exit::HungUp),
];
#[cfg(not(unix))]
const SIGNALS: [(i32, Exit); 2] =
    [(signal_hook::consts::SIGINT, Exit::Interrupted), (signal_hook::consts::SIGTERM, Exit::Terminated)];

/// From now on [`check`] reports the first signal; a second one ends the process.
pub fn catch() {
    CAUGHT.get_or_init(|| {
        let (number, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for (signal, exit) in SIGNALS {
            // If a handler cannot be set, the signal ends the process as before. The first handler sees the state that
            // an earlier signal left, so their order matters.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, exit as i32, again.clone());
            let _ = signal_hook::flag::register(signal, again.clone());
            let _ = signal_hook::flag::register_usize(signal, number.clone(), usize::try_from(signal).unwrap_or(0));
        }
        Caught { number }
    });
}

/// The exit code for the signal that arrived.
pub fn exit() -> Option<Exit> {
    let number = CAUGHT.get()?.number.load(Ordering::SeqCst);
    SIGNALS.into_iter().find(|(signal, _)| usize::try_from(*signal) == Ok(number)).map(|(_, exit)| exit)
}

/// Whether a signal arrived.
pub fn came() -> bool {
    exit().is_some()
}

/// Fails after a signal; `left` says what the user has then.
pub fn check(left: &str) -> Outcome<()> {
    match exit() {
        Some(exit) => Err(Failure::new(exit, format!("interrupted: {left}"))),
        None => Ok(()),
    }
}
