//! First values of parameters.

use super::invalid;
use crate::{BackendOptions, Context, Result, Tensor};

/// How a parameter begins.
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
    /// Each number from -bound to bound is as likely.
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
    // (Fewer than one input gives a deviation or a bound that is not finite, which make() refuses.)

    /// For weights before relu: normal, of the deviation sqrt(2 / inputs) (K. He and others, Delving Deep into Rectifiers, 2015).
    pub fn kaiming(inputs: i64) -> Self {
        Init::Normal { deviation: (2. / inputs as f64).sqrt() }
    }

    /// For weights before tanh and the like: uniform, of the bound sqrt(6 / (inputs + outputs)) (X. Glorot, Y. Bengio,
    /// Understanding the difficulty of training deep feedforward neural networks, 2010).
    pub fn xavier(inputs: i64, outputs: i64) -> Self {
        Init::Uniform { bound: (6. / (inputs as f64 + outputs as f64)).sqrt() }
    }

    /// Uniform, of the bound 1 / sqrt(inputs), which gives a sum over inputs of deviation 1 a deviation of sqrt(1/3): what layers
    /// here take where nothing is said.
    pub fn inputs(inputs: i64) -> Self {
        Init::Uniform { bound: 1. / (inputs as f64).sqrt() }
    }

    /// The values of the parameter with this number, by `random_uniform` and `random_normal` of the state {seed, number}.
    pub(super) fn fill(self, tensor: &Tensor, seed: u64, number: usize) -> Result<()> {
        let n = tensor.n_elements();
        let is_valid = |x: f64| x.is_finite() && x >= 0.;
        let valid = match self {
            Init::Uniform { bound } => is_valid(bound),
            Init::Normal { deviation } => is_valid(deviation),
            _ => true,
        };
        // Of no elements nothing is drawn: a layer of no inputs may have them.
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
        let ne = [n as i64, 1, 1, 1];
        let values = match self {
            Init::Normal { deviation } => state.random_normal(ne, 0., deviation, 0)?,
            Init::Uniform { bound } => state.random_uniform(ne, -bound, bound, 0)?,
            _ => return Ok(()),
        };
        BackendOptions::new().threads(1).open("cpu")?.compute(&[&values])?;
        tensor.write_f32(&values.to_vec::<f32>()?)
    }
}
