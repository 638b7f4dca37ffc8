//! `tensorlib quantize`: the command around the plan and the stream.

use crate::args::Quantize;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::importance::Importance;
use crate::pipeline::{self, Job};
use crate::plan::{plan, unused, Step, Wishes};
use crate::progress::{rate, Progress};
use crate::source::Source;
use crate::text::{bytes, shape, Table};
use crate::types::{file_type, is_quantised};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use tensorlib::{Array, BackendOptions, GgufWriter, GgufWriterOptions, Value};

const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION: &str = "general.quantization_version";
/// The version of GGUF's formats with blocks: 2 since their scales are F16.
const QUANTIZATION_VERSION: u32 = 2;

/// Runs the command.
pub fn run(options: &Quantize, out: &mut dyn Write) -> Outcome<Exit> {
    let source = Source::open(&options.input)?;
    check_output(options)?;
    let wishes = Wishes { dtype: options.dtype, keep: &options.keep, requantize: options.allow_requantize };
    let steps = plan(source.entries(), &wishes)?;
    say_oddities(options, &steps);
    let importance = match &options.importance {
        Some(path) => Importance::open(path, &steps)?,
        None => Importance::none(),
    };
    if options.dry_run {
        print_plan(&steps, out)?;
        return Ok(Exit::Success);
    }
    let (parts, seconds) = write(options, &source, &steps, &importance)?;
    if !options.quiet {
        summary(options, &steps, parts, seconds, out)?;
    }
    Ok(Exit::Success)
}

/// What would go wrong at the end is better said at the beginning.
fn check_output(options: &Quantize) -> Outcome<()> {
    let output = &options.output;
    let io = |path: &Path, what: &str| Failure::new(Exit::Io, format!("{}: {what}", path.display()));
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let what = format!("there is no folder {}", folder.display());
        return Err(io(output, &what).hint("make the folder, or look for a typing mistake"));
    }
    if output.is_dir() {
        return Err(io(output, "is a folder").hint("name the file to write in it"));
    }
    let there = if options.split_size.is_some() { parts_of(output, folder) } else { vec![output.clone()] };
    let input = options.input.canonicalize().ok();
    for path in there.iter().filter(|path| path.exists()) {
        if input.is_some() && path.canonicalize().ok() == input {
            let message = format!("{}: is the input as well", path.display());
            return Err(
                Failure::new(Exit::Usage, message).hint("give OUT another name: IN is read while OUT is written")
            );
        }
        if !options.force && !options.dry_run {
            return Err(io(path, "exists already").hint("give OUT another name, or say --force to replace it"));
        }
    }
    Ok(())
}

/// What is there under the names of OUT's parts, `NAME-00001-of-00003.gguf`, of any count.
fn parts_of(output: &Path, folder: &Path) -> Vec<PathBuf> {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_part = |name: &str| {
        let rest = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".gguf"));
        let numbers = rest.and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.split_once("-of-"));
        numbers.is_some_and(|(a, b)| [a, b].iter().all(|n| n.len() == 5 && n.bytes().all(|c| c.is_ascii_digit())))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|e| is_part(&e.file_name().to_string_lossy()))
        .map(|e| e.path())
        .chain([output.to_path_buf()])
        .collect()
}

fn say_oddities(options: &Quantize, steps: &[Step]) {
    for pattern in unused(steps, &options.keep) {
        warn(format_args!("--keep: no tensor fits the pattern '{pattern}'"));
    }
    let twice = steps.iter().filter(|s| !s.is_copy() && is_quantised(s.from)).count();
    if twice > 0 {
        warn(format_args!("{twice} tensors were quantised before: quantising them again loses twice"));
    }
}

fn write(options: &Quantize, source: &Source, steps: &[Step], importance: &Importance) -> Outcome<(usize, f64)> {
    let backend = BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open("cpu")?;
    pipeline::catch_signals();
    let mut settings = GgufWriterOptions::new();
    if let Source::Gguf(file) = source {
        settings = settings.alignment(u32::try_from(file.alignment()).unwrap_or(0));
    }
    if let Some(size) = options.split_size {
        settings = settings.split_size(size);
    }
    let mut writer = settings.create(&options.output)?;
    set_metadata(options, source, steps, &mut writer)?;
    for step in steps {
        writer.declare(&step.entry.name, step.to, &step.entry.shape)?;
    }
    let progress = Progress::new(steps.iter().map(|s| s.entry.nbytes).sum(), options.verbose, options.quiet);
    pipeline::run(&Job { source, steps, importance, backend: &backend, progress: &progress }, &mut writer)?;
    progress.note("bringing it to the disk");
    let parts = writer.finish()?;
    Ok((parts, progress.end()))
}

fn set_metadata(options: &Quantize, source: &Source, steps: &[Step], writer: &mut GgufWriter) -> Outcome<()> {
    let mut own: Vec<(&str, Value)> = Vec::new();
    own.extend(file_type(options.dtype).map(|n| (FILE_TYPE, n.into())));
    if steps.iter().any(|s| is_quantised(s.to)) {
        own.push((QUANTIZATION, QUANTIZATION_VERSION.into()));
    }
    match source {
        Source::Safetensors(file) => {
            writer.set("general.architecture", options.arch.as_str())?;
            for (key, text) in file.metadata() {
                writer.set(&format!("safetensors.metadata.{key}"), text)?;
            }
        }
        Source::Gguf(file) => {
            if file.get("general.architecture").is_none() {
                writer.set("general.architecture", options.arch.as_str())?;
            }
        }
    }
    for (key, value) in &own {
        writer.set(key, value.clone())?;
    }
    let Source::Gguf(file) = source else { return Ok(()) };
    if own.iter().any(|(key, _)| *key == FILE_TYPE) || file.get(FILE_TYPE).is_none() {
        return Ok(writer.copy_metadata(file)?);
    }
    // The old number would be wrong and there is no new one: all keys but that.
    for (key, value) in file.metadata() {
        let set_here =
            own.iter().any(|(other, _)| *other == key) || key == "general.alignment" || key.starts_with("split.");
        match value {
            _ if set_here || key == FILE_TYPE => {}
            Value::Array(Array::Nested(_)) => warn(format_args!("metadata '{key}' is an array of arrays: left out")),
            value => writer.set(key, value)?,
        }
    }
    Ok(())
}

fn print_plan(steps: &[Step], out: &mut dyn Write) -> Outcome<()> {
    let mut table = Table::new(&["name", "shape", "from", "to", ">size", ">new size", "note"]);
    for s in steps {
        let (from, to) = (s.from.name(), s.to.name());
        let (old, new) = (bytes(s.entry.nbytes), bytes(s.nbytes));
        table.row(vec![s.entry.name.clone(), shape(&s.entry.shape), from, to, old, new, s.why.clone()]);
    }
    if !steps.is_empty() {
        table.print(out)?;
    }
    Ok(writeln!(out, "{}; nothing was written", sizes(steps))?)
}

/// `10 tensors, 1.00 GiB -> 144.00 MiB, 4.5 bits per weight`.
fn sizes(steps: &[Step]) -> String {
    let (mut before, mut after, mut elements) = (0u64, 0u64, 0u64);
    for s in steps {
        (before, after, elements) = (before + s.entry.nbytes, after + s.nbytes, elements + s.entry.elements());
    }
    let bits = after as f64 * 8.0 / (elements.max(1)) as f64;
    format!("{} tensors, {} -> {}, {bits:.2} bits per weight", steps.len(), bytes(before), bytes(after))
}

fn summary(options: &Quantize, steps: &[Step], parts: usize, seconds: f64, out: &mut dyn Write) -> Outcome<()> {
    let input: u64 = steps.iter().map(|s| s.entry.nbytes).sum();
    let parts = if parts > 1 { format!(" ({parts} parts)") } else { String::new() };
    writeln!(out, "{}{parts}: {} ({})", options.output.display(), sizes(steps), rate(input, seconds))?;
    // Why tensors are not what was asked for.
    let mut others: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for s in steps.iter().filter(|s| s.to != options.dtype) {
        *others.entry((s.to.name(), &s.why)).or_default() += 1;
    }
    let as_asked = steps.iter().filter(|s| s.to == options.dtype).count();
    writeln!(out, "  {}: {as_asked}", options.dtype)?;
    for ((name, why), n) in others {
        writeln!(out, "  {name}: {n} ({why})")?;
    }
    Ok(())
}
