//! Custom operations: closures as nodes of graphs.

use crate::call::{check, handle, until_nul};
use crate::element::Element;
use crate::gguf::c_text;
use crate::ops::shapes;
use crate::{DType, Error, Result, Tensor};
use std::any::Any;
use std::borrow::Borrow;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use tensorlib_sys as sys;

type Shape = dyn Fn(&[Operand]) -> Result<(DType, Vec<i64>)> + Send + Sync;
type Compute = dyn Fn(&mut CustomSlice<'_>) -> Result<()> + Send + Sync;
type Gradient = dyn Fn(&CustomGradient) -> Result<Tensor> + Send + Sync;

/// An operation of your own: a closure that computes slices of the result, from several threads at once. Its nodes are
/// planned, traced and placed like all others. It is computed on the CPU.
///
/// ```
/// use tensorlib::{Backend, Context, CustomOp};
/// let (ctx, cpu) = (Context::new(), Backend::cpu()?);
/// let soft_clip = CustomOp::new("soft_clip", |slice| {
///     let (x, range) = (slice.operand::<f32>(0)?, slice.range());
///     for (y, x) in slice.result::<f32>()?.iter_mut().zip(&x[range]) {
///         *y = x / (1.0 + x.abs());
///     }
///     Ok(())
/// })?;
/// let y = soft_clip.apply(&[&ctx.tensor([3], &[-1., 0., 3.])?])?;
/// assert_eq!(y.eval(&cpu)?.to_vec::<f32>()?, [-0.5, 0., 0.75]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// The closure lives until this handle and the contexts of all nodes are gone. A closure must not hold a tensor of a
/// context that has nodes of it: each would keep the other alive.
///
/// Clones are handles of one operation. Any thread may use them.
#[derive(Clone)]
pub struct CustomOp(Arc<Inner>);

struct Inner {
    name: String,
    raw: NonNull<sys::tl_custom_op>,
}

// SAFETY: the engine allows every function on the operation from any thread, and the closures are Send + Sync.
unsafe impl Send for Inner {}
// SAFETY: the same.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the handle holds this reference, which ends here.
        unsafe { sys::tl_custom_op_free(self.raw.as_ptr()) }
    }
}

impl fmt::Debug for CustomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomOp({})", self.0.name)
    }
}

/// The type and the shape of an operand, for [`CustomOpBuilder::shape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// How its elements are stored.
    pub dtype: DType,
    /// Its extents, the contiguous dimension first.
    pub shape: Vec<i64>,
}

/// What the gradient of an operand is built from, for [`CustomOpBuilder::gradient`].
#[derive(Clone, Debug)]
pub struct CustomGradient {
    /// The gradient of the node's result: F32, of its shape.
    pub gradient: Tensor,
    /// The node.
    pub node: Tensor,
    /// The node's operands.
    pub operands: Vec<Tensor>,
    /// The number of the operand whose gradient is wanted.
    pub operand: usize,
}

/// Describes a custom operation: [`CustomOp::builder`].
pub struct CustomOpBuilder {
    name: String,
    shape: Option<Box<Shape>>,
    gradient: Option<Box<Gradient>>,
    slice_unit: i64,
    cost: f64,
}

impl fmt::Debug for CustomOpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomOpBuilder({})", self.name)
    }
}

/// The closures, which the engine owns.
struct Closures {
    shape: Option<Box<Shape>>,
    compute: Box<Compute>,
    gradient: Option<Box<Gradient>>,
}

impl CustomOp {
    /// An operation whose result has the type and the shape of its first operand, without a gradient. `name` is for
    /// messages, plans and traces.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is empty or has more than 64 bytes; [`Error::OutOfMemory`].
    pub fn new(
        name: &str,
        compute: impl Fn(&mut CustomSlice<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::builder(name).build(compute)
    }

    /// An operation with a shape of its own, a gradient, or other slices.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, CustomOp, DType};
    /// let (ctx, cpu) = (Context::new(), Backend::cpu()?);
    /// // The outer product of two vectors, whose gradients are sums over a dimension.
    /// let outer = CustomOp::builder("outer")
    ///     .shape(|of| Ok((DType::F32, vec![of[0].shape[0], of[1].shape[0]])))
    ///     .gradient(|of| match of.operand {
    ///         0 => (&of.gradient * of.operands[1].unsqueeze(0))?.sum(1),
    ///         _ => (&of.gradient * &of.operands[0])?.sum(0),
    ///     })
    ///     .build(|slice| {
    ///         let (a, b, range) = (slice.operand::<f32>(0)?, slice.operand::<f32>(1)?, slice.range());
    ///         for (c, i) in slice.result::<f32>()?.iter_mut().zip(range) {
    ///             *c = a[i % a.len()] * b[i / a.len()];
    ///         }
    ///         Ok(())
    ///     })?;
    /// let (a, b) = (ctx.tensor([2], &[1., 2.])?, ctx.tensor([3], &[3., 4., 5.])?);
    /// let total = outer.apply(&[&a, &b])?.sum(..)?;
    /// let gradients = total.gradients(&[&a, &b])?;
    /// cpu.compute(&[&total, &gradients[0], &gradients[1]])?;
    /// assert_eq!(total.to_vec::<f32>()?, [36.]);
    /// assert_eq!(gradients[0].to_vec::<f32>()?, [12., 12.]);
    /// assert_eq!(gradients[1].to_vec::<f32>()?, [3., 3., 3.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn builder(name: &str) -> CustomOpBuilder {
        CustomOpBuilder { name: name.to_string(), shape: None, gradient: None, slice_unit: 0, cost: 0.0 }
    }

    /// A node of the operation with 1 to 10 operands, in the context of the youngest. Nothing is computed yet.
    ///
    /// # Errors
    /// What the shape closure returned; [`Error::InvalidArgument`] for a wrong number of operands or a shape that is not
    /// valid, [`Error::TypeMismatch`] for a quantised result, [`Error::ContextMismatch`], [`Error::OutOfMemory`].
    pub fn apply<T: Borrow<Tensor>>(&self, operands: &[T]) -> Result<Tensor> {
        let tensors: Vec<&Tensor> = operands.iter().map(Borrow::borrow).collect();
        let Some((first, others)) = tensors.split_first() else {
            let message = format!("custom '{}': no operands: 1 to 10 are valid", self.0.name);
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new()));
        };
        let raw: Vec<_> = tensors.iter().map(|t| t.raw()).collect();
        first.with(others).construct(
            || shapes(&tensors),
            // SAFETY: the context, the operation and the operands, as many as said, are live.
            |ctx| unsafe { sys::tl_custom(ctx, self.0.raw.as_ptr(), raw.as_ptr(), raw.len()) },
        )
    }
}

impl CustomOpBuilder {
    /// The type and the shape of the result, from those of the operands; or why there is none. Without it, they are those of
    /// the first operand. A quantised type is not valid.
    pub fn shape(mut self, shape: impl Fn(&[Operand]) -> Result<(DType, Vec<i64>)> + Send + Sync + 'static) -> Self {
        self.shape = Some(Box::new(shape));
        self
    }

    /// Builds the gradient of an operand, in the operand's shape. It is called for operands of F32, F16 or BF16 whose
    /// gradient is wanted.
    pub fn gradient(mut self, gradient: impl Fn(&CustomGradient) -> Result<Tensor> + Send + Sync + 'static) -> Self {
        self.gradient = Some(Box::new(gradient));
        self
    }

    /// Slices begin at multiples of this many elements: 1 for any. Without it, slices are whole rows.
    pub fn slice_unit(mut self, elements: u32) -> Self {
        self.slice_unit = elements.into();
        self
    }

    /// The closure is called once, for the whole result.
    pub fn one_slice(mut self) -> Self {
        self.slice_unit = -1;
        self
    }

    /// About how many operations an element takes, 1 without it. It decides how many threads are worth waking.
    pub fn cost(mut self, operations: f64) -> Self {
        self.cost = operations;
        self
    }

    /// Makes the operation. `compute` fills in the elements of a slice, on any thread, several at once. The result must not
    /// depend on how it is divided into slices. An error or a panic of it fails the run. Calls of this crate that need a
    /// context, a graph or a backend fail inside it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is empty or has more than 64 bytes, or a negative cost;
    /// [`Error::OutOfMemory`].
    pub fn build(
        self,
        compute: impl Fn(&mut CustomSlice<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<CustomOp> {
        let name = c_text("custom_op_create: name", self.name.as_bytes())?;
        let (has_shape, has_gradient) = (self.shape.is_some(), self.gradient.is_some());
        let closures = Box::new(Closures { shape: self.shape, compute: Box::new(compute), gradient: self.gradient });
        let user_data = Box::into_raw(closures);
        let params = sys::tl_custom_params {
            struct_size: std::mem::size_of::<sys::tl_custom_params>(),
            name: name.as_ptr(),
            shape: has_shape.then_some(shape_of as _),
            compute: Some(compute_slice),
            gradient: has_gradient.then_some(gradient_of as _),
            user_data: user_data.cast(),
            destroy: Some(destroy),
            slice_unit: self.slice_unit,
            cost: self.cost,
        };
        let mut out = ptr::null_mut();
        // SAFETY: the parameters and out are valid; user_data is what the functions expect.
        if let Err(error) = check(|err| unsafe { sys::tl_custom_op_create(&params, &mut out, err) }) {
            // SAFETY: the call has failed, so the closures are still ours.
            drop(unsafe { Box::from_raw(user_data) });
            return Err(error);
        }
        Ok(CustomOp(Arc::new(Inner { name: self.name, raw: handle(out)? })))
    }
}

/// The part of a result that a closure is to compute, and the operands.
#[derive(Debug)]
pub struct CustomSlice<'a> {
    raw: &'a sys::tl_custom_slice,
}

impl<'a> CustomSlice<'a> {
    /// The elements to compute, counted in the order of the result's shape, dimension 0 first.
    pub fn range(&self) -> Range<usize> {
        self.raw.begin as usize..self.raw.end as usize
    }

    /// A number of the thread, below the backend's threads. No two calls for one node have the same number at a time.
    pub fn thread(&self) -> usize {
        self.raw.thread as usize
    }

    /// The shape of the whole result.
    pub fn shape(&self) -> &'a [i64] {
        shape_in(&self.raw.dst)
    }

    /// The number of operands.
    pub fn n_operands(&self) -> usize {
        self.raw.n_src
    }

    /// The type of an operand.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such operand.
    pub fn operand_dtype(&self, operand: usize) -> Result<DType> {
        Ok(DType::from_raw(self.view(operand)?.r#type))
    }

    /// The shape of an operand.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such operand.
    pub fn operand_shape(&self, operand: usize) -> Result<&'a [i64]> {
        Ok(shape_in(self.view(operand)?))
    }

    /// All elements of an operand, in the order of its shape.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if its elements are no `T`. [`Error::InvalidArgument`] if there is no such operand, or if it
    /// is not contiguous: use [`CustomSlice::get`], or pass [`Tensor::cont`] of it.
    pub fn operand<T: Element>(&self, operand: usize) -> Result<&'a [T]> {
        let view = self.typed::<T>(operand)?;
        let mut stride = std::mem::size_of::<T>();
        for (ne, nb) in view.ne.iter().zip(view.nb) {
            if *ne != 1 && nb != stride && elements_of(view) != 0 {
                return Err(Error::msg(format!(
                    "operand {operand} is not contiguous: it has the strides {:?}; pass its cont() or use get()",
                    view.nb
                )));
            }
            stride *= *ne as usize;
        }
        // SAFETY: the view has as many elements of this type, one after the other, and nobody writes them during the run.
        unsafe { slice_at(view.data.cast::<T>(), elements_of(view)) }
    }

    /// One element of an operand, whatever its strides. Indices that are left out are 0.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if its elements are no `T`. [`Error::InvalidArgument`] if there is no such operand or element.
    pub fn get<T: Element>(&self, operand: usize, index: &[i64]) -> Result<T> {
        let view = self.typed::<T>(operand)?;
        let mut offset = 0;
        for d in 0..4.max(index.len()) {
            let (i, ne) = (index.get(d).copied().unwrap_or(0), view.ne.get(d).copied().unwrap_or(1));
            if i < 0 || i >= ne {
                return Err(Error::msg(format!(
                    "operand {operand} of shape {:?} has no element {index:?}",
                    shape_in(view)
                )));
            }
            offset += i as usize * view.nb.get(d).copied().unwrap_or(0);
        }
        // SAFETY: the element is one of the view's.
        Ok(unsafe { slice_at(view.data.cast::<u8>().add(offset).cast::<T>(), 1)? }[0])
    }

    /// The elements of the slice, which are to be filled in: as many as [`CustomSlice::range`] has. They hold anything
    /// before.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if the result's elements are no `T`.
    pub fn result<T: Element>(&mut self) -> Result<&mut [T]> {
        let (dst, range) = (&self.raw.dst, self.range());
        check_type::<T>("the result", dst)?;
        let data = dst.data.cast::<T>();
        if range.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: the slice's elements are this call's alone. Zeros are valid elements of every type, and what was in the
        // memory before may be none.
        unsafe {
            let first = data.add(range.start);
            ptr::write_bytes(first, 0, range.len());
            Ok(std::slice::from_raw_parts_mut(first, range.len()))
        }
    }

    fn view(&self, operand: usize) -> Result<&'a sys::tl_custom_view> {
        if operand >= self.raw.n_src {
            return Err(Error::msg(format!("there is no operand {operand}: there are {}", self.raw.n_src)));
        }
        // SAFETY: src has n_src views, which live during the call.
        Ok(unsafe { &*self.raw.src.add(operand) })
    }

    fn typed<T: Element>(&self, operand: usize) -> Result<&'a sys::tl_custom_view> {
        let view = self.view(operand)?;
        check_type::<T>(&format!("operand {operand}"), view)?;
        Ok(view)
    }
}

fn check_type<T: Element>(what: &str, view: &sys::tl_custom_view) -> Result<()> {
    let dtype = DType::from_raw(view.r#type);
    if dtype == T::DTYPE {
        return Ok(());
    }
    let message = format!("{what} is {dtype}, not {}", T::DTYPE);
    Err(Error::new(sys::TL_STATUS_TYPE_MISMATCH.0, message, Vec::new()))
}

fn shape_in(view: &sys::tl_custom_view) -> &[i64] {
    &view.ne[..view.n_dims.clamp(1, 4) as usize]
}

fn elements_of(view: &sys::tl_custom_view) -> usize {
    view.ne.iter().map(|n| *n as usize).product()
}

/// # Safety
/// `data` has n elements, which are not written for `'a`, unless n is 0.
unsafe fn slice_at<'a, T: Element>(data: *const T, n: usize) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    if !data.is_aligned() {
        return Err(Error::msg("the operand's memory is not aligned for its elements: pass its cont()"));
    }
    // SAFETY: as the caller promises; the memory is initialised.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), n * std::mem::size_of::<T>()) };
    if !T::are_valid(bytes) {
        return Err(Error::msg("the operand has bytes that are no elements of its type"));
    }
    // SAFETY: the same, and the bytes are elements.
    Ok(unsafe { std::slice::from_raw_parts(data, n) })
}

// ---- What the engine calls.

/// Runs a closure. Its error, or its panic, goes to the engine.
fn outcome<R>(call: impl FnOnce() -> Result<R>, err: *mut sys::tl_error) -> std::result::Result<R, sys::tl_status> {
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(made)) => return Ok(made),
        Ok(Err(error)) => error,
        Err(panic) => Error::msg(format!("it panicked: {}", panic_text(&*panic))),
    };
    let (status, text) = (error.status(), until_nul(&error.failure().message));
    if let Some(err) = NonNull::new(err) {
        // SAFETY: the engine passes an error of its own.
        let err = unsafe { &mut *err.as_ptr() };
        let mut length = text.as_bytes().len().min(err.message.len() - 1);
        while !error.failure().message.is_char_boundary(length) {
            length -= 1;
        }
        for (to, from) in err.message.iter_mut().zip(&text.as_bytes()[..length]) {
            *to = *from as c_char;
        }
        err.message[length] = 0;
        err.code = status;
    }
    Err(status)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// # Safety
/// `user_data` is what build() made.
unsafe fn closures<'a>(user_data: *mut c_void) -> &'a Closures {
    // SAFETY: as the caller promises; the engine calls nothing after destroy().
    unsafe { &*user_data.cast::<Closures>() }
}

unsafe extern "C" fn shape_of(
    user_data: *mut c_void,
    src: *const *mut sys::tl_tensor,
    n_src: usize,
    result: *mut sys::tl_custom_result,
    err: *mut sys::tl_error,
) -> sys::tl_status {
    // SAFETY: this is the function of build()'s data; src has n_src live tensors, and result is the engine's.
    let (closures, operands, result) =
        unsafe { (closures(user_data), std::slice::from_raw_parts(src, n_src), &mut *result) };
    let call = || {
        let described: Vec<_> = operands
            .iter()
            .map(|t| {
                // SAFETY: the tensor is live.
                let (dtype, n) = unsafe { (sys::tl_tensor_type(*t), sys::tl_tensor_n_dims(*t)) };
                // SAFETY: the same.
                let shape = (0..n).map(|d| unsafe { sys::tl_tensor_ne(*t, d) }).collect();
                Operand { dtype: DType::from_raw(dtype), shape }
            })
            .collect();
        match &closures.shape {
            Some(shape) => shape(&described),
            None => Ok((described[0].dtype, described[0].shape.clone())),
        }
    };
    match outcome(call, err) {
        Ok((dtype, shape)) => {
            result.r#type = dtype.raw();
            result.n_dims = i32::try_from(shape.len()).unwrap_or(i32::MAX);
            for (to, from) in result.ne.iter_mut().zip(shape) {
                *to = from;
            }
            sys::TL_STATUS_OK
        }
        Err(status) => status,
    }
}

unsafe extern "C" fn compute_slice(
    user_data: *mut c_void,
    slice: *const sys::tl_custom_slice,
    err: *mut sys::tl_error,
) -> sys::tl_status {
    // SAFETY: this is the function of build()'s data, and the slice is the engine's, for this call.
    let (closures, raw) = unsafe { (closures(user_data), &*slice) };
    match outcome(|| (closures.compute)(&mut CustomSlice { raw }), err) {
        Ok(()) => sys::TL_STATUS_OK,
        Err(status) => status,
    }
}

unsafe extern "C" fn gradient_of(
    user_data: *mut c_void,
    _: *mut sys::tl_context,
    node: *mut sys::tl_tensor,
    gradient: *mut sys::tl_tensor,
    operand: usize,
    err: *mut sys::tl_error,
) -> *mut sys::tl_tensor {
    // SAFETY: this is the function of build()'s data.
    let closures = unsafe { closures(user_data) };
    let call = || {
        // SAFETY: both are live during the call.
        let (node, gradient) = unsafe { (Tensor::of_c(node), Tensor::of_c(gradient)) };
        match (&closures.gradient, node, gradient) {
            (Some(build), Some(node), Some(gradient)) => {
                let operands = node.sources().into_iter().flatten().collect();
                build(&CustomGradient { gradient, node, operands, operand })
            }
            _ => Err(Error::msg("the engine passed no tensors")),
        }
    };
    outcome(call, err).map_or(ptr::null_mut(), |made| made.raw())
}

unsafe extern "C" fn destroy(user_data: *mut c_void) {
    // SAFETY: the engine calls this once, with build()'s data, and uses it no more.
    let closures = unsafe { Box::from_raw(user_data.cast::<Closures>()) };
    // What a closure owns may panic when it is dropped; that must not cross C.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(closures)));
}
