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
    /// Normally distributed around 0, without the numbers that are farther from 0 than two deviations.
    TruncatedNormal {
        /// The standard deviation before numbers are left out, not negative.
        deviation: f64,
    },
    /// A random orthogonal matrix times a gain: the rows have the length `gain` and are orthogonal, or the columns if
    /// there are more rows than columns (A. M. Saxe and others, Exact solutions to the nonlinear dynamics of learning in
    /// deep linear neural networks, 2013). The last dimension of a tensor counts its rows. It is computed in F64 on one
    /// thread, in a time that grows as rows^2 columns.
    Orthogonal {
        /// The length of the rows, or of the columns, not negative.
        gain: f64,
    },
}

impl Init {
    // Fewer than one input gives a deviation or bound that is not finite, which make() refuses.

    /// For weights before relu: normal with standard deviation sqrt(2 / inputs) (K. He and others, Delving Deep into
    /// Rectifiers, 2015). PyTorch calls it `kaiming_normal_`.
    pub fn kaiming(inputs: i64) -> Self {
        Init::Normal { deviation: (2. / inputs as f64).sqrt() }
    }

    /// For weights before relu: uniform with bound sqrt(6 / inputs), which gives the deviation of [`Init::kaiming`].
    pub fn kaiming_uniform(inputs: i64) -> Self {
        Init::Uniform { bound: (6. / inputs as f64).sqrt() }
    }

    /// For weights before tanh and similar functions: uniform with bound sqrt(6 / (inputs + outputs)) (X. Glorot, Y.
    /// Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010). PyTorch calls it
    /// `xavier_uniform_`.
    pub fn xavier(inputs: i64, outputs: i64) -> Self {
        Init::Uniform { bound: (6. / (inputs as f64 + outputs as f64)).sqrt() }
    }

    /// For weights before tanh and similar functions: normal with standard deviation sqrt(2 / (inputs + outputs)), which
    /// is that of [`Init::xavier`].
    pub fn xavier_normal(inputs: i64, outputs: i64) -> Self {
        Init::Normal { deviation: (2. / (inputs as f64 + outputs as f64)).sqrt() }
    }

    /// For weights that keep the variance of their inputs, as before selu: normal with standard deviation
    /// sqrt(1 / inputs) (Y. LeCun and others, Efficient BackProp, 1998).
    pub fn lecun(inputs: i64) -> Self {
        Init::Normal { deviation: (1. / inputs as f64).sqrt() }
    }

    /// Uniform with bound 1 / sqrt(inputs): a sum over inputs of deviation 1 then has deviation sqrt(1/3). This is the
    /// default of the layers here.
    pub fn inputs(inputs: i64) -> Self {
        Init::Uniform { bound: 1. / (inputs as f64).sqrt() }
    }

    /// Multiplies all values by this factor, such as 5/3 for [`Init::xavier`] before tanh.
    ///
    /// ```
    /// use tensorlib::nn::Init;
    /// assert_eq!(Init::Uniform { bound: 0.5 }.gain(3.0), Init::Uniform { bound: 1.5 });
    /// ```
    #[must_use]
    pub fn gain(self, factor: f64) -> Self {
        match self {
            Init::Zeros => Init::Zeros,
            Init::Ones => Init::Constant(factor),
            Init::Constant(value) => Init::Constant(value * factor),
            Init::Uniform { bound } => Init::Uniform { bound: bound * factor },
            Init::Normal { deviation } => Init::Normal { deviation: deviation * factor },
            Init::TruncatedNormal { deviation } => Init::TruncatedNormal { deviation: deviation * factor },
            Init::Orthogonal { gain } => Init::Orthogonal { gain: gain * factor },
        }
    }

    /// Fills the parameter with this number, by `random_uniform` or `random_normal` with the state {seed, number}.
    /// `call` is the function that was called, for errors.
    pub(super) fn fill(self, call: &str, tensor: &Tensor, seed: u64, number: usize) -> Result<()> {
        let n = tensor.n_elements();
        let is_valid = |x: f64| x.is_finite() && x >= 0.;
        let valid = match self {
            Init::Uniform { bound: x }
            | Init::Normal { deviation: x }
            | Init::TruncatedNormal { deviation: x }
            | Init::Orthogonal { gain: x } => is_valid(x),
            Init::Zeros | Init::Ones | Init::Constant(_) => true,
        };
        // A tensor without elements draws no numbers, so a layer of no inputs may have an invalid distribution.
        if !valid && n > 0 {
            let name = tensor.name();
            return Err(invalid(format!(
                "{call}: '{name}': {self:?}: a finite number of 0 or more is valid, as from one or more inputs"
            )));
        }
        if n == 0 {
            return Ok(());
        }
        let numbers = Numbers { seed, number, n };
        let values = match self {
            Init::Zeros => vec![0.; n],
            Init::Ones => vec![1.; n],
            Init::Constant(value) => vec![value as f32; n],
            Init::Uniform { bound } => numbers.uniform(bound)?,
            Init::Normal { deviation } => numbers.normal(deviation, 0)?,
            Init::TruncatedNormal { deviation } => numbers.truncated(deviation)?,
            Init::Orthogonal { gain } => {
                let rows = tensor.shape().last().map_or(1, |rows| *rows as usize);
                orthogonal(&numbers.normal(1., 0)?, rows, gain)
            }
        };
        tensor.write_f32(&values)
    }
}

/// The random numbers of a parameter.
struct Numbers {
    seed: u64,
    number: usize,
    n: usize,
}

impl Numbers {
    fn draw(&self, values: impl Fn(&Tensor, [i64; 1]) -> Result<Tensor>) -> Result<Vec<f32>> {
        let ctx = Context::new();
        let state = ctx.tensor_of([2], &[self.seed as i64, self.number as i64])?;
        let values = values(&state, [self.n as i64])?;
        BackendOptions::new().threads(1).open("cpu")?.compute(&[&values])?;
        values.to_vec()
    }

    fn uniform(&self, bound: f64) -> Result<Vec<f32>> {
        self.draw(|state, ne| state.random_uniform(ne, -bound, bound, 0))
    }

    fn normal(&self, deviation: f64, stream: i64) -> Result<Vec<f32>> {
        self.draw(|state, ne| state.random_normal(ne, 0., deviation, stream))
    }

    /// Numbers beyond two deviations, a twentieth of all, are drawn again from the next stream.
    fn truncated(&self, deviation: f64) -> Result<Vec<f32>> {
        let most = (2. * deviation) as f32;
        let mut values = self.normal(deviation, 0)?;
        let mut stream = 1;
        while values.iter().any(|x| x.abs() > most) {
            let others = self.normal(deviation, stream)?;
            values.iter_mut().zip(others).filter(|(x, _)| x.abs() > most).for_each(|(x, other)| *x = other);
            stream += 1;
        }
        Ok(values)
    }
}

/// Makes rows of random numbers orthogonal, or columns if these are fewer. The vectors are taken in order, and each
/// loses its parts along those before it (modified Gram-Schmidt). Twice is enough for orthogonality to the precision of
/// F64 (L. Giraud and others, 2005). Normally distributed numbers give each orthogonal matrix with the same probability.
fn orthogonal(values: &[f32], rows: usize, gain: f64) -> Vec<f32> {
    let columns = values.len() / rows;
    let (vectors, size) = if rows <= columns { (rows, columns) } else { (columns, rows) };
    // The element of a vector in `values`.
    let place = |vector: usize, i: usize| if rows <= columns { vector * columns + i } else { i * columns + vector };
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(vectors);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for vector in 0..vectors {
        let mut new: Vec<f64> = (0..size).map(|i| f64::from(values[place(vector, i)])).collect();
        for _ in 0..2 {
            for earlier in &basis {
                let part = dot(&new, earlier);
                new.iter_mut().zip(earlier).for_each(|(x, e)| *x -= part * e);
            }
        }
        let length = dot(&new, &new).sqrt();
        new.iter_mut().for_each(|x| *x /= length);
        basis.push(new);
    }
    let mut result = vec![0.; values.len()];
    for (vector, basis) in basis.iter().enumerate() {
        basis.iter().enumerate().for_each(|(i, x)| result[place(vector, i)] = (gain * x) as f32);
    }
    result
}
