//! Operations, a method each. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

use crate::ops::shapes;
use crate::{Context, Result, Tensor};
use tensorlib_sys as sys;

impl Context {
    /// a + b, element by element; b repeats into a.
    ///
    /// The result c: `c[i] = a[i] + b[i mod b's shape]`. Shapes: c has a's shape; each dimension of b is 1 or divides
    /// that of a, and a zero one meets only a zero in a. Types: a and b each F32, F16 or BF16; computed in F32 and
    /// rounded once. The result is of a's type.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, b]), |ctx| unsafe { sys::tl_add(ctx, a.raw(), b.raw()) })
    }

    /// a with dimensions 0 and 1 swapped.
    ///
    /// The result c: `c[i1, i0, i2, i3] = a[i0, i1, i2, i3]`. The result is a view of a: nothing is computed. Shapes:
    /// a's extents, the first two swapped. Types: any without blocks. The result is of a's type.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn transpose(&self, a: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_transpose(ctx, a.raw()) })
    }

    /// A contiguous copy.
    ///
    /// The result c: `c[i] = a[i]`. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The
    /// result is of a's type.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn cont(&self, a: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_cont(ctx, a.raw()) })
    }

    /// dst with src's elements copied into it.
    ///
    /// dst's elements, in their order, become src's. The result is a view of dst: make it an output, or use it, for
    /// this to happen. Shapes: as many elements on both sides. Whatever comes later in the graph and reads dst, through
    /// any view, sees them. dst must not be constant, no two of its elements may share memory, nor may one of it and
    /// one of src, unless both are the same elements. Types: any into any, converted as by [`Context::cast`]. Computing
    /// fails with [`Error::InvalidArgument`](crate::Error::InvalidArgument), naming the place, for a value that dst's
    /// type cannot hold.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) where dst is constant, or shares
    /// memory with itself or another operand.
    pub fn cpy(&self, src: &Tensor, dst: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[src, dst]), |ctx| unsafe { sys::tl_cpy(ctx, src.raw(), dst.raw()) })
    }

    /// A copy.
    ///
    /// The result c: `c[i] = a[i]`. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The
    /// result is of a's type.
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn dup(&self, a: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a]), |ctx| unsafe { sys::tl_dup(ctx, a.raw()) })
    }

    /// a's rows of these numbers.
    ///
    /// The result c: `c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]`. Shapes: a `[n, m, x, y]`, rows `[r, x, y]`, c
    /// `[n, r, x, y]`; a row may be taken any number of times. Types: a any, rows I32 or I64; c of a's type where that
    /// is an integer, else F32. Exact but for F64, which is rounded. Computing fails with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), naming the place, for a number that is no row's.
    ///
    /// ```
    /// use tensorlib::{Backend, Context};
    /// let ctx = Context::new();
    /// let words = ctx.tensor([2, 3], &[0f32, 1., 10., 11., 20., 21.])?;
    /// let taken = words.get_rows(&ctx.tensor_of([2], &[2i32, 0])?)?;
    /// Backend::cpu()?.compute(&[&taken])?;
    /// assert_eq!(taken.to_vec::<f32>()?, [20., 21., 0., 1.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`].
    pub fn get_rows(&self, a: &Tensor, rows: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, rows]), |ctx| unsafe { sys::tl_get_rows(ctx, a.raw(), rows.raw()) })
    }

    /// a with b's rows stored as its rows of these numbers.
    ///
    /// In the result `a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]`. The result is a view of a: make
    /// it an output, or use it, for this to happen. Shapes: a `[n, m, x, y]`, b `[n, r, x, y]`, rows `[r, x', y']`, x'
    /// dividing x and y' dividing y. Where a row is named twice, the later one stays. a must not be constant, and no
    /// two of its elements nor one of it and one of b or rows may share memory. Types: a and b any, b is converted to
    /// a's type as by [`Context::cast`]; rows I32 or I64. The result is of a's type. Computing fails with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), naming the place, for a number that is no row's,
    /// whose row is left out, or a value that a's type cannot hold.
    ///
    /// # Errors
    /// As [`Context::op`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) where a is constant, or shares
    /// memory with itself or another operand.
    pub fn set_rows(&self, a: &Tensor, b: &Tensor, rows: &Tensor) -> Result<Tensor> {
        // SAFETY: context and operands are live.
        self.construct(|| shapes(&[a, b, rows]), |ctx| unsafe { sys::tl_set_rows(ctx, a.raw(), b.raw(), rows.raw()) })
    }
}

/// [`Context`]'s operations, with the node in the operands' context; where these differ, in the one that was made last.
impl Tensor {
    /// [`Context::add`] with this tensor as a.
    ///
    /// # Errors
    /// As [`Context::add`].
    pub fn add(&self, b: &Tensor) -> Result<Tensor> {
        self.with(b).add(self, b)
    }

    /// [`Context::transpose`] of this tensor.
    ///
    /// # Errors
    /// As [`Context::transpose`].
    pub fn transpose(&self) -> Result<Tensor> {
        self.context().transpose(self)
    }

    /// [`Context::cont`] of this tensor.
    ///
    /// # Errors
    /// As [`Context::cont`].
    pub fn cont(&self) -> Result<Tensor> {
        self.context().cont(self)
    }

    /// [`Context::cpy`] with this tensor as src.
    ///
    /// # Errors
    /// As [`Context::cpy`].
    pub fn cpy(&self, dst: &Tensor) -> Result<Tensor> {
        self.with(dst).cpy(self, dst)
    }

    /// [`Context::dup`] of this tensor.
    ///
    /// # Errors
    /// As [`Context::dup`].
    pub fn dup(&self) -> Result<Tensor> {
        self.context().dup(self)
    }

    /// [`Context::get_rows`] with this tensor as a.
    ///
    /// # Errors
    /// As [`Context::get_rows`].
    pub fn get_rows(&self, rows: &Tensor) -> Result<Tensor> {
        self.with(rows).get_rows(self, rows)
    }

    /// [`Context::set_rows`] with this tensor as a.
    ///
    /// # Errors
    /// As [`Context::set_rows`].
    pub fn set_rows(&self, b: &Tensor, rows: &Tensor) -> Result<Tensor> {
        self.with(b).younger(rows.context()).set_rows(self, b, rows)
    }
}
