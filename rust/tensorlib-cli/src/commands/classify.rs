//! `tensorlib classify`: tells the labels of a classifier apart, for lines of text.

use crate::args::Classify;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::signals;
use crate::terminal::texts::Texts;
use serde_json::json;
use std::io::Write;
use tensorlib_models::{Encoder, EncoderOptions, TokenizedText};

/// Runs the command.
pub fn run(options: &Classify, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let encoder = model::encoder(&options.devices, &options.model, EncoderOptions::new(), options.dtype)?;
    if encoder.labels().is_empty() {
        // The library's words for it.
        encoder.classify::<&str>(&[])?;
    }
    let mut texts = Texts::new()?;
    texts.answer(
        |number, line| tokens(options, &encoder, number, line),
        |first, lines, progress| encoder.classify_lines(first, lines, progress),
        |scores: Vec<f32>, out| print(options, encoder.labels(), &scores, out),
        out,
    )?;
    model::say_memory(&options.devices, encoder.backend(), &encoder.memory());
    texts.warn(encoder.max_tokens());
    Ok(Exit::Success)
}

fn tokens(options: &Classify, encoder: &Encoder, number: usize, line: &str) -> Outcome<TokenizedText> {
    if !options.pairs {
        return Ok(encoder.tokenize_text(line)?);
    }
    let Some((first, second)) = line.split_once('\t') else {
        return Err(Failure::new(Exit::Refused, format!("line {number}: has no tab between its two texts")));
    };
    Ok(encoder.tokenize_pair(first, second)?)
}

fn print(options: &Classify, labels: &[String], scores: &[f32], out: &mut dyn Write) -> Outcome<()> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let best = order.first().copied().unwrap_or(0);
    if options.json {
        let all: Vec<_> = labels.iter().zip(scores).map(|(l, s)| json!({ "label": l, "score": s })).collect();
        writeln!(out, "{}", json!({ "label": labels[best], "score": scores[best], "labels": all }))?;
        return Ok(());
    }
    order.truncate(if options.all { labels.len() } else { 1 });
    let shown: Vec<String> = order.iter().map(|i| format!("{}\t{:.4}", labels[*i], scores[*i])).collect();
    writeln!(out, "{}", shown.join("\t"))?;
    Ok(())
}
