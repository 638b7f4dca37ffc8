//! A model's graphs for batches of one size: nodes are made once, leafs are written for each batch.

use super::buffer::{assemble, Buffer};
use super::network::{Forward, Loss};
use super::{Optimiser, Samples};
use crate::nn::{invalid, Pass};
use crate::{Backend, Context, DType, Graph, Result, Tensor};

/// The leafs of a batch, and the buffers in which it is assembled.
pub(super) struct Leafs {
    inputs: Vec<Tensor>,
    targets: Vec<Tensor>,
    buffers: Assembled,
}

/// The numbers of a batch's inputs and targets.
pub(super) struct Assembled {
    inputs: Vec<Buffer>,
    targets: Vec<Buffer>,
}

impl Assembled {
    pub(super) fn new(samples: &dyn Samples, n: usize) -> Result<Self> {
        let forms = samples.forms();
        if forms.inputs.is_empty() {
            return Err(invalid("Samples: no inputs: at least one is valid".into()));
        }
        Ok(Self { inputs: Buffer::all(&forms.inputs, n, "input")?, targets: Buffer::all(&forms.targets, n, "target")? })
    }

    /// Reads these samples, one for each place of the batch; in training `seed` chooses the random numbers that change
    /// them.
    pub(super) fn read(&mut self, samples: &dyn Samples, numbers: &[usize], seed: Option<u64>) -> Result<()> {
        assemble(samples, numbers, (seed, None), &mut self.inputs, &mut self.targets)
    }
}

impl Leafs {
    fn new(ctx: &Context, samples: &dyn Samples, n: usize) -> Result<Self> {
        let buffers = Assembled::new(samples, n)?;
        let leafs = |buffers: &[Buffer], what: &str| {
            let leaf = |(i, buffer): (usize, &Buffer)| {
                let leaf = ctx.zeros(buffer.dtype(), buffer.shape())?;
                let name = if buffers.len() == 1 { what.to_string() } else { format!("{what}.{i}") };
                leaf.set_name(&name)?;
                Ok(leaf)
            };
            buffers.iter().enumerate().map(leaf).collect::<Result<Vec<_>>>()
        };
        let (inputs, targets) = (leafs(&buffers.inputs, "input")?, leafs(&buffers.targets, "target")?);
        Ok(Self { inputs, targets, buffers })
    }

    /// Writes these samples, as [`Assembled::read`].
    pub(super) fn write(&mut self, samples: &dyn Samples, numbers: &[usize], seed: Option<u64>) -> Result<()> {
        self.buffers.read(samples, numbers, seed)?;
        self.write_buffers()
    }

    /// Writes a batch that was assembled elsewhere.
    pub(super) fn write_assembled(&mut self, batch: Assembled) -> Result<()> {
        self.buffers = batch;
        self.write_buffers()
    }

    fn write_buffers(&self) -> Result<()> {
        let Assembled { inputs, targets } = &self.buffers;
        let mut all = self.inputs.iter().zip(inputs).chain(self.targets.iter().zip(targets));
        all.try_for_each(|(leaf, buffer)| buffer.write(leaf))
    }

    /// The labels of each target; `None` for a target of F32.
    pub(super) fn labels(&self) -> impl Iterator<Item = Option<&[i32]>> {
        self.buffers.targets.iter().map(Buffer::as_i32)
    }

    fn outputs(&self, forward: Forward<'_>, pass: &Pass) -> Result<Vec<Tensor>> {
        let outputs = forward(&self.inputs, pass)?;
        if outputs.is_empty() {
            return Err(invalid("Trainer: the network has no outputs: at least one is valid".into()));
        }
        Ok(outputs)
    }

    fn loss(&self, loss: Loss<'_>, outputs: &[Tensor]) -> Result<Tensor> {
        let loss = loss(outputs, &self.targets)?;
        if loss.n_elements() != 1 {
            let shape = loss.shape();
            return Err(invalid(format!("Trainer: the loss is {shape:?}: one element is valid, such as a mean")));
        }
        loss.reshape([1])
    }
}

/// The graph of a batch's outputs and loss.
pub(super) struct Evaluation {
    pub(super) leafs: Leafs,
    pub(super) outputs: Vec<Tensor>,
    loss: Option<Tensor>,
    graph: Graph,
}

impl Evaluation {
    pub(super) fn new(
        backend: &Backend,
        forward: Forward<'_>,
        loss: Option<Loss<'_>>,
        samples: &dyn Samples,
        n: usize,
    ) -> Result<Self> {
        let ctx = Context::on(backend);
        let leafs = Leafs::new(&ctx, samples, n)?;
        let outputs = leafs.outputs(forward, &Pass::evaluation())?;
        let loss = loss.map(|loss| leafs.loss(loss, &outputs)).transpose()?;
        let graph = Graph::new(&outputs.iter().chain(&loss).collect::<Vec<_>>())?;
        Ok(Self { leafs, outputs, loss, graph })
    }

    /// The loss of the samples in the leafs; 0 if there is no loss.
    pub(super) fn compute(&self, backend: &Backend) -> Result<f64> {
        self.graph.compute(backend)?;
        self.loss.as_ref().map_or(Ok(0.), |loss| loss.get(&[0]).map(f64::from))
    }
}

/// Options of training graphs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GraphOptions {
    /// The most bytes that intermediates may take.
    pub(super) memory: Option<usize>,
    /// Whether each result is checked for NaN and infinity.
    pub(super) check_finite: bool,
}

impl GraphOptions {
    fn graph(self, outputs: &[&Tensor]) -> Result<Graph> {
        let graph = match self.memory {
            Some(bytes) => Graph::within(outputs, bytes)?,
            None => Graph::new(outputs)?,
        };
        graph.set_check_finite(self.check_finite)?;
        Ok(graph)
    }
}

/// The graphs of a batch's loss and of its gradients, times a weight, which start the sums or are added to them.
pub(super) struct Training {
    pub(super) leafs: Leafs,
    loss: Tensor,
    weight: Tensor,
    first: Graph,
    /// None if a batch is computed in one part.
    more: Option<Graph>,
}

impl Training {
    /// `random` is the state of random operations.
    pub(super) fn new(
        (forward, loss): (Forward<'_>, Loss<'_>),
        samples: &dyn Samples,
        n: usize,
        (random, ctx): (&Tensor, Context),
        (optimiser, accumulator, parts): (&Optimiser, &super::Accumulator, usize),
        options: GraphOptions,
    ) -> Result<Self> {
        let leafs = Leafs::new(&ctx, samples, n)?;
        let pass = Pass::training(random)?;
        let outputs = leafs.outputs(forward, &pass)?;
        let loss = leafs.loss(loss, &outputs)?;
        let updates = pass.updates();
        let graph =
            |steps: &[Tensor]| options.graph(&[&loss].into_iter().chain(steps).chain(&updates).collect::<Vec<_>>());
        optimiser.check_paths(&loss)?;
        let weight = ctx.zeros(DType::F32, loss.shape())?;
        let parameters = optimiser.parameters();
        let gradients = loss.gradients_by(&weight, &parameters.iter().collect::<Vec<_>>())?;
        let first = graph(&accumulator.first(&ctx, &gradients)?)?;
        let more = match parts {
            1 => None,
            _ => Some(graph(&accumulator.more(&ctx, &gradients)?)?),
        };
        Ok(Self { leafs, loss, weight, first, more })
    }

    /// Computes the loss of the samples in the leafs and its gradients. `is_first`: whether this batch starts the sums;
    /// `weight`: its fraction of the samples whose gradients are added up.
    pub(super) fn compute(&self, backend: &Backend, is_first: bool, weight: f32) -> Result<f64> {
        self.weight.write(&[weight])?;
        let graph = self.more.as_ref().filter(|_| !is_first).unwrap_or(&self.first);
        graph.compute(backend)?;
        self.loss.get(&[0]).map(f64::from)
    }
}
