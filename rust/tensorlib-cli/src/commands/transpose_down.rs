//! `tensorlib transpose-down`: rewrites a model so that its down projections have a row per neuron.

use crate::args::TransposeDown;
use crate::failure::{Exit, Failure, Outcome};
use crate::files::open;
use crate::files::output::{Output, Target};
use crate::files::types::is_quantised;
use crate::terminal::progress::{rate, Progress};
use crate::terminal::signals;
use crate::terminal::text::count;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use tensorlib::{Gguf, GgufWriter, GgufWriterOptions};
use tensorlib_models::files::{pieces, Entry, Source};

/// The number of bytes copied at once.
const COPIED: usize = 4 << 20;

/// Runs the command.
pub fn run(options: &TransposeDown, out: &mut dyn Write) -> Outcome<Exit> {
    let source = open::source(&options.input)?;
    let target = Target { path: &options.output, split: false, force: options.force, dry_run: false };
    let output = Output::check(&target, &source.paths(&options.input))?;
    let Source::Gguf(file) = &source else {
        let message = format!("{}: is safetensors: GGUF is valid", options.input.display());
        return Err(
            Failure::new(Exit::Refused, message).hint("let a converter make a GGUF file of it, in f32, f16 or bf16")
        );
    };
    let entries: Vec<(Entry, Option<String>)> = source.entries().into_iter().map(named).collect::<Outcome<_>>()?;
    let n = entries.iter().filter(|(_, name)| name.is_some()).count();
    if n == 0 {
        let message = format!("{}: has no matrices blk.*.ffn_down.weight", options.input.display());
        return Err(Failure::new(Exit::Refused, message)
            .hint("those of experts stay as they are; `tensorlib inspect --tensors` lists what is there"));
    }
    let seconds = write(options, &source, file, &entries, output.path())?;
    let read: u64 = entries.iter().map(|(entry, _)| entry.nbytes).sum();
    let words = format!("{} transposed, {}\n", count(n, "down projection"), rate(read, seconds));
    let words = if options.quiet { String::new() } else { words };
    output.deliver_and_say(&words, out)?;
    Ok(Exit::Success)
}

/// The name of a tensor after transposing; `None` if it stays as it is.
fn named(entry: Entry) -> Outcome<(Entry, Option<String>)> {
    let layer = entry.name.strip_prefix("blk.").and_then(|rest| rest.strip_suffix(".ffn_down.weight"));
    let is_down = layer.is_some_and(|layer| layer.parse::<u32>().is_ok()) && entry.dims().len() == 2;
    if !is_down {
        return Ok((entry, None));
    }
    let dtype = entry.known_type()?;
    if is_quantised(dtype) {
        let message = format!("tensor '{}' is {dtype}: its blocks run across what would be rows", entry.name);
        return Err(Failure::new(Exit::Refused, message)
            .hint("transpose the original in f32, f16 or bf16, and quantise what comes out"));
    }
    let name = entry.name.replace("ffn_down", "ffn_down_t");
    Ok((entry, Some(name)))
}

fn write(
    options: &TransposeDown,
    source: &Source,
    file: &Gguf,
    entries: &[(Entry, Option<String>)],
    path: &Path,
) -> Outcome<f64> {
    signals::catch();
    let alignment = u32::try_from(file.alignment()).unwrap_or(0);
    let mut writer = GgufWriterOptions::new().alignment(alignment).create(path)?;
    writer.copy_metadata(file)?;
    for (entry, name) in entries {
        match name {
            Some(name) => writer.declare(name, entry.known_type()?, [entry.shape[1], entry.shape[0]])?,
            None => writer.declare(&entry.name, entry.known_type()?, &entry.shape)?,
        }
    }
    let progress = Progress::new(entries.iter().map(|(e, _)| e.nbytes).sum(), options.verbose, options.quiet);
    for (i, (entry, name)) in entries.iter().enumerate() {
        let what =
            name.as_ref().map_or(Cow::Borrowed(&entry.name), |name| Cow::Owned(format!("{} -> {name}", entry.name)));
        progress.tensor(i, entries.len(), &what);
        match name {
            Some(_) => transpose(source, entry, &mut writer, &progress)?,
            None => copy(source, entry, &mut writer, &progress)?,
        }
    }
    progress.note("bringing it to the disk");
    writer.finish()?;
    Ok(progress.end())
}

fn copy(source: &Source, entry: &Entry, writer: &mut GgufWriter, progress: &Progress) -> Outcome<()> {
    for piece in pieces(entry.nbytes, 1, 1, COPIED) {
        signals::check("nothing was written")?;
        writer.write(&source.bytes(entry, piece.start, piece.n)?)?;
        progress.add(piece.n as u64);
    }
    Ok(())
}

/// Transposes some rows of the result at a time, which are columns of the mapped matrix.
fn transpose(source: &Source, entry: &Entry, writer: &mut GgufWriter, progress: &Progress) -> Outcome<()> {
    let size = entry.known_type()?.size();
    let (columns, rows) = (entry.row(), entry.shape[1] as usize);
    let data = source.bytes(entry, 0, columns * rows * size)?;
    let together = (COPIED / (rows * size).max(1)).max(1);
    for first in (0..columns).step_by(together) {
        signals::check("nothing was written")?;
        let n = together.min(columns - first);
        let mut part = vec![0; n * rows * size];
        for (row, from) in data.chunks_exact(columns * size).enumerate() {
            let from = &from[first * size..(first + n) * size];
            for (column, value) in from.chunks_exact(size).enumerate() {
                let at = (column * rows + row) * size;
                part[at..at + size].copy_from_slice(value);
            }
        }
        writer.write(&part)?;
        progress.add(part.len() as u64);
    }
    Ok(())
}
