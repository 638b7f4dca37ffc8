//! Operators of tensors and numbers; [`Tensor`] describes them.

use crate::call::check_of;
use crate::{DType, Result, ScaleOptions, Tensor};
use std::ffi::CStr;
use std::ops::{Add, Div, Mul, Neg, Sub};
use tensorlib_sys as sys;

/// Fails if `b` repeats as tiles: if an extent is neither 1 nor that of `a`, but divides it. All else is the operation's to check.
fn refuse_tiles(op: &CStr, a: &Tensor, b: &Tensor) -> Result<()> {
    // SAFETY: the name and both handles are valid during the call.
    check_of(|| vec![a.shape(), b.shape()], |err| unsafe { sys::tl_refuse_tiles(op.as_ptr(), a.raw(), b.raw(), err) })
}

/// A text that ends with its only NUL.
const fn as_c_str(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text does not end with its only NUL"),
    }
}

/// Whether the tensor's elements are computed with as they are. All others are computed with in F32.
fn is_wide(t: &Tensor) -> bool {
    matches!(t.dtype(), DType::I32 | DType::I64 | DType::F64)
}

/// A number as an operand: a leaf with one element, in the context of the node; of a wide type, a node, which refuses
/// what the type cannot hold.
fn leaf(t: &Tensor, number: f64) -> Result<Tensor> {
    if is_wide(t) {
        return t.fill(number);
    }
    t.node_context().tensor([1], &[number as f32])
}

/// t * factor + addend, each rounded once. An addend of -0 changes nothing, not even the sign of a 0.
fn scaled(t: &Tensor, factor: f64, addend: f64) -> Result<Tensor> {
    if factor.is_nan() || addend.is_nan() {
        return t.mul(&leaf(t, f64::NAN)?);
    }
    if is_wide(t) {
        return t.scale(factor, ScaleOptions::new().bias(addend));
    }
    // Numbers beyond F32 are infinite.
    t.scale(f64::from(factor as f32), ScaleOptions::new().bias(f64::from(addend as f32)))
}

// A tensor and a number. The result has the tensor's type.

fn plus(t: &Tensor, number: f64) -> Result<Tensor> {
    scaled(t, 1., number)
}

fn minus(t: &Tensor, number: f64) -> Result<Tensor> {
    scaled(t, 1., -number)
}

fn subtracted_from(t: &Tensor, number: f64) -> Result<Tensor> {
    scaled(t, -1., number)
}

fn times(t: &Tensor, number: f64) -> Result<Tensor> {
    scaled(t, number, -0.)
}

/// Not a product with 1 / number, which would be rounded twice.
fn divided_by(t: &Tensor, number: f64) -> Result<Tensor> {
    t.div(&leaf(t, number)?)
}

fn dividing(t: &Tensor, number: f64) -> Result<Tensor> {
    let quotient = leaf(t, number)?.div(t)?;
    match t.dtype() {
        dtype if dtype == quotient.dtype() => Ok(quotient),
        // Rounds to the type as an operation that computes it in F32 would.
        dtype => quotient.cast(dtype),
    }
}

macro_rules! of_tensors {
    ($Operator:ident, $method:ident: $($a:ty, $b:ty, |$x:ident, $y:ident| ($left:expr, $right:expr);)*) => {$(
        impl $Operator<$b> for $a {
            type Output = Result<Tensor>;

            fn $method(self, other: $b) -> Result<Tensor> {
                let ($x, $y) = (self, other);
                let (a, b): (&Tensor, &Tensor) = ($left, $right);
                refuse_tiles(as_c_str(concat!(stringify!($method), "\0")), a, b)?;
                Tensor::$method(a, b)
            }
        }
    )*};
}

macro_rules! of_numbers {
    ($Operator:ident, $method:ident, $after:ident, $before:ident: $($number:ty),*) => {$(
        impl $Operator<$number> for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self, number: $number) -> Result<Tensor> {
                $after(self, f64::from(number))
            }
        }

        impl $Operator<$number> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, number: $number) -> Result<Tensor> {
                $after(&self, f64::from(number))
            }
        }

        impl $Operator<&Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: &Tensor) -> Result<Tensor> {
                $before(tensor, f64::from(self))
            }
        }

        impl $Operator<Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: Tensor) -> Result<Tensor> {
                $before(&tensor, f64::from(self))
            }
        }
    )*};
}

/// The operators of an operation, with its function of a tensor and a number after it, and of one before it.
macro_rules! operators {
    ($($Operator:ident, $method:ident, $after:ident, $before:ident;)*) => {$(
        of_tensors! { $Operator, $method:
            &Tensor, &Tensor, |a, b| (a, b);
            &Tensor, Tensor, |a, b| (a, &b);
            Tensor, &Tensor, |a, b| (&a, b);
            Tensor, Tensor, |a, b| (&a, &b);
            &Tensor, Result<Tensor>, |a, b| (a, &b?);
            Tensor, Result<Tensor>, |a, b| (&a, &b?);
            Result<Tensor>, &Tensor, |a, b| (&a?, b);
            Result<Tensor>, Tensor, |a, b| (&a?, &b);
        }
        // With f32 too, the type of a literal in `(&a * 2.0)?` would be ambiguous.
        of_numbers! { $Operator, $method, $after, $before: f64, i32 }
    )*};
}

operators! {
    Add, add, plus, plus;
    Sub, sub, minus, subtracted_from;
    Mul, mul, times, times;
    Div, div, divided_by, dividing;
}

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::neg`].
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}

impl Neg for Tensor {
    type Output = Result<Tensor>;

    /// [`Tensor::neg`].
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(&self)
    }
}
