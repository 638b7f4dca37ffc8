//! Recurrent layers: LSTM and GRU.

use super::{invalid, Dropout, Init, Module, Parameters, Pass};
use crate::{DType, Result, Tensor};

/// Options of an [`Lstm`] or a [`Gru`].
#[derive(Clone, Copy, Debug)]
pub struct RecurrentOptions {
    inputs: i64,
    units: i64,
    layers: usize,
    directions: usize,
    dropout: f64,
}

impl RecurrentOptions {
    /// One layer of `units` units that reads `inputs` features in each step; no dropout.
    pub fn new(inputs: i64, units: i64) -> Self {
        Self { inputs, units, layers: 1, directions: 1, dropout: 0. }
    }

    /// The number of layers. Each layer after the first reads the outputs of the one below.
    #[must_use]
    pub fn layers(mut self, layers: usize) -> Self {
        self.layers = layers;
        self
    }

    /// Adds units to each layer that read the steps from the last to the first. Outputs have `2 units` numbers: those of
    /// the forward direction, then those of the reverse one. States have the reverse direction of each layer after the
    /// forward one.
    #[must_use]
    pub fn bidirectional(mut self) -> Self {
        self.directions = 2;
        self
    }

    /// The probability with which the outputs of each layer but the last are dropped in training.
    #[must_use]
    pub fn dropout(mut self, p: f64) -> Self {
        self.dropout = p;
        self
    }
}

/// The parameters of one layer of an [`Lstm`] or a [`Gru`], in one direction. The rows of all gates follow each other, gate after gate.
#[derive(Clone, Debug)]
pub struct RecurrentWeights {
    /// `[inputs, gates * units]`, for the layer's input.
    pub weight_ih: Tensor,
    /// `[units, gates * units]`, for the previous step's output.
    pub weight_hh: Tensor,
    /// `[gates * units]`.
    pub bias_ih: Tensor,
    /// `[gates * units]`.
    pub bias_hh: Tensor,
}

impl RecurrentWeights {
    /// `place` is the end of the parameters' names.
    fn new(parameters: &Parameters, place: &str, inputs: i64, units: i64, gates: i64) -> Result<Self> {
        let (rows, init) = (gates * units, Init::inputs(units));
        let make = |name: &str, shape: &[i64]| parameters.make(&format!("{name}_{place}"), shape, init);
        Ok(Self {
            weight_ih: make("weight_ih", &[inputs, rows])?,
            weight_hh: make("weight_hh", &[units, rows])?,
            bias_ih: make("bias_ih", &[rows])?,
            bias_hh: make("bias_hh", &[rows])?,
        })
    }
}

/// The layers of a recurrent network, without the formula of its cell.
#[derive(Clone, Debug)]
struct Stack {
    /// Each layer's forward direction, then its reverse one if there is one.
    layers: Vec<RecurrentWeights>,
    options: RecurrentOptions,
    dropout: Dropout,
    name: &'static str,
}

impl Stack {
    fn new(parameters: &Parameters, options: RecurrentOptions, gates: i64, name: &'static str) -> Result<Self> {
        let RecurrentOptions { inputs, units, layers, directions, dropout } = options;
        if inputs < 1 || units < 1 || layers < 1 {
            return Err(invalid(format!(
                "{name}::new: {inputs} inputs, {units} units and {layers} layers: 1 or more of each are valid"
            )));
        }
        let dropout = Dropout::new(dropout)?;
        let inputs = |layer: usize| if layer == 0 { inputs } else { directions as i64 * units };
        let layers = (0..layers)
            .flat_map(|layer| {
                [(layer, format!("l{layer}")), (layer, format!("l{layer}_reverse"))].into_iter().take(directions)
            })
            .map(|(layer, place)| RecurrentWeights::new(parameters, &place, inputs(layer), units, gates))
            .collect::<Result<_>>()?;
        Ok(Self { layers, options, dropout, name })
    }

    /// Checks x `[inputs, steps, n]`, and returns `[inputs, n, steps]`, in which the samples of a step lie together.
    fn steps_last(&self, x: &Tensor) -> Result<Tensor> {
        let (inputs, steps, n) = (self.options.inputs, x.extent(1), x.extent(2));
        if x.extent(3) != 1 || x.extent(0) != inputs || steps < 1 {
            let (name, shape, dtype) = (self.name, x.shape(), x.dtype());
            return Err(invalid(format!(
                "{name}: x is {shape:?} {dtype}: [{inputs}, steps, n] with 1 or more steps is valid"
            )));
        }
        if n == 1 {
            return x.cont()?.reshape([inputs, 1, steps]);
        }
        x.permute([0, 2, 1, 3])?.cont()
    }

    /// The states `[units, n]` from which the layers start: those of `state` `[units, n, layers]`, or zeros.
    fn starts(&self, x: &Tensor, state: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let wanted = [self.options.units, x.extent(2), self.layers.len() as i64];
        let Some(state) = state else {
            let zeros = x.node_context().zeros(DType::F32, [wanted[0], wanted[1]])?;
            return Ok(vec![zeros; self.layers.len()]);
        };
        if state.extent(3) != 1 || (0..3).any(|d| state.extent(d) != wanted[d]) {
            let (name, shape, dtype) = (self.name, state.shape(), state.dtype());
            return Err(invalid(format!("{name}: a state is {shape:?} {dtype}: {wanted:?} is valid")));
        }
        (0..wanted[2]).map(|layer| state.reshape(wanted)?.select(2, layer)).collect()
    }

    /// Runs all layers on x from `states`, of each kind of state one `[units, n, layers]` or zeros. `prepare` makes
    /// what all steps of a layer share, `cell` maps that, the projected input of a step and the states to the new
    /// states, the first of which is the output. Returns the outputs `[units, steps, n]` and the last states.
    fn run<Shared>(
        &self,
        (x, pass): (&Tensor, &Pass),
        states: &[Option<&Tensor>],
        prepare: impl Fn(&RecurrentWeights) -> Result<(Tensor, Shared)>,
        cell: impl Fn(&Shared, &Tensor, &[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let mut input = self.steps_last(x)?;
        let (steps, n) = (x.extent(1), x.extent(2));
        let starts = states.iter().map(|state| self.starts(x, *state)).collect::<Result<Vec<_>>>()?;
        let mut last = vec![Vec::new(); states.len()];
        let mut outputs: Vec<Vec<Tensor>> = Vec::new();
        for (i, weights) in self.layers.iter().enumerate() {
            let (layer, is_reverse) = (i / self.options.directions, i % self.options.directions == 1);
            if layer > 0 && !is_reverse {
                input = self.dropout.forward(&joined(&outputs, 2)?, pass)?;
                outputs.clear();
            }
            let (bias, shared) = prepare(weights)?;
            // One product projects the inputs of all steps: it reads the weight once, and has more columns to fill
            // the processor with than a product per step.
            let (inputs, rows) = (weights.weight_ih.extent(0), weights.weight_ih.extent(1));
            let projected = weights.weight_ih.mul_mat(&input.reshape([inputs, n * steps])?)?;
            let projected = projected.add(&bias)?.reshape([rows, n, steps])?;
            let mut state: Vec<Tensor> = starts.iter().map(|layers| layers[i].clone()).collect();
            let mut results = Vec::new();
            for step in 0..steps {
                let step = if is_reverse { steps - 1 - step } else { step };
                state = cell(&shared, &projected.select(2, step)?, &state)?;
                results.push(state[0].clone());
            }
            if is_reverse {
                results.reverse();
            }
            outputs.push(results);
            last.iter_mut().zip(state).for_each(|(last, state)| last.push(state));
        }
        let mut shape = x.shape();
        shape[0] = self.options.directions as i64 * self.options.units;
        let last = last.iter().map(|layers| Tensor::stack(layers, 2)).collect::<Result<_>>()?;
        Ok((joined(&outputs, 1)?.reshape(shape)?, last))
    }
}

/// The outputs of all steps in dimension `dim`, and those of both directions in dimension 0.
fn joined(outputs: &[Vec<Tensor>], dim: i64) -> Result<Tensor> {
    let directions = outputs.iter().map(|steps| Tensor::stack(steps, dim)).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&directions, 0)
}

/// The state of an [`Lstm`] between two steps.
#[derive(Clone, Debug)]
pub struct LstmState {
    /// The last outputs, `[units, n, layers]`.
    pub hidden: Tensor,
    /// The cells, `[units, n, layers]`.
    pub cell: Tensor,
}

/// Long short-term memory: maps `[inputs, steps, n]` to `[units, steps, n]` (S. Hochreiter, J. Schmidhuber, Long
/// Short-Term Memory, 1997; with forget gates of F. A. Gers and others, 2000).
///
/// ```
/// use tensorlib::nn::{Lstm, Parameters, Pass, RecurrentOptions};
/// use tensorlib::{Context, DType};
/// let lstm = Lstm::new(&Parameters::new(1), RecurrentOptions::new(3, 8).layers(2))?;
/// let x = Context::new().zeros(DType::F32, [3, 5, 4])?; // 4 sequences of 5 steps
/// let (y, state) = lstm.forward_from(&x, None, &Pass::evaluation())?;
/// assert_eq!((y.shape(), state.cell.shape()), (vec![8, 5, 4], vec![8, 4, 2]));
/// let (more, _) = lstm.forward_from(&x, Some(&state), &Pass::evaluation())?; // the sequences go on
/// # assert_eq!(more.shape(), [8, 5, 4]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lstm {
    stack: Stack,
}

impl Lstm {
    /// Makes the layers with the parameters `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0`, then those
    /// of layer 1, ..., all initialised by [`Init::inputs`] of the units. Those of the reverse direction end in
    /// `_reverse`. Names, shapes and the order of gates (input,
    /// forget, cell, output) are PyTorch's.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for options out of their range; as [`Parameters::make`].
    pub fn new(parameters: &Parameters, options: RecurrentOptions) -> Result<Self> {
        Ok(Self { stack: Stack::new(parameters, options, 4, "Lstm")? })
    }

    /// The parameters of each layer, and of each direction.
    pub fn weights(&self) -> &[RecurrentWeights] {
        &self.stack.layers
    }

    /// Computes the outputs `[units, steps, n]` of the last layer, and the state after the last step. Without a state
    /// the layers start from zeros.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an x or a state of another shape; as [`Tensor::mul_mat`].
    pub fn forward_from(&self, x: &Tensor, state: Option<&LstmState>, pass: &Pass) -> Result<(Tensor, LstmState)> {
        let units = self.stack.options.units;
        let states = [state.map(|state| &state.hidden), state.map(|state| &state.cell)];
        let prepare =
            |weights: &RecurrentWeights| Ok((weights.bias_ih.add(&weights.bias_hh)?, weights.weight_hh.clone()));
        let cell = |weight: &Tensor, input: &Tensor, state: &[Tensor]| {
            let gates = weight.mul_mat(&state[0])?.add(input)?;
            let gate = |i: i64| gates.narrow(0, i * units, units);
            let kept = gate(1)?.sigmoid()?.mul(&state[1])?;
            let cell = kept.add(&gate(0)?.sigmoid()?.mul(&gate(2)?.tanh()?)?)?;
            Ok(vec![gate(3)?.sigmoid()?.mul(&cell.tanh()?)?, cell])
        };
        let (y, last) = x.node_context().within_or_younger(|| self.stack.run((x, pass), &states, prepare, cell))?;
        Ok((y, LstmState { hidden: last[0].clone(), cell: last[1].clone() }))
    }
}

impl Module for Lstm {
    /// Computes the outputs `[units, steps, n]` of the last layer from a state of zeros.
    ///
    /// # Errors
    /// As [`Lstm::forward_from`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(self.forward_from(x, None, pass)?.0)
    }
}

/// Gated recurrent units: maps `[inputs, steps, n]` to `[units, steps, n]` (K. Cho and others, Learning Phrase
/// Representations using RNN Encoder-Decoder, 2014; the reset gate is applied after the product, as in PyTorch and
/// cuDNN).
///
/// ```
/// use tensorlib::nn::{Gru, Parameters, Pass, RecurrentOptions};
/// use tensorlib::{Context, DType};
/// let gru = Gru::new(&Parameters::new(1), RecurrentOptions::new(3, 8))?;
/// let x = Context::new().zeros(DType::F32, [3, 5, 4])?; // 4 sequences of 5 steps
/// let (y, state) = gru.forward_from(&x, None, &Pass::evaluation())?;
/// assert_eq!((y.shape(), state.shape()), (vec![8, 5, 4], vec![8, 4, 1]));
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gru {
    stack: Stack,
}

impl Gru {
    /// Makes the layers with the parameters `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0`, then those
    /// of layer 1, ..., all initialised by [`Init::inputs`] of the units. Those of the reverse direction end in
    /// `_reverse`. Names, shapes and the order of gates (reset,
    /// update, new) are PyTorch's.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for options out of their range; as [`Parameters::make`].
    pub fn new(parameters: &Parameters, options: RecurrentOptions) -> Result<Self> {
        Ok(Self { stack: Stack::new(parameters, options, 3, "Gru")? })
    }

    /// The parameters of each layer, and of each direction.
    pub fn weights(&self) -> &[RecurrentWeights] {
        &self.stack.layers
    }

    /// Computes the outputs `[units, steps, n]` of the last layer, and the state `[units, n, layers]` after the last
    /// step. Without a state the layers start from zeros.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an x or a state of another shape; as [`Tensor::mul_mat`].
    pub fn forward_from(&self, x: &Tensor, state: Option<&Tensor>, pass: &Pass) -> Result<(Tensor, Tensor)> {
        let units = self.stack.options.units;
        // The reset gate multiplies the new gate's recurrent bias, so only the other two are added to the input's.
        let prepare = |weights: &RecurrentWeights| {
            let (input, hidden) = (&weights.bias_ih, &weights.bias_hh);
            let both = input.narrow(0, 0, 2 * units)?.add(&hidden.narrow(0, 0, 2 * units)?)?;
            let bias = both.concat(&input.narrow(0, 2 * units, units)?, 0)?;
            Ok((bias, (weights.weight_hh.clone(), hidden.narrow(0, 2 * units, units)?)))
        };
        let cell = |(weight, bias): &(Tensor, Tensor), input: &Tensor, state: &[Tensor]| {
            let product = weight.mul_mat(&state[0])?;
            let gate =
                |i: i64| product.narrow(0, i * units, units)?.add(&input.narrow(0, i * units, units)?)?.sigmoid();
            let (reset, update) = (gate(0)?, gate(1)?);
            let recurrent = product.narrow(0, 2 * units, units)?.add(bias)?.mul(&reset)?;
            let new = recurrent.add(&input.narrow(0, 2 * units, units)?)?.tanh()?;
            Ok(vec![state[0].sub(&new)?.mul(&update)?.add(&new)?])
        };
        let (y, last) = x.node_context().within_or_younger(|| self.stack.run((x, pass), &[state], prepare, cell))?;
        Ok((y, last[0].clone()))
    }
}

impl Module for Gru {
    /// Computes the outputs `[units, steps, n]` of the last layer from a state of zeros.
    ///
    /// # Errors
    /// As [`Gru::forward_from`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(self.forward_from(x, None, pass)?.0)
    }
}
