//! `tensorlib`: model files on the command line. README.md shows each command; `args.rs` defines the options.

mod args;
mod commands;
mod failure;
mod files;
mod manual;
mod memory;
mod model;
mod terminal;

use args::{Arguments, Command};
use clap::Parser;
use commands::{
    activity, bench, classify, compare, convert, devices, embed, generate, imatrix, inspect, logits, perplexity, place,
    quantize, rerank, transcribe, transpose_down, tune,
};
use failure::{Exit, Failure, Outcome};
use std::io::{BufWriter, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use terminal::standard_output::StandardOutput;
use terminal::{rank, signals};

fn main() -> ExitCode {
    let mut arguments = Arguments::parse_from(args::rewritten(std::env::args_os()));
    // A panic is a defect; its message is already on standard error.
    let ended = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut arguments.command))).unwrap_or_else(|_| {
        Err(Failure::new(Exit::Internal, "internal error").hint("please report this with the lines above"))
    });
    let exit = ended.unwrap_or_else(|failure| match signals::exit().filter(|_| rank::rank().is_some()) {
        // One of several processes misses those that have seen the signal first.
        Some(exit) => exit,
        None => {
            failure.report();
            failure.exit
        }
    });
    ExitCode::from(exit as u8)
}

fn run(command: &mut Command) -> Outcome<Exit> {
    files::hub::resolve(command)?;
    let mut out = BufWriter::new(StandardOutput::new());
    let exit = match command {
        Command::Inspect(options) => inspect::run(options, &mut out),
        Command::Convert(options) => convert::run(options, &mut out),
        Command::Quantize(options) => quantize::run(options, &mut out),
        Command::Imatrix(options) => imatrix::run(options, &mut out),
        Command::Tune(options) => tune::run(options, &mut out),
        Command::TransposeDown(options) => transpose_down::run(options, &mut out),
        Command::Compare(options) => compare::run(options, &mut out),
        Command::Embed(options) => embed::run(options, &mut out),
        Command::Rerank(options) => rerank::run(options, &mut out),
        Command::Classify(options) => classify::run(options, &mut out),
        Command::Transcribe(options) => transcribe::run(options, &mut out),
        Command::Generate(options) => generate::run(options, &mut out),
        #[cfg(feature = "server")]
        Command::Serve(options) => commands::serve::run(options),
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
