//! A tensor as its file describes it.

use super::stored::Stored;
use crate::{Error, Result};
use tensorlib::DType;

/// The description of a tensor, known without reading its data.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The tensor's name.
    pub name: String,
    /// The name of its type, including types that the engine lacks.
    pub type_name: String,
    /// How its bytes are read.
    pub stored: Stored,
    /// Elements per dimension, the contiguous one first.
    pub shape: Vec<i64>,
    /// The number of the model's safetensors file that contains it; 0 in GGUF, where names are enough.
    pub file: usize,
    /// Where its bytes begin in the data of its file or shard.
    pub offset: u64,
    /// The number of bytes.
    pub nbytes: u64,
}

impl Entry {
    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|n| u64::try_from(*n).unwrap_or(0)).product()
    }

    /// The number of elements of a row.
    pub fn row(&self) -> usize {
        self.shape.first().map_or(1, |n| usize::try_from(*n).unwrap_or(0))
    }

    /// [`dims`] of its shape.
    pub fn dims(&self) -> &[i64] {
        dims(&self.shape)
    }

    /// The engine's type that its values are read as.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the engine has no such type.
    pub fn known_type(&self) -> Result<DType> {
        self.stored.dtype().ok_or_else(|| {
            let message = format!("tensor '{}' is of type {}: the engine has none", self.name, self.type_name);
            Error::unsupported(message).with_hint("convert that tensor to f32, f16, bf16 or i8 before")
        })
    }
}

/// A shape without trailing ones, for comparing shapes.
pub fn dims(shape: &[i64]) -> &[i64] {
    let n = shape.iter().rposition(|n| *n != 1).map_or(0, |last| last + 1);
    &shape[..n]
}

/// The ends of names of such tensors in recurrent layers.
const ELEMENTWISE: [&str; 4] = [".ssm_a", ".ssm_d", ".time_mix_lerp_fused.weight", ".time_mix_r_k.weight"];

/// Whether models add the rows of the GGUF tensor of this name to activations, or multiply these by them element by
/// element, instead of computing a product of matrices. Such operations take no quantised types, and these tensors are
/// small. The biases of a layer's experts have two dimensions, and so have norms with weights of each head.
pub fn is_elementwise(name: &str) -> bool {
    name.ends_with(".bias")
        || name.ends_with("_norm.weight")
        || ELEMENTWISE.iter().any(|end| name.ends_with(end))
        || ["position_embd.weight", "token_types.weight", "attn_rel_b.weight"].contains(&name)
}
