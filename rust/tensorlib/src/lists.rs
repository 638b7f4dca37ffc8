//! Operations on lists of tensors, and functions that return lists.

use crate::ops::{c_text, shapes};
use crate::{Error, Result, Tensor};
use std::borrow::Borrow;
use tensorlib_sys as sys;

/// The operands of a list.
fn list<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<&Tensor> {
    tensors.iter().map(Borrow::borrow).collect()
}

/// Makes a node of a list of tensors, in the context of the youngest.
fn of_list(
    op: &str,
    tensors: &[&Tensor],
    make: impl FnOnce(*mut sys::tl_context, &[*mut sys::tl_tensor]) -> *mut sys::tl_tensor,
) -> Result<Tensor> {
    let Some((first, others)) = tensors.split_first() else {
        return Err(invalid(format!("{op}: no tensors: at least one is valid"), &[]));
    };
    let raw: Vec<_> = tensors.iter().map(|t| t.raw()).collect();
    first.with(others).construct(|| shapes(tensors), |ctx| make(ctx, &raw))
}

fn invalid(message: String, operands: &[&Tensor]) -> Error {
    Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shapes(operands))
}

impl Tensor {
    /// Concatenates tensors of one type along a dimension, with one shape in all others: `&[&a, &b]`, or a slice of
    /// tensors.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Tensor};
    /// let ctx = Context::new();
    /// let a = ctx.tensor([2], &[1f32, 2.])?;
    /// let b = ctx.tensor([1], &[3f32])?;
    /// let c = Tensor::cat(&[&a, &b, &a], 0)?;
    /// assert_eq!(c.eval(&Backend::cpu()?)?.to_vec::<f32>()?, [1., 2., 3., 1., 2.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for no tensors.
    pub fn cat(tensors: &[impl Borrow<Tensor>], dim: i64) -> Result<Tensor> {
        of_list("cat", &list(tensors), |ctx, raw| {
            // SAFETY: the context and the operands, as many as said, are live.
            unsafe { sys::tl_cat(ctx, raw.as_ptr(), raw.len(), dim) }
        })
    }

    /// Stacks tensors of one type and shape along a new dimension, which is inserted as by [`Tensor::unsqueeze`].
    ///
    /// ```
    /// use tensorlib::{Context, Tensor};
    /// let ctx = Context::new();
    /// let rows = [ctx.tensor([2], &[1f32, 2.])?, ctx.tensor([2], &[3f32, 4.])?];
    /// assert_eq!(Tensor::stack(&rows, 1)?.shape(), [2, 2]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn stack(tensors: &[impl Borrow<Tensor>], dim: i64) -> Result<Tensor> {
        of_list("stack", &list(tensors), |ctx, raw| {
            // SAFETY: the context and the operands, as many as said, are live.
            unsafe { sys::tl_stack(ctx, raw.as_ptr(), raw.len(), dim) }
        })
    }

    /// Sums products of tensors whose dimensions have names. The equation has a list of letters for each tensor, one
    /// for each dimension and dimension 0 first, and one for the result: `"km,kn->mn"` is [`Tensor::mul_mat`]. NumPy
    /// lists the same dimensions in the opposite order. Letters that the result lacks are summed. Without `->`, the
    /// result has the letters that occur once, in the order of the alphabet. A letter that a tensor has twice selects
    /// its diagonal. Tensors and products of two have at most 4 dimensions.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Tensor};
    /// let ctx = Context::new();
    /// let a = ctx.tensor([2, 2], &[1f32, 2., 3., 4.])?;
    /// let v = ctx.tensor([2], &[10f32, 1.])?;
    /// let product = Tensor::einsum("km,k->m", &[&a, &v])?;
    /// assert_eq!(product.eval(&Backend::cpu()?)?.to_vec::<f32>()?, [12., 34.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for an equation that does not fit the tensors,
    /// [`Error::Unsupported`] for a product of more than 4 dimensions.
    pub fn einsum(equation: &str, tensors: &[impl Borrow<Tensor>]) -> Result<Tensor> {
        let equation = c_text(equation);
        of_list("einsum", &list(tensors), |ctx, raw| {
            // SAFETY: the context and the operands, as many as said, are live, and the text lives for the call.
            unsafe { sys::tl_einsum(ctx, equation.as_ptr(), raw.as_ptr(), raw.len()) }
        })
    }

    /// Parts of `size` elements of a dimension, as views. The last one may be smaller.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let parts = ctx.zeros(tensorlib::DType::F32, [5, 2])?.split(2, 0)?;
    /// assert_eq!(parts.iter().map(|part| part.shape()[0]).collect::<Vec<_>>(), [2, 2, 1]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for a size below 1 or a dimension above 3.
    pub fn split(&self, size: i64, dim: usize) -> Result<Vec<Tensor>> {
        if size < 1 {
            return Err(invalid(format!("split: size is {size}: at least 1 is valid"), &[self]));
        }
        let n = self.checked_extent("split", dim)?;
        let starts = (0..n).step_by(usize::try_from(size).unwrap_or(usize::MAX));
        starts.map(|start| self.narrow(dim, start, size.min(n - start))).collect()
    }

    /// Parts of these sizes of a dimension, as views. Their sum is the dimension's extent.
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for sizes with another sum, or a dimension above 3.
    pub fn split_sizes(&self, sizes: &[i64], dim: usize) -> Result<Vec<Tensor>> {
        let n = self.checked_extent("split", dim)?;
        let total = sizes.iter().try_fold(0i64, |sum, &size| sum.checked_add(size).filter(|_| size >= 0));
        if total != Some(n) {
            let message = format!("split: sizes are {sizes:?}: a sum of {n} is valid, the extent of dimension {dim}");
            return Err(invalid(message, &[self]));
        }
        let mut next = 0;
        let part = |&size: &i64| {
            next += size;
            self.narrow(dim, next - size, size)
        };
        sizes.iter().map(part).collect()
    }

    /// At most `n` parts of a dimension, as views. All have the same size except the last one, which may be smaller; as
    /// in PyTorch, there may be fewer parts.
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for n below 1 or a dimension above 3.
    pub fn chunk(&self, n: i64, dim: usize) -> Result<Vec<Tensor>> {
        if n < 1 {
            return Err(invalid(format!("chunk: n is {n}: at least 1 is valid"), &[self]));
        }
        let all = self.checked_extent("chunk", dim)?;
        self.split((all / n + i64::from(all % n != 0)).max(1), dim)
    }

    /// Each element of a dimension, without the dimension, as views.
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for a dimension above 3.
    pub fn unbind(&self, dim: usize) -> Result<Vec<Tensor>> {
        let n = self.checked_extent("unbind", dim)?;
        (0..n).map(|index| self.select(dim as i64, index)).collect()
    }

    /// A grid of the points whose coordinates are the elements of 1 to 4 vectors. Result d has the shape of all
    /// lengths, and element i of vector d where the index in dimension d is i: PyTorch's order `"ij"`. Views.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Tensor};
    /// let ctx = Context::new();
    /// let x = ctx.tensor([3], &[0f32, 1., 2.])?;
    /// let y = ctx.tensor([2], &[10f32, 20.])?;
    /// let grid = Tensor::meshgrid(&[&x, &y])?;
    /// assert_eq!(grid[1].eval(&Backend::cpu()?)?.to_vec::<f32>()?, [10., 10., 10., 20., 20., 20.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`] for no vectors, more than 4, or tensors of
    /// several dimensions.
    pub fn meshgrid(vectors: &[impl Borrow<Tensor>]) -> Result<Vec<Tensor>> {
        let vectors = list(vectors);
        if vectors.is_empty() || vectors.len() > 4 {
            return Err(invalid(format!("meshgrid: {} vectors: 1 to 4 are valid", vectors.len()), &vectors));
        }
        if let Some(other) = vectors.iter().find(|vector| vector.shape().len() != 1) {
            let message = format!("meshgrid: a vector is {:?}: one dimension is valid", other.shape());
            return Err(invalid(message, &vectors));
        }
        let ne: Vec<i64> = vectors.iter().map(|vector| vector.shape()[0]).collect();
        let coordinate = |(d, vector): (usize, &&Tensor)| {
            let mut shape = vec![1; vectors.len()];
            shape[d] = ne[d];
            vector.reshape(shape)?.expand(&ne)
        };
        vectors.iter().enumerate().map(coordinate).collect()
    }

    /// The extent of a dimension, which is 1 if the shape lacks it.
    fn checked_extent(&self, function: &str, dim: usize) -> Result<i64> {
        match dim {
            0..=3 => Ok(self.extent(dim)),
            _ => Err(invalid(format!("{function}: dim is {dim}: 0 to 3 are valid"), &[self])),
        }
    }
}
