//! `tensorlib perplexity`: how well a language model predicts a text.

use crate::args::Perplexity;
use crate::failure::{Exit, Outcome};
use crate::model;
use crate::model::ranks::Ranks;
use crate::terminal::signals;
use serde_json::json;
use std::io::Write;
use tensorlib_models::perplexity;

/// Runs the command.
pub fn run(options: &Perplexity, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let ranks = Ranks::open(&options.ranks)?;
    let text = ranks.text_of(&options.file)?;
    let window = options.ctx as usize;
    let load = model::load_options(&options.products, &options.neurons, window)?.on_ranks(&ranks);
    let decoder = model::decoder(&options.devices, &options.model, &load, options.cache)?;
    let tokens = decoder.tokenizer().encode_prompt(&text, false)?;
    let found = perplexity(&decoder, options.cache, &tokens, window, |_, _| !signals::came());
    signals::check("nothing is printed")?;
    let found = found?;
    model::say_memory(&options.devices, decoder.backend(), &decoder.memory());
    if options.json {
        let object = json!({
            "perplexity": found.value(),
            "standard_error": found.value_error(),
            "tokens": found.tokens,
            "windows": found.windows,
            "window": window,
        });
        writeln!(out, "{object}")?;
        return Ok(Exit::Success);
    }
    let (value, error) = (found.value(), found.value_error());
    writeln!(
        out,
        "perplexity {value:.4} +/- {error:.4} ({} tokens of {} windows of {window})",
        found.tokens, found.windows
    )?;
    Ok(Exit::Success)
}
