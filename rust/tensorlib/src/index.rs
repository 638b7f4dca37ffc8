use crate::ops::{dims, shapes};
use crate::{Result, Tensor};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use tensorlib_sys as sys;

/// What [`Tensor::i`] selects of a dimension: an element, whose dimension the result lacks, or a range. Negative numbers
/// count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Index {
    begin: i64,
    end: i64,
    dropped: bool,
}

impl Index {
    const ALL: Self = Self::range(0, sys::TL_END);

    const fn range(begin: i64, end: i64) -> Self {
        Self { begin, end, dropped: false }
    }

    /// A range whose last element is -1 ends with the dimension.
    const fn through(begin: i64, last: i64) -> Self {
        Self::range(begin, if last == -1 { sys::TL_END } else { last.saturating_add(1) })
    }
}

/// The indices that [`Tensor::i`] takes: what converts to an [`Index`], a tuple of
/// up to four of them, or a vector of indices.
pub trait Indices {
    /// One for each of the first dimensions.
    fn to_list(self) -> Vec<Index>;
}

macro_rules! index {
    ($($type:ty: |$from:ident| $index:expr;)*) => {$(
        impl From<$type> for Index {
            fn from($from: $type) -> Self {
                $index
            }
        }

        impl Indices for $type {
            fn to_list(self) -> Vec<Index> {
                vec![self.into()]
            }
        }
    )*};
}

/// An index that no tensor has, for those that do not fit.
fn wide<T: TryInto<i64>>(index: T) -> i64 {
    index.try_into().unwrap_or(i64::MAX - 1)
}

macro_rules! index_of {
    ($($int:ty),*) => {$(index! {
        $int: |at| Index { begin: wide(at), end: 0, dropped: true };
        Range<$int>: |r| Index::range(wide(r.start), wide(r.end));
        RangeInclusive<$int>: |r| Index::through(wide(*r.start()), wide(*r.end()));
        RangeFrom<$int>: |r| Index::range(wide(r.start), sys::TL_END);
        RangeTo<$int>: |r| Index::range(0, wide(r.end));
        RangeToInclusive<$int>: |r| Index::through(0, wide(r.end));
    })*};
}

index_of!(i32, i64, usize);
index! {
    RangeFull: |_all| Index::ALL;
}

impl Indices for Index {
    fn to_list(self) -> Vec<Index> {
        vec![self]
    }
}

impl Indices for Vec<Index> {
    fn to_list(self) -> Vec<Index> {
        self
    }
}

macro_rules! tuple {
    ($($type:ident: $at:tt),*) => {
        impl<$($type: Into<Index>),*> Indices for ($($type,)*) {
            fn to_list(self) -> Vec<Index> {
                vec![$(self.$at.into()),*]
            }
        }
    };
}

tuple!(A: 0);
tuple!(A: 0, B: 1);
tuple!(A: 0, B: 1, C: 2);
tuple!(A: 0, B: 1, C: 2, D: 3);

impl Tensor {
    /// A part of each dimension, dimension 0 first, and all of the dimensions that have no index: ranges, `..`, and
    /// numbers, whose dimension the result lacks. Negative numbers count from the end. A view.
    ///
    /// ```
    /// use tensorlib::{Backend, Context};
    /// let (ctx, cpu) = (Context::new(), Backend::cpu()?);
    /// let a = ctx.tensor([3, 2], &[1f32, 2., 3., 4., 5., 6.])?;
    /// assert_eq!(a.i((.., 1))?.eval(&cpu)?.to_vec::<f32>()?, [4., 5., 6.]);
    /// assert_eq!(a.i((1..3, -1))?.eval(&cpu)?.to_vec::<f32>()?, [5., 6.]);
    /// assert_eq!(a.i(0)?.eval(&cpu)?.to_vec::<f32>()?, [1., 4.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::op`](crate::Context::op); [`Error::InvalidArgument`](crate::Error::InvalidArgument) for elements that
    /// are not there.
    pub fn i(&self, indices: impl Indices) -> Result<Tensor> {
        let list = indices.to_list();
        let begin: Vec<i64> = list.iter().map(|index| index.begin).collect();
        let end: Vec<i64> = list.iter().map(|index| index.end).collect();
        let dropped = list.iter().zip(0..4).fold(0, |set, (index, d)| set | u32::from(index.dropped) << d);
        self.node_context().construct(
            || shapes(&[self]),
            // SAFETY: context and operand are live; begin and end have as many values as said.
            |ctx| unsafe { sys::tl_index(ctx, self.raw(), dims(&begin), begin.as_ptr(), end.as_ptr(), dropped) },
        )
    }
}
