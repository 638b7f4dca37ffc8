//! Optimisation methods: how one step changes a parameter, as nodes.

use crate::{OptStepMomentumOptions, Result, ScaleOptions, Tensor};

/// How a step moves a parameter against its gradient. Decay is decoupled from the gradient (I. Loshchilov, F. Hutter,
/// Decoupled Weight Decay Regularization, 2019) except in [`Method::Adam`], which adds it to the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Gradient descent: `opt_step_sgd`.
    Sgd,
    /// Gradient descent with momentum: `opt_step_momentum`.
    Momentum {
        /// The fraction of the velocity that a step keeps, usually 0.9.
        momentum: f64,
        /// Nesterov momentum: looks ahead by adding the gradient to the new velocity once more (Y. Nesterov, 1983).
        nesterov: bool,
    },
    /// D. P. Kingma, J. Ba, Adam: A Method for Stochastic Optimization, 2015: `opt_step_adamw` of the gradient plus the
    /// decay's.
    Adam {
        /// The fraction of the mean gradient that a step keeps, usually 0.9.
        beta1: f64,
        /// The fraction of the mean square that a step keeps, usually 0.999.
        beta2: f64,
        /// Added to the root of the mean square, usually 1e-8.
        epsilon: f64,
    },
    /// Adam with decoupled decay: `opt_step_adamw`.
    AdamW {
        /// As in [`Method::Adam`].
        beta1: f64,
        /// As in [`Method::Adam`].
        beta2: f64,
        /// As in [`Method::Adam`].
        epsilon: f64,
    },
    /// X. Chen and others, Symbolic Discovery of Optimization Algorithms, 2023: `opt_step_lion`.
    Lion {
        /// The weight of the mean gradient in a step's direction, usually 0.9.
        beta1: f64,
        /// The fraction of the mean gradient that a step keeps, usually 0.99.
        beta2: f64,
    },
    /// For matrices: momentum, orthogonalised by five steps of a Newton-Schulz iteration (K. Jordan and others, Muon:
    /// An optimizer for hidden layers in neural networks, 2024), times sqrt(max(1, outputs / inputs)). Made of products
    /// and an `opt_step_sgd`.
    Muon {
        /// The fraction of the velocity that a step keeps, usually 0.95; with Nesterov momentum.
        momentum: f64,
    },
}

impl Method {
    /// [`Method::Adam`] with the usual settings.
    pub fn adam() -> Self {
        Method::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// [`Method::AdamW`] with the usual settings.
    pub fn adamw() -> Self {
        Method::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// [`Method::Momentum`] with momentum 0.9.
    pub fn momentum() -> Self {
        Method::Momentum { momentum: 0.9, nesterov: false }
    }

    /// [`Method::Momentum`] with Nesterov momentum 0.9.
    pub fn nesterov() -> Self {
        Method::Momentum { momentum: 0.9, nesterov: true }
    }

    /// [`Method::Lion`] with the usual settings.
    pub fn lion() -> Self {
        Method::Lion { beta1: 0.9, beta2: 0.99 }
    }

    /// [`Method::Muon`] with the usual setting.
    pub fn muon() -> Self {
        Method::Muon { momentum: 0.95 }
    }

    /// Why the method's settings are invalid; `None` if they are valid.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        let part = |x: f64| (0. ..1.).contains(&x);
        match *self {
            Method::Sgd => None,
            Method::Momentum { momentum, .. } | Method::Muon { momentum } => {
                (!part(momentum)).then_some("a momentum from 0 on and below 1 is valid")
            }
            Method::Adam { beta1, beta2, epsilon } | Method::AdamW { beta1, beta2, epsilon } => {
                (!(part(beta1) && part(beta2) && epsilon >= 0. && epsilon.is_finite()))
                    .then_some("betas from 0 on and below 1, and an epsilon of 0 or more, are valid")
            }
            Method::Lion { beta1, beta2 } => {
                (!(part(beta1) && part(beta2))).then_some("betas from 0 on and below 1 are valid")
            }
        }
    }

    /// Whether the method supports a parameter of this shape.
    pub(super) fn takes(&self, shape: &[i64]) -> bool {
        !matches!(self, Method::Muon { .. }) || (shape.len() == 2 && shape.iter().all(|n| *n > 0))
    }

    /// The names of the tensors that the method keeps for each parameter, each of its shape.
    pub(super) fn state(&self) -> &'static [&'static str] {
        match self {
            Method::Sgd => &[],
            Method::Momentum { .. } | Method::Muon { .. } => &["velocity"],
            Method::Adam { .. } | Method::AdamW { .. } => &["m", "v"],
            Method::Lion { .. } => &["m"],
        }
    }

    /// The settings of a step, as the operations take them. Steps count from 1.
    pub(super) fn settings(&self, rate: f64, decay: f64, step: u64) -> Vec<f32> {
        let unbias = |beta: f64| 1. / (1. - beta.powf(step as f64));
        let values = match *self {
            Method::Sgd | Method::Muon { .. } => vec![rate, decay],
            Method::Momentum { momentum, .. } => vec![rate, decay, momentum],
            Method::Adam { beta1, beta2, epsilon } => {
                vec![rate, beta1, beta2, epsilon, 0., unbias(beta1), unbias(beta2)]
            }
            Method::AdamW { beta1, beta2, epsilon } => {
                vec![rate, beta1, beta2, epsilon, decay, unbias(beta1), unbias(beta2)]
            }
            Method::Lion { beta1, beta2 } => vec![rate, beta1, beta2, decay],
        };
        values.into_iter().map(|x| x as f32).collect()
    }

    /// Makes the node of the step of one parameter.
    pub(super) fn step(
        &self,
        (parameter, gradient): (&Tensor, &Tensor),
        state: &[Tensor],
        settings: &Tensor,
        decay: f64,
    ) -> Result<Tensor> {
        match *self {
            Method::Sgd => parameter.opt_step_sgd(gradient, settings),
            Method::Momentum { nesterov, .. } => {
                let options = OptStepMomentumOptions::new().nesterov(nesterov);
                parameter.opt_step_momentum(gradient, &state[0], settings, options)
            }
            Method::Adam { .. } if decay != 0. => {
                let decayed = gradient.add(&parameter.scale(decay, ScaleOptions::new())?)?;
                parameter.opt_step_adamw(&decayed, &state[0], &state[1], settings)
            }
            Method::Adam { .. } | Method::AdamW { .. } => {
                parameter.opt_step_adamw(gradient, &state[0], &state[1], settings)
            }
            Method::Lion { .. } => parameter.opt_step_lion(gradient, &state[0], settings),
            Method::Muon { momentum } => {
                let scale = |t: &Tensor, factor: f64| t.scale(factor, ScaleOptions::new());
                let velocity = scale(&state[0], momentum)?.add(gradient)?.cpy(&state[0])?;
                let ahead = gradient.add(&scale(&velocity, momentum)?)?;
                let [inputs, outputs] = [0, 1].map(|d| parameter.shape()[d]);
                let longer = (outputs as f64 / inputs as f64).max(1.).sqrt();
                parameter.opt_step_sgd(&scale(&orthogonal(&ahead)?, longer)?, settings)
            }
        }
    }
}

/// The matrix with its singular values brought to about 1 (0.7 to 1.2), with the coefficients of the published
/// polynomial.
fn orthogonal(matrix: &Tensor) -> Result<Tensor> {
    const STEPS: usize = 5;
    const NUMBERS: [f64; 3] = [3.4445, -4.7750, 2.0315];
    let scale = |t: &Tensor, factor: f64| t.scale(factor, ScaleOptions::new());
    // X X^T has the number of rows: fewer are cheaper.
    let is_tall = matrix.shape()[1] > matrix.shape()[0];
    let lying = |t: &Tensor| t.transpose()?.cont();
    let mut x = if is_tall { lying(matrix)? } else { matrix.clone() };
    let norm = x.sqr()?.sum(..)?.sqrt()?;
    x = x.div(&norm.scale(1., ScaleOptions::new().bias(1e-7))?)?;
    for _ in 0..STEPS {
        let a = x.mul_mat(&x)?; // X X^T is symmetric: its rows are its columns
        let b = scale(&a, NUMBERS[1])?.add(&scale(&a.mul_mat(&a)?, NUMBERS[2])?)?;
        x = scale(&x, NUMBERS[0])?.add(&x.transpose()?.mul_mat(&b)?)?;
    }
    if is_tall {
        lying(&x)
    } else {
        Ok(x)
    }
}
