//! Importance of columns: how much each input of a matrix matters, from a file with a vector per tensor name.
//!
//! Two naming schemes are supported: `NAME` with the weights themselves, and that of imatrix files of other tools:
//! `NAME.in_sum2` with sums of squares and `NAME.counts` with their numbers, for each matrix of a stack of experts; the
//! weight is their mean. A matrix with a count of 0 gets ones. Files of their older format (`dat.rs`) are read too.

use super::dat;
use super::plan::Step;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::files::open;
use std::collections::HashMap;
use std::path::Path;
use tensorlib_models::files::{pieces, Entry};

const SUMS: &str = ".in_sum2";
const COUNTS: &str = ".counts";

/// Weights by tensor name: one row, or a row for each matrix.
pub struct Importance(HashMap<String, Vec<f32>>);

impl Importance {
    /// No weights.
    pub fn none() -> Self {
        Importance(HashMap::new())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Outcome<Self> {
        let read = match dat::read(path)? {
            Some(entries) => entries,
            None => whole(path)?,
        };
        let mut weights = HashMap::new();
        for (name, values) in &read {
            if name.ends_with(COUNTS) {
                continue;
            }
            let tensor = name.strip_suffix(SUMS).unwrap_or(name);
            let counts = read.get(&format!("{tensor}{COUNTS}")).map(Vec::as_slice);
            let values = match counts.filter(|_| name.ends_with(SUMS)) {
                Some(counts) => means(tensor, values, counts)?,
                None => values.clone(),
            };
            if let Some(at) = values.iter().position(|v| !v.is_finite() || *v < 0.0) {
                let message = format!("{}: '{name}': weight {at} is {}", path.display(), values[at]);
                return Err(Failure::new(Exit::Refused, message).hint("finite numbers from 0 on are valid"));
            }
            weights.insert(tensor.to_string(), values);
        }
        Ok(Importance(weights))
    }

    /// Compares the weights with the tensors that will be encoded.
    pub fn check(&self, path: &Path, steps: &[Step]) -> Outcome<()> {
        let mut unknown: Vec<&str> = self.0.keys().map(String::as_str).collect();
        unknown.retain(|name| !steps.iter().any(|s| s.entry.name == *name));
        unknown.sort_unstable();
        if let Some(first) = unknown.first() {
            let n = unknown.len();
            warn(format_args!("{}: {n} names of no tensor in OUT, as '{first}'", path.display()));
        }
        steps.iter().filter(|s| !s.is_copy()).try_for_each(|step| self.check_shape(path, &step.entry))?;
        let without = steps.iter().filter(|s| !s.is_copy() && !self.0.contains_key(&s.entry.name)).count();
        if without > 0 {
            warn(format_args!("{}: {without} tensors that are quantised have no weights there", path.display()));
        }
        Ok(())
    }

    /// Refuses weights whose number is not that of a tensor's columns.
    pub fn check_shape(&self, path: &Path, entry: &Entry) -> Outcome<()> {
        let (row, name) = (entry.row(), &entry.name);
        let Some(weights) = self.0.get(name) else { return Ok(()) };
        let matrices = entry.shape.iter().skip(2).map(|n| usize::try_from(*n).unwrap_or(0)).product::<usize>();
        if weights.len() == row || weights.len() == row * matrices {
            return Ok(());
        }
        let n = weights.len();
        let message = format!("{}: '{name}' has {n} weights: {row} is valid, one for each column", path.display());
        Err(Failure::new(Exit::Refused, message).hint("is that file of the same model?"))
    }

    /// The number of matrices of a tensor with separate weights.
    pub fn groups(&self, entry: &Entry) -> usize {
        self.0.get(&entry.name).map_or(1, |w| w.len() / entry.row().max(1)).max(1)
    }

    /// The weights of the columns `column` to `column + n` of a tensor's matrix.
    pub fn of(&self, entry: &Entry, group: usize, column: usize, n: usize) -> Option<&[f32]> {
        let begin = group * entry.row() + column;
        self.0.get(&entry.name)?.get(begin..begin + n)
    }
}

fn means(tensor: &str, sums: &[f32], counts: &[f32]) -> Outcome<Vec<f32>> {
    if counts.is_empty() || sums.len() % counts.len() != 0 {
        let message = format!("'{tensor}': {} sums and {} counts", sums.len(), counts.len());
        return Err(Failure::new(Exit::Refused, message).hint("a count for each matrix is valid"));
    }
    let row = (sums.len() / counts.len()).max(1);
    let mean = |(i, sum): (usize, &f32)| if counts[i / row] == 0.0 { 1.0 } else { sum / counts[i / row] };
    Ok(sums.iter().enumerate().map(mean).collect())
}

/// All tensors of a GGUF or safetensors file.
fn whole(path: &Path) -> Outcome<HashMap<String, Vec<f32>>> {
    let source = open::source(path)?;
    let mut all = HashMap::new();
    for entry in source.entries() {
        let mut values = Vec::new();
        for piece in pieces(entry.elements(), entry.row(), 1, 1 << 20) {
            values.extend(source.values(&entry, &piece).map_err(|e| Failure::from(e).about(path.display()))?);
        }
        all.insert(entry.name, values);
    }
    Ok(all)
}
