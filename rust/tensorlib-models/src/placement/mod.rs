//! Decides which device each tensor of a model lies on.
//!
//! Tensors go to the first device as long as they fit there. The others go to the next one, in the order that costs
//! least per byte freed: experts that a router chooses, of which a token reads a few; the embeddings, of which it reads
//! a row; feed-forward matrices, the largest first; attention, with its layer's keys and values; the matrix of the
//! logits. Within a kind the last layers go first, so that activations cross few device boundaries.

mod hot_neurons;
mod split_file;

use crate::{Error, Result};
use std::collections::HashMap;
use tensorlib::Backend;

pub use hot_neurons::{fit_neurons, fit_split, hottest, HotNeurons};
pub use split_file::{read_split, SplitLayer};

/// The device of each tensor of a model, by its number in the order of joining.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    of: HashMap<String, usize>,
    divided: HashMap<usize, SplitLayer>,
}

impl Placement {
    /// The number of the tensor's device: the first one unless it was put elsewhere.
    pub fn device(&self, tensor: &str) -> usize {
        self.of.get(tensor).copied().unwrap_or(0)
    }

    /// Puts a tensor on the device of this number.
    pub fn put(&mut self, tensor: &str, device: usize) {
        self.of.insert(tensor.to_string(), device);
    }

    /// Divides a layer's feed-forward matrices by neurons, for a model with transposed down projections: rows with
    /// these ascending numbers go to the first device, all others to the second. An empty or complete list puts the
    /// whole matrices on one device.
    pub fn put_neurons(&mut self, layer: usize, hot: Vec<i32>, neurons: usize) {
        if hot.is_empty() || hot.len() == neurons {
            let device = usize::from(hot.is_empty());
            NEURON_MATRICES.iter().for_each(|part| self.put(&format!("blk.{layer}.{part}.weight"), device));
            return;
        }
        self.divided.insert(layer, SplitLayer { hot, neurons });
    }

    /// How a layer is divided, if it is.
    pub fn divided(&self, layer: usize) -> Option<&SplitLayer> {
        self.divided.get(&layer)
    }
}

/// The matrices with a row per neuron.
const NEURON_MATRICES: [&str; 3] = ["ffn_gate", "ffn_up", "ffn_down_t"];

/// A tensor, or some rows of it, on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its name in GGUF.
    pub name: String,
    /// The number of its device.
    pub device: usize,
    /// The bytes that it takes there.
    pub bytes: usize,
}

/// The memory that a model takes on each device, computed without loading it.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The tensors that would be loaded; a tensor whose rows are divided appears twice.
    pub tensors: Vec<Placed>,
    /// Bytes on each device, in the order of joining: weights, keys and values, intermediates, copies.
    pub bytes: Vec<usize>,
    /// Oddities of the model's files that are no errors, as [`Decoder::warnings`](crate::Decoder::warnings): a line
    /// each.
    pub warnings: Vec<String>,
}

/// Finds a placement in which no device exceeds its budget.
///
/// `budgets`: bytes for each of the backend's devices, `None` without a limit. `chosen`: a tensor's device, if it is
/// placed by hand. `outline` computes what the model takes on each device in a placement, as
/// [`Decoder::outline`](crate::Decoder::outline) does.
///
/// # Errors
/// [`ErrorKind::Memory`](crate::ErrorKind) if the model does not fit, with the number of missing bytes; errors of
/// `outline`.
pub fn fit(
    backend: &Backend,
    budgets: &[Option<u64>],
    chosen: impl Fn(&str) -> Option<usize>,
    mut outline: impl FnMut(&Placement) -> Result<Outline>,
) -> Result<(Placement, Outline)> {
    let devices = backend.devices();
    let mut placement = Placement::default();
    let mut found = outline(&placement)?;
    let mut free = Vec::new();
    for Placed { name, bytes, .. } in &found.tensors {
        match chosen(name) {
            Some(device) => placement.put(name, device),
            None => free.push((name.clone(), *bytes)),
        }
    }
    free.sort_by_key(|(name, bytes): &(String, usize)| order(name, *bytes));
    found = outline(&placement)?;
    for device in 0..devices.len() {
        let Some(budget) = budgets.get(device).copied().flatten() else { continue };
        if found.bytes[device] as u64 <= budget {
            continue;
        }
        let here: Vec<&str> =
            free.iter().map(|(name, _)| &**name).filter(|name| placement.device(name) == device).collect();
        let next = if device + 1 < devices.len() { device + 1 } else { device };
        let without = |n: usize| {
            let mut placement = placement.clone();
            here[..n].iter().for_each(|name| placement.put(name, next));
            placement
        };
        // Finds the fewest tensors that have to go: the more go, the less memory is taken.
        let (mut too_few, mut enough) = (0, here.len());
        let mut best = outline(&without(enough))?;
        if best.bytes[device] as u64 > budget {
            return Err(too_much(&devices[device], budget, best.bytes[device] as u64));
        }
        while too_few + 1 < enough {
            let tried = too_few + (enough - too_few) / 2;
            let outlined = outline(&without(tried))?;
            if outlined.bytes[device] as u64 <= budget {
                (enough, best) = (tried, outlined);
            } else {
                too_few = tried;
            }
        }
        (placement, found) = (without(enough), best);
    }
    Ok((placement, found))
}

/// Fails if a device exceeds its budget.
fn over_budget(backend: &Backend, budgets: &[Option<u64>], outline: &Outline) -> Result<()> {
    for ((device, budget), bytes) in backend.devices().iter().zip(budgets).zip(&outline.bytes) {
        let (Some(budget), needed) = (*budget, *bytes as u64) else { continue };
        if needed > budget {
            return Err(too_much(device, budget, needed));
        }
    }
    Ok(())
}

fn too_much(device: &str, budget: u64, needed: u64) -> Error {
    let message = format!(
        "{device} has a budget of {budget} bytes: {needed} are needed there at least, {} more",
        needed - budget
    );
    Error::memory(message).with_hint("give it more, join another device, or ask for a shorter context")
}

/// The order in which tensors go to the next device: by kind, then the largest first, then the last layer first.
fn order(name: &str, bytes: usize) -> (u8, std::cmp::Reverse<usize>, std::cmp::Reverse<u64>) {
    let part = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    let layer = part.and_then(|(layer, _)| layer.parse().ok()).unwrap_or(0);
    let kind = match part.map_or(name, |(_, part)| part) {
        part if part.contains("_exps.") => 0,
        "token_embd.weight" => 1,
        part if part.starts_with("ffn_") => 2,
        part if part.starts_with("attn_") => 3,
        _ => 4,
    };
    (kind, std::cmp::Reverse(bytes), std::cmp::Reverse(layer))
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn experts_go_first_and_the_logits_last() {
        let mut names = [
            ("output.weight", 9),
            ("blk.0.attn_q.weight", 4),
            ("blk.1.ffn_up.weight", 8),
            ("blk.3.attn_q.weight", 4),
            ("blk.0.ffn_down.weight", 9),
            ("token_embd.weight", 9),
            ("blk.2.ffn_gate_exps.weight", 5),
            ("blk.7.ffn_up_exps.weight", 5),
        ];
        names.sort_by_key(|(name, bytes)| order(name, *bytes));
        let sorted: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            sorted,
            [
                "blk.7.ffn_up_exps.weight",
                "blk.2.ffn_gate_exps.weight",
                "token_embd.weight",
                "blk.0.ffn_down.weight",
                "blk.1.ffn_up.weight",
                "blk.3.attn_q.weight",
                "blk.0.attn_q.weight",
                "output.weight",
            ]
        );
    }
}
