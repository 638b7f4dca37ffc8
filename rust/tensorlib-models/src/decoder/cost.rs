//! Lower bounds of the work per token.

use super::layer_inputs::PER_LAYER_TABLE;
use super::shape::Shape;
use crate::weights::Loaded;
use tensorlib::DType;

/// The work that a machine has to do for each token, whatever the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Bytes of weights that a token reads: all weights, except that of experts it reads the share that is used, and of
    /// the embeddings one row if another matrix makes the logits.
    pub weight_bytes: f64,
    /// Multiplications and additions of products with weights.
    pub operations: f64,
    /// These operations without the matrix of the logits, which a prompt needs only once.
    pub operations_inside: f64,
    /// Elements of keys and values that a token reads for each earlier token, in layers without a window and in layers
    /// with one.
    cache_elements: [f64; 2],
    /// The number of keys in the window.
    window: Option<f64>,
}

impl Cost {
    pub(super) fn new(loaded: &[Loaded], shape: &Shape, tied: bool) -> Self {
        let mut cost =
            Cost { weight_bytes: 0.0, operations: 0.0, operations_inside: 0.0, cache_elements: [0.0; 2], window: None };
        for Loaded { name, tensor, .. } in loaded {
            let is_embeddings = name == "token_embd.weight";
            if name == PER_LAYER_TABLE || is_embeddings && !tied {
                continue;
            }
            let used = match &shape.experts {
                Some(experts) if name.contains("_exps.") => experts.used as f64 / experts.count as f64,
                _ => 1.0,
            };
            cost.weight_bytes += used * tensor.nbytes() as f64;
            if tensor.shape().len() > 1 && !name.ends_with(".bias") {
                let operations = 2.0 * used * tensor.n_elements() as f64;
                cost.operations += operations;
                if !is_embeddings && name != "output.weight" {
                    cost.operations_inside += operations;
                }
            }
        }
        for layer in (0..usize::try_from(shape.layers).unwrap_or(0)).filter(|layer| shape.blocks_of(*layer).attention) {
            let heads = shape.own_keys_of(layer);
            let elements = (heads.key + heads.value) * heads.count;
            cost.cache_elements[usize::from(shape.is_windowed(layer))] += elements as f64;
        }
        cost.window = shape.window.as_ref().map(|window| window.keys as f64);
        cost
    }

    /// Bytes of keys and values that a token after `depth` others reads from a cache of this type.
    pub fn cache_bytes(&self, depth: usize, cache: DType) -> f64 {
        let (depth, element) = (depth as f64, cache.size() as f64 / cache.block_size() as f64);
        let [all, windowed] = self.cache_elements;
        element * (all * depth + windowed * self.window.map_or(depth, |keys| depth.min(keys)))
    }
}
