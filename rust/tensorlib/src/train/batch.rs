//! A model's graphs for batches of one size: nodes are made once, leafs are written for each batch.

use super::network::{Forward, Loss};
use super::{Form, Optimiser, Random, Samples, Slot};
use crate::nn::{invalid, Pass};
use crate::{Backend, Context, DType, Graph, Result, Tensor};

/// The leafs of a batch: inputs and targets.
pub(super) struct Leafs {
    inputs: Vec<Room>,
    targets: Vec<Room>,
}

/// A leaf, and the buffer in which its batch is assembled.
struct Room {
    leaf: Tensor,
    size: usize,
    values: Values,
}

enum Values {
    F32(Vec<f32>),
    I32(Vec<i32>),
}

impl Room {
    fn new(ctx: &Context, form: &Form, n: usize, name: &str) -> Result<Self> {
        if ![DType::F32, DType::I32].contains(&form.dtype) || form.shape.len() > 3 || form.n_elements() == 0 {
            let what = format!("{name}s are {:?} {}", form.shape, form.dtype);
            return Err(invalid(format!("Samples: {what}: f32 or i32 of up to 3 dimensions, not empty, is valid")));
        }
        let mut shape = form.shape.clone();
        shape.push(n as i64);
        let (leaf, size) = (ctx.zeros(form.dtype, shape)?, form.n_elements());
        leaf.set_name(name)?;
        let values = match form.dtype {
            DType::I32 => Values::I32(vec![0; size * n]),
            _ => Values::F32(vec![0.; size * n]),
        };
        Ok(Self { leaf, size, values })
    }

    fn slot(&mut self, i: usize) -> Slot<'_> {
        let place = i * self.size..(i + 1) * self.size;
        match &mut self.values {
            Values::F32(values) => Slot::F32(&mut values[place]),
            Values::I32(values) => Slot::I32(&mut values[place]),
        }
    }

    fn write(&self) -> Result<()> {
        match &self.values {
            Values::F32(values) => self.leaf.write(values),
            Values::I32(values) => self.leaf.write(values),
        }
    }
}

impl Leafs {
    fn new(ctx: &Context, samples: &dyn Samples, n: usize) -> Result<Self> {
        let forms = samples.forms();
        if forms.inputs.is_empty() {
            return Err(invalid("Samples: no inputs: at least one is valid".into()));
        }
        let rooms = |forms: &[Form], what: &str| {
            let name = |i: usize| if forms.len() == 1 { what.to_string() } else { format!("{what}.{i}") };
            forms.iter().enumerate().map(|(i, form)| Room::new(ctx, form, n, &name(i))).collect::<Result<Vec<_>>>()
        };
        Ok(Self { inputs: rooms(&forms.inputs, "input")?, targets: rooms(&forms.targets, "target")? })
    }

    /// Writes these samples, one for each place of the batch; in training `seed` chooses the random numbers that change
    /// them.
    pub(super) fn write(&mut self, samples: &dyn Samples, numbers: &[usize], seed: Option<u64>) -> Result<()> {
        for (i, number) in numbers.iter().enumerate() {
            let mut random = seed.map(|seed| Random::new(seed, *number as u64));
            let mut inputs: Vec<_> = self.inputs.iter_mut().map(|room| room.slot(i)).collect();
            let mut targets: Vec<_> = self.targets.iter_mut().map(|room| room.slot(i)).collect();
            samples.write(*number, random.as_mut(), &mut inputs, &mut targets)?;
        }
        self.inputs.iter().chain(&self.targets).try_for_each(Room::write)
    }

    /// The labels of each target; `None` for a target of F32.
    pub(super) fn labels(&self) -> impl Iterator<Item = Option<&[i32]>> {
        self.targets.iter().map(|room| match &room.values {
            Values::I32(labels) => Some(labels.as_slice()),
            Values::F32(_) => None,
        })
    }

    fn outputs(&self, forward: Forward<'_>, pass: &Pass) -> Result<Vec<Tensor>> {
        let outputs = forward(&tensors(&self.inputs), pass)?;
        if outputs.is_empty() {
            return Err(invalid("Trainer: the network has no outputs: at least one is valid".into()));
        }
        Ok(outputs)
    }

    fn loss(&self, loss: Loss<'_>, outputs: &[Tensor]) -> Result<Tensor> {
        let loss = loss(outputs, &tensors(&self.targets))?;
        if loss.n_elements() != 1 {
            let shape = loss.shape();
            return Err(invalid(format!("Trainer: the loss is {shape:?}: one element is valid, such as a mean")));
        }
        loss.reshape([1])
    }
}

fn tensors(rooms: &[Room]) -> Vec<Tensor> {
    rooms.iter().map(|room| room.leaf.clone()).collect()
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
