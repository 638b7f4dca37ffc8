//! The source of a trainer's batches.

use super::Random;
use crate::{DType, Result};
use std::sync::Arc;

/// The form of one input or target of a sample: its type, F32 or I32, and its shape of up to 3 dimensions. Batches add
/// a last dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// F32 or I32.
    pub dtype: DType,
    /// Elements in each dimension, the contiguous one first; empty for a single number.
    pub shape: Vec<i64>,
}

impl Form {
    /// F32 numbers.
    pub fn f32(shape: impl Into<Vec<i64>>) -> Self {
        Self { dtype: DType::F32, shape: shape.into() }
    }

    /// I32 numbers: labels, tokens.
    pub fn i32(shape: impl Into<Vec<i64>>) -> Self {
        Self { dtype: DType::I32, shape: shape.into() }
    }

    /// The number of elements; 0 for a shape with a negative dimension, or with more elements than fit in memory.
    pub fn n_elements(&self) -> usize {
        let product = self.shape.iter().try_fold(1usize, |all, n| all.checked_mul(usize::try_from(*n).ok()?));
        product.unwrap_or(0)
    }
}

/// The forms of a sample's inputs and targets, which all samples share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms {
    /// At least one.
    pub inputs: Vec<Form>,
    /// Empty for a loss that needs no targets, such as an autoencoder's.
    pub targets: Vec<Form>,
}

impl Forms {
    /// The forms of samples with one input and one target.
    pub fn new(input: Form, target: Form) -> Self {
        Self { inputs: vec![input], targets: vec![target] }
    }
}

/// A buffer for one input or target of a sample. It has as many elements as the form and still contains an earlier
/// batch.
#[derive(Debug)]
pub enum Slot<'a> {
    /// F32 elements.
    F32(&'a mut [f32]),
    /// I32 elements.
    I32(&'a mut [i32]),
}

/// Samples by number: a [`DataSet`](super::DataSet), or any other source, such as windows into a long text.
///
/// ```
/// use tensorlib::train::{Form, Forms, Random, Samples, Slot};
/// use tensorlib::Result;
///
/// /// Pairs of numbers, their sum and whether it is even.
/// struct Sums;
///
/// impl Samples for Sums {
///     fn len(&self) -> usize {
///         100
///     }
///
///     fn forms(&self) -> Forms {
///         Forms { inputs: vec![Form::f32([2])], targets: vec![Form::f32([1]), Form::i32([])] }
///     }
///
///     fn write(&self, number: usize, _: Option<&mut Random>, inputs: &mut [Slot], targets: &mut [Slot]) -> Result<()> {
///         let (a, b) = (number / 10, number % 10);
///         if let ([Slot::F32(pair)], [Slot::F32(sum), Slot::I32(even)]) = (inputs, targets) {
///             pair.copy_from_slice(&[a as f32, b as f32]);
///             sum[0] = (a + b) as f32;
///             even[0] = i32::from((a + b) % 2 == 0);
///         }
///         Ok(())
///     }
/// }
/// # assert_eq!(Sums.forms().targets.len(), 2);
/// ```
pub trait Samples {
    /// The number of samples.
    fn len(&self) -> usize;

    /// Whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The forms of the samples' inputs and targets.
    fn forms(&self) -> Forms;

    /// Writes a sample into a slot for each form, in the same order. In training, `random` has random numbers to change
    /// the sample by, the same each time this sample is written in this epoch; in evaluation it is `None`.
    ///
    /// # Errors
    /// Any error, such as that of a file that cannot be read ([`Error::msg`](crate::Error::msg) makes one). It ends the
    /// training or the evaluation, which returns it.
    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()>;
}

/// Shared samples.
impl<S: Samples + ?Sized> Samples for Arc<S> {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn forms(&self) -> Forms {
        (**self).forms()
    }

    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        (**self).write(number, random, inputs, targets)
    }
}
