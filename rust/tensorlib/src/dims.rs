use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// The dimensions that a reduction reduces: a number, several, a range, or `..` for all. An empty list or range stands for
/// all, too.
///
/// ```
/// use tensorlib::{Backend, Context, Dims};
/// let (ctx, cpu) = (Context::new(), Backend::cpu()?);
/// let a = ctx.tensor([3, 2], &[1f32, 2., 3., 4., 5., 6.])?;
/// assert_eq!(a.max(0)?.eval(&cpu)?.to_vec::<f32>()?, [3., 6.]);
/// assert_eq!(a.max([0, 1])?.eval(&cpu)?.to_vec::<f32>()?, [6.]);
/// assert_eq!(a.max(..)?.eval(&cpu)?.to_vec::<f32>()?, [6.]);
/// // Kept with 1 element, so that the result is broadcast to `a` again.
/// assert_eq!(a.max(Dims::from(0).keep())?.shape(), [1, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dims {
    /// A bit for each dimension; 0 for all.
    pub(crate) set: u32,
    pub(crate) keep: bool,
}

impl Dims {
    /// All dimensions.
    pub const ALL: Self = Self { set: 0, keep: false };

    /// Lets the reduced dimensions stay, with 1 element each.
    #[must_use]
    pub const fn keep(self) -> Self {
        Self { keep: true, ..self }
    }

    /// A dimension that no tensor has gets the last bit, which operations refuse.
    fn of(dims: impl Iterator<Item = usize>) -> Self {
        let bit = |d: usize| 1u32 << d.min(31);
        Self { set: dims.fold(0, |set, d| set | bit(d)), keep: false }
    }

    /// The dimensions from `begin` to before `end`, as far as a tensor may have them.
    fn between(begin: usize, end: usize) -> Self {
        Self::of(begin.min(32)..end.min(33))
    }
}

impl From<usize> for Dims {
    fn from(dim: usize) -> Self {
        Self::of(std::iter::once(dim))
    }
}

impl<const N: usize> From<[usize; N]> for Dims {
    fn from(dims: [usize; N]) -> Self {
        Self::of(dims.into_iter())
    }
}

impl From<&[usize]> for Dims {
    fn from(dims: &[usize]) -> Self {
        Self::of(dims.iter().copied())
    }
}

impl From<RangeFull> for Dims {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}

impl From<Range<usize>> for Dims {
    fn from(dims: Range<usize>) -> Self {
        Self::between(dims.start, dims.end)
    }
}

impl From<RangeInclusive<usize>> for Dims {
    fn from(dims: RangeInclusive<usize>) -> Self {
        Self::between(*dims.start(), dims.end().saturating_add(1))
    }
}

impl From<RangeFrom<usize>> for Dims {
    fn from(dims: RangeFrom<usize>) -> Self {
        Self::between(dims.start, 4.max(dims.start.saturating_add(1)))
    }
}

impl From<RangeTo<usize>> for Dims {
    fn from(dims: RangeTo<usize>) -> Self {
        Self::between(0, dims.end)
    }
}

impl From<RangeToInclusive<usize>> for Dims {
    fn from(dims: RangeToInclusive<usize>) -> Self {
        Self::between(0, dims.end.saturating_add(1))
    }
}
