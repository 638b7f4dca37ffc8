//! `tensorlib imatrix`: which columns of a language model's matrices matter on a text.

use crate::args::Imatrix;
use crate::failure::{warn, Exit, Outcome};
use crate::files::output::{Output, Target};
use crate::model;
use crate::model::neurons::LoadOptions;
use crate::terminal::progress::windows_bar;
use crate::terminal::signals;
use crate::terminal::text::count;
use std::io::Write;
use tensorlib::DType;
use tensorlib_models::{DecoderOptions, Importance};

/// Runs the command.
pub fn run(options: &Imatrix, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let inputs = [options.model.clone(), options.file.clone()];
    let target = Target { path: &options.output, split: false, force: options.force, dry_run: false };
    let output = Output::check(&target, &inputs)?;
    let text = model::text_of(&options.file)?;
    let window = options.ctx as usize;
    let load = LoadOptions { options: DecoderOptions::new().exact(options.exact).context(window), split: None };
    let decoder = model::decoder(&options.devices, &options.model, &load, DType::F32)?;
    let mut tokens = decoder.tokenizer().encode_prompt(&text, false)?;
    tokens.truncate(options.limit.unwrap_or(usize::MAX));
    let bar = windows_bar((tokens.len() / window) as u64);
    let found = Importance::measure(&decoder, &tokens, window, |done, _| {
        bar.set_position(done as u64);
        !signals::came()
    });
    bar.finish_and_clear();
    signals::check("nothing was written")?;
    let found = found?;
    model::say_memory(&options.devices, decoder.backend(), &decoder.memory());
    found.write(output.path(), &options.file.display().to_string())?;
    if found.unused() > 0 {
        let message =
            "no token of the text used them, and `quantize` takes all of their columns as equal: take a longer text";
        warn(format_args!("{} have no inputs: {message}", count(found.unused(), "expert")));
    }
    let (tensors, windows) = (count(found.names().count(), "tensor"), count(found.windows(), "window"));
    let words = format!("{}: {tensors}, from {windows} of {window} tokens\n", options.output.display());
    output.deliver_and_say(&words, out)?;
    Ok(Exit::Success)
}
