//! `tensorlib convert`: a model's folder as a GGUF file.

use crate::args::Convert;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::files::output::{Output, Target};
use crate::terminal::progress::{rate, Progress};
use crate::terminal::signals;
use crate::terminal::text::{bytes, count};
use std::io::Write;
use std::path::{Path, PathBuf};
use tensorlib::GgufWriterOptions;
use tensorlib_models::{Conversion, ConvertedTensor};

/// Runs the command.
pub fn run(options: &Convert, out: &mut dyn Write) -> Outcome<Exit> {
    let inputs = files_of(&options.folder)?;
    let output = Output::check(&options.writing.target(&options.output), &inputs)?;
    let conversion = Conversion::open(&options.folder, options.matrices.0)?;
    conversion.warnings().iter().for_each(warn);
    let tasks = tasks_of(options, &conversion, &inputs)?;
    if options.writing.dry_run {
        tasks.iter().try_for_each(|task| print(&task.conversion, out))?;
        print(&conversion, out)?;
        return Ok(Exit::Success);
    }
    let split = options.writing.split_size;
    for Task { conversion, path, output } in tasks {
        let written = write(options, &conversion, output.path(), None)?;
        deliver(options, (&path, &conversion), output, written, out)?;
    }
    let written = write(options, &conversion, output.path(), split)?;
    deliver(options, (&options.output, &conversion), output, written, out)?;
    Ok(Exit::Success)
}

/// The adapter of a task, and its file.
struct Task {
    conversion: Conversion,
    path: PathBuf,
    output: Output,
}

/// The adapters of a folder's tasks: files next to OUT, named as llama.cpp's converter does.
fn tasks_of(options: &Convert, conversion: &Conversion, inputs: &[PathBuf]) -> Outcome<Vec<Task>> {
    let Some(name) = options.output.file_name().filter(|name| *name != "-") else {
        if !conversion.tasks().is_empty() {
            warn("the adapters of the folder's tasks are left out: standard output takes one file");
        }
        return Ok(Vec::new());
    };
    let task = |task: &String| {
        let path = options.output.with_file_name(format!("lora-{task}-{}", name.to_string_lossy()));
        let target = Target { path: &path, split: false, ..options.writing.target(&path) };
        let output = Output::check(&target, inputs)?;
        Ok(Task { conversion: Conversion::open_task(&options.folder, task)?, output, path })
    };
    conversion.tasks().iter().map(task).collect()
}

fn deliver(
    options: &Convert,
    (path, conversion): (&Path, &Conversion),
    output: Output,
    (parts, seconds): (usize, f64),
    out: &mut dyn Write,
) -> Outcome<()> {
    let words = if options.writing.quiet { String::new() } else { summary(path, conversion, parts, seconds) };
    output.deliver_and_say(&words, out)
}

/// The files of a folder, none of which OUT may be.
fn files_of(folder: &Path) -> Outcome<Vec<PathBuf>> {
    if !folder.is_dir() && !folder.is_file() {
        let message = format!("there is no folder {}", folder.display());
        return Err(Failure::new(Exit::Io, message).hint("look for a typing mistake, and from which folder it is seen"));
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    Ok(entries.map(|entry| entry.path()).chain([folder.to_path_buf()]).collect())
}

fn total(conversion: &Conversion) -> u64 {
    conversion.tensors().iter().map(|tensor| tensor.nbytes).sum()
}

fn print(conversion: &Conversion, out: &mut dyn Write) -> Outcome<()> {
    for tensor in conversion.tensors() {
        writeln!(out, "{:40} {:>8}  {:?}  {}", tensor.name, tensor.to.name(), tensor.shape, bytes(tensor.nbytes))?;
    }
    let (n, size) = (count(conversion.tensors().len(), "tensor"), bytes(total(conversion)));
    writeln!(out, "{}: {n}, {size}; nothing was written", conversion.architecture())?;
    Ok(())
}

/// Writes the file. Returns the number of shards and the seconds.
fn write(options: &Convert, conversion: &Conversion, path: &Path, split: Option<u64>) -> Outcome<(usize, f64)> {
    signals::catch();
    let mut settings = GgufWriterOptions::new();
    if let Some(size) = split {
        settings = settings.split_size(size);
    }
    let mut writer = settings.create(path)?;
    let progress = Progress::new(total(conversion), options.writing.verbose, options.writing.quiet);
    let (count, mut number, mut before) = (conversion.tensors().len(), 0, 0);
    let written = conversion.write(&mut writer, |tensor| {
        progress.add(before);
        progress.tensor(number, count, &described(tensor));
        (number, before) = (number + 1, tensor.nbytes);
        !signals::came()
    });
    signals::check("nothing was written")?;
    written?;
    progress.note("bringing it to the disk");
    let parts = writer.finish()?;
    Ok((parts, progress.end()))
}

fn described(tensor: &ConvertedTensor) -> String {
    match tensor.from == tensor.to {
        true => format!("{} {}", tensor.name, tensor.to),
        false => format!("{} {} -> {}", tensor.name, tensor.from, tensor.to),
    }
}

fn summary(path: &Path, conversion: &Conversion, parts: usize, seconds: f64) -> String {
    let (n, size) = (count(conversion.tensors().len(), "tensor"), total(conversion));
    let parts = if parts > 1 { format!(" ({parts} parts)") } else { String::new() };
    let (path, kind) = (path.display(), conversion.architecture());
    format!("{path}{parts}: {kind}, {n}, {} ({})\n", bytes(size), rate(size, seconds))
}
