//! Rust types as tensor elements.

use crate::DType;

mod sealed {
    pub trait Sealed {
        /// Whether bytes represent elements.
        fn are_valid(_bytes: &[u8]) -> bool {
            true
        }
    }
}

/// A Rust type that represents the elements of a storage type bit for bit: `f32`, `f64`, `i8` to `i64`, `u8`, `bool`,
/// and with the feature `half` also `f16` and `bf16`.
///
/// Sealed: the engine defines the list.
///
/// ```
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor_of([3], &[1i32, 2, 3])?;
/// assert_eq!(t.to_vec::<i32>()?, [1, 2, 3]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
/// Other types do not compile:
/// ```compile_fail,E0277
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor_of([3], &["a", "b", "c"])?;
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub trait Element: sealed::Sealed + Copy + Send + Sync + Default + std::fmt::Debug + 'static {
    /// The storage type of these elements.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $t {}
        element!($t => $dtype);
    )*};
}

macro_rules! element {
    ($t:ty => $dtype:ident) => {
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
        }
    };
}

elements!(f32 => F32, f64 => F64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8);
#[cfg(feature = "half")]
elements!(half::f16 => F16, half::bf16 => BF16);

element!(bool => Bool);
impl sealed::Sealed for bool {
    fn are_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|b| *b <= 1)
    }
}
