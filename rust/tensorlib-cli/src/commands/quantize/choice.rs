//! Selects the tensors that `quantize` converts or copies: all except those of --skip and those of types that GGUF
//! lacks.

use crate::failure::{warn, Exit, Failure, Outcome};
use crate::files::pattern::{fits, Keep};
use std::collections::HashSet;
use tensorlib_models::files::{scale_of, Entry, Stored};

/// The selection, in the file's order.
pub struct Choice {
    /// The selected tensors.
    pub taken: Vec<Entry>,
    /// The tensors left out, and why.
    pub left_out: Vec<(Entry, Why)>,
}

/// Why a tensor is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// By --skip.
    Skipped,
    /// Neither the engine nor GGUF has its type.
    NoType,
}

/// Selects tensors; every pattern has to match one.
pub fn choose(entries: Vec<Entry>, skip: &[String], keep: &[Keep]) -> Outcome<Choice> {
    let keep: Vec<&str> = keep.iter().map(|k| k.pattern.as_str()).collect();
    let skip: Vec<&str> = skip.iter().map(String::as_str).collect();
    check_fits("--skip", &skip, &entries, "no tensor fits")?;
    check_fits("--keep", &keep, &entries, "no tensor fits")?;
    let (skipped, rest): (Vec<_>, Vec<_>) = entries.into_iter().partition(|t| skip.iter().any(|p| fits(p, &t.name)));
    check_fits("--keep", &keep, &rest, "--skip leaves out all that fits")?;
    warn_of_shadows(&keep, &rest);
    check_scales(&rest)?;
    let mut left_out: Vec<(Entry, Why)> = skipped.into_iter().map(|t| (t, Why::Skipped)).collect();
    let (unknown, taken): (Vec<_>, Vec<_>) = rest.into_iter().partition(|t| t.stored == Stored::Unknown);
    left_out.extend(unknown.into_iter().map(|t| (t, Why::NoType)));
    if taken.is_empty() && !left_out.is_empty() {
        let types = left_out.iter().filter(|(_, why)| *why == Why::NoType).count();
        let message = format!(
            "nothing is left to write: {} tensors are left out by --skip, and {types} have types that GGUF lacks",
            left_out.len() - types
        );
        return Err(Failure::new(Exit::Refused, message).hint("`tensorlib inspect --tensors IN` lists all"));
    }
    Ok(Choice { taken, left_out })
}

fn check_fits(option: &str, patterns: &[&str], entries: &[Entry], why: &str) -> Outcome<()> {
    let unused = patterns.iter().filter(|p| !entries.iter().any(|t| fits(p, &t.name)));
    let unused: Vec<String> = unused.map(|p| format!("'{p}'")).collect();
    if unused.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Refused, format!("{option}: {why} {}", unused.join(", ")))
        .hint("`tensorlib inspect --tensors IN` lists the names; * is any text, ? any character, all else itself"))
}

/// Warns of a --keep that changes nothing because earlier ones match first, which is hardly intended.
fn warn_of_shadows(keep: &[&str], entries: &[Entry]) {
    let first = |t: &Entry| keep.iter().position(|p| fits(p, &t.name));
    let used: HashSet<usize> = entries.iter().filter_map(first).collect();
    for (_, pattern) in keep.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        warn(format_args!("--keep: patterns before it fit all that '{pattern}' does: the first counts"));
    }
}

/// 8-bit floats that are multiplied by a tensor of scales are no weights without it: a model of them would be written
/// without an error, and be useless.
fn check_scales(entries: &[Entry]) -> Outcome<()> {
    let names: HashSet<&str> = entries.iter().map(|t| t.name.as_str()).collect();
    let floats = entries.iter().filter(|t| matches!(t.stored, Stored::Fp8(_)));
    let scaled: Vec<_> = floats.filter_map(|t| Some((t, scale_of(&t.name, |name| names.contains(name))?))).collect();
    let Some((first, scale)) = scaled.first() else { return Ok(()) };
    let message = format!(
        "tensor '{}' is {} and to be multiplied by '{scale}', which this program does not do: its values would be wrong \
         ({} such tensors)",
        first.name,
        first.type_name,
        scaled.len()
    );
    let ending = scale.rsplit('.').next().unwrap_or(scale);
    Err(Failure::new(Exit::Refused, message).hint(format!(
        "let its maker's tool convert the model to bf16 before; --skip '*{ending}' takes the values without their scales"
    )))
}
