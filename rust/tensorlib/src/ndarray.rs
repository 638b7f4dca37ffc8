//! Conversions from and to ndarray's arrays, with the feature `ndarray`. Memory stays as it is, so the shape is
//! reversed: ndarray lists the slowest dimension first.

use crate::{Context, Element, Error, Result, Tensor};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl Context {
    /// Makes a leaf from an array's elements. An array of shape (rows, columns) gives a tensor `[columns, rows]`.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor_from_array(&ndarray::array![[1f32, 2., 3.], [4., 5., 6.]])?;
    /// assert_eq!(t.shape(), [3, 2]);
    /// assert_eq!(t.to_array::<f32>()?[[1, 0]], 4.0);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than 4 dimensions, [`Error::OutOfMemory`].
    pub fn tensor_from_array<T: Element, S: Data<Elem = T>, D: Dimension>(
        &self,
        array: &ArrayBase<S, D>,
    ) -> Result<Tensor> {
        let mut shape: Vec<i64> = array.shape().iter().rev().map(|&n| n as i64).collect();
        if shape.is_empty() {
            shape.push(1); // an array without dimensions is one element
        }
        match array.as_slice() {
            Some(values) => self.tensor_of(shape, values),
            None => self.tensor_of(shape, &array.iter().copied().collect::<Vec<T>>()),
        }
    }
}

impl Tensor {
    /// Copies the elements into an array; a tensor `[columns, rows]` gives an array of shape (rows, columns).
    ///
    /// # Errors
    /// As [`Tensor::to_vec`].
    pub fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
        let shape: Vec<usize> = self.shape().iter().rev().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec()?)
            .map_err(|e| Error::new(13, format!("to_array: {e}"), vec![self.shape()]))
    }
}
