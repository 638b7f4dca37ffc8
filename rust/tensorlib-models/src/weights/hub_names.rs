//! The names in hub folders of the tensors that GGUF files have under their own names.

use super::Quantization;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a hub folder stores the tensor of one GGUF name.
pub enum HubName {
    /// One tensor: the first of these names that exists.
    One(Vec<String>),
    /// Matrices of experts.
    Stack(Stack),
    /// Matrices of experts, whose rows follow each other in one matrix: the first of these names that exists.
    Rows {
        names: Vec<String>,
        /// The rows of each matrix belong to its inputs.
        transposed: bool,
    },
    /// One matrix of several in a tensor.
    Slice(Slice),
}

/// Where a hub folder stores a matrix among others of its shape.
pub struct Slice {
    /// The first of these names that exists.
    pub names: Vec<String>,
    /// The matrix's number, and how many there are.
    pub number: u64,
    pub count: i64,
    /// The rows of each matrix belong to its inputs.
    pub transposed: bool,
}

/// Where a hub folder stores the matrices of all experts.
pub struct Stack {
    /// The tensor of each expert, by its number: the first of these names that exists. As many as exist.
    pub of: Box<dyn Fn(usize) -> Vec<String>>,
    /// One tensor with the matrices of all experts, under the first of these names that exists. It takes precedence
    /// over separate ones.
    pub fused: Vec<String>,
    /// In a fused tensor, which half of each matrix's rows.
    pub half: Option<u64>,
    /// The rows of each matrix of a fused tensor belong to its inputs.
    pub transposed: bool,
}

/// An architecture's names in hub folders, and in GGUF files where those are not ours.
#[derive(Clone)]
pub struct HubNames {
    /// Converts a GGUF name to the folder's names.
    pub of: Arc<dyn Fn(&str) -> HubName + Send + Sync>,
    /// Whether the tensor of this GGUF name is stored less 1, as the factors of some models' norms are.
    pub less_one: fn(&str) -> bool,
    /// The name in GGUF files of the tensor of this name, if it is another one.
    pub in_gguf: fn(&str) -> Option<String>,
    /// How config.json describes 8-bit weights.
    pub quantization: Quantization,
}

impl HubNames {
    /// These names, for weights that are stored as they are.
    pub fn new(of: impl Fn(&str) -> HubName + Send + Sync + 'static) -> Self {
        HubNames { of: Arc::new(of), less_one: |_| false, in_gguf: |_| None, quantization: Quantization::default() }
    }
}

/// Which naming scheme, such as one with a prefix, the files use: that of the embeddings.
pub fn way_of_naming(names: &HubNames, entries: &HashMap<String, usize>) -> usize {
    match (names.of)("token_embd.weight") {
        HubName::One(all) => all.iter().position(|name| entries.contains_key(name)).unwrap_or(0),
        HubName::Stack(_) | HubName::Rows { .. } | HubName::Slice(_) => 0,
    }
}
