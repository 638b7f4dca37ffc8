//! `tensorlib generate`: continues a text, or converses.

use crate::args::{Generate, Speculate};
use crate::commands::{chat, prompts};
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::model::ranks::Ranks;
use crate::model::{self, say};
use crate::terminal::input::Lines;
use crate::terminal::signals;
use serde_json::{json, Value as Json};
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal, Write};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{
    generate, generate_speculating, Chat, Decoder, Ending, Logprobs, Message, Piece, Sampler, Session, Speculation,
    SpeculationOptions, Totals,
};

/// Runs the command.
pub fn run(options: &Generate, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    // The standard library gives each map a random state.
    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    let ranks = Ranks::open(&options.ranks)?;
    let seed = ranks.number_of_first(options.sampling.seed.unwrap_or_else(random))?;
    let sampling = options.sampling.options(seed, options.logprobs);
    sampling.check().map_err(|e| Failure { exit: Exit::Usage, ..e.into() })?;
    if options.draft.is_some() && options.speculate == Some(Speculate::Off) {
        let message = "the argument '--draft <MODEL>' cannot be used with '--speculate off'";
        return Err(Failure::new(Exit::Usage, message).hint("leave out one of them"));
    }
    ranks.refuse(options.session.is_some(), "--session")?;
    ranks.refuse(options.draft.is_some() || options.speculate == Some(Speculate::Auto), "--speculate and --draft")?;
    let prompt = match &options.file {
        Some(path) => Some(ranks.text_of(path)?),
        None => options.prompt.clone(),
    };
    ranks.refuse(prompt.is_none() && options.prompts.is_none(), "a conversation, without PROMPT or --file")?;
    let requests = options.prompts.as_deref().map(|path| prompts::read(path, &ranks)).transpose()?;
    let load = model::load_options(&options.products, &options.neurons, options.ctx.unwrap_or(0) as usize)?;
    let load = load.on_ranks(&ranks);
    let decoder = model::decoder(&options.devices, &options.model, &load, options.cache)?;
    if let Some(requests) = requests {
        return prompts::run(options, requests, &sampling, &decoder, out);
    }
    let mut speculation = speculation(options, &decoder)?;
    let mut session = decoder.session(options.cache)?;
    if let Some(path) = options.session.as_ref().filter(|path| path.exists()) {
        session.restore(path)?;
    }
    let mut sampler = Sampler::with_tokenizer(sampling, decoder.tokenizer())?;
    #[cfg(feature = "grammar")]
    sampler.set_constraint(options.constraint.read(decoder.tokenizer())?);
    if options.sampling.temp > 0.0 && !options.json {
        say(&format!("seed {seed}"));
    }
    let Some(prompt) = prompt else {
        let exit = converse(options, &mut session, &mut sampler, speculation.as_mut(), out)?;
        save(options, &session)?;
        model::say_session_memory(&options.devices, &session);
        say_draft_memory(options, speculation.as_ref());
        return Ok(exit);
    };
    let tokens = if chat::is_chat(options) {
        let mut turns = chat::system(options);
        turns.push(Message::user(prompt));
        chat::tokens(&Chat::new(decoder.tokenizer())?, decoder.tokenizer(), &turns, options)?
    } else {
        decoder.tokenizer().encode_prompt(&prompt, options.special)?
    };
    if tokens.is_empty() {
        return Err(Failure::new(Exit::Refused, "the prompt has no tokens: a text is valid")
            .hint("this model has no token for the beginning of a text"));
    }
    let answer = answer(options, (&mut session, speculation.as_mut()), &mut sampler, &tokens, out)?;
    report(&answer, seed, options.json, out)?;
    save(options, &session)?;
    model::say_session_memory(&options.devices, &session);
    say_draft_memory(options, speculation.as_ref());
    Ok(match answer.totals.ending {
        Ending::Interrupted => signals::exit().unwrap_or(Exit::Interrupted),
        _ => Exit::Success,
    })
}

/// What drafts tokens, if anything does.
fn speculation(options: &Generate, decoder: &Decoder) -> Outcome<Option<Speculation>> {
    let defaults = SpeculationOptions::default();
    let Some(path) = &options.draft else {
        let is_wanted = options.speculate == Some(Speculate::Auto);
        return Ok(is_wanted.then(|| Speculation::new(&defaults)).transpose()?);
    };
    let draft = model::draft(path, decoder, options.ctx.unwrap_or(0) as usize)?.session(options.cache)?;
    let speculation = Speculation::with_draft(&defaults, decoder, draft);
    Ok(Some(speculation.map_err(|e| Failure::from(e).about(path.display()))?))
}

/// Saves the session, if a file was named.
fn save(options: &Generate, session: &Session) -> Outcome<()> {
    options.session.iter().try_for_each(|path| Ok(session.save(path)?))
}

/// A text that was generated.
struct Answer {
    totals: Totals,
    text: String,
}

/// Generates after these tokens, of which the session may have the first, and prints as it goes.
fn answer(
    options: &Generate,
    (session, mut speculation): (&mut Session, Option<&mut Speculation>),
    sampler: &mut Sampler,
    tokens: &[u32],
    out: &mut dyn Write,
) -> Outcome<Answer> {
    // Keeps the tokens that the session already has; the last token is fed again for its logits.
    let same = tokens.iter().zip(session.tokens()).take_while(|(a, b)| a == b).count();
    let cached = session.rewind(same.min(tokens.len().saturating_sub(1)));
    let decoder = session.decoder().clone();
    let tokenizer = decoder.tokenizer();
    let (mut failed, mut whole) = (None, String::new());
    let show = |piece: Piece| {
        let shown = if piece.token.is_none() && piece.text.is_empty() {
            Ok(()) // a piece between the parts of a long prompt
        } else if options.json {
            let mut object = json!({ "token": piece.token, "text": piece.text });
            if let Some(channel) = piece.channel {
                object["channel"] = channel.into();
            }
            if let Some(logprobs) = piece.logprobs {
                add_logprobs(&mut object, logprobs, tokenizer);
            }
            writeln!(out, "{object}")
        } else {
            write!(out, "{}", piece.text)
        };
        // The model's reasoning is not part of its answer.
        if piece.channel.is_none_or(|channel| channel == "final") {
            whole += piece.text;
        }
        failed = shown.and_then(|()| out.flush()).err();
        failed.is_none() && !signals::came()
    };
    let (prompt, limit, stop) = (&tokens[cached..], options.limit, &options.stop);
    let totals = match &mut speculation {
        Some(speculation) => generate_speculating(session, sampler, prompt, limit, stop, speculation, show),
        None => generate(session, sampler, prompt, limit, stop, show),
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    session.warnings().iter().for_each(warn);
    if !options.json {
        writeln!(out)?;
        out.flush()?;
    }
    if let Some(speculation) = speculation {
        report_drafts(options, speculation);
    }
    Ok(Answer { totals: totals?, text: whole })
}

/// Adds the log-probability of a token, and those of the most likely tokens with their texts. Impossible tokens have null.
fn add_logprobs(object: &mut Json, logprobs: &Logprobs, tokenizer: &Tokenizer) {
    object["logprob"] = logprobs.logprob.into();
    let alternative = |(token, logprob): &(u32, f64)| {
        let text = tokenizer.stream().show_special().push(*token);
        json!({ "token": token, "text": text, "logprob": logprob })
    };
    object["top_logprobs"] = logprobs.top.iter().map(alternative).collect();
}

/// Converses, turn by turn, as long as there are lines.
fn converse(
    options: &Generate,
    session: &mut Session,
    sampler: &mut Sampler,
    mut speculation: Option<&mut Speculation>,
    out: &mut dyn Write,
) -> Outcome<Exit> {
    let decoder = session.decoder().clone();
    let tokenizer = decoder.tokenizer();
    let chat = Chat::new(tokenizer).map_err(|e| Failure::from(e).hint("say a PROMPT that it is to continue"))?;
    let mut turns = chat::system(options);
    let lines = Lines::new()?;
    loop {
        if io::stdin().is_terminal() {
            let _ = write!(io::stderr(), "> "); // if that fails there is nobody to ask
        }
        let Some(bytes) = lines.wait()? else { return Ok(signals::exit().unwrap_or(Exit::Success)) };
        let line = String::from_utf8_lossy(&bytes);
        if matches!(line, Cow::Owned(_)) {
            warn("standard input: bytes that are no UTF-8 were read as U+FFFD");
        }
        if line.trim().is_empty() {
            continue;
        }
        turns.push(Message::user(line));
        let tokens = chat::tokens(&chat, tokenizer, &turns, options)?;
        let answer = answer(options, (session, speculation.as_deref_mut()), sampler, &tokens, out)?;
        report(&answer, 0, options.json, out)?;
        turns.push(Message::assistant(answer.text));
        match answer.totals.ending {
            Ending::Interrupted => return Ok(signals::exit().unwrap_or(Exit::Interrupted)),
            Ending::Context => return Ok(Exit::Success),
            _ => {}
        }
    }
}

/// With --verbose: prints what was drafted. Warns if the draft model failed.
fn report_drafts(options: &Generate, speculation: &Speculation) {
    if let Some(error) = speculation.draft_error() {
        warn(format!("draft model: {error}; the text went on without its drafts"));
    }
    if !options.devices.verbose {
        return;
    }
    let drafts = speculation.drafts();
    let of = |(drafted, right): (usize, usize)| format!("{right} of {drafted} tokens");
    let model = match speculation.draft_session() {
        Some(_) => format!("; draft model: {} in {:.2} s", of(drafts.model), drafts.model_time.as_secs_f64()),
        None => String::new(),
    };
    say(&format!("right drafts: prompt lookup: {}{model}", of(drafts.lookup)));
}

/// With --verbose: prints the memory of the draft model and its cache.
fn say_draft_memory(options: &Generate, speculation: Option<&Speculation>) {
    if let Some(session) = speculation.and_then(Speculation::draft_session) {
        if options.devices.verbose {
            say("draft model:");
        }
        model::say_session_memory(&options.devices, session);
    }
}

fn report(answer: &Answer, seed: u64, as_json: bool, out: &mut dyn Write) -> Outcome<()> {
    let totals = &answer.totals;
    let cached = totals.cached_tokens;
    let rate = |n: usize, seconds: f64| n as f64 / seconds.max(1e-9);
    let (read, wrote) = (totals.prompt_time.as_secs_f64(), totals.time.as_secs_f64());
    let (prompt, tokens) = (rate(totals.prompt_tokens, read), rate(totals.tokens, wrote));
    if as_json {
        let object = json!({
            "prompt_tokens": totals.prompt_tokens,
            "cached_tokens": cached,
            "prompt_seconds": read,
            "prompt_tokens_per_second": prompt,
            "tokens": totals.tokens,
            "drafted_tokens": totals.drafted.0,
            "accepted_tokens": totals.drafted.1,
            "seconds": wrote,
            "tokens_per_second": tokens,
            "ending": totals.ending.to_string(),
            "seed": seed,
        });
        writeln!(out, "{object}")?;
        out.flush()?;
        return Ok(());
    }
    let cached = if cached > 0 { format!(" after {cached} of the session") } else { String::new() };
    let drafted = match totals.drafted {
        (0, _) => String::new(),
        (drafted, accepted) => format!(", {accepted} of {drafted} drafted"),
    };
    say(&format!(
        "prompt: {} tokens{cached}, {prompt:.1} tokens/s; generation: {} tokens{drafted}, {tokens:.1} tokens/s; ended by: {}",
        totals.prompt_tokens, totals.tokens, totals.ending
    ));
    Ok(())
}
