//! Low-rank additions for tasks, which a folder has next to its matrices (Sturua and others, jina-embeddings-v3: Multilingual
//! Embeddings With Task LoRA, 2024).

use super::{HubName, HubNames, Slice};

/// What the names of the matrices without additions end with in such folders.
const ORIGINAL: &str = ".original";
/// Tensors of additions, and those of the product after the pooling, which vectors do without.
const ADDITIONS: &str = ".parametrizations.weight.0.lora_";
const UNUSED: &str = "pooler.dense.";

/// The tasks that a folder has additions for.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub names: Vec<String>,
    /// The text before each text, for each task.
    pub instructions: Vec<String>,
    pub rank: i64,
    pub alpha: f64,
}

impl Tasks {
    /// The number of the task of this name.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

/// Whether a tensor of a folder is an addition that vectors need.
pub fn is_addition(name: &str) -> bool {
    name.contains(ADDITIONS) && !name.contains(UNUSED)
}

/// The names of the additions for one of `count` tasks. A tensor has those for all tasks.
pub fn names(model: &HubNames, number: u64, count: i64) -> HubNames {
    let of = model.of.clone();
    HubNames::new(move |name: &str| {
        let (base, is_a) = match name.strip_suffix(".lora_a") {
            Some(base) => (base, true),
            None => (name.strip_suffix(".lora_b").unwrap_or(name), false),
        };
        // A table's A has a row for each of its rows, and its B one for each rank.
        let (part, transposed) = match (base, is_a) {
            ("token_embd.weight", false) => ("lora_B", true),
            ("token_types.weight", true) => ("lora_B", false),
            ("token_types.weight", false) | (_, true) => ("lora_A", false),
            (_, false) => ("lora_B", false),
        };
        let candidates = match of(base) {
            HubName::One(candidates) => candidates,
            HubName::Stack(_) | HubName::Rows { .. } | HubName::Slice(_) => Vec::new(),
        };
        let names = candidates.iter().filter_map(|name| name.strip_suffix(ORIGINAL));
        HubName::Slice(Slice {
            names: names.map(|name| format!("{name}.0.{part}")).collect(),
            number,
            count,
            transposed,
        })
    })
}
