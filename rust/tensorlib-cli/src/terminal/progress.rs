//! Shows progress: a bar on a terminal, a line per tensor if asked for, otherwise nothing.

use crate::terminal::text::{bytes, printable};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

const BAR: &str =
    "{bar:30} {percent:>3}%  {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left  {wide_msg}";

/// The display.
pub struct Progress {
    bar: ProgressBar,
    verbose: bool,
    begin: Instant,
}

impl Progress {
    /// Shows progress over `total` bytes of input.
    pub fn new(total: u64, verbose: bool, quiet: bool) -> Self {
        let target = target(io::stderr().is_terminal() && !quiet && !verbose);
        Progress { bar: bar(total, target), verbose, begin: Instant::now() }
    }

    /// Announces the beginning of a tensor.
    pub fn tensor(&self, number: usize, of: usize, what: &str) {
        let what = printable(what);
        if self.verbose {
            let _ = writeln!(io::stderr(), "[{}/{of}] {what}", number + 1); // if that fails there is nobody to tell
        }
        self.bar.set_message(what);
    }

    /// Adds `n` bytes of finished input.
    pub fn add(&self, n: u64) {
        self.bar.inc(n);
    }

    /// Names an activity without bytes to count.
    pub fn note(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Removes the bar. Returns the seconds since the beginning.
    pub fn end(&self) -> f64 {
        self.bar.finish_and_clear();
        self.begin.elapsed().as_secs_f64()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Counts bytes that come over a network, if standard error is a terminal.
#[cfg(feature = "hub")]
pub fn download_bar() -> ProgressBar {
    bar(0, target(io::stderr().is_terminal()))
}

/// Counts lines, if the output is a file and standard error a terminal.
pub fn lines_bar() -> ProgressBar {
    counting_bar(None, "{spinner} {human_pos} lines, {per_sec}, {elapsed}")
}

/// Counts texts of `total`, as [`lines_bar`].
pub fn texts_bar(total: u64) -> ProgressBar {
    counting_bar(Some(total), "{bar:30} {human_pos} of {human_len} texts, {per_sec}, {eta} left")
}

/// Counts tensors of `total` that are measured, if standard error is a terminal.
pub fn tensors_bar(total: u64, quiet: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target(io::stderr().is_terminal() && !quiet));
    styled(bar, "{bar:30} {human_pos} of {human_len} tensors measured, {eta} left")
}

/// Counts windows of a text of `total`, if standard error is a terminal.
pub fn windows_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target(io::stderr().is_terminal()));
    styled(bar, "{bar:30} {human_pos} of {human_len} windows, {eta} left")
}

/// Counts seconds of a sound, as [`lines_bar`].
pub fn seconds_bar(total: f64) -> ProgressBar {
    counting_bar(Some(total.ceil() as u64), "{bar:30} {human_pos} of {human_len} s of sound, {eta} left")
}

/// Counts steps of training of `total`, with what `set_message` says of them, if standard error is a terminal.
pub fn steps_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target(io::stderr().is_terminal()));
    styled(bar, "{bar:30} {human_pos} of {human_len} steps, {eta} left  {wide_msg}")
}

pub fn counting_bar(total: Option<u64>, template: &str) -> ProgressBar {
    let shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
    styled(ProgressBar::with_draw_target(total, target(shown)), template)
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Standard error, if a bar is shown.
fn target(show: bool) -> ProgressDrawTarget {
    if show {
        ProgressDrawTarget::stderr_with_hz(5)
    } else {
        ProgressDrawTarget::hidden()
    }
}

fn bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    styled(ProgressBar::with_draw_target(Some(total), target), BAR)
}

/// `12.3 s, 80.1 MiB/s`.
pub fn rate(n: u64, seconds: f64) -> String {
    format!("{seconds:.1} s, {}/s", bytes((n as f64 / seconds.max(1e-9)) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps what is written to it.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            150
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, s: &str) -> io::Result<()> {
            self.write_str(s)
        }
        fn write_str(&self, s: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(s);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_has_share_size_rate_time_left_and_what_is_done() {
        let paper = Paper::default();
        let bar = bar(4 << 20, ProgressDrawTarget::term_like(Box::new(paper.clone())));
        bar.set_message("w0 f32 -> q4_K");
        bar.inc(1 << 20);
        bar.tick();
        let drawn = paper.0.lock().unwrap().clone();
        for word in [" 25%", "1.00 MiB of 4.00 MiB", "/s", " left", "w0 f32 -> q4_K"] {
            assert!(drawn.contains(word), "no '{word}' in '{drawn}'");
        }
        bar.finish_and_clear();
        assert_eq!(*paper.0.lock().unwrap(), "");
    }
}
