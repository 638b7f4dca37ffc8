//! `tensorlib embed`: converts lines of text to vectors.

use crate::args::Embed;
use crate::failure::{Exit, Outcome};
use crate::model;
use crate::terminal::signals;
use crate::terminal::texts::Texts;
use std::io::Write;
use tensorlib_models::EncoderOptions;

/// Runs the command.
pub fn run(options: &Embed, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let load = options.pooling.map_or(EncoderOptions::new(), |pooling| EncoderOptions::new().pooling(pooling));
    let encoder = model::encoder(&options.devices, &options.model, load, options.dtype)?;
    let mut texts = Texts::new()?;
    texts.answer(
        |_, line| Ok(encoder.tokenize_text(line)?),
        |first, lines, progress| {
            let lines: Vec<Vec<u32>> = lines.iter().map(|line| line.ids.clone()).collect();
            encoder.embed_lines(first, &lines, progress)
        },
        |vector: Vec<f32>, out| print(&vector, options.json, out),
        out,
    )?;
    model::say_memory(&options.devices, encoder.backend(), &encoder.memory());
    texts.warn(encoder.max_tokens());
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
