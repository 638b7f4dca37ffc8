//! Shows what a run multiplies with each matrix of a layer.

use crate::{Error, Result};
use std::collections::HashMap;
use tensorlib::{Backend, Graph, Tensor};

/// A matrix that is multiplied in parts, with queries and with what attention makes of latent vectors: no input is
/// multiplied with its columns alone.
const ABSORBED: &str = ".attn_kv_b.";

/// A product with a matrix of a layer, or with those of its experts.
pub struct Product<'a> {
    /// The matrix, or the stack of them, by its GGUF name.
    pub name: &'a str,
    /// The number of matrices.
    pub matrices: usize,
    /// The elements of an input.
    pub row: usize,
    /// The inputs, one after the other.
    pub inputs: &'a [f32],
    /// For each use of a matrix: its number, and that of its input.
    pub uses: Vec<(usize, usize)>,
}

/// A product of a graph: the nodes that make its inputs and the numbers of its experts.
struct Watched {
    weight: Tensor,
    inputs: String,
    /// The number of elements of the whole input.
    len: usize,
    /// Who chooses experts, and for how many inputs a token has: 1, or one for each of its experts.
    experts: Option<(String, usize)>,
}

/// Results of nodes, as long as a product still reads them.
#[derive(Default)]
struct Results {
    floats: HashMap<String, Vec<f32>>,
    numbers: HashMap<String, Vec<i32>>,
    readers: HashMap<String, usize>,
}

/// Computes a graph, and calls `take` for each product with a matrix of a layer. A node's result is there only until the
/// next one, so inputs are copied when they are made.
pub fn compute(graph: &Graph, backend: &Backend, take: &mut dyn FnMut(&Product)) -> Result<()> {
    let watched = watch(graph)?;
    let mut results = Results::default();
    for product in watched.values() {
        *results.readers.entry(product.inputs.clone()).or_default() += 1;
        if let Some((ids, _)) = &product.experts {
            *results.readers.entry(ids.clone()).or_default() += 1;
        }
    }
    let mut failed = None;
    let ran = graph.compute_observed(backend, |node, _, _| {
        let name = node.name();
        let kept = results.keep(&name, node, &watched);
        let taken = kept.and_then(|()| watched.get(&name).map_or(Ok(()), |product| results.give(product, take)));
        failed = taken.err();
        failed.is_none()
    });
    failed.map_or(Ok(()), Err)?;
    Ok(ran?)
}

/// The products of a graph by the names of their nodes, which this gives to all nodes.
fn watch(graph: &Graph) -> Result<HashMap<String, Watched>> {
    let nodes = graph.nodes();
    for (i, node) in nodes.iter().enumerate() {
        node.set_name(&format!("node {i}"))?;
    }
    let mut watched = HashMap::new();
    for node in nodes {
        if !node.op().starts_with("mul_mat") {
            continue;
        }
        let mut sources = node.sources().into_iter().flatten();
        let (Some(weight), Some(inputs), ids) = (sources.next(), sources.next(), sources.next()) else { continue };
        let of_layer = weight.op() == "leaf" && weight.name().starts_with("blk.");
        if !of_layer || weight.name().contains(ABSORBED) {
            continue;
        }
        let per_token = inputs.shape().get(1).map_or(1, |n| usize::try_from(*n).unwrap_or(1));
        let experts = ids.map(|ids| made_by(&ids, &weight).map(|node| (node.name(), per_token))).transpose()?;
        let inputs = made_by(&inputs, &weight)?;
        let product = Watched { weight, inputs: inputs.name(), len: inputs.n_elements(), experts };
        watched.insert(node.name(), product);
    }
    Ok(watched)
}

/// The node whose result a tensor has, in another shape at most.
fn made_by(tensor: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let mut node = tensor.clone();
    while node.op() == "reshape" {
        let Some(source) = node.sources().into_iter().flatten().next() else { break };
        node = source;
    }
    // A part of a result, or one in another order, would need the values of all of it and the way to read them.
    match node.is_contiguous()
        && node.op() != "leaf"
        && !["narrow", "view", "permute", "transpose"].contains(&&*node.op())
    {
        true => Ok(node),
        false => Err(Error::unsupported(format!(
            "tensor '{}': its inputs are part of a result, which is not followed",
            weight.name()
        ))),
    }
}

impl Results {
    /// Copies a node's result if a product reads it.
    fn keep(&mut self, name: &str, node: &Tensor, watched: &HashMap<String, Watched>) -> Result<()> {
        if !self.readers.contains_key(name) {
            return Ok(());
        }
        let chooses = watched.values().any(|product| product.experts.as_ref().is_some_and(|(ids, _)| ids == name));
        match chooses {
            true => drop(self.numbers.insert(name.into(), node.to_vec::<i32>()?)),
            false => drop(self.floats.insert(name.into(), node.to_f32_vec()?)),
        }
        Ok(())
    }

    /// Passes a product on, and forgets what nobody reads any more.
    fn give(&mut self, product: &Watched, take: &mut dyn FnMut(&Product)) -> Result<()> {
        let name = product.weight.name();
        let missing = || Error::internal(format!("tensor '{name}': its inputs were not seen"));
        let shape = product.weight.shape();
        let row = usize::try_from(shape[0]).unwrap_or(0).max(1);
        let inputs =
            self.floats.get(&product.inputs).filter(|inputs| inputs.len() == product.len).ok_or_else(missing)?;
        let n = inputs.len() / row;
        let uses = match &product.experts {
            None => (0..n).map(|i| (0, i)).collect(),
            Some((ids, per_token)) => {
                let ids = self.numbers.get(ids).ok_or_else(missing)?;
                let used = (ids.len() * per_token / n.max(1)).max(1);
                let input = |i: usize| if *per_token == 1 { i / used } else { i };
                // -1 is no expert.
                let numbered =
                    ids.iter().enumerate().filter_map(|(i, id)| Some((usize::try_from(*id).ok()?, input(i))));
                numbered.collect()
            }
        };
        let matrices = if product.experts.is_some() { usize::try_from(shape[2]).unwrap_or(1) } else { 1 };
        take(&Product { name: &name, matrices, row, inputs, uses });
        let experts = product.experts.iter().map(|(ids, _)| ids);
        for read in experts.chain([&product.inputs]) {
            let left = self.readers.get_mut(read).map_or(0, |n| {
                *n -= 1;
                *n
            });
            if left == 0 {
                self.floats.remove(read);
                self.numbers.remove(read);
            }
        }
        Ok(())
    }
}
