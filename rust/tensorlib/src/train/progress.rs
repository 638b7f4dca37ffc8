//! The progress bar of training.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// A bar on standard error; nothing if that is not a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// A bar over `steps` steps, of which `done` are done.
    pub(super) fn new(steps: u64, done: u64) -> Self {
        let is_seen = io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target).with_position(done);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {percent:>3}%  {pos} of {len} steps  {eta} left  {msg}")
        {
            bar.set_style(style);
        }
        // Steps of an earlier run took no time in this one.
        bar.reset_eta();
        Self(bar)
    }

    pub(super) fn step(&self, epoch: usize, epochs: usize, loss: f64) {
        self.0.inc(1);
        self.0.set_message(format!("epoch {epoch} of {epochs}, loss {loss:.4}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
