//! What hub folders call the tensors that GGUF files have under names of their own.

use super::Quantization;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a hub folder has what a GGUF file has under one name.
pub enum HubName {
    /// One tensor; the first of these names that is there.
    One(Vec<String>),
    /// Matrices of experts.
    Stack(Stack),
}

/// Where a hub folder has the matrices of all experts.
pub struct Stack {
    /// A tensor for each expert, by its number, as many as there are.
    pub of: Box<dyn Fn(usize) -> String>,
    /// One tensor of all; the first of these names that is there goes before the others.
    pub fused: Vec<String>,
    /// Of these, which half of each matrix's rows.
    pub half: Option<u64>,
}

/// What an architecture says of its folders.
#[derive(Clone)]
pub struct HubNames {
    /// GGUF's name to theirs.
    pub of: Arc<dyn Fn(&str) -> HubName + Send + Sync>,
    /// Whether the factors of norms are stored less 1.
    pub norms_less_one: bool,
    /// What config.json says of weights in 8 bits.
    pub quantization: Quantization,
}

impl HubNames {
    /// These names, of weights that are stored as they are.
    pub fn new(of: impl Fn(&str) -> HubName + Send + Sync + 'static) -> Self {
        HubNames { of: Arc::new(of), norms_less_one: false, quantization: Quantization::default() }
    }
}

/// Which of the ways of naming tensors, as with a prefix, the files have: that of the embeddings.
pub fn way_of_naming(names: &HubNames, entries: &HashMap<String, usize>) -> usize {
    match (names.of)("token_embd.weight") {
        HubName::One(all) => all.iter().position(|name| entries.contains_key(name)).unwrap_or(0),
        HubName::Stack(_) => 0,
    }
}
