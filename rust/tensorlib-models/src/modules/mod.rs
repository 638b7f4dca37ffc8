//! The modules of sentence-transformers that follow the pooling: what files say of them, and their results.

mod dense;
mod list;
mod tail;

pub(crate) use list::{Kind, ModuleList};
pub(crate) use tail::{Loading, Tail};
