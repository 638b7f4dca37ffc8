//! Batch normalisation.

use super::{invalid, Init, Module, Parameters, Pass};
use crate::{DType, Dims, Result, ScaleOptions, Tensor};

/// Batch normalisation: subtracts each channel's mean and divides by its standard deviation, then applies the channel's
/// weight and bias (S. Ioffe, C. Szegedy, Batch Normalization, 2015). It takes rows of features `[channels, n]`,
/// signals `[length, channels, n]` and images `[w, h, channels, n]`.
///
/// In training, mean and deviation are those of the batch, over all samples and positions, and the running statistics
/// move towards them. In evaluation, the running statistics take their place. These are
/// [buffers](Parameters::make_buffer), written by nodes that are among [`Pass::updates`].
///
/// ```
/// use tensorlib::nn::{BatchNorm, Module, Parameters, Pass};
/// use tensorlib::{Backend, Context};
/// let (cpu, ctx) = (Backend::cpu()?, Context::new());
/// let norm = BatchNorm::new(&Parameters::new(1), 1)?;
/// let x = ctx.tensor([1, 2], &[3., 5.])?; // 2 samples of 1 channel
/// let pass = Pass::training(&ctx.tensor_of([2], &[1i64, 0])?)?;
/// let y = norm.forward(&x, &pass)?;
/// cpu.compute(&[&y].into_iter().chain(&pass.updates()).collect::<Vec<_>>())?;
/// assert!((y.to_vec::<f32>()?[1] - 1.).abs() < 1e-4);
/// assert!((norm.running_mean.get(&[0])? - 0.4).abs() < 1e-6); // a tenth of the way from 0 to 4
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// `[channels]`.
    pub weight: Tensor,
    /// `[channels]`.
    pub bias: Tensor,
    /// The running mean, `[channels]`, F32.
    pub running_mean: Tensor,
    /// The running variance, `[channels]`, F32: that of a population, which a batch estimates.
    pub running_var: Tensor,
    /// The number of batches seen, `[1]`, I64.
    pub num_batches_tracked: Tensor,
    /// Added to the variance.
    pub epsilon: f64,
    /// The weight of a batch in the running statistics, from 0 to 1.
    pub momentum: f64,
}

impl BatchNorm {
    /// Makes the layer with the parameters `weight`, ones, and `bias`, zeros, and the buffers `running_mean`, zeros,
    /// `running_var`, ones, and `num_batches_tracked`, 0. Epsilon is 1e-5 and the momentum 0.1.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for fewer than one channel; as [`Parameters::make`].
    pub fn new(parameters: &Parameters, channels: i64) -> Result<Self> {
        if channels < 1 {
            return Err(invalid(format!("BatchNorm::new: {channels} channels: 1 or more are valid")));
        }
        let weight = parameters.make("weight", [channels], Init::Ones)?;
        let bias = parameters.make("bias", [channels], Init::Zeros)?;
        let running_mean = parameters.make_buffer("running_mean", [channels], DType::F32)?;
        let running_var = parameters.make_buffer("running_var", [channels], DType::F32)?;
        running_var.write(&vec![1f32; channels as usize])?;
        let num_batches_tracked = parameters.make_buffer("num_batches_tracked", [1], DType::I64)?;
        Ok(Self { weight, bias, running_mean, running_var, num_batches_tracked, epsilon: 1e-5, momentum: 0.1 })
    }

    /// Appends the nodes that move the running statistics towards a batch's, of `n` numbers per channel.
    fn track(&self, mean: &Tensor, variance: &Tensor, n: i64, pass: &Pass) -> Result<()> {
        if !(0. ..=1.).contains(&self.momentum) {
            return Err(invalid(format!("BatchNorm: momentum = {}: a number from 0 to 1 is valid", self.momentum)));
        }
        let towards = |running: &Tensor, batch: &Tensor, factor: f64| -> Result<()> {
            let kept = running.scale(1. - self.momentum, ScaleOptions::new())?;
            let batch = batch.reshape([-1])?.scale(self.momentum * factor, ScaleOptions::new())?;
            pass.update(kept.add(&batch)?.cpy(running)?);
            Ok(())
        };
        towards(&self.running_mean, mean, 1.)?;
        // The variance that is divided by is that of the batch; the running one is of the population.
        towards(&self.running_var, variance, n as f64 / (n - 1) as f64)?;
        pass.update((&self.num_batches_tracked + 1)?.cpy(&self.num_batches_tracked)?);
        Ok(())
    }
}

impl Module for BatchNorm {
    /// Normalises x.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an x of another number of channels, or one number per channel in
    /// training; as [`Tensor::mul`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let (shape, channels) = (x.shape(), self.weight.extent(0));
        let dim = shape.len().checked_sub(2);
        if dim.is_none_or(|dim| shape[dim] != channels) {
            let dtype = x.dtype();
            return Err(invalid(format!(
                "BatchNorm: x is {shape:?} {dtype}: [{channels}, n], [length, {channels}, n] and [w, h, {channels}, n] are valid"
            )));
        }
        x.node_context().within_or_younger(|| self.normalised(x, &shape, pass))
    }
}

impl BatchNorm {
    fn normalised(&self, x: &Tensor, shape: &[i64], pass: &Pass) -> Result<Tensor> {
        let channels = self.weight.extent(0);
        // Channels are dimension 0 of rows, and otherwise dimension 1, after all positions of a sample.
        let is_row = shape.len() == 2;
        let n = shape.iter().product::<i64>() / channels;
        let (t, dims) = match is_row {
            true => (x.clone(), Dims::from(1)),
            false => {
                let (positions, samples) = shape.split_at(shape.len() - 2);
                (x.reshape([positions.iter().product(), channels, samples[1]])?, Dims::from([0, 2]))
            }
        };
        let per_channel = |t: &Tensor| if is_row { Ok(t.clone()) } else { t.reshape([1, channels]) };
        let (mean, variance) = if pass.is_training() {
            if n < 2 {
                return Err(invalid(format!("BatchNorm: x is {shape:?} in training: 2 numbers per channel are valid")));
            }
            let (mean, variance) = (t.mean(dims.keep())?, t.var(0, dims.keep())?);
            self.track(&mean, &variance, n, pass)?;
            (mean, variance)
        } else {
            (per_channel(&self.running_mean)?, per_channel(&self.running_var)?)
        };
        let deviation = variance.scale(1., ScaleOptions::new().bias(self.epsilon))?.sqrt()?;
        let factor = per_channel(&self.weight)?.div(&deviation)?;
        t.sub(&mean)?.mul(&factor)?.add(&per_channel(&self.bias)?)?.reshape(shape)
    }
}
