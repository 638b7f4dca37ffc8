//! `--target-size`: the type of each tensor, so that the file is no larger than asked for and loses least.

mod header;
mod measure;
mod optimum;

use super::importance::Importance;
use super::mix::is_mixed;
use crate::failure::{Exit, Failure, Outcome};
use crate::files::pattern::{fits, Keep};
use crate::files::types::is_quantised;
use crate::terminal::progress::tensors_bar;
use crate::terminal::signals;
use crate::terminal::text::{bytes, count, shape, Table};
use optimum::Cost;
use std::collections::HashMap;
use std::io::Write;
use tensorlib::{DType, Kind, Value};
use tensorlib_models::files::{nbytes, Entry, Source};

/// What is wanted.
pub struct Target<'a> {
    /// --target-size
    pub size: u64,
    /// --keep: these tensors have their types.
    pub keep: &'a [Keep],
    /// --allow-requantize
    pub requantize: bool,
    /// Threads to measure with.
    pub threads: usize,
    /// What tensors' offsets are multiples of.
    pub alignment: u64,
    /// Whether no bar is shown.
    pub quiet: bool,
}

/// A tensor whose type is chosen.
pub struct Chosen {
    entry: Entry,
    dtype: DType,
    cost: Cost,
}

/// Chooses types for the matrices of `entries`; the others are in no row of the result. `keys`: the metadata of the file.
pub fn choose(
    target: &Target,
    source: &Source,
    entries: &[Entry],
    importance: &Importance,
    keys: impl Iterator<Item = (String, Value)>,
) -> Outcome<Vec<Chosen>> {
    let is_free = |t: &&Entry| {
        let from = t.known_type().unwrap_or(DType::I32);
        let is_float = from.kind() != Kind::Integer && (target.requantize || !is_quantised(from));
        let is_kept = target.keep.iter().any(|k| fits(&k.pattern, &t.name));
        is_float && !is_kept && t.dims().len() >= 2 && is_mixed(&t.name)
    };
    let free: Vec<&Entry> = entries.iter().filter(is_free).collect();
    let fixed = entries.iter().filter(|t| !is_free(t)).map(|t| fixed_bytes(target, t));
    let head = header::size(keys, entries.iter().map(|t| (t.name.as_str(), t.shape.len().max(1))), target.alignment);
    let taken = head + fixed.sum::<Outcome<u64>>()?;
    let mut options = Vec::new();
    let bar = tensors_bar(free.len() as u64, target.quiet);
    signals::catch();
    for entry in &free {
        signals::check("nothing was written")?;
        let types = measure::types(entry, entry.known_type()?);
        let costs = measure::costs(source, entry, &types, importance, (target.alignment, target.threads))?;
        options.push((types, costs));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let costs: Vec<Vec<Cost>> = options.iter().map(|(_, costs)| costs.clone()).collect();
    let limit = target.size.checked_sub(taken);
    let chosen =
        limit.and_then(|limit| optimum::choose(&costs, limit)).ok_or_else(|| too_small(target, &costs, taken))?;
    let chosen = free.iter().zip(&options).zip(chosen).map(|((entry, (types, costs)), i)| Chosen {
        entry: (*entry).clone(),
        dtype: types[i],
        cost: costs[i],
    });
    Ok(chosen.collect())
}

/// The bytes of a tensor whose type is not chosen.
fn fixed_bytes(target: &Target, entry: &Entry) -> Outcome<u64> {
    let kept = target.keep.iter().find(|k| fits(&k.pattern, &entry.name)).and_then(|k| k.dtype);
    let dtype = kept.map_or_else(|| entry.known_type(), Ok)?;
    Ok(nbytes(dtype, entry.elements()).next_multiple_of(target.alignment))
}

fn too_small(target: &Target, costs: &[Vec<Cost>], taken: u64) -> Failure {
    let least = |options: &Vec<Cost>| options.iter().map(|cost| cost.bytes).min().unwrap_or(0);
    let least = taken + costs.iter().map(least).sum::<u64>();
    let (size, n) = (bytes(target.size), bytes(least));
    let message = format!(
        "--target-size {size}: the smallest possible is {n} ({least} bytes), of which {} are no matrices",
        bytes(taken)
    );
    Failure::new(Exit::Refused, message).hint("take a larger size; --skip leaves tensors out")
}

/// The types by the names of tensors.
pub fn types(chosen: &[Chosen]) -> HashMap<String, DType> {
    chosen.iter().map(|c| (c.entry.name.clone(), c.dtype)).collect()
}

/// The type of most elements.
pub fn main_type(chosen: &[Chosen]) -> Option<DType> {
    let mut elements: Vec<(DType, u64)> = Vec::new();
    for c in chosen {
        match elements.iter_mut().find(|(dtype, _)| *dtype == c.dtype) {
            Some((_, n)) => *n += c.entry.elements(),
            None => elements.push((c.dtype, c.entry.elements())),
        }
    }
    elements.into_iter().max_by_key(|(_, n)| *n).map(|(dtype, _)| dtype)
}

/// Prints a row for each tensor, and the sums.
pub fn print(chosen: &[Chosen], out: &mut dyn Write) -> Outcome<()> {
    let mut table = Table::new(&["name", "shape", "type", ">size", ">bits a weight", ">error"]);
    for c in chosen {
        let bits = c.cost.bytes as f64 * 8.0 / c.entry.elements().max(1) as f64;
        table.row(vec![
            c.entry.name.clone(),
            shape(&c.entry.shape),
            c.dtype.name(),
            bytes(c.cost.bytes),
            format!("{bits:.2}"),
            format!("{:.3} %", 100.0 * c.cost.error.sqrt()),
        ]);
    }
    if !chosen.is_empty() {
        table.print(out)?;
    }
    let (size, error) = chosen.iter().fold((0, 0.0), |(n, e), c| (n + c.cost.bytes, e + c.cost.error));
    let mean = 100.0 * (error / chosen.len().max(1) as f64).sqrt();
    let all = format!("{} of chosen types", count(chosen.len(), "tensor"));
    Ok(writeln!(out, "{all}: {}, error {mean:.3} % (root mean square)", bytes(size))?)
}
