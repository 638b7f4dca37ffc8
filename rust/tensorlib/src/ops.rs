//! Operations. Each makes a node and computes nothing.
//!
//! [`Tensor`]'s methods put a node into the operands' context; where those differ, into the one that was made last, so
//! that young contexts refer to old ones. [`Context::within`] chooses the context.

use crate::{scope, Context, DType, Error, Result, Tensor};
use std::ffi::CString;
use std::ptr;
use tensorlib_sys as sys;

/// Defines the builder of an operation's optional attributes, over the struct of the C ABI with their zeros.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident($raw:ident { $($member:ident: $zero:expr),* $(,)? })) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            raw: sys::$raw,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { raw: sys::$raw { struct_size: size_of::<sys::$raw>(), $($member: $zero),* } }
            }
        }

        impl $name {
            /// All defaults.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }
        }
    };
}
pub(crate) use options;

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
    /// Makes the node of any operation by name, with its attributes by name. An optional attribute of 0 has its
    /// default. Optional operands may be `None`, or missing at the end: `&[Some(&a), None, Some(&b)]`.
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
    /// Those of every operation: [`Error::ShapeMismatch`], [`Error::TypeMismatch`], [`Error::ContextMismatch`],
    /// [`Error::OutOfMemory`]. [`Error::InvalidArgument`] for an unknown operation or attribute, or an invalid value of
    /// one.
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
            // The engine refuses more integers than fit, by n_ints.
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

/// No name or text of the engine has a NUL inside.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// The shapes of the operands that are not left out.
pub(crate) fn shapes<'a>(operands: &[impl Into<Option<&'a Tensor>> + Copy]) -> Vec<Vec<i64>> {
    operands.iter().filter_map(|&operand| operand.into()).map(Tensor::shape).collect()
}

/// An operand as C takes it: NULL if it is left out.
pub(crate) fn raw_or_none(operand: Option<&Tensor>) -> *mut sys::tl_tensor {
    // SAFETY: no arguments; what stands for no tensor is always there.
    operand.map_or_else(|| unsafe { sys::tl_none() }, Tensor::raw)
}

/// The context that was made last, out of this tensor's and those of the operands that are not left out.
pub(crate) fn youngest(first: &Tensor, others: &[Option<&Tensor>]) -> Context {
    let contexts = others.iter().flatten().map(|other| other.context());
    scope::or_younger(contexts.fold(first.context(), |youngest, context| youngest.younger(context)))
}

/// The engine refuses more dimensions than an i32 counts, as it does any number above 4.
pub(crate) fn dims(ne: &[i64]) -> i32 {
    i32::try_from(ne.len()).unwrap_or(i32::MAX)
}

/// The operations. A node goes into the operands' context; where these differ, into the one that was made last. A node of
/// two weights therefore lives among the weights: [`Context::freeze`] makes that an error. [`Context::within`] and
/// [`Backend::scope`](crate::Backend::scope) choose another context.
impl Tensor {
    /// Where a node of this tensor goes.
    pub(crate) fn node_context(&self) -> Context {
        scope::or_younger(self.context())
    }

    /// Where a node of this tensor and others goes.
    pub(crate) fn with(&self, others: &[&Tensor]) -> Context {
        scope::or_younger(others.iter().fold(self.context(), |youngest, other| youngest.younger(other.context())))
    }

    /// The matrix product of this tensor, a `[k, m, x, y]`, and b `[k, n, X, Y]`: F32 `[m, n, X, Y]`, each element the dot product of
    /// a row of a and a row of b. X and Y are multiples of x and y.
    ///
    /// If a is quantised, b may be rounded to 8 bits with a scale for each 32 elements along k. An element of the
    /// result is then off by up to the sum over k of |a| * h, in addition to F32's own rounding. h is a 127th of the
    /// larger of two values: the largest |b| of the 32 elements, and a 16th of the largest |b| of the 256 elements
    /// around them. Q2_0 uses 64 elements instead of 32, Q1_0 128, TQ1_0 and TQ2_0 256. A single column may be rounded
    /// to 16 bits instead. If a is BF16, b may be rounded to BF16, by up to 2^-8 of an element.
    /// [`Tensor::mul_mat_exact`] does not round. The bits may depend on n and, for an F32, F16 or BF16 a, on whether a
    /// is constant.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat(&self, b: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.with(&[b]).construct(|| shapes(&[self, b]), |ctx| unsafe { sys::tl_mul_mat(ctx, self.raw(), b.raw()) })
    }

    /// [`Tensor::mul_mat`] without rounding of b: only sums round, in F32. Shapes and types are those of `mul_mat`. It
    /// is slower where `mul_mat` rounds b (on the CPU: quantised weights on avx512 and avx2, BF16 on avx512); elsewhere
    /// the two are equal.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn mul_mat_exact(&self, b: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.with(&[b])
            .construct(|| shapes(&[self, b]), |ctx| unsafe { sys::tl_mul_mat_exact(ctx, self.raw(), b.raw()) })
    }

    /// Multiplies each column by the matrix that an index selects (a mixture of experts): this tensor, a `[k, m, experts]`, b
    /// `[k, x, tokens]` and ids `[used, tokens]` of I32 or I64 give F32 `[m, used, tokens]`; x divides used. Column (u,
    /// t) is the product of the expert `ids[u, t]` and b's column (u mod x, t). Types and the rounding of b are those
    /// of [`Tensor::mul_mat`]; [`Context::op`] with the attribute `exact` = 1 avoids the rounding. The index -1 gives
    /// zeros; computing fails with [`Error::InvalidArgument`] for any other index without an expert.
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
    pub fn mul_mat_id(&self, b: &Tensor, ids: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.with(&[b, ids]).construct(
            || shapes(&[self, b, ids]),
            // SAFETY: context and operands are live.
            |ctx| unsafe { sys::tl_mul_mat_id(ctx, self.raw(), b.raw(), ids.raw()) },
        )
    }

    /// A window into the tensor's memory: a shape, `strides[1..]` in bytes (empty = contiguous), and an offset in bytes. Its
    /// rows may overlap, so strides given in elements by mistake are accepted too; [`Tensor::narrow`] and
    /// [`Tensor::slice`] count in elements.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] for a view that would end outside the memory.
    pub fn view(&self, shape: impl AsRef<[i64]>, strides: &[usize], offset: usize) -> Result<Tensor> {
        let ne = shape.as_ref();
        if !strides.is_empty() && strides.len() + 1 != ne.len() {
            let message = format!("view: {} strides for {} dimensions: one less is valid", strides.len(), ne.len());
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shapes(&[self])));
        }
        let nb = if strides.is_empty() { ptr::null() } else { strides.as_ptr() };
        // SAFETY: context and operand are live; ne and nb have as many values as said.
        self.node_context().construct(
            || shapes(&[self]),
            |ctx| unsafe { sys::tl_view(ctx, self.raw(), dims(ne), ne.as_ptr(), nb, offset) },
        )
    }

    /// The elements `start[d]` to `start[d] + shape[d]` of each dimension: a view with the tensor's strides. In
    /// dimension 0 of a quantised type `start[0]` and `shape[0]` are multiples of the block size.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] for a range outside the shape.
    pub fn slice(&self, start: impl AsRef<[i64]>, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let (start, ne) = (start.as_ref(), shape.as_ref());
        if start.len() != ne.len() {
            let message = format!("slice: {} starts for {} dimensions: as many are valid", start.len(), ne.len());
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, shapes(&[self])));
        }
        self.node_context().construct(
            || shapes(&[self]),
            // SAFETY: context and operand are live; start and ne have as many values as said.
            |ctx| unsafe { sys::tl_slice(ctx, self.raw(), dims(ne), start.as_ptr(), ne.as_ptr()) },
        )
    }

    /// [`Tensor::slice`] in one dimension: `length` elements from `start` on.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?;
    /// assert_eq!(t.narrow(0, 1, 2)?.to_vec::<f32>()?, [2., 3., 5., 6.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::slice`].
    pub fn narrow(&self, dim: usize, start: i64, length: i64) -> Result<Tensor> {
        // The engine refuses a dimension that does not fit an i32, as it does any above 3.
        let dim = i32::try_from(dim).unwrap_or(i32::MAX);
        // SAFETY: context and operand are live.
        self.node_context()
            .construct(|| shapes(&[self]), |ctx| unsafe { sys::tl_narrow(ctx, self.raw(), dim, start, length) })
    }

    /// The elements in another shape of the same size, in the same order. One dimension may be -1: it is computed from
    /// the others. A view: if the tensor is not contiguous, strides must be able to express the new shape; otherwise apply
    /// [`Tensor::cont`] first.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] if no strides express the shape.
    pub fn reshape(&self, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let ne = shape.as_ref();
        // SAFETY: context and operand are live; ne has as many values as said.
        self.node_context()
            .construct(|| shapes(&[self]), |ctx| unsafe { sys::tl_reshape(ctx, self.raw(), dims(ne), ne.as_ptr()) })
    }

    /// The dimensions in another order: source dimension i becomes dimension `axes[i]`.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`] if axes is not a permutation of 0 to 3.
    pub fn permute(&self, axes: [i32; 4]) -> Result<Tensor> {
        // SAFETY: context and operand are live; axes has 4 values.
        self.node_context()
            .construct(|| shapes(&[self]), |ctx| unsafe { sys::tl_permute(ctx, self.raw(), axes.as_ptr()) })
    }

    /// A contiguous copy in another type. Integers convert to integers exactly; F64 and integers convert to each other
    /// rounded to nearest even; everything else goes through F32, rounded to nearest even or as the type is encoded.
    /// Computing fails for a value that the type cannot hold.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        // SAFETY: context and operand are live.
        self.node_context().construct(|| shapes(&[self]), |ctx| unsafe { sys::tl_cast(ctx, self.raw(), dtype.raw()) })
    }
}
