//! `tensorlib quantize`: the command around the plan and the stream.

mod choice;
mod dat;
mod importance;
mod metadata;
mod mix;
mod pipeline;
mod plan;
mod range;
pub mod recipe;
mod report;
mod target;

use crate::args::Quantize;
use crate::failure::{Exit, Outcome};
use crate::files::open;
use crate::files::output::Output;
use crate::terminal::progress::Progress;
use crate::terminal::signals;
use choice::choose;
use importance::Importance;
use mix::Model;
use pipeline::Job;
use plan::{plan, Step, Types, Wishes};
use recipe::Recipe;
use report::{print_plan, summary, warn_of_losses};
use std::io::Write;
use std::path::Path;
use tensorlib::{Backend, BackendOptions, DType, GgufWriterOptions};
use tensorlib_models::files::{Entry, Source};

/// Runs the command.
pub fn run(options: &Quantize, out: &mut dyn Write) -> Outcome<Exit> {
    let source = open::source(&options.input)?;
    let output = Output::check(&options.writing.target(&options.output), &source.paths(&options.input))?;
    let mut choice = choose(source.entries(), &options.skip, &options.keep)?;
    let taken = std::mem::take(&mut choice.taken);
    let importance = options.importance.as_deref().map_or_else(|| Ok(Importance::none()), Importance::read)?;
    let backend = BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open("cpu")?;
    let mut table = Vec::new();
    let (recipe, types) = match options.recipe() {
        Some(recipe) => (recipe, recipe.types(&taken, &Model::of(&source, &taken), options)),
        None => by_size(options, &source, &taken, &importance, &backend, &mut table)?,
    };
    let wishes = Wishes { recipe, types: types.as_ref(), keep: &options.keep, requantize: options.allow_requantize };
    let steps = plan(taken, &wishes)?;
    warn_of_losses(&steps, &choice.left_out);
    if let Some(path) = &options.importance {
        importance.check(path, &steps)?;
    }
    if options.writing.dry_run {
        out.write_all(&table)?;
        print_plan(&steps, &choice.left_out, out)?;
        return Ok(Exit::Success);
    }
    let (parts, seconds) = write(options, recipe, &source, &steps, (&importance, &backend), output.path())?;
    let mut words = String::new();
    if !options.writing.quiet {
        words = String::from_utf8_lossy(&table).into_owned();
        words += &summary(options, recipe, &steps, &choice.left_out, (parts, seconds));
    }
    output.deliver_and_say(&words, out)?;
    Ok(Exit::Success)
}

/// The types with which the file has the size that was asked for, and their table.
fn by_size(
    options: &Quantize,
    source: &Source,
    entries: &[Entry],
    importance: &Importance,
    backend: &Backend,
    table: &mut Vec<u8>,
) -> Outcome<(Recipe, Option<Types>)> {
    if let Some(path) = &options.importance {
        entries.iter().try_for_each(|entry| importance.check_shape(path, entry))?;
    }
    let target = target::Target {
        size: options.target_size.unwrap_or(u64::MAX),
        keep: &options.keep,
        requantize: options.allow_requantize,
        threads: backend.n_threads(),
        alignment: alignment(source),
        quiet: options.writing.quiet,
    };
    let keys = metadata::most(&options.arch, source);
    let chosen = target::choose(&target, source, entries, importance, keys)?;
    target::print(&chosen, table)?;
    let types = Types { types: target::types(&chosen), why: "by --target-size".into() };
    Ok((Recipe::One(target::main_type(&chosen).unwrap_or(DType::F32)), Some(types)))
}

/// What offsets of tensors in OUT are multiples of.
fn alignment(source: &Source) -> u64 {
    match source {
        Source::Gguf(file) => file.alignment() as u64,
        Source::Safetensors(_) => 32,
    }
}

fn write(
    options: &Quantize,
    recipe: Recipe,
    source: &Source,
    steps: &[Step],
    (importance, backend): (&Importance, &Backend),
    path: &Path,
) -> Outcome<(usize, f64)> {
    signals::catch();
    let mut settings = GgufWriterOptions::new().alignment(u32::try_from(alignment(source)).unwrap_or(0));
    if let Some(size) = options.writing.split_size {
        settings = settings.split_size(size);
    }
    let mut writer = settings.create(path)?;
    metadata::set(&options.arch, recipe, source, steps, &mut writer)?;
    for step in steps {
        writer.declare(&step.entry.name, step.to, &step.entry.shape)?;
    }
    let progress =
        Progress::new(steps.iter().map(|s| s.entry.nbytes).sum(), options.writing.verbose, options.writing.quiet);
    pipeline::run(&Job { source, steps, importance, backend, progress: &progress }, &mut writer)?;
    progress.note("bringing it to the disk");
    let parts = writer.finish()?;
    Ok((parts, progress.end()))
}
