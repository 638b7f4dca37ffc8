//! `tensorlib embed`: converts lines of text to vectors.

use crate::args::Embed;
use crate::failure::{warn, Exit, Outcome};
use crate::model;
use crate::model::placement;
use crate::terminal::input::{Lines, Next};
use crate::terminal::progress::lines_bar;
use crate::terminal::signals;
use crate::terminal::text::count;
use std::io::Write;
use std::time::Duration;
use tensorlib_models::{Encoder, EncoderOptions};

/// The number of lines that are read before they are sorted by length and computed: enough for batches of similar
/// lengths.
const WINDOW: usize = 4096;
/// If no further line comes within this time, the lines read so far are computed.
const PAUSE: Duration = Duration::from_millis(30);

/// Runs the command.
pub fn run(options: &Embed, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let mut load = EncoderOptions::new();
    if let Some(dtype) = options.dtype {
        load = load.stored_as(dtype);
    }
    if let Some(pooling) = options.pooling {
        load = load.pooling(pooling);
    }
    let backend = model::backend(&options.devices)?;
    if backend.devices().len() > 1 || !options.devices.put.is_empty() {
        let (placement, _) = placement::fit_encoder(&options.devices, &backend, &options.model, &load)?;
        load = load.placement(placement);
    }
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    let encoder = unsafe { Encoder::open_mapped(&options.model, &backend, &load)? };
    encoder.warnings().iter().for_each(warn);
    let bar = lines_bar();
    let input = Lines::new()?;
    let (mut overlong, mut broken, mut first) = (0, 0, 1);
    loop {
        let (lines, more) = window(&input, &encoder, &mut overlong, &mut broken)?;
        let mut done = 0;
        let vectors = encoder.embed_lines(first, &lines, |n| {
            bar.inc((n - done) as u64);
            done = n;
            !signals::came()
        });
        signals::check("the lines before are printed")?;
        for vector in vectors? {
            print(&vector, options.json, out)?;
        }
        out.flush()?;
        first += lines.len();
        if !more {
            break;
        }
    }
    bar.finish_and_clear();
    model::say_memory(&options.devices, &backend, &encoder.memory());
    if broken > 0 {
        warn(format_args!("{} with bytes that are no UTF-8: they were read as U+FFFD", count(broken, "line")));
    }
    if overlong > 0 {
        let most = encoder.max_tokens();
        warn(format_args!("{} with more than {most} tokens: they were cut", count(overlong, "line")));
    }
    Ok(Exit::Success)
}

/// The tokens of the next lines, and whether there are more. Lines that were read do not wait for others.
fn window(
    input: &Lines,
    encoder: &Encoder,
    overlong: &mut usize,
    broken: &mut usize,
) -> Outcome<(Vec<Vec<u32>>, bool)> {
    let mut lines = Vec::new();
    while lines.len() < WINDOW {
        let line = match lines.is_empty() {
            true => input.wait()?,
            false => match input.within(PAUSE)? {
                Next::Line(line) => Some(line),
                Next::Nothing => return Ok((lines, true)),
                Next::End => None,
            },
        };
        let Some(line) = line else { return Ok((lines, false)) };
        let line = String::from_utf8_lossy(&line);
        *broken += usize::from(matches!(line, std::borrow::Cow::Owned(_)));
        let (tokens, cut) = encoder.tokenize(&line)?;
        *overlong += usize::from(cut);
        lines.push(tokens);
    }
    Ok((lines, true))
}

fn print(vector: &[f32], json: bool, out: &mut dyn Write) -> Outcome<()> {
    let (open, between, close) = if json { ("[", ",", "]") } else { ("", " ", "") };
    out.write_all(open.as_bytes())?;
    for (i, x) in vector.iter().enumerate() {
        let between = if i > 0 { between } else { "" };
        write!(out, "{between}{x}")?;
    }
    writeln!(out, "{close}")?;
    Ok(())
}
