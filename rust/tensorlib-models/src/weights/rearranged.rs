//! Small tensors whose elements a model reads in another order than files store them.

use super::Weights;
use crate::Result;
use tensorlib::{DType, Tensor};

impl Weights {
    /// The tensor of this name and shape as F32 with another shape, whose element i is the stored element `source(i)`.
    pub fn rearranged(&self, name: &str, shape: &[i64], to: &[i64], source: impl Fn(usize) -> usize) -> Result<Tensor> {
        let stored = self.get(name, shape)?;
        let leaf = self.context_with_data(name).zeros(DType::F32, to)?;
        let elements = to.iter().product();
        if !self.is_shape_alone(elements, name) {
            let values = stored.to_f32_vec()?;
            let ordered: Vec<f32> = (0..values.len()).map(|i| values[source(i)]).collect();
            leaf.write(&ordered)?;
        }
        self.constant(leaf)
    }
}
