//! `tensorlib rerank`: orders lines of text by how well they answer a query.

use crate::args::Rerank;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::progress::counting_bar;
use crate::terminal::signals;
use crate::terminal::texts::Texts;
use serde_json::json;
use std::io::Write;
use tensorlib_models::{EncoderOptions, ModelKind, ScorePairs};

/// Runs the command.
pub fn run(options: &Rerank, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    match unsafe { ModelKind::of_mapped(&options.model)? } {
        ModelKind::Encoder => {
            if options.instruction.is_some() || options.ctx.is_some() {
                let message = "--instruction and --ctx: language models alone have them, and this is an encoder";
                return Err(Failure::new(Exit::Usage, message));
            }
            let encoder = model::encoder(&options.devices, &options.model, EncoderOptions::new(), options.dtype)?;
            if encoder.labels().len() != 1 {
                // The library's words for it.
                encoder.score_tokens(&[])?;
            }
            rank(options, &encoder, out)?;
            model::say_memory(&options.devices, encoder.backend(), &encoder.memory());
        }
        // The library refuses a model of speech.
        ModelKind::Decoder | ModelKind::Embedder | ModelKind::Reranker | ModelKind::Transcriber => {
            let context = options.ctx.unwrap_or(0) as usize;
            let (backend, mut reranker) =
                model::reranker(&options.devices, &options.model, false, options.dtype, context)?;
            if let Some(text) = &options.instruction {
                reranker = reranker.instruction(text)?;
            }
            rank(options, &reranker, out)?;
            model::say_memory(&options.devices, &backend, &reranker.memory());
        }
    }
    Ok(Exit::Success)
}

/// Scores all lines and prints them, the best first.
fn rank(options: &Rerank, scorer: &dyn ScorePairs, out: &mut dyn Write) -> Outcome<()> {
    let (mut texts, mut lines, mut pairs) = (Texts::new()?, Vec::new(), Vec::new());
    loop {
        let (window, more) = texts.window(|_, line| {
            let pair = scorer.tokenize_pair(&options.query, line)?;
            lines.push(line.to_string());
            Ok(pair)
        })?;
        pairs.extend(window);
        if !more {
            break;
        }
    }
    signals::check("nothing is printed")?;
    let bar =
        counting_bar(Some(pairs.len() as u64), "{bar:30} {human_pos} of {human_len} lines, {per_sec}, {eta} left");
    let scores = scorer.score_lines(1, &pairs, &mut |n| {
        bar.set_position(n as u64);
        !signals::came()
    });
    bar.finish_and_clear();
    signals::check("nothing is printed")?;
    let scores = scores?;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order.truncate(options.top.map_or(usize::MAX, |n| n as usize));
    for i in order {
        match options.json {
            true => writeln!(out, "{}", json!({ "line": i + 1, "score": scores[i], "text": lines[i] }))?,
            false => writeln!(out, "{:.4}\t{}", scores[i], lines[i])?,
        }
    }
    texts.warn(scorer.max_tokens());
    Ok(())
}
