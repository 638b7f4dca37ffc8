//! `tensorlib quantize`: the command around the plan and the stream.

mod choice;
mod dat;
mod importance;
mod mix;
mod pipeline;
mod plan;
mod range;
pub mod recipe;
mod report;

use crate::args::Quantize;
use crate::failure::{warn, Exit, Outcome};
use crate::files::open;
use crate::files::output::{Output, Target};
use crate::files::types::is_quantised;
use crate::terminal::progress::Progress;
use crate::terminal::signals;
use choice::choose;
use importance::Importance;
use mix::Model;
use pipeline::Job;
use plan::{plan, Step, Wishes};
use report::{print_plan, summary, warn_of_losses};
use std::io::Write;
use std::path::Path;
use tensorlib::{Array, BackendOptions, GgufWriter, GgufWriterOptions, Value};
use tensorlib_models::files::Source;

const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION: &str = "general.quantization_version";
/// The version of GGUF's quantised types: 2 since their scales are F16.
const QUANTIZATION_VERSION: u32 = 2;

/// Runs the command.
pub fn run(options: &Quantize, out: &mut dyn Write) -> Outcome<Exit> {
    let source = open::source(&options.input)?;
    let target = Target {
        path: &options.output,
        split: options.split_size.is_some(),
        force: options.force,
        dry_run: options.dry_run,
    };
    let output = Output::check(&target, &source.paths(&options.input))?;
    let mut choice = choose(source.entries(), &options.skip, &options.keep)?;
    let wishes = Wishes {
        recipe: options.recipe(),
        model: &Model::of(&source, &choice.taken),
        weighted: options.importance.is_some(),
        keep: &options.keep,
        requantize: options.allow_requantize,
    };
    let steps = plan(std::mem::take(&mut choice.taken), &wishes)?;
    warn_of_losses(&steps, &choice.left_out);
    let importance = match &options.importance {
        Some(path) => Importance::open(path, &steps)?,
        None => Importance::none(),
    };
    if options.dry_run {
        print_plan(&steps, &choice.left_out, out)?;
        return Ok(Exit::Success);
    }
    let (parts, seconds) = write(options, &source, &steps, &importance, output.path())?;
    let words = if options.quiet { String::new() } else { summary(options, &steps, &choice.left_out, parts, seconds) };
    output.deliver_and_say(&words, out)?;
    Ok(Exit::Success)
}

fn write(
    options: &Quantize,
    source: &Source,
    steps: &[Step],
    importance: &Importance,
    path: &Path,
) -> Outcome<(usize, f64)> {
    let backend = BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open("cpu")?;
    signals::catch();
    let mut settings = GgufWriterOptions::new();
    if let Source::Gguf(file) = source {
        settings = settings.alignment(u32::try_from(file.alignment()).unwrap_or(0));
    }
    if let Some(size) = options.split_size {
        settings = settings.split_size(size);
    }
    let mut writer = settings.create(path)?;
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
    own.extend(options.recipe().file_type().map(|n| (FILE_TYPE, n.into())));
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
    // The old number would be wrong and there is no new one, so this key is left out.
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
