//! Buffers in which batches of samples are assembled.

use super::{Form, Random, Samples, Slot};
use crate::nn::invalid;
use crate::{DType, Result, Tensor};

/// The numbers of one input or target for all samples of a batch.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    form: Form,
    n: usize,
    values: Values,
}

/// Numbers of many samples, sample after sample.
#[derive(Clone, Debug)]
pub(super) enum Values {
    F32(Vec<f32>),
    I32(Vec<i32>),
}

impl Values {
    /// Empty for I32.
    pub(super) fn as_f32(&self) -> &[f32] {
        match self {
            Values::F32(values) => values,
            Values::I32(_) => &[],
        }
    }

    /// Empty for F32.
    pub(super) fn as_i32(&self) -> &[i32] {
        match self {
            Values::I32(values) => values,
            Values::F32(_) => &[],
        }
    }
}

impl Buffer {
    /// A buffer for n samples; `name` is that of the input or target.
    pub(super) fn new(form: &Form, n: usize, name: &str) -> Result<Self> {
        if ![DType::F32, DType::I32].contains(&form.dtype) || form.shape.len() > 3 || form.n_elements() == 0 {
            let what = format!("{name}s are {:?} {}", form.shape, form.dtype);
            return Err(invalid(format!("Samples: {what}: f32 or i32 of up to 3 dimensions, not empty, is valid")));
        }
        let size = form.n_elements() * n;
        let values = match form.dtype {
            DType::I32 => Values::I32(vec![0; size]),
            _ => Values::F32(vec![0.; size]),
        };
        Ok(Self { form: form.clone(), n, values })
    }

    /// Buffers for inputs, or for targets.
    pub(super) fn all(forms: &[Form], n: usize, what: &str) -> Result<Vec<Self>> {
        forms.iter().map(|form| Self::new(form, n, what)).collect()
    }

    pub(super) fn dtype(&self) -> DType {
        self.form.dtype
    }

    /// The shape of the batch: that of a sample, and the samples as the last dimension.
    pub(super) fn shape(&self) -> Vec<i64> {
        let mut shape = self.form.shape.clone();
        shape.push(self.n as i64);
        shape
    }

    fn slot(&mut self, i: usize) -> Slot<'_> {
        let size = self.form.n_elements();
        let place = i * size..(i + 1) * size;
        match &mut self.values {
            Values::F32(values) => Slot::F32(&mut values[place]),
            Values::I32(values) => Slot::I32(&mut values[place]),
        }
    }

    /// Writes the batch into a leaf of its shape and type.
    pub(super) fn write(&self, leaf: &Tensor) -> Result<()> {
        match &self.values {
            Values::F32(values) => leaf.write(values),
            Values::I32(values) => leaf.write(values),
        }
    }

    /// `None` for F32.
    pub(super) fn as_i32(&self) -> Option<&[i32]> {
        (self.form.dtype == DType::I32).then(|| self.values.as_i32())
    }
}

/// Changes a sample at random: its inputs and targets.
pub(super) type Augment = dyn Fn(&mut [Slot<'_>], &mut [Slot<'_>], &mut Random) -> Result<()> + Send + Sync;

/// Writes these samples into buffers, one for each place of the batch. In training, `seed` chooses the random numbers
/// that change them.
pub(super) fn assemble(
    samples: &dyn Samples,
    numbers: &[usize],
    (seed, augment): (Option<u64>, Option<&Augment>),
    inputs: &mut [Buffer],
    targets: &mut [Buffer],
) -> Result<()> {
    for (i, number) in numbers.iter().enumerate() {
        let mut random = seed.map(|seed| Random::new(seed, *number as u64));
        let mut inputs: Vec<_> = inputs.iter_mut().map(|buffer| buffer.slot(i)).collect();
        let mut targets: Vec<_> = targets.iter_mut().map(|buffer| buffer.slot(i)).collect();
        samples.write(*number, random.as_mut(), &mut inputs, &mut targets)?;
        if let (Some(augment), Some(random)) = (augment, &mut random) {
            augment(&mut inputs, &mut targets, random)?;
        }
    }
    Ok(())
}

/// The order of the samples in an epoch, and the seed of their changes: two random sequences.
pub(super) fn shuffled(seed: u64, epoch: usize, n: usize) -> (Vec<usize>, u64) {
    let epoch_seed = Random::new(seed, epoch as u64).bits();
    let mut order: Vec<usize> = (0..n).collect();
    Random::new(epoch_seed, u64::MAX).shuffle(&mut order);
    (order, epoch_seed)
}
