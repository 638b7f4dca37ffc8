//! `tensorlib activity`: how often each neuron of a language model is active.

use crate::args;
use crate::failure::{Exit, Outcome};
use crate::files::output::{Output, Target};
use crate::model;
use crate::model::neurons::LoadOptions;
use crate::terminal::signals;
use crate::terminal::text::{count, Table};
use serde_json::json;
use std::io::Write;
use tensorlib::DType;
use tensorlib_models::{Activity, DecoderOptions, LayerActivity};

/// Runs the command.
pub fn run(options: &args::Activity, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let inputs = [options.model.clone(), options.file.clone()];
    let target = Target { path: &options.output, split: false, force: options.force, dry_run: false };
    let output = Output::check(&target, &inputs)?;
    let text = model::text_of(&options.file)?;
    let load = LoadOptions { options: DecoderOptions::new(), split: None };
    let decoder = model::decoder(&options.devices, &options.model, &load, DType::F32)?;
    let mut tokens = decoder.tokenizer().encode_prompt(&text, false)?;
    tokens.truncate(options.limit);
    let found = Activity::measure(&decoder, &tokens, options.by, options.share, |_, _| !signals::came());
    signals::check("nothing was written")?;
    let found = found?;
    model::say_memory(&options.devices, decoder.backend(), &decoder.memory());
    found.write(output.path())?;
    if output.is_standard() {
        output.deliver(out)?;
        return Ok(Exit::Success);
    }
    if options.json {
        let layer = |layer: &LayerActivity| json!({ "threshold": layer.threshold, "active": active(layer), "of_hottest_tenth": of_hottest_tenth(layer) });
        let layers: Vec<_> = found.layers().iter().map(layer).collect();
        let object = json!({ "tested": found.tested().name(), "tokens": found.tokens(), "layers": layers });
        writeln!(out, "{object:#}")?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&["layer", "threshold", "active", "of the hottest tenth"]);
    for (i, layer) in found.layers().iter().enumerate() {
        let share = |share: f64| format!("{:.1} %", 100.0 * share);
        let threshold = format!("{:.4e}", layer.threshold);
        table.row(vec![i.to_string(), threshold, share(active(layer)), share(of_hottest_tenth(layer))]);
    }
    table.print(out)?;
    let (tokens, tested) = (count(tokens.len(), "token"), found.tested().name());
    writeln!(out, "{tokens}, tested: {tested}; written to {}", options.output.display())?;
    Ok(Exit::Success)
}

/// The fraction of a layer's neurons that is active, on average over the tokens.
fn active(layer: &LayerActivity) -> f64 {
    sum(&layer.frequencies) / (layer.frequencies.len() as f64).max(1.0)
}

/// The share of all activations that belongs to the most active tenth of the neurons.
fn of_hottest_tenth(layer: &LayerActivity) -> f64 {
    let mut sorted = layer.frequencies.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sum(&sorted[..sorted.len().div_ceil(10)]) / sum(&sorted).max(1e-30)
}

fn sum(all: &[f32]) -> f64 {
    all.iter().map(|f| f64::from(*f)).sum()
}
