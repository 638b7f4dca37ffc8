//! Metadata values of GGUF files.

use tensorlib_sys as sys;

/// A metadata value as it is stored. Numbers, texts, vectors and slices convert with `into()`.
///
/// ```
/// use tensorlib::{Array, Value};
/// assert_eq!(Value::from(3u16), Value::U16(3));
/// assert_eq!(Value::from("text"), Value::String("text".into()));
/// assert_eq!(Value::from(vec![1i32, -2]), Value::Array(Array::I32(vec![1, -2])));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the variants say all
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// Bytes of a file's string that are not UTF-8 have become U+FFFD.
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// An array, with a variant per element type.
///
/// ```
/// let array = tensorlib::Array::String(vec!["a".into(), "b".into()]);
/// assert_eq!(array.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(Vec<String>),
    /// An array of arrays. Read-only: [`GgufWriter::copy_metadata`](crate::GgufWriter::copy_metadata) passes it on.
    Nested(Vec<Array>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

/// The first N bytes, or zeros if there are fewer, which the engine has ruled out.
fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let mut out = [0; N];
    if let Some((first, rest)) = bytes.split_at_checked(N) {
        out.copy_from_slice(first);
        *bytes = rest;
    }
    out
}

fn take_text(bytes: &mut &[u8]) -> String {
    let size = usize::try_from(u64::from_le_bytes(take(bytes))).unwrap_or(usize::MAX);
    let Some((first, rest)) = bytes.split_at_checked(size) else { return String::new() };
    *bytes = rest;
    String::from_utf8_lossy(first).into_owned()
}

macro_rules! numbers {
    ($($t:ty => $variant:ident, $constant:ident);* $(;)?) => {
        impl Value {
            pub(crate) fn decode(kind: sys::tl_gguf_type, mut bytes: &[u8]) -> Self {
                match kind {
                    $(sys::$constant => Value::$variant(<$t>::from_le_bytes(take(&mut bytes))),)*
                    sys::TL_GGUF_TYPE_BOOL => Value::Bool(take::<1>(&mut bytes) != [0]),
                    _ => Value::String(String::from_utf8_lossy(bytes).into_owned()),
                }
            }
        }

        impl Array {
            /// Takes n elements of this type from the start of `bytes`.
            pub(crate) fn decode(kind: u32, n: u64, bytes: &mut &[u8]) -> Self {
                match sys::tl_gguf_type(kind as i32) {
                    $(sys::$constant => Array::$variant((0..n).map(|_| <$t>::from_le_bytes(take(bytes))).collect()),)*
                    sys::TL_GGUF_TYPE_BOOL => Array::Bool((0..n).map(|_| take::<1>(bytes) != [0]).collect()),
                    sys::TL_GGUF_TYPE_ARRAY => Array::Nested(
                        (0..n)
                            .map(|_| {
                                let kind = u32::from_le_bytes(take(bytes));
                                let n = u64::from_le_bytes(take(bytes));
                                Array::decode(kind, n, bytes)
                            })
                            .collect(),
                    ),
                    _ => Array::String((0..n).map(|_| take_text(bytes)).collect()),
                }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Array::$variant(values) => values.len(),)*
                    Array::Bool(values) => values.len(),
                    Array::String(values) => values.len(),
                    Array::Nested(values) => values.len(),
                }
            }
        }

        $(
            impl From<$t> for Value {
                fn from(value: $t) -> Self {
                    Value::$variant(value)
                }
            }
            impl From<Vec<$t>> for Value {
                fn from(values: Vec<$t>) -> Self {
                    Value::Array(Array::$variant(values))
                }
            }
            impl From<&[$t]> for Value {
                fn from(values: &[$t]) -> Self {
                    Value::Array(Array::$variant(values.to_vec()))
                }
            }
        )*
    };
}

numbers! {
    u8 => U8, TL_GGUF_TYPE_U8;
    i8 => I8, TL_GGUF_TYPE_I8;
    u16 => U16, TL_GGUF_TYPE_U16;
    i16 => I16, TL_GGUF_TYPE_I16;
    u32 => U32, TL_GGUF_TYPE_U32;
    i32 => I32, TL_GGUF_TYPE_I32;
    f32 => F32, TL_GGUF_TYPE_F32;
    u64 => U64, TL_GGUF_TYPE_U64;
    i64 => I64, TL_GGUF_TYPE_I64;
    f64 => F64, TL_GGUF_TYPE_F64;
}

impl Array {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Value::Array(Array::String(texts))
    }
}

impl From<&[&str]> for Value {
    fn from(texts: &[&str]) -> Self {
        Value::Array(Array::String(texts.iter().map(|t| (*t).to_string()).collect()))
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Value::Array(array)
    }
}
