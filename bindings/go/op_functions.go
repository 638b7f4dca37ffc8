package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

// Add is a + b, element by element; b repeats into a.
//
// The result c: c[i] = a[i] + b[i mod b's shape]. Shapes: c has a's shape; each
// dimension of b is 1 or divides that of a, and a zero one meets only a zero in
// a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once.
// The result is of a's type.
func (c *Context) Add(a, b *Tensor) (*Tensor, error) {
	return c.construct("add", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_add(c.ptr, a.ptr, b.ptr)
	})
}

// Sub is a - b, element by element; b repeats into a.
//
// The result c: c[i] = a[i] - b[i mod b's shape]. Shapes: c has a's shape; each
// dimension of b is 1 or divides that of a, and a zero one meets only a zero in
// a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once.
// The result is of a's type.
func (c *Context) Sub(a, b *Tensor) (*Tensor, error) {
	return c.construct("sub", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_sub(c.ptr, a.ptr, b.ptr)
	})
}

// Mul is a * b, element by element; b repeats into a.
//
// The result c: c[i] = a[i] * b[i mod b's shape]. Shapes: c has a's shape; each
// dimension of b is 1 or divides that of a, and a zero one meets only a zero in
// a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once.
// The result is of a's type.
func (c *Context) Mul(a, b *Tensor) (*Tensor, error) {
	return c.construct("mul", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_mul(c.ptr, a.ptr, b.ptr)
	})
}

// Div is a / b, element by element; b repeats into a.
//
// The result c: c[i] = a[i] / b[i mod b's shape]. Shapes: c has a's shape; each
// dimension of b is 1 or divides that of a, and a zero one meets only a zero in
// a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once. Of
// zeros infinities, and NaN of two. The result is of a's type.
func (c *Context) Div(a, b *Tensor) (*Tensor, error) {
	return c.construct("div", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_div(c.ptr, a.ptr, b.ptr)
	})
}

// Maximum is the larger of a and b, element by element; b repeats into a.
//
// The result c: c[i] = max(a[i], b[i mod b's shape]). Shapes: c has a's shape;
// each dimension of b is 1 or divides that of a, and a zero one meets only a
// zero in a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded
// once. NaN where one of the two is; 0 is more than -0. The result is of a's
// type.
func (c *Context) Maximum(a, b *Tensor) (*Tensor, error) {
	return c.construct("maximum", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_maximum(c.ptr, a.ptr, b.ptr)
	})
}

// Minimum is the smaller of a and b, element by element; b repeats into a.
//
// The result c: c[i] = min(a[i], b[i mod b's shape]). Shapes: c has a's shape;
// each dimension of b is 1 or divides that of a, and a zero one meets only a
// zero in a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded
// once. NaN where one of the two is; 0 is more than -0. The result is of a's
// type.
func (c *Context) Minimum(a, b *Tensor) (*Tensor, error) {
	return c.construct("minimum", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_minimum(c.ptr, a.ptr, b.ptr)
	})
}

// Pow is a to the power of b, element by element; b repeats into a.
//
// The result c: c[i] = a[i] ^ b[i mod b's shape]. Shapes: c has a's shape; each
// dimension of b is 1 or divides that of a, and a zero one meets only a zero in
// a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once.
// Within 2 ulp, and what is special is as in C: of an a below 0 NaN where b is
// not whole, 1 for b = 0 whatever a is. The result is of a's type.
func (c *Context) Pow(a, b *Tensor) (*Tensor, error) {
	return c.construct("pow", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_pow(c.ptr, a.ptr, b.ptr)
	})
}

// Eq is 1 where a equals b and 0 elsewhere, element by element; b repeats into
// a.
//
// The result c: c[i] = 1 if a[i] == b[i mod b's shape] else 0. Shapes: c has
// a's shape; each dimension of b is 1 or divides that of a, and a zero one
// meets only a zero in a. Types: a and b each F32, F16 or BF16; compared in
// F32. With NaN it is 0; 0 and -0 are equal. The result is of a's type.
func (c *Context) Eq(a, b *Tensor) (*Tensor, error) {
	return c.construct("eq", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_eq(c.ptr, a.ptr, b.ptr)
	})
}

// Ne is 1 where a is not b and 0 elsewhere, element by element; b repeats into
// a.
//
// The result c: c[i] = 1 if a[i] != b[i mod b's shape] else 0. Shapes: c has
// a's shape; each dimension of b is 1 or divides that of a, and a zero one
// meets only a zero in a. Types: a and b each F32, F16 or BF16; compared in
// F32. With NaN it is 1; 0 and -0 are equal. The result is of a's type.
func (c *Context) Ne(a, b *Tensor) (*Tensor, error) {
	return c.construct("ne", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_ne(c.ptr, a.ptr, b.ptr)
	})
}

// Lt is 1 where a is less than b and 0 elsewhere, element by element; b repeats
// into a.
//
// The result c: c[i] = 1 if a[i] < b[i mod b's shape] else 0. Shapes: c has a's
// shape; each dimension of b is 1 or divides that of a, and a zero one meets
// only a zero in a. Types: a and b each F32, F16 or BF16; compared in F32. With
// NaN it is 0; 0 and -0 are equal. The result is of a's type.
func (c *Context) Lt(a, b *Tensor) (*Tensor, error) {
	return c.construct("lt", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_lt(c.ptr, a.ptr, b.ptr)
	})
}

// Le is 1 where a is at most b and 0 elsewhere, element by element; b repeats
// into a.
//
// The result c: c[i] = 1 if a[i] <= b[i mod b's shape] else 0. Shapes: c has
// a's shape; each dimension of b is 1 or divides that of a, and a zero one
// meets only a zero in a. Types: a and b each F32, F16 or BF16; compared in
// F32. With NaN it is 0; 0 and -0 are equal. The result is of a's type.
func (c *Context) Le(a, b *Tensor) (*Tensor, error) {
	return c.construct("le", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_le(c.ptr, a.ptr, b.ptr)
	})
}

// Gt is 1 where a is more than b and 0 elsewhere, element by element; b repeats
// into a.
//
// The result c: c[i] = 1 if a[i] > b[i mod b's shape] else 0. Shapes: c has a's
// shape; each dimension of b is 1 or divides that of a, and a zero one meets
// only a zero in a. Types: a and b each F32, F16 or BF16; compared in F32. With
// NaN it is 0; 0 and -0 are equal. The result is of a's type.
func (c *Context) Gt(a, b *Tensor) (*Tensor, error) {
	return c.construct("gt", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_gt(c.ptr, a.ptr, b.ptr)
	})
}

// Ge is 1 where a is at least b and 0 elsewhere, element by element; b repeats
// into a.
//
// The result c: c[i] = 1 if a[i] >= b[i mod b's shape] else 0. Shapes: c has
// a's shape; each dimension of b is 1 or divides that of a, and a zero one
// meets only a zero in a. Types: a and b each F32, F16 or BF16; compared in
// F32. With NaN it is 0; 0 and -0 are equal. The result is of a's type.
func (c *Context) Ge(a, b *Tensor) (*Tensor, error) {
	return c.construct("ge", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_ge(c.ptr, a.ptr, b.ptr)
	})
}

// Add1 is a + b for a b of one element.
//
// The result c: c[i] = a[i] + b[0]. Shapes: c has a's shape, b one element.
// Types: a and b each F32, F16 or BF16; computed in F32 and rounded once. The
// result is of a's type.
func (c *Context) Add1(a, b *Tensor) (*Tensor, error) {
	return c.construct("add1", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_add1(c.ptr, a.ptr, b.ptr)
	})
}

// Where is a where the condition is not 0, and b elsewhere, element by element;
// condition and b repeat into a.
//
// The result c: c[i] = a[i] if condition[i mod its shape] != 0 else
// b[i mod b's shape]. Shapes: c has a's shape; each dimension of condition and
// of b is 1 or divides that of a, and a zero one meets only a zero in a. Types:
// condition, a and b each F32, F16 or BF16; c of a's type, b rounded to it. NaN
// as a condition is not 0.
func (c *Context) Where(condition, a, b *Tensor) (*Tensor, error) {
	return c.construct("where", []*Tensor{condition, a, b}, func() *C.tl_tensor {
		return C.tl_where(c.ptr, condition.ptr, a.ptr, b.ptr)
	})
}

// ScaleOptions is what [Context.Scale] may be given. Zeros are the defaults.
type ScaleOptions struct {
	// What is added.
	Bias float64
}

// Scale is a * scale + bias, element by element.
//
// The result c: c[i] = a[i] * scale + bias. Shapes: c has a's shape. Types:
// F32, F16 or BF16; computed in F32, where product and sum are each rounded.
// The result is of a's type. scale: what each element is multiplied by.
func (c *Context) Scale(a *Tensor, scale float64, options *ScaleOptions) (*Tensor, error) {
	params := C.tl_scale_params{struct_size: C.sizeof_tl_scale_params}
	if options != nil {
		params.bias = C.double(options.Bias)
	}
	return c.construct("scale", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_scale(c.ptr, a.ptr, C.double(scale), &params)
	})
}

// Clamp is a, but no less than min and no more than max, element by element.
//
// The result c: c[i] = min(max, max(min, a[i])). Shapes: c has a's shape.
// Types: F32, F16 or BF16; computed in F32 and rounded once. NaN stays; where
// min is more than max all is max. The result is of a's type. min: the least.
// max: the most.
func (c *Context) Clamp(a *Tensor, min float64, max float64) (*Tensor, error) {
	return c.construct("clamp", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_clamp(c.ptr, a.ptr, C.double(min), C.double(max))
	})
}

// Fill is a tensor like a of one value.
//
// The result c: c[i] = value. Shapes: c has a's shape. Types: F32, F16 or BF16;
// the value is rounded to it. The result is of a's type. value: all of the
// result.
func (c *Context) Fill(a *Tensor, value float64) (*Tensor, error) {
	return c.construct("fill", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_fill(c.ptr, a.ptr, C.double(value))
	})
}

// Transpose is a with dimensions 0 and 1 swapped.
//
// The result c: c[i1, i0, i2, i3] = a[i0, i1, i2, i3]. The result is a view of
// a: nothing is computed. Shapes: a's extents, the first two swapped. Types:
// any without blocks. The result is of a's type.
func (c *Context) Transpose(a *Tensor) (*Tensor, error) {
	return c.construct("transpose", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_transpose(c.ptr, a.ptr)
	})
}

// Cont is a contiguous copy.
//
// The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side
// by side. Types: any. Exact. The result is of a's type.
func (c *Context) Cont(a *Tensor) (*Tensor, error) {
	return c.construct("cont", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cont(c.ptr, a.ptr)
	})
}

// Cpy is dst with src's elements copied into it.
//
// dst's elements, in their order, become src's. The result is a view of dst:
// make it an output, or use it, for this to happen. Shapes: as many elements on
// both sides. Whatever comes later in the graph and reads dst, through any
// view, sees them. dst must not be constant, no two of its elements may share
// memory, nor may one of it and one of src, unless both are the same elements.
// Types: any into any, converted as by [Context.Cast]. Computing fails with
// [StatusInvalidArgument], naming the place, for a value that dst's type cannot
// hold.
func (c *Context) Cpy(src, dst *Tensor) (*Tensor, error) {
	return c.construct("cpy", []*Tensor{src, dst}, func() *C.tl_tensor {
		return C.tl_cpy(c.ptr, src.ptr, dst.ptr)
	})
}

// Dup is a copy.
//
// The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side
// by side. Types: any. Exact. The result is of a's type.
func (c *Context) Dup(a *Tensor) (*Tensor, error) {
	return c.construct("dup", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_dup(c.ptr, a.ptr)
	})
}

// GetRows is a's rows of these numbers.
//
// The result c: c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]. Shapes: a
// (n, m, x, y), rows (r, x, y), c (n, r, x, y); a row may be taken any number
// of times. Types: a any, rows I32 or I64; c of a's type where that is an
// integer, else F32. Exact but for F64, which is rounded. Computing fails with
// [StatusInvalidArgument], naming the place, for a number that is no row's.
func (c *Context) GetRows(a, rows *Tensor) (*Tensor, error) {
	return c.construct("get_rows", []*Tensor{a, rows}, func() *C.tl_tensor {
		return C.tl_get_rows(c.ptr, a.ptr, rows.ptr)
	})
}

// SetRows is a with b's rows stored as its rows of these numbers.
//
// In the result a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3].
// The result is a view of a: make it an output, or use it, for this to happen.
// Shapes: a (n, m, x, y), b (n, r, x, y), rows (r, x', y'), x' dividing x and
// y' dividing y. Where a row is named twice, the later one stays. a must not be
// constant, and no two of its elements nor one of it and one of b or rows may
// share memory. Types: a and b any, b is converted to a's type as by
// [Context.Cast]; rows I32 or I64. The result is of a's type. Computing fails
// with [StatusInvalidArgument], naming the place, for a number that is no
// row's, whose row is left out, or a value that a's type cannot hold.
func (c *Context) SetRows(a, b, rows *Tensor) (*Tensor, error) {
	return c.construct("set_rows", []*Tensor{a, b, rows}, func() *C.tl_tensor {
		return C.tl_set_rows(c.ptr, a.ptr, b.ptr, rows.ptr)
	})
}

// Abs is the absolute value of each element.
//
// The result c: c[i] = |a[i]|. Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32 and rounded once. The result is of a's type.
func (c *Context) Abs(a *Tensor) (*Tensor, error) {
	return c.construct("abs", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_abs(c.ptr, a.ptr)
	})
}

// Neg is -a, element by element.
//
// The result c: c[i] = -a[i]. Shapes: c has a's shape. Types: F32, F16 or BF16;
// computed in F32 and rounded once. Of 0 it is -0. The result is of a's type.
func (c *Context) Neg(a *Tensor) (*Tensor, error) {
	return c.construct("neg", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_neg(c.ptr, a.ptr)
	})
}

// Sqr is the square of each element.
//
// The result c: c[i] = a[i] * a[i]. Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32 and rounded once. The result is of a's type.
func (c *Context) Sqr(a *Tensor) (*Tensor, error) {
	return c.construct("sqr", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sqr(c.ptr, a.ptr)
	})
}

// Sqrt is the square root of each element.
//
// The result c: c[i] = sqrt(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32 and rounded once. NaN below 0. The result is of a's
// type.
func (c *Context) Sqrt(a *Tensor) (*Tensor, error) {
	return c.construct("sqrt", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sqrt(c.ptr, a.ptr)
	})
}

// Log is the natural logarithm of each element.
//
// The result c: c[i] = log(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32, within 2 ulp, and rounded once. -infinity of 0, NaN
// below. The result is of a's type.
func (c *Context) Log(a *Tensor) (*Tensor, error) {
	return c.construct("log", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_log(c.ptr, a.ptr)
	})
}

// Exp is e to the power of each element.
//
// The result c: c[i] = e ^ a[i]. Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32, within 1 ulp, and rounded once. The result is of a's
// type.
func (c *Context) Exp(a *Tensor) (*Tensor, error) {
	return c.construct("exp", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_exp(c.ptr, a.ptr)
	})
}

// Expm1 is e to the power of each element, less 1, with all digits near 0.
//
// The result c: c[i] = e ^ a[i] - 1. Shapes: c has a's shape. Types: F32, F16
// or BF16; computed in F32, within 2 ulp, and rounded once. The result is of
// a's type.
func (c *Context) Expm1(a *Tensor) (*Tensor, error) {
	return c.construct("expm1", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_expm1(c.ptr, a.ptr)
	})
}

// Sin is the sine of each element, in radians.
//
// The result c: c[i] = sin(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32, within 2 ulp, and rounded once. NaN of infinity. The
// result is of a's type.
func (c *Context) Sin(a *Tensor) (*Tensor, error) {
	return c.construct("sin", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sin(c.ptr, a.ptr)
	})
}

// Cos is the cosine of each element, in radians.
//
// The result c: c[i] = cos(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32, within 2 ulp, and rounded once. NaN of infinity. The
// result is of a's type.
func (c *Context) Cos(a *Tensor) (*Tensor, error) {
	return c.construct("cos", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cos(c.ptr, a.ptr)
	})
}

// Sgn is the sign of each element: -1, 0 or 1.
//
// The result c: c[i] = a[i] / |a[i]|, or a[i] where that is 0. Shapes: c has
// a's shape. Types: F32, F16 or BF16; computed in F32 and rounded once. -0 and
// NaN stay. The result is of a's type.
func (c *Context) Sgn(a *Tensor) (*Tensor, error) {
	return c.construct("sgn", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sgn(c.ptr, a.ptr)
	})
}

// Step is 1 where an element is above 0, and 0 elsewhere.
//
// The result c: c[i] = 1 if a[i] > 0 else 0. Shapes: c has a's shape. Types:
// F32, F16 or BF16; computed in F32 and rounded once. NaN stays. The result is
// of a's type.
func (c *Context) Step(a *Tensor) (*Tensor, error) {
	return c.construct("step", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_step(c.ptr, a.ptr)
	})
}

// Floor is the largest whole number that is no more than each element.
//
// The result c: c[i] = floor(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32 and rounded once. The result is of a's type.
func (c *Context) Floor(a *Tensor) (*Tensor, error) {
	return c.construct("floor", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_floor(c.ptr, a.ptr)
	})
}

// Ceil is the smallest whole number that is no less than each element.
//
// The result c: c[i] = ceil(a[i]). Shapes: c has a's shape. Types: F32, F16 or
// BF16; computed in F32 and rounded once. The result is of a's type.
func (c *Context) Ceil(a *Tensor) (*Tensor, error) {
	return c.construct("ceil", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_ceil(c.ptr, a.ptr)
	})
}

// Round is the nearest whole number to each element, of two the one away from
// 0.
//
// The result c: c[i] = sgn(a[i]) * floor(|a[i]| + 1/2). Shapes: c has a's
// shape. Types: F32, F16 or BF16; computed in F32 and rounded once. The result
// is of a's type.
func (c *Context) Round(a *Tensor) (*Tensor, error) {
	return c.construct("round", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_round(c.ptr, a.ptr)
	})
}

// Trunc is each element without its fraction.
//
// The result c: c[i] = sgn(a[i]) * floor(|a[i]|). Shapes: c has a's shape.
// Types: F32, F16 or BF16; computed in F32 and rounded once. The result is of
// a's type.
func (c *Context) Trunc(a *Tensor) (*Tensor, error) {
	return c.construct("trunc", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_trunc(c.ptr, a.ptr)
	})
}
