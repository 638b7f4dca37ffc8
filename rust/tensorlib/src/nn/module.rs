//! The trait of all layers, and sequences of layers.

use super::invalid;
use crate::{Result, Tensor};
use std::cell::{Cell, RefCell};
use std::fmt;

/// A function of a tensor that may have parameters. Functions of a tensor, such as [`Tensor::relu`], are modules too.
///
/// ```
/// use tensorlib::nn::{Linear, Module, Parameters, Pass};
/// use tensorlib::{Result, Tensor};
///
/// struct Gated {
///     gate: Linear,
///     value: Linear,
/// }
///
/// impl Module for Gated {
///     fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
///         self.gate.forward(x, pass)?.sigmoid()?.mul(&self.value.forward(x, pass)?)
///     }
/// }
/// # let p = Parameters::new(1);
/// # let gated = Gated { gate: Linear::new(&p.scope("gate"), 4, 2)?, value: Linear::new(&p.scope("value"), 4, 2)? };
/// # let x = tensorlib::Context::new().zeros(tensorlib::DType::F32, [4, 3])?;
/// # assert_eq!(gated.forward(&x, &Pass::evaluation())?.shape(), [2, 3]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub trait Module {
    /// Appends the nodes that compute the module's output for x.
    ///
    /// # Errors
    /// As the operations that the module consists of.
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor>;
}

impl<F: Fn(&Tensor) -> Result<Tensor>> Module for F {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        self(x)
    }
}

/// The purpose of a forward pass: training, in which [`Dropout`](super::Dropout) drops elements and
/// [`BatchNorm`](super::BatchNorm) takes the batch's statistics, or evaluation. Make one per graph.
#[derive(Debug)]
pub struct Pass {
    random: Option<Tensor>,
    streams: Cell<i64>,
    updates: RefCell<Vec<Tensor>>,
}

impl Pass {
    /// A pass for evaluation, without random operations.
    pub fn evaluation() -> Self {
        Self { random: None, streams: Cell::new(0), updates: RefCell::default() }
    }

    /// A pass for training. `random` is the state of random operations: an I64 leaf `[2]` of a seed and a counter,
    /// which is advanced between runs.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for another tensor.
    pub fn training(random: &Tensor) -> Result<Self> {
        if random.dtype() != crate::DType::I64 || random.shape() != [2] {
            let found = format!("{:?} {}", random.shape(), random.dtype());
            return Err(invalid(format!("Pass::training: random is {found}: [2] i64, a seed and a counter, is valid")));
        }
        Ok(Self { random: Some(random.clone()), streams: Cell::new(0), updates: RefCell::default() })
    }

    /// Whether the pass is for training.
    pub fn is_training(&self) -> bool {
        self.random.is_some()
    }

    /// In training, the operands of a random operation: the state, and a stream number that no other call gets.
    pub fn random(&self) -> Option<(&Tensor, i64)> {
        let random = self.random.as_ref()?;
        let stream = self.streams.get();
        self.streams.set(stream + 1);
        Some((random, stream))
    }

    /// Adds a node that writes a [buffer](super::Parameters::make_buffer), for [`Pass::updates`].
    pub fn update(&self, node: Tensor) {
        self.updates.borrow_mut().push(node);
    }

    /// The nodes that write the buffers of the modules that this pass went through. A training loop makes them outputs
    /// of its graph; [`Trainer`](crate::train::Trainer) does. Without that, the buffers stay as they are.
    pub fn updates(&self) -> Vec<Tensor> {
        self.updates.borrow().clone()
    }
}

/// Modules applied one after the other; an empty sequence returns x itself.
#[derive(Default)]
pub struct Sequential {
    modules: Vec<Box<dyn Module + Send + Sync>>,
}

impl Sequential {
    /// Makes an empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a module.
    #[must_use]
    pub fn with(mut self, module: impl Module + Send + Sync + 'static) -> Self {
        self.modules.push(Box::new(module));
        self
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// Whether there are no modules.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }
}

impl Module for Sequential {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.modules.iter().try_fold(x.clone(), |x, module| module.forward(&x, pass))
    }
}

impl fmt::Debug for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequential({} modules)", self.modules.len())
    }
}

/// Adds a module's output to its input x.
#[derive(Debug)]
pub struct Residual<M>(pub M);

impl<M: Module> Module for Residual<M> {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        x.add(&self.0.forward(x, pass)?)
    }
}
