//! `tensorlib logits`: a language model's logits after each of some tokens.

use crate::args::Logits;
use crate::failure::{warn, Exit, Outcome};
use crate::model;
use std::io::Write;

/// Runs the command.
pub fn run(options: &Logits, out: &mut dyn Write) -> Outcome<Exit> {
    let load = model::load_options(&options.products, &options.neurons, options.tokens.len())?;
    let decoder = model::decoder(&options.devices, &options.model, &load, options.cache)?;
    let mut session = decoder.session(options.cache)?;
    let logits = session.feed_all(&options.tokens)?;
    if let Some(at) = logits.iter().position(|x| !x.is_finite()) {
        let (position, token) = (at / decoder.vocabulary(), at % decoder.vocabulary());
        warn(format_args!("position {position}: the logit of token {token} is {}, which JSON has as null", logits[at]));
    }
    session.warnings().iter().for_each(warn);
    let (open, between, close) = if options.json { ("[", ",", "]") } else { ("", " ", "") };
    write!(out, "{open}")?;
    for (i, row) in logits.chunks(decoder.vocabulary()).enumerate() {
        if i > 0 && options.json {
            writeln!(out, ",")?;
        }
        write!(out, "{open}")?;
        for (j, x) in row.iter().enumerate() {
            // JSON has neither NaN nor infinities.
            let text = if x.is_finite() || !options.json { x.to_string() } else { "null".into() };
            write!(out, "{}{text}", if j > 0 { between } else { "" })?;
        }
        write!(out, "{close}")?;
        if !options.json {
            writeln!(out)?;
        }
    }
    if options.json {
        writeln!(out, "{close}")?;
    }
    model::say_session_memory(&options.devices, &session);
    Ok(Exit::Success)
}
