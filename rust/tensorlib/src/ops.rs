//! Operations. Each makes a node and computes nothing.
//!
//! A node of [`Tensor`]'s methods lives in the operands' context; where those differ, in the one that was made last, so
//! that young contexts refer to old ones. [`Context`]'s methods of the same names put it where you say.

use crate::{Context, DType, Error, Result, Tensor};
use std::ffi::CString;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::ptr;
use tensorlib_sys as sys;

/// The names of all operations, as [`Context::op`] takes them.
pub fn op_names() -> Vec<String> {
    // SAFETY: no arguments; names are static.
    unsafe { (0..sys::tl_op_count()).map(|i| crate::call::text(sys::tl_op_name(i))).collect() }
}

/// An attribute of an operation, for [`Context::op`].
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// 1 to 6 integers.
    Ints(Vec<i64>),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl Context {
    /// The matrix product of a `[k, m, x, y]` and b `[k, n, X, Y]`: F32 `[m, n, X, Y]`, each element the dot product of a
    /// row of a and a row of b. X and Y are multiples of x and y.
    ///
    /// Where a is of a type with blocks, b may be rounded on the way in to 8 bits, by a scale for each 32 elements of
    /// k: an element of the result is then off by up to the sum over k of |a| * h, beside F32's own rounding, where h
    /// is a 127th of the largest |b| of the 32, or of a 16th of the largest of the 256 that they lie in where this is
    /// more. (With Q2_0 64, with Q1_0 128, with TQ1_0 and TQ2_0 256 elements in place of 32.) One column alone may be
    /// rounded to 16 bits instead. Where a is BF16, b may be rounded to BF16, by up to 2^-8 of an element.
    /// [`Context::mul_mat_exact`] does without. The bits may depend on n and, where a is F32, F16 or BF16, on whether
    /// it is constant.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, b]), |ctx| unsafe { sys::tl_mul_mat(ctx, a.raw(), b.raw()) })
    }

    /// [`Context::mul_mat`] of operands as they are: nothing is rounded but sums, in F32. Shapes and types are the same.
    /// Slower where `mul_mat` rounds b (on the CPU with weights in blocks on avx512 and avx2, BF16 on avx512);
    /// elsewhere the two are one.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat_exact(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, b]), |ctx| unsafe { sys::tl_mul_mat_exact(ctx, a.raw(), b.raw()) })
    }

    /// Products with a matrix for each column, chosen by number (a mixture of experts): a `[k, m, experts]`, b
    /// `[k, x, tokens]` and ids `[used, tokens]` of I32 or I64, x dividing used, give F32 `[m, used, tokens]`. Column (u, t)
    /// is the product of the expert `ids[u, t]` and b's column (u mod x, t). Types and how b may be rounded are those of
    /// [`Context::mul_mat`]; by name, [`Context::op`], it takes the attribute `exact` = 1. The number -1 gives
    /// zeros; another one that is no expert's is an error of computing, [`Error::InvalidArgument`].
    ///
    /// ```
    /// use tensorlib::{Backend, Context};
    /// let ctx = Context::new();
    /// // Two experts of a row each: sums, and differences.
    /// let experts = ctx.tensor([2, 1, 2], &[1f32, 1., 1., -1.])?;
    /// let tokens = ctx.tensor([2, 1, 3], &[5f32, 2., 7., 3., 4., 4.])?;
    /// let ids = ctx.tensor_of([1, 3], &[0i32, 1, 0])?;
    /// let product = experts.mul_mat_id(&tokens, &ids)?;
    /// Backend::cpu()?.compute(&[&product])?;
    /// assert_eq!(product.to_vec::<f32>()?, [7., 4., 8.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat_id(&self, a: &Tensor, b: &Tensor, ids: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, b, ids]), |ctx| unsafe { sys::tl_mul_mat_id(ctx, a.raw(), b.raw(), ids.raw()) })
    }

    /// A window into a's memory: a shape, `strides[1..]` in bytes (empty = contiguous), and an offset in bytes. Rows may
    /// overlap in it, so strides that were meant in elements are accepted too: [`Context::narrow`] and [`Context::slice`]
    /// count in elements.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] where it would end behind a's memory.
    pub fn view(&self, a: &Tensor, shape: impl AsRef<[i64]>, strides: &[usize], offset: usize) -> Result<Tensor> {
        let ne = shape.as_ref();
        if !strides.is_empty() && strides.len() + 1 != ne.len() {
            let message = format!("view: {} strides for {} dimensions: one less is valid", strides.len(), ne.len());
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shapes(&[a])));
        }
        let nb = if strides.is_empty() { ptr::null() } else { strides.as_ptr() };
        // SAFETY: context and operand are live; ne and nb have as many values as said.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_view(ctx, a.raw(), dims(ne), ne.as_ptr(), nb, offset) })
    }

    /// The elements from `start[d]` on, `shape[d]` of them, in each of a's dimensions: a view with a's strides. In dimension
    /// 0 of a type with blocks both are multiples of the block's length.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] where there are no such elements.
    pub fn slice(&self, a: &Tensor, start: impl AsRef<[i64]>, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let (start, ne) = (start.as_ref(), shape.as_ref());
        if start.len() != ne.len() {
            let message = format!("slice: {} starts for {} dimensions: as many are valid", start.len(), ne.len());
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shapes(&[a])));
        }
        self.construct(
            || shapes(&[a]),
            // SAFETY: context and operand are live; start and ne have as many values as said.
            |ctx| unsafe { sys::tl_slice(ctx, a.raw(), dims(ne), start.as_ptr(), ne.as_ptr()) },
        )
    }

    /// [`Context::slice`] in one dimension: `length` elements from `start` on.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?;
    /// assert_eq!(t.narrow(0, 1, 2)?.to_vec::<f32>()?, [2., 3., 5., 6.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::slice`].
    pub fn narrow(&self, a: &Tensor, dim: usize, start: i64, length: i64) -> Result<Tensor> {
        // A dimension that an i32 does not count is refused as any above 3.
        let dim = i32::try_from(dim).unwrap_or(i32::MAX);
        // SAFETY: context and operand are live.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_narrow(ctx, a.raw(), dim, start, length) })
    }

    /// a's elements in another shape with as many; a must be contiguous. One extent may be -1: what the others leave.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] for an a with gaps.
    pub fn reshape(&self, a: &Tensor, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let ne = shape.as_ref();
        // SAFETY: context and operand are live; ne has as many values as said.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_reshape(ctx, a.raw(), dims(ne), ne.as_ptr()) })
    }

    /// a's dimensions in another order: source dimension i becomes dimension `axes[i]`.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] if axes is no permutation of 0 to 3.
    pub fn permute(&self, a: &Tensor, axes: [i32; 4]) -> Result<Tensor> {
        // SAFETY: context and operand are live; axes has 4 values.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_permute(ctx, a.raw(), axes.as_ptr()) })
    }

    /// A contiguous copy in another type. Integers into integers exactly; F64 and integers into each other rounded to
    /// nearest even; everything else by way of F32, rounded to nearest even, or as the format encodes. A value that the
    /// type cannot hold is an error of computing.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn cast(&self, a: &Tensor, dtype: DType) -> Result<Tensor> {
        // SAFETY: context and operand are live.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_cast(ctx, a.raw(), dtype.raw()) })
    }

    /// Any operation by its name, with attributes by theirs. An optional attribute that is 0 has its default. Operands that are
    /// optional may be `None`, or missing at the end: `&[Some(&a), None, Some(&b)]`.
    ///
    /// ```
    /// use tensorlib::{Attr, Context};
    /// let ctx = Context::new();
    /// let a = ctx.tensor([2, 3], &[0.; 6])?;
    /// let b = ctx.op("permute", &[&a], &[("axes", Attr::Ints(vec![1, 0, 2, 3]))])?;
    /// assert_eq!(b.shape(), [3, 2]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As of every operation: [`Error::ShapeMismatch`], [`Error::TypeMismatch`], [`Error::ContextMismatch`],
    /// [`Error::OutOfMemory`]. [`Error::InvalidArgument`] for an unknown operation or attribute, or a value that is not
    /// valid for one.
    pub fn op<'a>(
        &self,
        name: &str,
        sources: &[impl Into<Option<&'a Tensor>> + Copy],
        attrs: &[(&str, Attr)],
    ) -> Result<Tensor> {
        let name = c_text(name);
        let raw: Vec<_> = sources.iter().map(|&source| raw_or_none(source.into())).collect();
        // The texts live here for the call; the raw attributes point to them.
        let texts: Vec<(CString, CString)> = attrs
            .iter()
            .map(|(name, attr)| {
                (c_text(name), if let Attr::Text(text) = attr { c_text(text) } else { CString::default() })
            })
            .collect();
        let raw_attrs: Vec<_> =
            attrs.iter().zip(&texts).map(|((_, attr), (name, text))| raw_attr(attr, name, text)).collect();
        self.construct(
            || shapes(sources),
            // SAFETY: context and operands are live; the arrays have as many values as said, and what they point to
            // lives for the call.
            |ctx| unsafe {
                sys::tl_op(ctx, name.as_ptr(), raw.as_ptr(), raw.len(), raw_attrs.as_ptr(), raw_attrs.len())
            },
        )
    }
}

fn raw_attr(attr: &Attr, name: &CString, text: &CString) -> sys::tl_attr {
    let mut raw = sys::tl_attr {
        name: name.as_ptr(),
        kind: sys::TL_ATTR_INTS,
        n_ints: 0,
        ints: [0; 6],
        number: 0.0,
        text: text.as_ptr(),
    };
    match attr {
        Attr::Ints(values) => {
            // More than fit are refused by the engine, which looks at n_ints.
            raw.n_ints = i32::try_from(values.len()).unwrap_or(i32::MAX);
            for (to, from) in raw.ints.iter_mut().zip(values) {
                *to = *from;
            }
        }
        Attr::Number(value) => {
            raw.kind = sys::TL_ATTR_NUMBER;
            raw.number = *value;
        }
        Attr::Text(_) => raw.kind = sys::TL_ATTR_TEXT,
    }
    raw
}

/// No name or text of the engine's has a NUL inside.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// Of the operands that are not left out.
pub(crate) fn shapes<'a>(operands: &[impl Into<Option<&'a Tensor>> + Copy]) -> Vec<Vec<i64>> {
    operands.iter().filter_map(|&operand| operand.into()).map(Tensor::shape).collect()
}

/// As C takes an operand that may be left out.
pub(crate) fn raw_or_none(operand: Option<&Tensor>) -> *mut sys::tl_tensor {
    // SAFETY: no arguments; what stands for no tensor is always there.
    operand.map_or_else(|| unsafe { sys::tl_none() }, Tensor::raw)
}

/// The context that was made last of this tensor's and those of the others that are not left out.
pub(crate) fn youngest(first: &Tensor, others: &[Option<&Tensor>]) -> Context {
    let contexts = others.iter().flatten().map(|other| other.context());
    contexts.fold(first.context(), |youngest, context| youngest.younger(context)).clone()
}

/// More dimensions than an i32 counts are refused by the engine as any number above 4.
fn dims(ne: &[i64]) -> i32 {
    i32::try_from(ne.len()).unwrap_or(i32::MAX)
}

/// [`Context`]'s operations, with the node in the operands' context; where these differ, in the one that was made last. So the
/// node of two weights lives among the weights: [`Context::freeze`] makes that an error, and [`Context`]'s own methods say
/// where a node goes.
impl Tensor {
    /// The younger of this tensor's context and another's.
    pub(crate) fn with(&self, other: &Tensor) -> Context {
        self.context().younger(other.context()).clone()
    }

    /// [`Context::mul_mat`].
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat(&self, b: &Tensor) -> Result<Tensor> {
        self.with(b).mul_mat(self, b)
    }

    /// [`Context::mul_mat_exact`].
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat_exact(&self, b: &Tensor) -> Result<Tensor> {
        self.with(b).mul_mat_exact(self, b)
    }

    /// [`Context::mul_mat_id`] of this tensor's matrices.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat_id(&self, b: &Tensor, ids: &Tensor) -> Result<Tensor> {
        self.with(b).younger(ids.context()).mul_mat_id(self, b, ids)
    }

    /// [`Context::view`].
    ///
    /// # Errors
    /// As [`Context::view`].
    pub fn view(&self, shape: impl AsRef<[i64]>, strides: &[usize], offset: usize) -> Result<Tensor> {
        self.context().view(self, shape, strides, offset)
    }

    /// [`Context::slice`].
    ///
    /// # Errors
    /// As [`Context::slice`].
    pub fn slice(&self, start: impl AsRef<[i64]>, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        self.context().slice(self, start, shape)
    }

    /// [`Context::narrow`].
    ///
    /// # Errors
    /// As [`Context::slice`].
    pub fn narrow(&self, dim: usize, start: i64, length: i64) -> Result<Tensor> {
        self.context().narrow(self, dim, start, length)
    }

    /// [`Context::reshape`].
    ///
    /// # Errors
    /// As [`Context::reshape`].
    pub fn reshape(&self, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        self.context().reshape(self, shape)
    }

    /// [`Context::permute`].
    ///
    /// # Errors
    /// As [`Context::permute`].
    pub fn permute(&self, axes: [i32; 4]) -> Result<Tensor> {
        self.context().permute(self, axes)
    }

    /// [`Context::cast`].
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        self.context().cast(self, dtype)
    }
}

/// Operators make nodes, as the methods do, and their results are [`Result`]s: `(&a * &b)?`.
///
/// ```
/// use tensorlib::{Backend, Context};
/// let ctx = Context::new();
/// let a = ctx.tensor([2, 2], &[1f32, 2., 3., 4.])?;
/// let b = ctx.tensor([2], &[2f32, 4.])?; // repeats
/// let c = (&(&a + &b)? * &(&a - &b)?)?;
/// let d = (-&(&c / &b)?)?;
/// Backend::cpu()?.compute(&[&c, &d])?;
/// assert_eq!(c.to_vec::<f32>()?, [-3., -12., 5., 0.]);
/// assert_eq!(d.to_vec::<f32>()?, [1.5, 3., -2.5, 0.]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
impl Add for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::add`].
    fn add(self, b: &Tensor) -> Result<Tensor> {
        Tensor::add(self, b)
    }
}

impl Sub for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::sub`].
    fn sub(self, b: &Tensor) -> Result<Tensor> {
        Tensor::sub(self, b)
    }
}

impl Mul for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::mul`].
    fn mul(self, b: &Tensor) -> Result<Tensor> {
        Tensor::mul(self, b)
    }
}

impl Div for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::div`].
    fn div(self, b: &Tensor) -> Result<Tensor> {
        Tensor::div(self, b)
    }
}

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::neg`].
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}
