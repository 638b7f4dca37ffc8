//! `tensorlib bench MODEL`: tokens per second, compared with the machine's limits in the same run.

use super::machine::Machine;
use super::share::{self, Shares};
use crate::args::Bench;
use crate::failure::{Exit, Outcome};
use crate::model;
use crate::model::neurons::LoadOptions;
use crate::terminal::signals;
use crate::terminal::text::{self, Table};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use tensorlib::Backend;
use tensorlib_models::{Decoder, DecoderOptions, Sequences, SequencesOptions, Session};

/// Each speed is the best of this many runs: other processes can only slow a run down.
const RUNS: usize = 3;

/// A speed and its limits.
struct Speed {
    what: &'static str,
    /// How many sequences are computed together.
    sequences: usize,
    /// The tokens of all sequences.
    tokens: usize,
    depth: usize,
    /// Seconds for all tokens.
    seconds: f64,
    /// Bytes of weights and cache that all tokens need.
    bytes: f64,
    /// Multiplications and additions with weights.
    operations: f64,
    share: Option<f64>,
}

impl Speed {
    fn name(&self) -> String {
        match self.sequences {
            1 => self.what.into(),
            n => format!("{}, {n} together", self.what),
        }
    }
    fn tokens_a_second(&self) -> f64 {
        self.tokens as f64 / self.seconds
    }
    fn read(&self) -> f64 {
        self.bytes / self.seconds / 1e9
    }
    fn gops(&self) -> f64 {
        self.operations / self.seconds / 1e9
    }
}

/// Runs the command.
pub fn run(options: &Bench, model: &Path, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let backend = model::backend(&options.devices)?;
    let load = DecoderOptions::new().exact(options.exact).reproducible(options.reproducible).context(context(options));
    let load = LoadOptions::new(load, &options.neurons)?;
    let (isa, threads) = (backend.isa(), backend.n_threads());
    let on_cpu = backend.device() == "cpu";
    let mut machine = if on_cpu { Machine::measure(threads, &isa)? } else { Machine::default() };
    let (mut speeds, decoder) = measure(options, model, &load, &backend)?;
    model::say_memory(&options.devices, &backend, &decoder.memory());
    drop(decoder); // frees its packed copies before another decoder makes its own
    if on_cpu {
        machine = machine.best_of(Machine::measure(threads, &isa)?);
        let shares = share::measure(options, model, &load)?;
        put_shares(&mut speeds, &shares);
    }
    if options.json {
        print_json(&backend, &machine, &speeds, out)?;
    } else {
        print(&backend, &machine, &speeds, out)?;
    }
    Ok(Exit::Success)
}

/// The context that the measurement needs.
fn context(options: &Bench) -> usize {
    (options.depth.max(1) + options.tokens).max(options.prompt) as usize
}

fn measure(options: &Bench, model: &Path, load: &LoadOptions, backend: &Backend) -> Outcome<(Vec<Speed>, Decoder)> {
    let decoder = model::decoder_on(&options.devices, backend, model, load, options.cache)?;
    let mut session = decoder.session(options.cache)?;
    let mut speeds = Vec::new();
    if options.prompt > 0 {
        speeds.push(prompt(&mut session, options.prompt as usize)?);
    }
    if options.tokens > 0 {
        speeds.push(generation(&mut session, options)?);
    }
    drop(session);
    if options.tokens > 0 {
        for n in &options.together {
            speeds.push(together(&decoder, options, (*n).into())?);
        }
    }
    Ok((speeds, decoder))
}

fn prompt(session: &mut Session, n: usize) -> Outcome<Speed> {
    let decoder = session.decoder().clone();
    let tokens = model::some_tokens(&decoder, n);
    let seconds = best(|| {
        session.rewind(0);
        let begin = Instant::now();
        session.feed(&tokens)?;
        Ok(begin.elapsed().as_secs_f64())
    })?;
    let cost = decoder.cost();
    let operations = (n as f64 - 1.0) * cost.operations_inside + cost.operations;
    Ok(Speed {
        what: "prompt",
        sequences: 1,
        tokens: n,
        depth: 0,
        seconds,
        bytes: cost.weight_bytes,
        operations,
        share: None,
    })
}

fn generation(session: &mut Session, options: &Bench) -> Outcome<Speed> {
    let (n, depth, decoder) = (options.tokens as usize, options.depth as usize, session.decoder().clone());
    let tokens = model::some_tokens(&decoder, n);
    session.rewind(0);
    if depth > 0 {
        session.feed(&model::some_tokens(&decoder, depth))?;
        session.checkpoint();
    }
    let seconds = best(|| {
        session.rewind(depth);
        let begin = Instant::now();
        for token in &tokens {
            session.feed(&[*token])?;
        }
        Ok(begin.elapsed().as_secs_f64())
    })?;
    let (cost, cache) = (decoder.cost(), options.cache);
    let bytes = (0..n).map(|i| cost.weight_bytes + cost.cache_bytes(depth + i, cache)).sum();
    let operations = n as f64 * cost.operations;
    Ok(Speed { what: "generation", sequences: 1, tokens: n, depth, seconds, bytes, operations, share: None })
}

/// Generates the tokens of several sequences, one of each in a step.
fn together(decoder: &Decoder, options: &Bench, n_sequences: usize) -> Outcome<Speed> {
    let (n, depth) = (options.tokens as usize, (options.depth as usize).max(1));
    let tokens = n_sequences * (depth + n).next_multiple_of(64);
    let settings = SequencesOptions { cache: options.cache, tokens, together: n_sequences, ..Default::default() };
    let mut sequences = Sequences::new(decoder, &settings)?;
    let (prompt, pushed) = (model::some_tokens(decoder, depth), model::some_tokens(decoder, n));
    let seconds = best(|| {
        let ids = (0..n_sequences).map(|_| sequences.add(&prompt)).collect::<Result<Vec<_>, _>>()?;
        while !sequences.is_idle() {
            sequences.step()?;
        }
        let begin = Instant::now();
        for token in &pushed {
            ids.iter().try_for_each(|id| sequences.push(*id, *token))?;
            sequences.step()?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        ids.into_iter().for_each(|id| _ = sequences.remove(id));
        Ok(seconds)
    })?;
    let (cost, all) = (decoder.cost(), n * n_sequences);
    // Weights are read once for all sequences.
    let read = |i: usize| cost.weight_bytes + n_sequences as f64 * cost.cache_bytes(depth + i, options.cache);
    let (bytes, operations) = ((0..n).map(read).sum(), all as f64 * cost.operations);
    Ok(Speed {
        what: "generation",
        sequences: n_sequences,
        tokens: all,
        depth,
        seconds,
        bytes,
        operations,
        share: None,
    })
}

/// The shortest of some runs, after one that makes plans and packed copies.
fn best(mut once: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    once()?;
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        signals::check("nothing is printed")?;
        best = best.min(once()?);
    }
    Ok(best.max(1e-9))
}

fn put_shares(speeds: &mut [Speed], shares: &Shares) {
    for speed in speeds.iter_mut().filter(|speed| speed.sequences == 1) {
        speed.share = if speed.what == "prompt" { shares.prompt } else { shares.generation };
    }
}

fn print(backend: &Backend, machine: &Machine, speeds: &[Speed], out: &mut dyn Write) -> Outcome<()> {
    let (device, isa, threads) = (backend.device(), backend.isa(), backend.n_threads());
    writeln!(out, "{device}, {isa}, {}; the best of {RUNS} runs", text::count(threads, "thread"))?;
    let peaks = match (machine.f32, machine.i8) {
        (0.0, _) => String::new(),
        (f32, i8) => format!(", multiplies and adds {f32:.0} billion F32 or {i8:.0} billion bytes"),
    };
    if machine.read > 0.0 {
        writeln!(out, "a second this machine reads {:.1} GB{peaks}", machine.read)?;
    }
    let head = [
        "",
        ">tokens",
        ">depth",
        ">tokens/s",
        ">GB/s",
        ">of reading",
        ">billion a s",
        ">of F32",
        ">of bytes",
        ">products",
    ];
    let mut table = Table::new(&head);
    let percent =
        |part: f64, whole: f64| if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "-".into() };
    for s in speeds {
        table.row(vec![
            s.name(),
            s.tokens.to_string(),
            s.depth.to_string(),
            format!("{:.2}", s.tokens_a_second()),
            format!("{:.1}", s.read()),
            percent(s.read(), machine.read),
            format!("{:.0}", s.gops()),
            percent(s.gops(), machine.f32),
            percent(s.gops(), machine.i8),
            s.share.map_or("-".into(), |share| percent(share, 1.0)),
        ]);
    }
    Ok(table.print(out)?)
}

fn print_json(backend: &Backend, machine: &Machine, speeds: &[Speed], out: &mut dyn Write) -> Outcome<()> {
    let known = |x: f64| if x > 0.0 { json!(x) } else { json!(null) };
    let speeds: Vec<_> = speeds
        .iter()
        .map(|s| {
            json!({ "what": s.what, "sequences": s.sequences, "tokens": s.tokens, "depth": s.depth, "seconds": s.seconds,
                    "tokens_a_second": s.tokens_a_second(), "read_gb_s": s.read(), "gop_s": s.gops(),
                    "share_of_products": s.share })
        })
        .collect();
    let all = json!({
        "device": backend.device(), "isa": backend.isa(), "threads": backend.n_threads(), "runs": RUNS,
        "machine": { "read_gb_s": known(machine.read), "f32_gop_s": known(machine.f32), "i8_gop_s": known(machine.i8) },
        "speeds": speeds,
    });
    Ok(writeln!(out, "{all:#}")?)
}
