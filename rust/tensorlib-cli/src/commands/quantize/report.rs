//! The messages of `tensorlib quantize`: its plan, its result, and warnings of losses.

use super::choice::Why;
use super::plan::Step;
use super::recipe::Recipe;
use crate::args::Quantize;
use crate::failure::{warn, Outcome};
use crate::files::types::is_quantised;
use crate::terminal::progress::rate;
use crate::terminal::text::{bytes, count, shape, Table};
use std::collections::BTreeMap;
use std::io::Write;
use tensorlib_models::files::listed;
use tensorlib_models::files::Entry;

/// A tensor that is left out, and why.
type LeftOut = (Entry, Why);

/// Warnings before the work begins.
pub fn warn_of_losses(steps: &[Step], left_out: &[LeftOut]) {
    let no_type = left_out.iter().filter(|(_, why)| *why == Why::NoType);
    let names: Vec<String> = no_type.map(|(t, _)| format!("'{}' ({})", t.name, t.type_name)).collect();
    if !names.is_empty() {
        let (n, all) = (names.len(), left_out.len() + steps.len());
        warn(format_args!("left out, as GGUF has no such types: {n} of {all} tensors: {}", listed(names)));
    }
    let twice = steps.iter().filter(|s| !s.is_copy() && is_quantised(s.from)).count();
    if twice > 0 {
        warn(format_args!("{twice} tensors were quantised before: quantising them again loses twice"));
    }
}

/// A row for each tensor.
pub fn print_plan(steps: &[Step], left_out: &[LeftOut], out: &mut dyn Write) -> Outcome<()> {
    let mut table = Table::new(&["name", "shape", "from", "to", ">size", ">new size", "note"]);
    let mut row = |t: &Entry, to: String, new: String, note: String| {
        table.row(vec![t.name.clone(), shape(&t.shape), t.type_name.clone(), to, bytes(t.nbytes), new, note]);
    };
    for s in steps {
        row(&s.entry, s.to.name(), bytes(s.nbytes), s.why.clone());
    }
    for (t, why) in left_out {
        row(t, "-".into(), "-".into(), reason(*why).into());
    }
    if !steps.is_empty() {
        table.print(out)?;
    }
    Ok(writeln!(out, "{}; nothing was written", sizes(steps))?)
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Skipped => "left out by --skip",
        Why::NoType => "left out, as GGUF has no such type",
    }
}

/// `10 tensors, 1.00 GiB -> 144.00 MiB, 4.5 bits per weight`.
fn sizes(steps: &[Step]) -> String {
    let (mut before, mut after, mut elements) = (0u64, 0u64, 0u64);
    for s in steps {
        (before, after, elements) = (before + s.entry.nbytes, after + s.nbytes, elements + s.entry.elements());
    }
    let bits = after as f64 * 8.0 / (elements.max(1)) as f64;
    format!("{}, {} -> {}, {bits:.2} bits per weight", count(steps.len(), "tensor"), bytes(before), bytes(after))
}

/// The summary of a run.
pub fn summary(
    options: &Quantize,
    recipe: Recipe,
    steps: &[Step],
    left_out: &[LeftOut],
    (parts, seconds): (usize, f64),
) -> String {
    let input: u64 = steps.iter().map(|s| s.entry.nbytes).sum();
    let parts = if parts > 1 { format!(" ({parts} parts)") } else { String::new() };
    let mut text = format!("{}{parts}: {} ({})\n", options.output.display(), sizes(steps), rate(input, seconds));
    let dtype = recipe.dtype();
    let as_asked = steps.iter().filter(|s| s.to == dtype).count();
    text += &format!("  {dtype}: {as_asked}\n");
    // The reasons for other types.
    let mut others: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for s in steps.iter().filter(|s| s.to != dtype) {
        *others.entry((s.to.name(), &s.why)).or_default() += 1;
    }
    for ((name, why), n) in others {
        text += &format!("  {name}: {n} ({why})\n");
    }
    for why in [Why::Skipped, Why::NoType] {
        let n = left_out.iter().filter(|(_, w)| *w == why).count();
        if n > 0 {
            text += &format!("  {}: {n}\n", reason(why));
        }
    }
    text
}
