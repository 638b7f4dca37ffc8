//! Initial values of parameters.

use super::invalid;
use crate::{BackendOptions, Context, Result, Tensor};

/// How a parameter is initialised.
///
/// ```
/// use tensorlib::nn::{Init, Parameters};
/// let weight = Parameters::new(1).make("weight", [256, 64], Init::kaiming(256))?;
/// let values = weight.to_vec::<f32>()?;
/// let deviation = (values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32).sqrt();
/// assert!((deviation - (2f32 / 256.).sqrt()).abs() < 0.002);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// 0.
    Zeros,
    /// 1.
    Ones,
    /// One number for all elements.
    Constant(f64),
    /// Uniformly distributed from -bound to bound.
    Uniform {
        /// Not negative.
        bound: f64,
    },
    /// Normally distributed around 0.
    Normal {
        /// The standard deviation, not negative.
        deviation: f64,
    },
}

impl Init {
    // Fewer than one input gives a deviation or bound that is not finite, which make() refuses.

    /// For weights before relu: normal with standard deviation sqrt(2 / inputs) (K. He and others, Delving Deep into
    /// Rectifiers, 2015).
    pub fn kaiming(inputs: i64) -> Self {
        Init::Normal { deviation: (2. / inputs as f64).sqrt() }
    }

    /// For weights before tanh and similar functions: uniform with bound sqrt(6 / (inputs + outputs)) (X. Glorot, Y.
    /// Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010).
    pub fn xavier(inputs: i64, outputs: i64) -> Self {
        Init::Uniform { bound: (6. / (inputs as f64 + outputs as f64)).sqrt() }
    }

    /// Uniform with bound 1 / sqrt(inputs): a sum over inputs of deviation 1 then has deviation sqrt(1/3). This is the
    /// default of the layers here.
    pub fn inputs(inputs: i64) -> Self {
        Init::Uniform { bound: 1. / (inputs as f64).sqrt() }
    }

    /// Fills the parameter with this number, by `random_uniform` or `random_normal` with the state {seed, number}.
    pub(super) fn fill(self, tensor: &Tensor, seed: u64, number: usize) -> Result<()> {
        let n = tensor.n_elements();
        let is_valid = |x: f64| x.is_finite() && x >= 0.;
        let valid = match self {
            Init::Uniform { bound } => is_valid(bound),
            Init::Normal { deviation } => is_valid(deviation),
            _ => true,
        };
        // A tensor without elements draws no numbers, so a layer of no inputs may have an invalid distribution.
        if !valid && n > 0 {
            let name = tensor.name();
            return Err(invalid(format!(
                "Parameters::make: '{name}': {self:?}: a finite number of 0 or more is valid, as from one or more inputs"
            )));
        }
        match self {
            Init::Zeros => return Ok(()),
            Init::Ones => return tensor.write_f32(&vec![1.; n]),
            Init::Constant(value) => return tensor.write_f32(&vec![value as f32; n]),
            Init::Uniform { .. } | Init::Normal { .. } if n == 0 => return Ok(()),
            Init::Uniform { .. } | Init::Normal { .. } => {}
        }
        let ctx = Context::new();
        let state = ctx.tensor_of([2], &[seed as i64, number as i64])?;
        let ne = [n as i64];
        let values = match self {
            Init::Normal { deviation } => state.random_normal(ne, 0., deviation, 0)?,
            Init::Uniform { bound } => state.random_uniform(ne, -bound, bound, 0)?,
            _ => return Ok(()),
        };
        BackendOptions::new().threads(1).open("cpu")?.compute(&[&values])?;
        tensor.write_f32(&values.to_vec::<f32>()?)
    }
}
