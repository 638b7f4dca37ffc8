//! `tensorlib embed`: converts lines of text to vectors.

use crate::args::Embed;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::signals;
use crate::terminal::texts::Texts;
use std::io::Write;
use tensorlib::Backend;
use tensorlib_models::{EmbedTexts, EncoderOptions, ModelKind};

/// Runs the command.
pub fn run(options: &Embed, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let mut load = EncoderOptions::new();
    if let Some(pooling) = options.pooling {
        load = load.pooling(pooling);
    }
    if let Some(name) = &options.prompt {
        load = load.prompt(name);
    }
    if let Some(n) = options.dimensions {
        load = load.dimensions(n as usize);
    }
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    if unsafe { ModelKind::of_mapped(&options.model)? } != ModelKind::Encoder {
        let context = options.ctx.unwrap_or(0) as usize;
        let (backend, embedder) = model::embedder(&options.devices, &options.model, load, options.dtype, context)?;
        return embed(options, &embedder, &backend, out);
    }
    if options.ctx.is_some() {
        return Err(Failure::new(Exit::Usage, "--ctx: language models alone have it, and this is an encoder"));
    }
    let encoder = model::encoder(&options.devices, &options.model, load, options.dtype)?;
    embed(options, &encoder, encoder.backend(), out)
}

fn embed(options: &Embed, model: &dyn EmbedTexts, backend: &Backend, out: &mut dyn Write) -> Outcome<Exit> {
    let mut texts = Texts::new()?;
    texts.answer(
        |_, line| Ok(model.tokenize_text(line)?),
        |first, lines, progress| {
            let lines: Vec<Vec<u32>> = lines.iter().map(|line| line.ids.clone()).collect();
            model.embed_lines(first, &lines, progress)
        },
        |vector: Vec<f32>, out| print(&vector, options.json, out),
        out,
    )?;
    model::say_memory(&options.devices, backend, &model.memory());
    texts.warn(model.max_tokens());
    Ok(Exit::Success)
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
