//! Decides what `quantize` does with each tensor before a byte is written, so that `--dry-run` shows the same.

use super::mix::fallback;
use super::recipe::Recipe;
use crate::failure::{Exit, Failure, Outcome};
use crate::files::pattern::{fits, Keep};
use crate::files::types::is_quantised;
use std::collections::HashMap;
use tensorlib::{DType, Kind};
use tensorlib_models::files::{is_elementwise, nbytes, Entry, Stored};

/// What happens to a tensor.
#[derive(Clone, Debug)]
pub struct Step {
    /// The tensor.
    pub entry: Entry,
    /// The type that its values are read as.
    pub from: DType,
    /// Its type in OUT.
    pub to: DType,
    /// Why its type is not the main one of --type; empty if it is.
    pub why: String,
    /// Its bytes in OUT.
    pub nbytes: u64,
}

impl Step {
    /// Whether bytes are copied unchanged.
    pub fn is_copy(&self) -> bool {
        self.entry.stored == Stored::As(self.to)
    }
}

/// Types that were chosen tensor by tensor. Matrices that are not in the list stay as they are.
pub struct Types {
    /// The types by the names of tensors.
    pub types: HashMap<String, DType>,
    /// Why, in the summary.
    pub why: String,
}

/// The options of the command line.
pub struct Wishes<'a> {
    /// The type of most matrices.
    pub recipe: Recipe,
    /// The types of a mix, or for a size.
    pub types: Option<&'a Types>,
    /// --keep, in their order.
    pub keep: &'a [Keep],
    /// --allow-requantize
    pub requantize: bool,
}

/// Plans all tensors.
pub fn plan(entries: Vec<Entry>, wishes: &Wishes) -> Outcome<Vec<Step>> {
    entries.into_iter().map(|entry| step(entry, wishes)).collect()
}

fn step(entry: Entry, wishes: &Wishes) -> Outcome<Step> {
    let from = entry.known_type()?;
    check_writable(&entry)?;
    let (to, why) = match wishes.keep.iter().find(|k| fits(&k.pattern, &entry.name)) {
        Some(Keep { dtype: Some(to), pattern }) => (explicit(&entry, from, *to, pattern)?, "by --keep".to_string()),
        Some(_) => (from, "by --keep".into()),
        None => match wishes.types {
            Some(types) => by_types(&entry, from, wishes.recipe, types),
            None => by_rule(&entry, from, wishes.recipe.dtype()),
        },
    };
    if from != to && is_quantised(from) && !wishes.requantize {
        let message = format!("tensor '{}' is {from} already: to make it {to} would lose a second time", entry.name);
        return Err(Failure::new(Exit::Refused, message)
            .hint("begin with the original in f32, f16 or bf16, or say --allow-requantize"));
    }
    let nbytes = nbytes(to, entry.elements());
    Ok(Step { entry, from, to, why, nbytes })
}

/// Refuses what GGUF cannot store.
fn check_writable(entry: &Entry) -> Outcome<()> {
    let Entry { name, shape, .. } = entry;
    let what = match () {
        _ if name.is_empty() => "has no name: GGUF's have 1 to 64 bytes".into(),
        _ if name.len() > 64 => format!("has a name of {} bytes: GGUF's have 1 to 64", name.len()),
        _ if shape.len() > 4 => format!("has {} dimensions: GGUF's have up to 4", shape.len()),
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Refused, format!("tensor '{name}' {what}"))
        .hint(format!("change it in the model, or leave it out: --skip '{name}'")))
}

/// Checks that a type chosen by name is possible.
fn explicit(entry: &Entry, from: DType, to: DType, pattern: &str) -> Outcome<DType> {
    if from == to {
        return Ok(to);
    }
    let refused = |why: String| {
        let message = format!("tensor '{}' cannot be {to} (pattern '{pattern}'): {why}", entry.name);
        Err(Failure::new(Exit::Refused, message).hint("give it another type by a pattern before that one"))
    };
    if from.kind() == Kind::Integer {
        return refused(format!("it holds integers, {from}"));
    }
    if is_elementwise(&entry.name) && is_quantised(to) {
        return refused("models add its rows, which takes f32, f16 or bf16".into());
    }
    if !rows_fit(entry, to) {
        return refused(format!("its rows of {} are no whole blocks of {}", entry.row(), to.block_size()));
    }
    Ok(to)
}

fn by_types(entry: &Entry, from: DType, recipe: Recipe, Types { types, why }: &Types) -> (DType, String) {
    let Some(wanted) = types.get(&entry.name).copied().filter(|_| from.kind() != Kind::Integer) else {
        let unchanged = match () {
            _ if from.kind() == Kind::Integer => "integers",
            _ if entry.dims().len() < 2 => "less than 2 dimensions",
            _ if is_elementwise(&entry.name) => "added, not multiplied",
            _ if is_quantised(from) => "quantised already",
            _ => "small: left as it is",
        };
        return (from, unchanged.into());
    };
    let to = fallback(wanted, entry.row());
    let why = match to {
        _ if to != wanted => format!("rows of {} are no blocks of {}", entry.row(), wanted.block_size()),
        _ if to != recipe.dtype() => why.clone(),
        _ => String::new(),
    };
    (to, why)
}

fn by_rule(entry: &Entry, from: DType, wanted: DType) -> (DType, String) {
    if from == wanted {
        return (from, String::new());
    }
    if from.kind() == Kind::Integer {
        return (from, "integers".into());
    }
    if entry.dims().len() < 2 {
        return (from, "less than 2 dimensions".into());
    }
    if is_elementwise(&entry.name) {
        return (from, "added, not multiplied".into());
    }
    if rows_fit(entry, wanted) {
        return (wanted, String::new());
    }
    let odd = format!("rows of {} are no blocks of {}", entry.row(), wanted.block_size());
    if !is_quantised(from) && rows_fit(entry, DType::Q8_0) {
        return (DType::Q8_0, odd);
    }
    (from, odd)
}

fn rows_fit(entry: &Entry, dtype: DType) -> bool {
    i64::try_from(entry.row()).is_ok_and(|n| n % dtype.block_size() == 0)
}
