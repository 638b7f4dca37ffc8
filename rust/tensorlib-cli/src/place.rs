//! `tensorlib place`: which device each tensor of a model would lie on, and what it takes of each.

use crate::args::PlaceModel;
use crate::failure::{Exit, Outcome};
use crate::models;
use crate::spread;
use crate::text::{bytes, count, Table};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use tensorlib_models::{DecoderOptions, Outline, Placement};

/// Runs the command.
pub fn run(options: &PlaceModel, out: &mut dyn Write) -> Outcome<Exit> {
    let backend = models::backend(&options.place)?;
    let how = DecoderOptions::new().context(options.ctx.unwrap_or(0) as usize);
    let how = how.expert_slots(options.place.expert_slots.into());
    let (placement, outline) = spread::fit_decoder(&options.place, &backend, &options.model, &how, options.cache)?;
    let (devices, budgets) = (backend.devices(), spread::budgets(&options.place, &backend));
    if options.json {
        let of = |i: usize| {
            let there = || outline.tensors.iter().filter(|(name, _)| placement.device(name) == i);
            json!({ "device": devices[i], "budget": budgets[i], "bytes": outline.bytes[i], "tensors": there().count(),
                    "tensor_bytes": there().map(|(_, bytes)| bytes).sum::<usize>() })
        };
        let tensors = outline.tensors.iter();
        let tensors: Vec<_> = tensors
            .map(|(name, n)| json!({ "name": name, "bytes": n, "device": devices[placement.device(name)] }))
            .collect();
        let devices: Vec<_> = (0..devices.len()).map(of).collect();
        writeln!(out, "{:#}", json!({ "devices": devices, "tensors": tensors }))?;
        return Ok(Exit::Success);
    }
    for (i, device) in devices.iter().enumerate() {
        let there: Vec<_> = outline.tensors.iter().filter(|(name, _)| placement.device(name) == i).collect();
        let weights: usize = there.iter().map(|(_, bytes)| bytes).sum();
        let budget = budgets[i].map_or("no bound".into(), |b| format!("budget {}", bytes(b)));
        let (weights, all) = (bytes(weights as u64), bytes(outline.bytes[i] as u64));
        writeln!(
            out,
            "{device}: {}, {weights}; {all} with cache and intermediates ({budget})",
            count(there.len(), "tensor")
        )?;
    }
    print_groups(&placement, &outline, &devices, out)?;
    Ok(Exit::Success)
}

/// Tensors of one name in several layers on one device as a line.
fn print_groups(placement: &Placement, outline: &Outline, devices: &[String], out: &mut dyn Write) -> Outcome<()> {
    let mut groups: BTreeMap<(usize, String), (Vec<u64>, usize)> = BTreeMap::new();
    for (name, n) in &outline.tensors {
        let layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
        let layer = layer.and_then(|(number, part)| Some((number.parse::<u64>().ok()?, format!("blk.*.{part}"))));
        let (number, pattern) = layer.map_or((None, name.clone()), |(number, pattern)| (Some(number), pattern));
        let group = groups.entry((placement.device(name), pattern)).or_default();
        group.0.extend(number);
        group.1 += n;
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
