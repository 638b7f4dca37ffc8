//! Lines of standard input as tokens, in windows.

use crate::failure::{warn, Outcome};
use crate::terminal::input::{Lines, Next};
use crate::terminal::progress::lines_bar;
use crate::terminal::signals;
use crate::terminal::text::count;
use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;
use tensorlib_models::{Error, TokenizedText};

/// The number of lines that are read before they are sorted by length and computed: enough for batches of similar
/// lengths.
const WINDOW: usize = 4096;
/// If no further line comes within this time, the lines read so far are computed.
const PAUSE: Duration = Duration::from_millis(30);

/// The lines of standard input.
pub struct Texts {
    input: Lines,
    /// Lines read so far.
    lines: usize,
    /// Lines of which tokens were cut.
    overlong: usize,
    /// Lines that are no UTF-8.
    broken: usize,
}

impl Texts {
    /// Starts to read.
    pub fn new() -> Outcome<Self> {
        Ok(Texts { input: Lines::new()?, lines: 0, overlong: 0, broken: 0 })
    }

    /// What `tokenize(number of the line, line)` makes of the next lines, and whether there are more. Lines that were
    /// read do not wait for others.
    pub fn window(
        &mut self,
        mut tokenize: impl FnMut(usize, &str) -> Outcome<TokenizedText>,
    ) -> Outcome<(Vec<TokenizedText>, bool)> {
        let mut lines = Vec::new();
        while lines.len() < WINDOW {
            let line = match lines.is_empty() {
                true => self.input.wait()?,
                false => match self.input.within(PAUSE)? {
                    Next::Line(line) => Some(line),
                    Next::Nothing => return Ok((lines, true)),
                    Next::End => None,
                },
            };
            let Some(line) = line else { return Ok((lines, false)) };
            self.lines += 1;
            let line = String::from_utf8_lossy(&line);
            self.broken += usize::from(matches!(line, Cow::Owned(_)));
            let text = tokenize(self.lines, &line)?;
            self.overlong += usize::from(text.was_cut);
            lines.push(text);
        }
        Ok((lines, true))
    }

    /// Reads all lines in windows, and prints what `compute(number of the first line, lines, progress)` makes of each.
    pub fn answer<T>(
        &mut self,
        mut tokenize: impl FnMut(usize, &str) -> Outcome<TokenizedText>,
        compute: impl Fn(usize, &[TokenizedText], &mut dyn FnMut(usize) -> bool) -> Result<Vec<T>, Error>,
        print: impl Fn(T, &mut dyn Write) -> Outcome<()>,
        out: &mut dyn Write,
    ) -> Outcome<()> {
        let bar = lines_bar();
        loop {
            let first = self.lines + 1;
            let (lines, more) = self.window(&mut tokenize)?;
            let mut done = 0;
            let results = compute(first, &lines, &mut |n| {
                bar.inc((n - done) as u64);
                done = n;
                !signals::came()
            });
            signals::check("the lines before are printed")?;
            for result in results? {
                print(result, out)?;
            }
            out.flush()?;
            if !more {
                bar.finish_and_clear();
                return Ok(());
            }
        }
    }

    /// Warns about lines that were not read as they are, by a model that takes `most` tokens.
    pub fn warn(&self, most: usize) {
        let Texts { broken, overlong, .. } = *self;
        if broken > 0 {
            warn(format_args!("{} with bytes that are no UTF-8: they were read as U+FFFD", count(broken, "line")));
        }
        if overlong > 0 {
            warn(format_args!("{} with more than {most} tokens: they were cut", count(overlong, "line")));
        }
    }
}
