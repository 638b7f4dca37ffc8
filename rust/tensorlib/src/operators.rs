//! Operators of tensors and numbers; [`Tensor`] describes them.

use crate::{DType, Error, Result, ScaleOptions, Tensor};
use std::ops::{Add, Div, Mul, Neg, Sub};
use tensorlib_sys as sys;

/// Fails if `b` repeats as tiles: if an extent is neither 1 nor that of `a`, but divides it. All else is the engine's to check.
fn refuse_tiles(op: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    let (of_a, of_b) = (a.shape(), b.shape());
    let tile = of_a.iter().zip(&of_b).position(|(&n, &m)| m > 1 && m != n && n != 1 && n % m == 0);
    let Some(dim) = tile else { return Ok(()) };
    let message = format!(
        "{op}: a is {of_a:?}, b is {of_b:?}: in dimension {dim}, b would repeat {} times. The operator takes equal extents and extents of \
         1. Repeat b with Tensor::repeat, or call Tensor::{op}, which does",
        of_a[dim] / of_b[dim]
    );
    Err(Error::new(sys::TL_STATUS_SHAPE_MISMATCH.0, message, vec![of_a, of_b]))
}

/// A number as an operand: a leaf with one element, in the context of the node.
fn leaf(t: &Tensor, number: f64) -> Result<Tensor> {
    t.node_context().tensor([1], &[number as f32])
}

/// t * factor + addend, each rounded once. An addend of -0 changes nothing, not even the sign of a 0.
fn scaled(t: &Tensor, factor: f64, addend: f64) -> Result<Tensor> {
    if factor.is_nan() || addend.is_nan() {
        return t.mul(&leaf(t, f64::NAN)?);
    }
    // Numbers beyond F32 are infinite.
    t.scale(f64::from(factor as f32), ScaleOptions::new().bias(f64::from(addend as f32)))
}

/// What an operator makes of two tensors, and of a tensor and a number on either side. The result of a number and a tensor has
/// the tensor's type.
trait Operation {
    const NAME: &'static str;
    fn make(a: &Tensor, b: &Tensor) -> Result<Tensor>;
    fn number_after(a: &Tensor, b: f64) -> Result<Tensor>;
    fn number_before(a: f64, b: &Tensor) -> Result<Tensor>;

    fn untiled(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        refuse_tiles(Self::NAME, a, b)?;
        Self::make(a, b)
    }
}

struct Sum;
impl Operation for Sum {
    const NAME: &'static str = "add";
    fn make(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Tensor::add(a, b)
    }
    fn number_after(a: &Tensor, b: f64) -> Result<Tensor> {
        scaled(a, 1., b)
    }
    fn number_before(a: f64, b: &Tensor) -> Result<Tensor> {
        scaled(b, 1., a)
    }
}

struct Difference;
impl Operation for Difference {
    const NAME: &'static str = "sub";
    fn make(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Tensor::sub(a, b)
    }
    fn number_after(a: &Tensor, b: f64) -> Result<Tensor> {
        scaled(a, 1., -b)
    }
    fn number_before(a: f64, b: &Tensor) -> Result<Tensor> {
        scaled(b, -1., a)
    }
}

struct Product;
impl Operation for Product {
    const NAME: &'static str = "mul";
    fn make(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Tensor::mul(a, b)
    }
    fn number_after(a: &Tensor, b: f64) -> Result<Tensor> {
        scaled(a, b, -0.)
    }
    fn number_before(a: f64, b: &Tensor) -> Result<Tensor> {
        scaled(b, a, -0.)
    }
}

struct Quotient;
impl Operation for Quotient {
    const NAME: &'static str = "div";
    fn make(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Tensor::div(a, b)
    }
    // Not a product with 1 / b, which would be rounded twice.
    fn number_after(a: &Tensor, b: f64) -> Result<Tensor> {
        a.div(&leaf(a, b)?)
    }
    fn number_before(a: f64, b: &Tensor) -> Result<Tensor> {
        let quotient = leaf(b, a)?.div(b)?;
        match b.dtype() {
            DType::F32 => Ok(quotient),
            // Rounds to the type as an operation that computes it in F32 would.
            dtype => quotient.cast(dtype),
        }
    }
}

macro_rules! of_tensors {
    ($Operator:ident, $method:ident, $Operation:ident: $($a:ty, $b:ty, |$x:ident, $y:ident| ($left:expr, $right:expr);)*) => {$(
        impl $Operator<$b> for $a {
            type Output = Result<Tensor>;

            fn $method(self, other: $b) -> Result<Tensor> {
                let ($x, $y) = (self, other);
                $Operation::untiled($left, $right)
            }
        }
    )*};
}

macro_rules! of_numbers {
    ($Operator:ident, $method:ident, $Operation:ident: $($number:ty),*) => {$(
        impl $Operator<$number> for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self, number: $number) -> Result<Tensor> {
                $Operation::number_after(self, f64::from(number))
            }
        }

        impl $Operator<$number> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, number: $number) -> Result<Tensor> {
                $Operation::number_after(&self, f64::from(number))
            }
        }

        impl $Operator<&Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: &Tensor) -> Result<Tensor> {
                $Operation::number_before(f64::from(self), tensor)
            }
        }

        impl $Operator<Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: Tensor) -> Result<Tensor> {
                $Operation::number_before(f64::from(self), &tensor)
            }
        }
    )*};
}

macro_rules! operators {
    ($($Operator:ident, $method:ident, $Operation:ident;)*) => {$(
        of_tensors! { $Operator, $method, $Operation:
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
        of_numbers! { $Operator, $method, $Operation: f64, i32 }
    )*};
}

operators! {
    Add, add, Sum;
    Sub, sub, Difference;
    Mul, mul, Product;
    Div, div, Quotient;
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
