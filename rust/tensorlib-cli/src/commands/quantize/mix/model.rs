//! What mixes ask about a model.

use tensorlib::{Array, Gguf, Value};
use tensorlib_models::files::{Entry, Source};

/// Facts of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// The number of layers.
    pub layers: usize,
    /// How many heads of queries share one of keys; 0 for a model without attention in its first layer.
    pub sharing: u64,
    /// The number of experts; 0 without.
    pub experts: u64,
    /// Whether it is one of about 70 billion weights whose values are few, compared with its queries.
    pub is_70b: bool,
    /// Whether the matrix of the logits is the one of the embeddings.
    pub is_tied: bool,
    /// The number of matrices that make values.
    pub values: usize,
}

impl Model {
    /// The facts of a file. Safetensors files have no metadata: names of layers tell their number.
    pub fn of(source: &Source, entries: &[Entry]) -> Self {
        let counted = entries.iter().filter_map(|t| Self::layer(&t.name)).max().map_or(0, |last| last as usize + 1);
        let is_tied = !entries.iter().any(|t| t.name == "output.weight");
        let values = entries.iter().filter(|t| super::tensor::Role::of(&t.name) == super::tensor::Role::Value).count();
        let names = Model { layers: counted, sharing: 1, is_tied, values, ..Model::default() };
        let Source::Gguf(file) = source else { return names };
        let architecture = file.string("general.architecture").unwrap_or_default();
        let number = |key: &str| first(file, &format!("{architecture}.{key}"));
        let layers = number("block_count").map_or(counted, |n| usize::try_from(n).unwrap_or(counted));
        let heads = number("attention.head_count").unwrap_or(1);
        let keys = number("attention.head_count_kv").unwrap_or(heads);
        let sharing = heads.checked_div(keys).unwrap_or(0);
        let is_70b = layers == 80 && (architecture == "qwen2" || architecture == "llama" && sharing > 1);
        Model { layers, sharing, experts: number("expert_count").unwrap_or(0), is_70b, ..names }
    }

    /// The number of the layer that a tensor of this name is in.
    pub fn layer(name: &str) -> Option<u32> {
        name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
    }
}

/// A number, or the first of a list with one for each layer.
fn first(file: &Gguf, key: &str) -> Option<u64> {
    match file.get(key)? {
        Value::Array(Array::U32(list)) => list.first().copied().map(u64::from),
        Value::Array(Array::I32(list)) => list.first().and_then(|n| u64::try_from(*n).ok()),
        Value::Array(_) => None,
        _ => file.u64(key).ok(),
    }
}
