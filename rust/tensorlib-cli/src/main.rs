//! `tensorlib`: model files on the command line. README.md shows each command; `args.rs` defines the options.

mod activity;
mod args;
mod bench;
mod bench_machine;
mod bench_model;
mod bench_report;
mod bench_share;
mod budget;
mod choice;
mod compare;
mod contents;
mod devices;
mod embed;
mod failure;
mod generate;
mod importance;
mod input;
mod inspect;
mod inspect_json;
mod logits;
mod manual;
mod memory;
mod models;
mod neurons;
mod open;
mod output;
mod pattern;
mod perplexity;
mod pipeline;
mod place;
mod placement;
mod plan;
mod progress;
mod quantize;
mod quantize_report;
mod range;
mod signals;
mod standard_output;
mod text;
mod transpose_down;
mod types;

use args::{Arguments, Command};
use clap::Parser;
use failure::{Exit, Failure, Outcome};
use standard_output::StandardOutput;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // A panic is a defect; its message is already on standard error.
    let ended = std::panic::catch_unwind(|| run(&arguments.command)).unwrap_or_else(|_| {
        Err(Failure::new(Exit::Internal, "internal error").hint("please report this with the lines above"))
    });
    let exit = ended.unwrap_or_else(|failure| {
        failure.report();
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn run(command: &Command) -> Outcome<Exit> {
    let mut out = BufWriter::new(StandardOutput::new());
    let exit = match command {
        Command::Inspect(options) => inspect::run(options, &mut out),
        Command::Quantize(options) => quantize::run(options, &mut out),
        Command::TransposeDown(options) => transpose_down::run(options, &mut out),
        Command::Compare(options) => compare::run(options, &mut out),
        Command::Embed(options) => embed::run(options, &mut out),
        Command::Generate(options) => generate::run(options, &mut out),
        Command::Logits(options) => logits::run(options, &mut out),
        Command::Perplexity(options) => perplexity::run(options, &mut out),
        Command::Activity(options) => activity::run(options, &mut out),
        Command::Place(options) => place::run(options, &mut out),
        Command::Devices(options) => devices::run(options, &mut out),
        Command::Bench(options) => bench::run(options, &mut out),
        Command::Completions(options) => manual::completions(options.shell, &mut out),
        Command::Man(options) => manual::man(options.dir.as_deref(), &mut out),
    };
    // Results from before a failure are worth showing.
    let flushed = out.flush();
    let exit = exit?;
    flushed?;
    Ok(exit)
}
