//! What hub folders call the tensors that GGUF files have under names of their own.

use std::collections::HashMap;
use std::sync::Arc;

/// Where a hub folder has what a GGUF file has under one name.
pub enum HubName {
    /// One tensor; the first of these names that is there.
    One(Vec<String>),
    /// A tensor for each expert, by its number, as many as there are.
    Stack(Box<dyn Fn(usize) -> String>),
}

/// What an architecture says of its folders.
#[derive(Clone)]
pub struct HubNames {
    /// GGUF's name to theirs.
    pub of: Arc<dyn Fn(&str) -> HubName + Send + Sync>,
    /// Whether the factors of norms are stored less 1.
    pub norms_less_one: bool,
}

/// Which of the ways of naming tensors, as with a prefix, the files have: that of the embeddings.
pub fn way_of_naming(names: &HubNames, entries: &HashMap<String, usize>) -> usize {
    match (names.of)("token_embd.weight") {
        HubName::One(all) => all.iter().position(|name| entries.contains_key(name)).unwrap_or(0),
        HubName::Stack(_) => 0,
    }
}
