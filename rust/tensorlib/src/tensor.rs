//! Tensors: their properties, and reading and writing of their data.

use crate::call::{check, listed, sized_text, text, until_nul};
use crate::{Backend, Context, DType, Element, Error, ReadGuard, Result, WriteGuard};
use std::ffi::CString;
use std::fmt;
use std::ptr::NonNull;
use tensorlib_sys as sys;

/// A leaf with data of its own, or a node that an operation computes. Clones are the same tensor. Thread-safe: the
/// context's run lock keeps reads and writes apart.
///
/// Readable are leafs, outputs of a graph that was computed, and views of either. Writable are leafs and views of them.
/// Every other access is an error that says what to do.
///
/// ```
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor([2, 2], &[1., 2., 3., 4.])?;
/// t.write(&[5f32, 6., 7., 8.])?;
/// assert_eq!(t.transpose()?.to_vec::<f32>()?, [5., 7., 6., 8.]);
/// assert_eq!(format!("{t:?}"), "leaf [2, 2] f32, strides [4, 8]");
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// # Operators
/// `+`, `-`, `*` and `/` make nodes, as the methods do, and give [`Result`]s. Operands are tensors and references to them. One of
/// the two may be the result of another operator, so a chain needs one `?`. Numbers (`f64`, `i32`) may stand on either side of a
/// tensor. They count as F32, and the result has the tensor's type. Rust reserves operators of two results, and of a result and a
/// number, for the standard library: write `(&a + &b)? * 2.0`.
///
/// Two tensors are broadcast: in each dimension their extents are equal or one of them is 1. Methods also repeat a `b` whose extent
/// divides that of `a`. Operators refuse that with [`Error::ShapeMismatch`], because it is rarely meant.
///
/// ```
/// let (cpu, ctx) = (tensorlib::Backend::cpu()?, tensorlib::Context::new());
/// let row = ctx.tensor([3], &[1f32, 2., 3.])?;
/// let column = ctx.tensor([1, 2], &[10f32, 20.])?;
/// let table = (2.0 * &row + &column - &row)?.eval(&cpu)?; // [3, 2]
/// assert_eq!(table.to_vec::<f32>()?, [11., 12., 13., 21., 22., 23.]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    context: Context,
    ptr: NonNull<sys::tl_tensor>,
}

// SAFETY: the pointer is valid as long as the context, which the handle holds; the engine allows every function on a
// tensor from any thread.
unsafe impl Send for Tensor {}
// SAFETY: the same; the context's run lock keeps reads and writes apart.
unsafe impl Sync for Tensor {}

impl Tensor {
    pub(crate) fn from_raw(context: Context, ptr: NonNull<sys::tl_tensor>) -> Self {
        Self { context, ptr }
    }

    pub(crate) fn raw(&self) -> *mut sys::tl_tensor {
        self.ptr.as_ptr()
    }

    /// The context that owns the tensor.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        // SAFETY: the tensor is live (as for all getters below).
        DType::from_raw(unsafe { sys::tl_tensor_type(self.raw()) })
    }

    /// The number of dimensions, 1 to 4.
    pub fn n_dims(&self) -> usize {
        // SAFETY: the tensor is live.
        usize::try_from(unsafe { sys::tl_tensor_n_dims(self.raw()) }).unwrap_or(0)
    }

    /// Elements per dimension, the contiguous one first; [`Tensor::n_dims`] values.
    pub fn shape(&self) -> Vec<i64> {
        (0..self.n_dims()).map(|d| self.extent(d)).collect()
    }

    /// The elements of one dimension; 1 for a dimension that the tensor does not use.
    pub(crate) fn extent(&self, dim: usize) -> i64 {
        // SAFETY: the tensor is live.
        unsafe { sys::tl_tensor_ne(self.raw(), dim as i32) }
    }

    /// Bytes from one element to the next in each dimension.
    pub fn strides(&self) -> Vec<usize> {
        // SAFETY: the tensor is live.
        (0..self.n_dims()).map(|d| unsafe { sys::tl_tensor_nb(self.raw(), d as i32) }).collect()
    }

    /// The number of elements, the product of the shape.
    pub fn n_elements(&self) -> usize {
        // SAFETY: the tensor is live.
        usize::try_from(unsafe { sys::tl_tensor_n_elements(self.raw()) }).unwrap_or(0)
    }

    /// Bytes of all elements when packed without gaps.
    pub fn nbytes(&self) -> usize {
        // SAFETY: the tensor is live.
        unsafe { sys::tl_tensor_nbytes(self.raw()) }
    }

    /// Whether the elements lie in memory order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let (dtype, shape) = (self.dtype(), self.shape());
        let mut expected = dtype.size();
        self.n_elements() == 0
            || self.strides().into_iter().zip(shape).enumerate().all(|(d, (nb, ne))| {
                let extent = if d == 0 { ne / dtype.block_size() } else { ne };
                let fits = extent == 1 || nb == expected;
                expected *= usize::try_from(extent).unwrap_or(0);
                fits
            })
    }

    /// The operation that computes the tensor, such as `"mul_mat"`; `"leaf"` for a leaf.
    pub fn op(&self) -> String {
        // SAFETY: the tensor is live; the text is static.
        unsafe { text(sys::tl_tensor_op(self.raw())) }
    }

    /// The operation's operands in the order of docs/ops.md: none for a leaf, `None` for an operand that was left out.
    ///
    /// ```
    /// let (weights, request) = (tensorlib::Context::new(), tensorlib::Context::new());
    /// let (w, x) = (weights.tensor([2], &[1., 2.])?, request.tensor([2], &[3., 4.])?);
    /// let sources = w.add(&x)?.sources();
    /// assert_eq!(sources[0].as_ref().unwrap().context().id(), weights.id());
    /// assert!(w.sources().is_empty());
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn sources(&self) -> Vec<Option<Tensor>> {
        // SAFETY: the tensor is live; the list has as much room as said.
        let raw = listed(|list, n| unsafe { sys::tl_tensor_sources(self.raw(), list, n) });
        // SAFETY: a tensor's operands are live as long as it is.
        raw.into_iter().map(|source| unsafe { Tensor::of_c(source) }).collect()
    }

    /// The handle of a tensor that C named; `None` for NULL.
    ///
    /// # Safety
    /// The tensor must be NULL or live.
    pub(crate) unsafe fn of_c(ptr: *mut sys::tl_tensor) -> Option<Self> {
        let ptr = NonNull::new(ptr)?;
        // SAFETY: as the caller promises.
        Some(Self { context: unsafe { Context::of(ptr) }?, ptr })
    }

    /// The tensor's name; empty if it has none.
    pub fn name(&self) -> String {
        // SAFETY: the tensor is live; the buffer has as many bytes as said.
        sized_text(|buffer, size| unsafe { sys::tl_tensor_copy_name(self.raw(), buffer, size) })
    }

    /// Names the tensor for messages and dumps; `""` removes the name. A NUL ends the name.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = until_nul(name);
        // SAFETY: the tensor is live; the name is copied.
        check(|err| unsafe { sys::tl_tensor_set_name(self.raw(), name.as_ptr(), err) })
    }

    /// Copies all elements out, packed in memory order; a view's elements are gathered.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if `T` is not the tensor's type (see [`Tensor::to_f32_vec`]), [`Error::InvalidArgument`]
    /// if the data is not readable, [`Error::OutOfMemory`] if there is no memory for the values (a view can repeat its
    /// elements any number of times), [`Error::Busy`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_elements::<T>("tensor_read", self.n_elements())?;
        // SAFETY: the tensor is live; data has room for all elements, of size bytes together, and each bit pattern is a T.
        self.read_all(|data: *mut T, size, err| unsafe { sys::tl_tensor_read(self.raw(), data.cast(), 0, size, err) })
    }

    /// Reads all elements with `read(memory, bytes, error)`, which fills memory that is not initialised.
    fn read_all<T: Element>(
        &self,
        read: impl FnOnce(*mut T, usize, *mut sys::tl_error) -> sys::tl_status,
    ) -> Result<Vec<T>> {
        // Checked before memory is allocated: a tensor that cannot be read may have any size.
        self.read_bytes(0, &mut [])?;
        let n = self.n_elements();
        let mut values = Vec::new();
        values.try_reserve_exact(n).map_err(|_| {
            let message = format!(
                "tensor_read: {n} values of {:?} {}: the machine has no memory for them",
                self.shape(),
                self.dtype()
            );
            Error::new(sys::TL_STATUS_OUT_OF_MEMORY.0, message, vec![self.shape()])
        })?;
        check(|err| read(values.as_mut_ptr(), n * std::mem::size_of::<T>(), err))?;
        // SAFETY: the call has succeeded, so it has written all of them.
        unsafe { values.set_len(n) };
        Ok(values)
    }

    /// [`Tensor::to_vec`] into your memory, which holds exactly one value per element.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`]; [`Error::InvalidArgument`] for a wrong number of values.
    pub fn read_into<T: Element>(&self, values: &mut [T]) -> Result<()> {
        self.check_elements::<T>("tensor_read", values.len())?;
        let (data, size) = (values.as_mut_ptr().cast(), std::mem::size_of_val(values));
        // SAFETY: the tensor is live; data has size bytes, and every bit pattern is a T.
        check(|err| unsafe { sys::tl_tensor_read(self.raw(), data, 0, size, err) })
    }

    /// Writes all elements, packed in memory order.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if `T` is not the tensor's type, [`Error::InvalidArgument`] for a wrong number of
    /// values, a node's result or a constant, [`Error::Busy`].
    pub fn write<T: Element>(&self, values: &[T]) -> Result<()> {
        self.check_elements::<T>("tensor_write", values.len())?;
        let (data, size) = (values.as_ptr().cast(), std::mem::size_of_val(values));
        // SAFETY: the tensor is live; data has size bytes.
        check(|err| unsafe { sys::tl_tensor_write(self.raw(), data, 0, size, err) })
    }

    /// Writes stored bytes of the elements, packed in memory order, from `offset` bytes after the first on: for example
    /// the blocks of a quantised type.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a range outside the tensor, a node's result or a constant; [`Error::Busy`].
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let data = bytes.as_ptr().cast();
        // SAFETY: the tensor is live; data has as many bytes as said.
        check(|err| unsafe { sys::tl_tensor_write(self.raw(), data, offset, bytes.len(), err) })
    }

    /// Reads stored bytes of the elements, packed in memory order, from `offset` bytes after the first on.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`]; [`Error::InvalidArgument`] for a range outside the tensor.
    pub fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let (data, size) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the tensor is live; data has size bytes.
        check(|err| unsafe { sys::tl_tensor_read(self.raw(), data, offset, size, err) })
    }

    /// Computes the tensor and returns it, so that it can be read: `(&a + &b)?.eval(&cpu)?.to_vec::<f32>()?`. A [`Graph`](crate::Graph)
    /// computes several tensors at once, and the same ones again without planning.
    ///
    /// # Errors
    /// As [`Backend::compute`].
    pub fn eval(&self, backend: &Backend) -> Result<Tensor> {
        backend.compute(&[self])?;
        Ok(self.clone())
    }

    /// Copies all elements out, converted to `f32`.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`], for any type.
    pub fn to_f32_vec(&self) -> Result<Vec<f32>> {
        let n = self.n_elements();
        // SAFETY: the tensor is live; data has room for as many floats as said.
        self.read_all(|data, _, err| unsafe { sys::tl_tensor_read_f32(self.raw(), data, n, err) })
    }

    /// Writes all elements, converted from `f32` and rounded to nearest even.
    ///
    /// # Errors
    /// As [`Tensor::write`], for any type; [`Error::InvalidArgument`] naming the position of a value that an integer
    /// type cannot hold.
    pub fn write_f32(&self, values: &[f32]) -> Result<()> {
        // SAFETY: the tensor is live; values has as many floats as said.
        check(|err| unsafe { sys::tl_tensor_write_f32(self.raw(), values.as_ptr(), values.len(), err) })
    }

    /// Reads one element, converted to `f32`. `index` has up to 4 values; missing ones are 0.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`]; [`Error::InvalidArgument`] for an index outside the shape.
    pub fn get(&self, index: &[i64]) -> Result<f32> {
        let i = padded(index)?;
        let mut value = 0f32;
        // SAFETY: the tensor is live; value is valid.
        check(|err| unsafe { sys::tl_tensor_get_f32(self.raw(), i[0], i[1], i[2], i[3], &mut value, err) })?;
        Ok(value)
    }

    /// Writes one element, converted from `f32`. `index` has up to 4 values; missing ones are 0.
    ///
    /// # Errors
    /// As [`Tensor::write_f32`]; [`Error::InvalidArgument`] for an index outside the shape.
    pub fn set(&self, index: &[i64], value: f32) -> Result<()> {
        let i = padded(index)?;
        // SAFETY: the tensor is live.
        check(|err| unsafe { sys::tl_tensor_set_f32(self.raw(), i[0], i[1], i[2], i[3], value, err) })
    }

    /// The data as a slice for as long as the guard lives. Meanwhile others may read, but nobody may write or compute
    /// in this context.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if `T` is not the tensor's type, [`Error::InvalidArgument`] if the tensor is not contiguous or
    /// not readable, [`Error::Unavailable`] if the data is not in host memory or was dropped, [`Error::Busy`].
    pub fn read_guard<T: Element>(&self) -> Result<ReadGuard<'_, T>> {
        ReadGuard::new(self)
    }

    /// The data as a mutable slice for as long as the guard lives. Meanwhile nobody else may use this context's data.
    ///
    /// # Errors
    /// As [`Tensor::read_guard`]; [`Error::InvalidArgument`] also for a node's result and a constant.
    pub fn write_guard<T: Element>(&self) -> Result<WriteGuard<'_, T>> {
        WriteGuard::new(self)
    }

    /// Calls `f` with the data as a slice. The slice cannot leave the closure:
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor([2], &[1., 2.])?;
    /// let sum = t.with_slice(|values: &[f32]| values.iter().sum::<f32>())?;
    /// assert_eq!(sum, 3.0);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    /// ```compile_fail
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor([2], &[1., 2.])?;
    /// let values = t.with_slice(|values: &[f32]| values)?;
    /// assert_eq!(values[0], 1.0);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::read_guard`].
    pub fn with_slice<T: Element, R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        Ok(f(&self.read_guard::<T>()?))
    }

    /// Calls `f` with the data as a mutable slice.
    ///
    /// # Errors
    /// As [`Tensor::write_guard`].
    pub fn with_slice_mut<T: Element, R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        Ok(f(&mut self.write_guard::<T>()?))
    }

    /// Promises that a leaf's contents never change: later writes are errors, and plans may keep a packed copy.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor that is not a leaf with data, [`Error::Busy`].
    pub fn set_constant(&self) -> Result<()> {
        // SAFETY: the tensor is live.
        check(|err| unsafe { sys::tl_tensor_set_constant(self.raw(), err) })
    }

    /// Sets whether graphs made from now on recompute this node where gradients read it, instead of keeping its result
    /// until then. Recomputation takes less memory and more time, and gives the same bits.
    ///
    /// The node is recomputed together with the marked nodes that it is computed from; results of unmarked nodes are
    /// kept for it. So mark the nodes between two tensors and leave these two unmarked. Outputs are kept in any case;
    /// marking a view marks the node that it is a view of.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let x = ctx.tensor([2], &[1f32, 2.])?;
    /// let y = x.exp()?;
    /// let loss = y.tanh()?.sqr()?.sum(..)?;
    /// y.set_recompute(true)?;
    /// let graph = Graph::new(&[&loss.gradients(&[&x])?[0]])?;
    /// assert!(graph.plan_text(&cpu)?.contains("1 nodes recomputed"));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a leaf, a view of a leaf, and a node that writes into an operand.
    pub fn set_recompute(&self, recompute: bool) -> Result<()> {
        // SAFETY: the tensor is live.
        check(|err| unsafe { sys::tl_tensor_set_recompute(self.raw(), recompute, err) })
    }

    /// Says which device computes this node in graphs that a joined backend runs
    /// ([`Backend::join`](crate::Backend::join)); `None` lets the backend choose again. Placing a view places the node
    /// that it is a view of.
    ///
    /// ```
    /// # use tensorlib::Context;
    /// let ctx = Context::new();
    /// let y = ctx.tensor([2], &[1f32, 2.])?.exp()?;
    /// y.place(Some("cpu"))?;
    /// assert!(y.place(Some("abacus")).unwrap_err().to_string().contains("there are: cpu"));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a leaf, a view of a leaf, and an unknown device.
    pub fn place(&self, device: Option<&str>) -> Result<()> {
        // A NUL would cut the name short; no device's name has one.
        let name = CString::new(device.unwrap_or("").replace('\0', "?")).unwrap_or_default();
        // SAFETY: the tensor is live; the name lives for the call.
        check(|err| unsafe { sys::tl_tensor_place(self.raw(), name.as_ptr(), err) })
    }

    /// Frees the pages of a constant's original data if a packed copy can replace them: after a CPU backend has
    /// computed a product with the whole tensor and [`packed_memory`](crate::Backend::packed_memory) grew by its copy.
    /// Every reader of the tensor gets the same bits as before. The context then owns the copy, which outlives the
    /// backend. A leaf of a mapped GGUF file releases its pages and otherwise stays as it is.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if no copy can replace the data (types whose blocks cannot be rebuilt, such as IQ2);
    /// nothing changes then. [`Error::InvalidArgument`] for a tensor that is not constant, [`Error::OutOfMemory`] if
    /// the copy exceeds the context's limit, [`Error::Busy`].
    pub fn drop_original(&self) -> Result<()> {
        // SAFETY: the tensor is live.
        check(|err| unsafe { sys::tl_tensor_drop_original(self.raw(), err) })
    }

    pub(crate) fn check_elements<T: Element>(&self, what: &str, n: usize) -> Result<()> {
        let shape = || vec![self.shape()];
        if T::DTYPE != self.dtype() {
            let message = format!(
                "{what}: the tensor is {:?} {}, the values are {}: use to_f32_vec and write_f32 to convert",
                self.shape(),
                self.dtype(),
                T::DTYPE
            );
            return Err(Error::new(sys::TL_STATUS_TYPE_MISMATCH.0, message, shape()));
        }
        if n != self.n_elements() {
            let message = format!(
                "{what}: {n} values for {:?} {}: exactly {} are valid",
                self.shape(),
                self.dtype(),
                self.n_elements()
            );
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shape()));
        }
        Ok(())
    }
}

fn padded(index: &[i64]) -> Result<[i64; 4]> {
    if index.len() > 4 {
        let message = format!("tensor: an index of {} dimensions: up to 4 are valid", index.len());
        return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new()));
    }
    let mut out = [0; 4];
    out[..index.len()].copy_from_slice(index);
    Ok(out)
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let name = if name.is_empty() { name } else { format!("'{name}' ") };
        write!(f, "{} {name}{:?} {}, strides {:?}", self.op(), self.shape(), self.dtype(), self.strides())
    }
}
