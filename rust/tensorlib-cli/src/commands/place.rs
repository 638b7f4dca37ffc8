//! `tensorlib place`: shows which device each tensor of a model would lie on, and the memory that it takes.

use crate::args::PlaceModel;
use crate::failure::{warn, Exit, Outcome};
use crate::model;
use crate::model::neurons::LoadOptions;
use crate::model::placement::{self, Fitted};
use crate::terminal::text::{bytes, count, Table};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use tensorlib_models::{DecoderOptions, Outline, Placed};

/// Runs the command.
pub fn run(options: &PlaceModel, out: &mut dyn Write) -> Outcome<Exit> {
    let backend = model::backend(&options.devices)?;
    let load = DecoderOptions::new().context(options.ctx.unwrap_or(0) as usize);
    let load = LoadOptions::new(load, &options.neurons)?;
    load.check_devices(backend.devices().len())?;
    let Fitted { outline, hot, .. } =
        placement::fit_decoder(&options.devices, &backend, &options.model, &load, options.cache)?;
    outline.warnings.iter().for_each(warn);
    let (devices, budgets) = (backend.devices(), placement::budgets(&options.devices, &backend));
    let on = |i: usize| outline.tensors.iter().filter(move |placed| placed.device == i);
    let bytes_on = |i: usize| on(i).map(|placed| placed.bytes).sum::<usize>();
    if options.json {
        let of = |i: usize| {
            json!({ "device": devices[i], "budget": budgets[i], "bytes": outline.bytes[i], "tensors": on(i).count(),
                    "tensor_bytes": bytes_on(i) })
        };
        let tensor = |t: &Placed| json!({ "name": t.name, "bytes": t.bytes, "device": devices[t.device] });
        let tensors: Vec<_> = outline.tensors.iter().map(tensor).collect();
        let neurons = hot.map(|hot| json!({ "bytes": hot.bytes, "served": hot.served, "bound": hot.bound }));
        let all: Vec<_> = (0..devices.len()).map(of).collect();
        writeln!(out, "{:#}", json!({ "devices": all, "neurons": neurons, "tensors": tensors }))?;
        return Ok(Exit::Success);
    }
    for (i, device) in devices.iter().enumerate() {
        let budget = budgets[i].map_or("no bound".into(), |b| format!("budget {}", bytes(b)));
        let (tensors, weights) = (count(on(i).count(), "tensor"), bytes(bytes_on(i) as u64));
        let all = bytes(outline.bytes[i] as u64);
        writeln!(out, "{device}: {tensors}, {weights}; {all} with cache and intermediates ({budget})")?;
    }
    if let Some(hot) = &hot {
        let (size, served, bound) = (bytes(hot.bytes), 100.0 * hot.served, 100.0 * hot.bound);
        let device = &devices[0];
        writeln!(out, "{device} has {size} of neurons: {served:.1} % of all activity (at most {bound:.1} %)")?;
    }
    print_groups(&outline, &devices, out)?;
    Ok(Exit::Success)
}

/// Prints a line for tensors of several layers with the same name on the same device.
fn print_groups(outline: &Outline, devices: &[String], out: &mut dyn Write) -> Outcome<()> {
    let mut groups: BTreeMap<(usize, String), (Vec<u64>, usize)> = BTreeMap::new();
    for Placed { name, device, bytes } in &outline.tensors {
        let layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
        let layer = layer.and_then(|(number, part)| Some((number.parse::<u64>().ok()?, format!("blk.*.{part}"))));
        let (number, pattern) = layer.map_or((None, name.clone()), |(number, pattern)| (Some(number), pattern));
        let group = groups.entry((*device, pattern)).or_default();
        group.0.extend(number);
        group.1 += bytes;
    }
    let mut table = Table::new(&["device", "tensors", "layers", "size"]);
    for ((device, pattern), (mut layers, n)) in groups {
        layers.sort_unstable();
        table.row(vec![devices[device].clone(), pattern, ranges(&layers), bytes(n as u64)]);
    }
    table.print(out)?;
    Ok(())
}

/// `0-3, 7`.
fn ranges(numbers: &[u64]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let separator = if text.is_empty() { "" } else { ", " };
        text += &if first == last { format!("{separator}{first}") } else { format!("{separator}{first}-{last}") };
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranges() {
        for (numbers, text) in [(&[][..], ""), (&[4], "4"), (&[0, 1, 2, 7, 9, 10], "0-2, 7, 9-10")] {
            assert_eq!(super::ranges(numbers), text);
        }
    }
}
