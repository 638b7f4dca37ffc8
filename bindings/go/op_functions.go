package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

// Add adds b to a, element-wise.
//
// Computes c[i] = a[i mod shape(a)] + b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Add(a, b *Tensor) (*Tensor, error) {
	return c.construct("add", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_add(c.ptr, a.ptr, b.ptr)
	})
}

// Sub subtracts b from a, element-wise.
//
// Computes c[i] = a[i mod shape(a)] - b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Sub(a, b *Tensor) (*Tensor, error) {
	return c.construct("sub", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_sub(c.ptr, a.ptr, b.ptr)
	})
}

// Mul multiplies a by b, element-wise.
//
// Computes c[i] = a[i mod shape(a)] * b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Mul(a, b *Tensor) (*Tensor, error) {
	return c.construct("mul", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_mul(c.ptr, a.ptr, b.ptr)
	})
}

// Div divides a by b, element-wise.
//
// Computes c[i] = a[i mod shape(a)] / b[i mod shape(b)].
//
// Dividing a float by 0 gives an infinity, and 0 / 0 gives NaN. A quotient of
// integers is rounded towards 0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
//   - Computing fails with [StatusInvalidArgument] for an integer divisor of 0.
//     The message names the first such element.
func (c *Context) Div(a, b *Tensor) (*Tensor, error) {
	return c.construct("div", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_div(c.ptr, a.ptr, b.ptr)
	})
}

// Maximum takes the larger of a and b, element-wise.
//
// Computes c[i] = max(a[i mod shape(a)], b[i mod shape(b)]).
//
// The result is NaN if either element is NaN. 0 counts as larger than -0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Maximum(a, b *Tensor) (*Tensor, error) {
	return c.construct("maximum", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_maximum(c.ptr, a.ptr, b.ptr)
	})
}

// Minimum takes the smaller of a and b, element-wise.
//
// Computes c[i] = min(a[i mod shape(a)], b[i mod shape(b)]).
//
// The result is NaN if either element is NaN. 0 counts as larger than -0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Minimum(a, b *Tensor) (*Tensor, error) {
	return c.construct("minimum", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_minimum(c.ptr, a.ptr, b.ptr)
	})
}

// Pow raises a to the power of b, element-wise.
//
// Computes c[i] = a[i mod shape(a)] ^ b[i mod shape(b)].
//
// Special cases of floats are those of C. A finite negative element to a power
// that is not an integer gives NaN. Any element, even NaN, to the power of 0
// gives 1.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 to within 2 ulp
//     and rounded once; or both I32, I64 or F64, computed in this type.
//     Integers wrap around where they overflow, and 0 to the power of 0 is 1.
//     F64 is within 2 ulp.
//   - Result: The type of a.
//   - Computing fails with [StatusInvalidArgument] for an integer exponent
//     below 0. The message names the first such element.
func (c *Context) Pow(a, b *Tensor) (*Tensor, error) {
	return c.construct("pow", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_pow(c.ptr, a.ptr, b.ptr)
	})
}

// Eq tests whether a equals b, element-wise: 1 if it does, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] == b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 0. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Eq(a, b *Tensor) (*Tensor, error) {
	return c.construct("eq", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_eq(c.ptr, a.ptr, b.ptr)
	})
}

// Ne tests whether a differs from b, element-wise: 1 if it does, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] != b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 1. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Ne(a, b *Tensor) (*Tensor, error) {
	return c.construct("ne", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_ne(c.ptr, a.ptr, b.ptr)
	})
}

// Lt tests whether a is less than b, element-wise: 1 if it is, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] < b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 0. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Lt(a, b *Tensor) (*Tensor, error) {
	return c.construct("lt", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_lt(c.ptr, a.ptr, b.ptr)
	})
}

// Le tests whether a is at most b, element-wise: 1 if it is, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] <= b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 0. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Le(a, b *Tensor) (*Tensor, error) {
	return c.construct("le", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_le(c.ptr, a.ptr, b.ptr)
	})
}

// Gt tests whether a is greater than b, element-wise: 1 if it is, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] > b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 0. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Gt(a, b *Tensor) (*Tensor, error) {
	return c.construct("gt", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_gt(c.ptr, a.ptr, b.ptr)
	})
}

// Ge tests whether a is at least b, element-wise: 1 if it is, 0 otherwise.
//
// Computes c[i] = 1 if a[i mod shape(a)] >= b[i mod shape(b)] else 0.
//
// A comparison with NaN gives 0. 0 and -0 are equal.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each F32, F16 or BF16, compared in F32, and c has the
//     type of a; or both I32, I64 or F64, and c is F32.
func (c *Context) Ge(a, b *Tensor) (*Tensor, error) {
	return c.construct("ge", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_ge(c.ptr, a.ptr, b.ptr)
	})
}

// Add1 adds the single element of b to each element of a.
//
// Computes c[i] = a[i] + b[0].
//
//   - Shapes: c has the shape of a. b has one element.
//   - Types: a and b are each F32, F16 or BF16, computed in F32 and rounded
//     once; or both I32, I64 or F64, computed in this type. Integers wrap
//     around where they overflow.
//   - Result: The type of a.
func (c *Context) Add1(a, b *Tensor) (*Tensor, error) {
	return c.construct("add1", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_add1(c.ptr, a.ptr, b.ptr)
	})
}

// Where selects elements of a where condition is not 0, and elements of b
// elsewhere.
//
// Computes c[i] = a[i mod shape(a)] if condition[i mod shape(condition)] != 0
// else b[i mod shape(b)].
//
// A NaN in condition counts as not 0.
//
//   - Shapes: condition, a and b are broadcast to the shape of c. In each
//     dimension their extents are equal, or 1, whose elements repeat. An extent
//     of condition or b may also divide that of a, and its elements then repeat
//     as tiles. A dimension that a shape lacks is 1.
//   - Types: condition is a float, an integer or BOOL. a and b have one type,
//     which is not quantised; or all three are F32, F16 or BF16, and b is
//     rounded to the type of a. c has the type of a.
func (c *Context) Where(condition, a, b *Tensor) (*Tensor, error) {
	return c.construct("where", []*Tensor{condition, a, b}, func() *C.tl_tensor {
		return C.tl_where(c.ptr, condition.ptr, a.ptr, b.ptr)
	})
}

// ScaleOptions holds the optional attributes of [Context.Scale]. A field that
// is zero has its default.
type ScaleOptions struct {
	// Added to each product. Default: 0.
	Bias float64
}

// Scale multiplies each element by scale and adds Bias.
//
// Computes c[i] = a[i] * scale + bias.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32; or I32, I64 or F64, computed in
//     this type. The product and the sum are each rounded. For integers, scale
//     and Bias are integers of the type, and results wrap around.
//   - Result: The type of a.
//   - scale: factor of each element.
func (c *Context) Scale(a *Tensor, scale float64, options *ScaleOptions) (*Tensor, error) {
	params := C.tl_scale_params{struct_size: C.sizeof_tl_scale_params}
	if options != nil {
		params.bias = C.double(options.Bias)
	}
	return c.construct("scale", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_scale(c.ptr, a.ptr, C.double(scale), &params)
	})
}

// Clamp limits each element to the range from min to max.
//
// Computes c[i] = min(max, max(min, a[i])).
//
// NaN stays NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
//   - min: lower bound. It must not exceed max.
//   - max: upper bound.
func (c *Context) Clamp(a *Tensor, min float64, max float64) (*Tensor, error) {
	return c.construct("clamp", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_clamp(c.ptr, a.ptr, C.double(min), C.double(max))
	})
}

// Fill fills a tensor of the shape and type of a with one value.
//
// Computes c[i] = value.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, to which the value is rounded; or I32, I64 or
//     F64. For integers, the value is an integer of the type.
//   - Result: The type of a.
//   - value: value of all elements. NaN is valid.
func (c *Context) Fill(a *Tensor, value float64) (*Tensor, error) {
	return c.construct("fill", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_fill(c.ptr, a.ptr, C.double(value))
	})
}

// MaskedFill replaces elements of a where mask is not 0 by a value.
//
// Computes c[i] = value if mask[i mod shape(mask)] != 0 else a[i].
//
// A NaN in mask counts as not 0.
//
//   - Shapes: c has the shape of a. Each extent of mask is that of a, or 1.
//   - Types: a is F32, F16 or BF16, and the value is rounded to this type; or a
//     is F64; or a is an integer or BOOL, and the value is a number of its
//     type. mask is a float, an integer or BOOL.
//   - Result: The type of a.
//   - value: the value. NaN and infinity are valid.
func (c *Context) MaskedFill(a, mask *Tensor, value float64) (*Tensor, error) {
	return c.construct("masked_fill", []*Tensor{a, mask}, func() *C.tl_tensor {
		return C.tl_masked_fill(c.ptr, a.ptr, mask.ptr, C.double(value))
	})
}

// OutProd sums outer products: of each row of a and the row of b with the same
// index.
//
// Computes c[m, n, i2, i3] = sum over k of a[m, k, i2 / (X/x), i3 / (Y/y)] *
// b[n, k, i2, i3].
//
// This is [Context.MulMat] of both operands transposed. k = 0 gives zeros.
// Products and sums are computed in F32, and no operand is rounded. A quantised
// a is decoded first; on the CPU this takes memory for all of it.
//
//   - Shapes: a (m, k, x, y), b (n, k, X, Y), c (m, n, X, Y). x divides X and y
//     divides Y, as for [Context.MulMat].
//   - Types: a has a float type, or a quantised type other than Q8_1 and Q8_K.
//     b is F32, F16 or BF16.
//   - Result: F32.
func (c *Context) OutProd(a, b *Tensor) (*Tensor, error) {
	return c.construct("out_prod", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_out_prod(c.ptr, a.ptr, b.ptr)
	})
}

// OutProdID sums, for each expert, the outer products of the rows of a and b
// that ids assigns to it.
//
// Computes c[n, m, e] = sum over (u, t) with ids[u, t] = e of
// a[n, u mod x, t] * b[m, u, t].
//
// An expert without rows gets zeros. The index -1 stands for no expert: its
// rows are not read. Products and sums are computed in F32, in the order of the
// rows, (0, 0), (1, 0) and so on. No operand is rounded.
//
//   - Shapes: a (n, x, tokens), b (m, used, tokens), ids (used, tokens), c
//     (n, m, experts). x divides used: with x = 1 all experts of a token share
//     its row of a, with x = used each has a row of its own.
//   - Types: a and b are each F32, F16 or BF16. ids is I32 or I64.
//   - Result: F32.
//   - experts: number of experts. Range: 0 to 2^31 - 1.
//   - Computing fails with [StatusInvalidArgument] for an index that is neither
//     an expert nor -1. The message names the first such element.
func (c *Context) OutProdID(a, b, ids *Tensor, experts int64) (*Tensor, error) {
	return c.construct("out_prod_id", []*Tensor{a, b, ids}, func() *C.tl_tensor {
		return C.tl_out_prod_id(c.ptr, a.ptr, b.ptr, ids.ptr, C.int64_t(experts))
	})
}

// SolveTri solves systems of equations with triangular matrices.
//
// Computes sum over k of a[k, r] c[i, k] = b[i, r].
//
// Row r of a has the coefficients of equation r, and c the unknowns of one
// system in each column. Elements of a on the other side of the diagonal are
// not read. The unknowns follow one after the other (substitution). A 0 on the
// diagonal gives infinities and NaN. For X a = b solve the transposed system.
//
//   - Shapes: a (n, n, x, y), b and c (m, n, x, y).
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
//   - left: must be true: a is left of the unknowns.
//   - lower: whether the lower triangle of a is read, else the upper one.
//   - unit: whether 1 takes the place of the diagonal, which is then not read.
func (c *Context) SolveTri(a, b *Tensor, left bool, lower bool, unit bool) (*Tensor, error) {
	return c.construct("solve_tri", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_solve_tri(c.ptr, a.ptr, b.ptr, C.bool(left), C.bool(lower), C.bool(unit))
	})
}

// Transpose swaps dimensions 0 and 1 of a.
//
// Computes c[i1, i0, i2, i3] = a[i0, i1, i2, i3].
//
//   - Shapes: c has the shape of a with the first two dimensions swapped.
//   - Types: Any type that is not quantised.
//   - Result: A view of a. Nothing is computed.
func (c *Context) Transpose(a *Tensor) (*Tensor, error) {
	return c.construct("transpose", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_transpose(c.ptr, a.ptr)
	})
}

// StopGradient returns a, and stops gradients.
//
// Computes c[i] = a[i].
//
//   - Shapes: c has the shape and the strides of a.
//   - Types: Any type.
//   - Result: A view of a. Nothing is computed.
func (c *Context) StopGradient(a *Tensor) (*Tensor, error) {
	return c.construct("stop_gradient", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_stop_gradient(c.ptr, a.ptr)
	})
}

// Expand repeats a along dimensions of 1 element without copying it.
//
// Computes c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3].
//
// The strides of the repeated dimensions are 0. Operators broadcast by
// themselves; [Context.Expand] is for operations that do not. [Context.Repeat]
// copies, and repeats dimensions of any size.
//
//   - Shapes: a (n0, n1, n2, n3). c differs from a only in dimensions in which
//     a has 1 element.
//   - Types: Any type.
//   - Result: A view of a. Nothing is computed.
//   - shape: shape of the result. Dimensions that it lacks are 1. Each at
//     least 0.
func (c *Context) Expand(a *Tensor, shape []int64) (*Tensor, error) {
	return c.construct("expand", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_expand(c.ptr, a.ptr, C.int32_t(len(shape)), dims(shape))
	})
}

// Unsqueeze inserts a dimension of 1 element.
//
// Dimension d of a is dimension d of c before dim, and d + 1 from there on.
//
//   - Shapes: a has at most 3 dimensions, and c has one more.
//   - Types: Any type. If dim is 0, it is not quantised.
//   - Result: A view of a. Nothing is computed.
//   - dim: the inserted dimension. Range: 0 to 3.
func (c *Context) Unsqueeze(a *Tensor, dim int64) (*Tensor, error) {
	return c.construct("unsqueeze", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_unsqueeze(c.ptr, a.ptr, C.int64_t(dim))
	})
}

// Squeeze removes a dimension of 1 element.
//
// Dimension d of a is dimension d of c before dim, and d - 1 after it.
//
//   - Shapes: Dimension dim of a has 1 element. c has at least one dimension.
//   - Types: Any type.
//   - Result: A view of a. Nothing is computed.
//   - dim: the removed dimension. Range: 0 to 3.
func (c *Context) Squeeze(a *Tensor, dim int64) (*Tensor, error) {
	return c.construct("squeeze", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_squeeze(c.ptr, a.ptr, C.int64_t(dim))
	})
}

// Flatten joins neighbouring dimensions to one.
//
// The elements of c are those of a, in the same order.
//
// c is a view of a if strides can express it, as always for a contiguous a, and
// a copy otherwise.
//
//   - Shapes: Dimension first of c has as many elements as dimensions first to
//     last of a together.
//   - Types: Any type.
//   - Result: The type of a.
//   - first: the first joined dimension. Range: 0 to 3.
//   - last: the last one. Dimensions that a lacks have 1 element, so 3 joins
//     all that follow. Range: 0 to 3.
func (c *Context) Flatten(a *Tensor, first int64, last int64) (*Tensor, error) {
	return c.construct("flatten", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_flatten(c.ptr, a.ptr, C.int64_t(first), C.int64_t(last))
	})
}

// Select returns the elements of a with one index in a dimension, without that
// dimension.
//
// Computes c[i0, i2, i3] = a[i0, index, i2, i3].
//
// The formula is for dim 1.
//
//   - Shapes: c has the shape of a without dimension dim.
//   - Types: Any type. If dim is 0, it is not quantised.
//   - Result: A view of a. Nothing is computed.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - index: the index. Negative ones count from the end: -1 is the last.
func (c *Context) Select(a *Tensor, dim int64, index int64) (*Tensor, error) {
	return c.construct("select", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_select(c.ptr, a.ptr, C.int64_t(dim), C.int64_t(index))
	})
}

// Result returns another result of the operation that made a.
//
// c is result number n of the operation whose first result is a.
//
// An operation with several results returns the first one. Its description says
// what the others are. All are computed together.
//
//   - Shapes: Those of the operation's description.
//   - Types: Any type.
//   - Result: A view of a. Nothing is computed.
//   - n: which result. 0 is a itself. Range: 0 to 9.
func (c *Context) Result(a *Tensor, n int64) (*Tensor, error) {
	return c.construct("result", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_result(c.ptr, a.ptr, C.int64_t(n))
	})
}

// Cont copies a into contiguous memory.
//
// Computes c[i] = a[i].
//
//   - Shapes: c has the shape of a and is contiguous.
//   - Types: Any type. Elements are copied exactly.
//   - Result: The type of a.
func (c *Context) Cont(a *Tensor) (*Tensor, error) {
	return c.construct("cont", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cont(c.ptr, a.ptr)
	})
}

// Cpy copies the elements of src into dst.
//
// Element j of dst becomes element j of src, where both are counted along
// dimension 0 first.
//
// Later nodes of the graph that read dst, through any view, see the new
// elements. dst must not be constant, and no two of its elements may share
// memory. src must not share memory with dst, unless both are the same
// elements.
//
//   - Shapes: src and dst have the same number of elements.
//   - Types: Any type into any type, converted as by [Context.Cast].
//   - Result: A view of dst, which is overwritten when the node is computed.
//     Make the result an output of the graph, or use it in another node:
//     otherwise nothing is written.
//   - Computing fails with [StatusInvalidArgument] for a value that the type of
//     dst cannot hold. The message names the first such element.
func (c *Context) Cpy(src, dst *Tensor) (*Tensor, error) {
	return c.construct("cpy", []*Tensor{src, dst}, func() *C.tl_tensor {
		return C.tl_cpy(c.ptr, src.ptr, dst.ptr)
	})
}

// Dup copies a.
//
// Computes c[i] = a[i].
//
//   - Shapes: c has the shape of a and is contiguous.
//   - Types: Any type. Elements are copied exactly.
//   - Result: The type of a.
func (c *Context) Dup(a *Tensor) (*Tensor, error) {
	return c.construct("dup", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_dup(c.ptr, a.ptr)
	})
}

// GetRows gathers rows of a by index.
//
// Computes c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3].
//
//   - Shapes: a (n, m, x, y), rows (r, x, y), c (n, r, x, y). A row may be
//     taken any number of times.
//   - Types: a has any type, and rows is I32 or I64. c has the type of a if
//     that is an integer type, and is F32 otherwise. The conversion is exact,
//     except that F64 is rounded.
//   - Computing fails with [StatusInvalidArgument] for a row index out of
//     range. The message names the first such element.
func (c *Context) GetRows(a, rows *Tensor) (*Tensor, error) {
	return c.construct("get_rows", []*Tensor{a, rows}, func() *C.tl_tensor {
		return C.tl_get_rows(c.ptr, a.ptr, rows.ptr)
	})
}

// SetRows stores the rows of b in a by index.
//
// Computes a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3].
//
// If an index occurs twice, the later row remains. a must not be constant, and
// no two of its elements may share memory. a must not share memory with b or
// rows.
//
//   - Shapes: a (n, m, x, y), b (n, r, x, y), rows (r, x', y'). x' divides x
//     and y' divides y.
//   - Types: a and b have any types: b is converted to the type of a as by
//     [Context.Cast]. rows is I32 or I64.
//   - Result: A view of a, which is overwritten when the node is computed. Make
//     the result an output of the graph, or use it in another node: otherwise
//     nothing is written.
//   - Computing fails with [StatusInvalidArgument] for a row index out of
//     range, whose row is not stored, and for a value that the type of a cannot
//     hold. The message names the first such element.
func (c *Context) SetRows(a, b, rows *Tensor) (*Tensor, error) {
	return c.construct("set_rows", []*Tensor{a, b, rows}, func() *C.tl_tensor {
		return C.tl_set_rows(c.ptr, a.ptr, b.ptr, rows.ptr)
	})
}

// IndexSelect gathers parts of a by index along a dimension.
//
// Computes c[i0, k, i2, i3] = a[i0, indices[k], i2, i3].
//
// The formula is for dim 1. For another dimension, the index takes the place of
// i1, i2 or i3. [Context.GetRows] and [Context.Gather] do the work, and are
// named in errors while computing. A non-contiguous a may be copied first.
//
//   - Shapes: indices (n). c has the shape of a with n elements in dimension
//     dim.
//   - Types: a has any type. If dim is 0, it is not quantised. indices is I32
//     or I64. c has the type of a, or F32 if that is quantised. Elements are
//     copied exactly.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - Computing fails with [StatusInvalidArgument] for an index out of range.
//     The message names the first such element.
func (c *Context) IndexSelect(a, indices *Tensor, dim int64) (*Tensor, error) {
	return c.construct("index_select", []*Tensor{a, indices}, func() *C.tl_tensor {
		return C.tl_index_select(c.ptr, a.ptr, indices.ptr, C.int64_t(dim))
	})
}

// Abs takes the absolute value of each element.
//
// Computes c[i] = |a[i]|.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
func (c *Context) Abs(a *Tensor) (*Tensor, error) {
	return c.construct("abs", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_abs(c.ptr, a.ptr)
	})
}

// Neg negates each element.
//
// Computes c[i] = -a[i].
//
// The negation of 0 is -0.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
func (c *Context) Neg(a *Tensor) (*Tensor, error) {
	return c.construct("neg", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_neg(c.ptr, a.ptr)
	})
}

// Sqr squares each element.
//
// Computes c[i] = a[i] * a[i].
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
func (c *Context) Sqr(a *Tensor) (*Tensor, error) {
	return c.construct("sqr", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sqr(c.ptr, a.ptr)
	})
}

// Sqrt takes the square root of each element.
//
// Computes c[i] = sqrt(a[i]).
//
// Negative elements give NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
//   - Result: The type of a.
func (c *Context) Sqrt(a *Tensor) (*Tensor, error) {
	return c.construct("sqrt", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sqrt(c.ptr, a.ptr)
	})
}

// Log takes the natural logarithm of each element.
//
// Computes c[i] = log(a[i]).
//
// 0 gives -infinity. Negative elements give NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Log(a *Tensor) (*Tensor, error) {
	return c.construct("log", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_log(c.ptr, a.ptr)
	})
}

// Exp raises e to the power of each element.
//
// Computes c[i] = e ^ a[i].
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 1 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Exp(a *Tensor) (*Tensor, error) {
	return c.construct("exp", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_exp(c.ptr, a.ptr)
	})
}

// Expm1 raises e to the power of each element and subtracts 1, with full
// precision near 0.
//
// Computes c[i] = e ^ a[i] - 1.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Expm1(a *Tensor) (*Tensor, error) {
	return c.construct("expm1", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_expm1(c.ptr, a.ptr)
	})
}

// Sin takes the sine of each element, in radians.
//
// Computes c[i] = sin(a[i]).
//
// Infinities give NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Sin(a *Tensor) (*Tensor, error) {
	return c.construct("sin", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sin(c.ptr, a.ptr)
	})
}

// Cos takes the cosine of each element, in radians.
//
// Computes c[i] = cos(a[i]).
//
// Infinities give NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Cos(a *Tensor) (*Tensor, error) {
	return c.construct("cos", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cos(c.ptr, a.ptr)
	})
}

// Sgn takes the sign of each element: -1, 0 or 1.
//
// Computes c[i] = a[i] / |a[i]| if a[i] != 0 else a[i].
//
// -0 and NaN are kept.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
func (c *Context) Sgn(a *Tensor) (*Tensor, error) {
	return c.construct("sgn", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sgn(c.ptr, a.ptr)
	})
}

// Step maps positive elements to 1 and all others to 0.
//
// Computes c[i] = 1 if a[i] > 0 else 0.
//
// NaN stays NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 and rounded once.
//   - Result: The type of a.
func (c *Context) Step(a *Tensor) (*Tensor, error) {
	return c.construct("step", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_step(c.ptr, a.ptr)
	})
}

// Floor rounds each element down to an integer.
//
// Computes c[i] = floor(a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
//   - Result: The type of a.
func (c *Context) Floor(a *Tensor) (*Tensor, error) {
	return c.construct("floor", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_floor(c.ptr, a.ptr)
	})
}

// Ceil rounds each element up to an integer.
//
// Computes c[i] = ceil(a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
//   - Result: The type of a.
func (c *Context) Ceil(a *Tensor) (*Tensor, error) {
	return c.construct("ceil", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_ceil(c.ptr, a.ptr)
	})
}

// Round rounds each element to the nearest integer, and halves away from 0.
//
// Computes c[i] = sgn(a[i]) * floor(|a[i]| + 1/2).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
//   - Result: The type of a.
func (c *Context) Round(a *Tensor) (*Tensor, error) {
	return c.construct("round", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_round(c.ptr, a.ptr)
	})
}

// Trunc rounds each element toward 0 to an integer.
//
// Computes c[i] = sgn(a[i]) * floor(|a[i]|).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
//   - Result: The type of a.
func (c *Context) Trunc(a *Tensor) (*Tensor, error) {
	return c.construct("trunc", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_trunc(c.ptr, a.ptr)
	})
}

// Erf applies the error function to each element.
//
// Computes c[i] = 2 / sqrt(pi) * integral from 0 to a[i] of e ^ (-t^2) dt.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Erf(a *Tensor) (*Tensor, error) {
	return c.construct("erf", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_erf(c.ptr, a.ptr)
	})
}

// Relu applies the rectified linear unit (ReLU): negative elements become 0.
//
// Computes c[i] = max(a[i], 0).
//
// NaN stays NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 and rounded once.
//   - Result: The type of a.
func (c *Context) Relu(a *Tensor) (*Tensor, error) {
	return c.construct("relu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_relu(c.ptr, a.ptr)
	})
}

// Sigmoid applies the logistic function to each element.
//
// Computes c[i] = 1 / (1 + e ^ -a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Sigmoid(a *Tensor) (*Tensor, error) {
	return c.construct("sigmoid", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sigmoid(c.ptr, a.ptr)
	})
}

// Tanh takes the hyperbolic tangent of each element.
//
// Computes c[i] = tanh(a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded
//     once.
//   - Result: The type of a.
func (c *Context) Tanh(a *Tensor) (*Tensor, error) {
	return c.construct("tanh", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_tanh(c.ptr, a.ptr)
	})
}

// Elu applies the exponential linear unit (ELU) to each element.
//
// Computes c[i] = a[i] if a[i] > 0 else e ^ a[i] - 1.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Elu(a *Tensor) (*Tensor, error) {
	return c.construct("elu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_elu(c.ptr, a.ptr)
	})
}

// Softplus applies the softplus function to each element.
//
// Computes c[i] = log(1 + e ^ a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Softplus(a *Tensor) (*Tensor, error) {
	return c.construct("softplus", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_softplus(c.ptr, a.ptr)
	})
}

// Silu multiplies each element by its [Context.Sigmoid] (SiLU, swish).
//
// Computes c[i] = a[i] / (1 + e ^ -a[i]).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Silu(a *Tensor) (*Tensor, error) {
	return c.construct("silu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_silu(c.ptr, a.ptr)
	})
}

// Gelu applies the Gaussian error linear unit (GELU), approximated with tanh.
//
// Computes c[i] = a[i] / 2 * (1 + tanh(sqrt(2 / pi) * (a[i] + 0.044715
// a[i]^3))).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Gelu(a *Tensor) (*Tensor, error) {
	return c.construct("gelu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_gelu(c.ptr, a.ptr)
	})
}

// GeluErf applies the Gaussian error linear unit (GELU), with the error
// function.
//
// Computes c[i] = a[i] / 2 * (1 + erf(a[i] / sqrt(2))).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) GeluErf(a *Tensor) (*Tensor, error) {
	return c.construct("gelu_erf", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_gelu_erf(c.ptr, a.ptr)
	})
}

// GeluQuick applies the Gaussian error linear unit (GELU), approximated with
// [Context.Sigmoid].
//
// Computes c[i] = a[i] / (1 + e ^ (-1.702 a[i])).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) GeluQuick(a *Tensor) (*Tensor, error) {
	return c.construct("gelu_quick", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_gelu_quick(c.ptr, a.ptr)
	})
}

// Hardswish multiplies each element by its [Context.Hardsigmoid].
//
// Computes c[i] = a[i] * min(max(a[i] + 3, 0), 6) / 6.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Hardswish(a *Tensor) (*Tensor, error) {
	return c.construct("hardswish", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_hardswish(c.ptr, a.ptr)
	})
}

// Hardsigmoid approximates the [Context.Sigmoid] of each element by three
// straight lines.
//
// Computes c[i] = min(max(a[i] + 3, 0), 6) / 6.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the result, and rounded once.
//   - Result: The type of a.
func (c *Context) Hardsigmoid(a *Tensor) (*Tensor, error) {
	return c.construct("hardsigmoid", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_hardsigmoid(c.ptr, a.ptr)
	})
}

// LeakyRelu applies the leaky rectified linear unit: negative elements are
// multiplied by slope.
//
// Computes c[i] = a[i] if a[i] > 0 else slope * a[i].
//
// NaN stays NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 and rounded once.
//   - Result: The type of a.
//   - slope: factor of negative elements.
func (c *Context) LeakyRelu(a *Tensor, slope float64) (*Tensor, error) {
	return c.construct("leaky_relu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_leaky_relu(c.ptr, a.ptr, C.double(slope))
	})
}

// Xielu applies the integrated exponential linear unit (xIELU, arXiv
// 2411.13010) to each element.
//
// Computes c[i] = alpha_p a[i]^2 + beta a[i] if a[i] > 0 else alpha_n (e ^
// min(a[i], eps) - 1 - a[i]) + beta a[i].
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of
//     the larger of the two summands, and rounded once.
//   - Result: The type of a.
//   - alphaN: factor of the exponential part below 0, to which no softplus is
//     applied.
//   - alphaP: factor of the square above 0, to which no softplus is applied.
//   - beta: slope at 0.
//   - eps: upper bound of the exponent below 0. Models use -1e-6.
func (c *Context) Xielu(a *Tensor, alphaN float64, alphaP float64, beta float64, eps float64) (*Tensor, error) {
	return c.construct("xielu", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_xielu(c.ptr, a.ptr, C.double(alphaN), C.double(alphaP), C.double(beta), C.double(eps))
	})
}

// GluOp is the attribute op of [Context.Glu]: the activation.
type GluOp int32

// The values of GluOp.
const (
	// Activation [Context.Relu].
	GluOpReglu GluOp = C.TL_GLU_OP_REGLU
	// Activation [Context.Gelu].
	GluOpGeglu GluOp = C.TL_GLU_OP_GEGLU
	// Activation [Context.Silu].
	GluOpSwiglu GluOp = C.TL_GLU_OP_SWIGLU
	// Activation [Context.GeluErf].
	GluOpGegluErf GluOp = C.TL_GLU_OP_GEGLU_ERF
	// Activation [Context.GeluQuick].
	GluOpGegluQuick GluOp = C.TL_GLU_OP_GEGLU_QUICK
	// g / (1 + e^(-alpha g)) * (u + 1), where g is min(gate, limit) and u
	// is up, limited to -limit to limit.
	GluOpSwigluOai GluOp = C.TL_GLU_OP_SWIGLU_OAI
)

// GluOptions holds the optional attributes of [Context.Glu]. A field that is
// zero has its default.
type GluOptions struct {
	// If true, the gate and up are two operands, and b is required.
	// Default: false.
	Split bool
	// If true, the gate and up are exchanged. Default: false.
	Swapped bool
	// Factor in the logistic function of swiglu_oai. Other activations do
	// not take it. Default: 1.702.
	Alpha float64
	// Limit of the gate and of up with swiglu_oai. Other activations do not
	// take it. Range: 1e-6 to 1e38. Default: 7.
	Limit float64
}

// Glu applies an activation to a gate and multiplies the result by another
// operand (gated linear unit).
//
// Computes c[i] = activation(gate[i]) * up[i].
//
//   - Shapes: With b: a, b and c have the same shape, the gate is a and up is
//     b. Without b: a is (2 n, m, x, y) and c is (n, m, x, y), the gate is the
//     first half of each row of a and up the second half. If a has rows of 2
//     n + 1 elements, the last one is not read.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32: the activation
//     has an error of at most 1e-6 of its value, and the product is rounded
//     once.
//   - Result: The type of a.
//   - b is optional: nil leaves it out.
//   - op: the activation.
func (c *Context) Glu(a, b *Tensor, op GluOp, options *GluOptions) (*Tensor, error) {
	b = orNone(b)
	params := C.tl_glu_params{struct_size: C.sizeof_tl_glu_params}
	if options != nil {
		params.split = C.bool(options.Split)
		params.swapped = C.bool(options.Swapped)
		params.alpha = C.double(options.Alpha)
		params.limit = C.double(options.Limit)
	}
	return c.construct("glu", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_glu(c.ptr, a.ptr, b.ptr, C.tl_glu_op(op), &params)
	})
}

// Norm subtracts the mean of each row and divides by the standard deviation
// (layer normalisation without weight and bias).
//
// Computes c[i, r] = (a[i, r] - mean(a[r])) / sqrt(variance(a[r]) + eps);
// variance(x) = mean((x - mean(x))^2).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
//   - eps: added to the variance, so that rows without variation become 0.
//     Range: 0 to 1e38.
func (c *Context) Norm(a *Tensor, eps float64) (*Tensor, error) {
	return c.construct("norm", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_norm(c.ptr, a.ptr, C.double(eps))
	})
}

// RmsNorm divides each row by its root mean square.
//
// Computes c[i, r] = a[i, r] / sqrt(mean(a[r]^2) + eps).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
//   - eps: added to the mean square, so that rows of zeros stay zeros. Range: 0
//     to 1e38.
func (c *Context) RmsNorm(a *Tensor, eps float64) (*Tensor, error) {
	return c.construct("rms_norm", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_rms_norm(c.ptr, a.ptr, C.double(eps))
	})
}

// L2Norm divides each row by its Euclidean length.
//
// Computes c[i, r] = a[i, r] / max(sqrt(sum(a[r]^2)), eps).
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
//   - eps: smallest divisor, so that rows of zeros stay zeros. Range: 0 to
//     1e38.
func (c *Context) L2Norm(a *Tensor, eps float64) (*Tensor, error) {
	return c.construct("l2_norm", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_l2_norm(c.ptr, a.ptr, C.double(eps))
	})
}

// GroupNorm subtracts the mean of each group of channels and divides by the
// standard deviation.
//
// Computes c[i] = (a[i] - mean(G)) / sqrt(variance(G) + eps).
//
// G is the group of a[i]. The channels are dimension 2. With k = ceil(channels
// / groups), group j has the channels j k to j k + k - 1; the last groups have
// the channels that remain.
//
//   - Shapes: a (n, m, channels, batch). c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
//   - groups: number of groups. At most the number of channels. At least 1.
//   - eps: added to the variance, so that groups without variation become 0.
//     Range: 0 to 1e38.
func (c *Context) GroupNorm(a *Tensor, groups int64, eps float64) (*Tensor, error) {
	return c.construct("group_norm", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_group_norm(c.ptr, a.ptr, C.int64_t(groups), C.double(eps))
	})
}

// SoftMax computes the softmax of each row: weights that sum to 1.
//
// Computes c[i, r] = e^(a[i, r] - max(a[r])) / sum over j of e^(a[j, r] -
// max(a[r])).
//
// -infinity has the weight 0. A row that has only -infinity, or has NaN or
// infinity in it, becomes NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
func (c *Context) SoftMax(a *Tensor) (*Tensor, error) {
	return c.construct("soft_max", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_soft_max(c.ptr, a.ptr)
	})
}

// SoftMaxExtOptions holds the optional attributes of [Context.SoftMaxExt]. A
// field that is zero has its default.
type SoftMaxExtOptions struct {
	// Factor of a. Default: 1.
	Scale float64
	// Steepness of the slopes, usually 8. A value above 0 requires mask.
	// Range: 0 to 10000. Default: 0.
	MaxBias float64
}

// SoftMaxExt scales and masks each row and computes its softmax (attention
// weights).
//
// Computes x[i] = scale a[i, r] + slope(h) mask[i, r]; c[i, r] = e^(x[i] - m) /
// (e^(sinks[h] - m) + sum over j of e^(x[j] - m)).
//
// m is the largest of x and sinks[h], and h is the index in dimension 2, the
// head. The terms of an operand that is left out are dropped. slope(h) is 1 if
// MaxBias is 0. Otherwise let p be the largest power of 2 that is at most the
// number of heads: slope(h) is 2^(-max_bias (h + 1) / p) for h < p, and
// 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the other heads (Press, Smith and
// Lewis, Train Short, Test Long, 2022). -infinity has the weight 0. Without
// sinks, a row that has only -infinity becomes NaN. A row with NaN or infinity
// in it becomes NaN.
//
//   - Shapes: a (n, m, heads, batch), mask (n, m', x, y), sinks (heads). c has
//     the shape of a. m' is at least m; further rows of mask are not read. x
//     divides heads and y divides batch.
//   - Types: a and mask are each F32, F16 or BF16, and sinks is F32. Sums are
//     computed as by [Context.Sum], everything else in F32. The result is
//     rounded once.
//   - Result: The type of a.
//   - mask and sinks are optional: nil leaves one out.
func (c *Context) SoftMaxExt(a, mask, sinks *Tensor, options *SoftMaxExtOptions) (*Tensor, error) {
	mask, sinks = orNone(mask), orNone(sinks)
	params := C.tl_soft_max_ext_params{struct_size: C.sizeof_tl_soft_max_ext_params}
	if options != nil {
		params.scale = C.double(options.Scale)
		params.max_bias = C.double(options.MaxBias)
	}
	return c.construct("soft_max_ext", []*Tensor{a, mask, sinks}, func() *C.tl_tensor {
		return C.tl_soft_max_ext(c.ptr, a.ptr, mask.ptr, sinks.ptr, &params)
	})
}

// LogSoftMax computes the logarithm of the [Context.SoftMax] of each row.
//
// Computes c[i, r] = a[i, r] - m - log(sum over j of e^(a[j, r] - m)); m =
// max(a[r]).
//
// -infinity stays -infinity. A row that has only -infinity, or has NaN or
// infinity in it, becomes NaN.
//
//   - Shapes: c has the shape of a.
//   - Types: F32, F16 or BF16. Sums are computed as by [Context.Sum],
//     everything else in F32. The result is rounded once.
//   - Result: The type of a.
func (c *Context) LogSoftMax(a *Tensor) (*Tensor, error) {
	return c.construct("log_soft_max", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_log_soft_max(c.ptr, a.ptr)
	})
}

// RopeMode is the attribute Mode of [Context.Rope]: the elements that form pair
// k. Default: normal.
type RopeMode int32

// The values of RopeMode.
const (
	// Elements 2 k and 2 k + 1.
	RopeModeNormal RopeMode = C.TL_ROPE_MODE_NORMAL
	// Elements k and k + n_dims / 2.
	RopeModeNeox RopeMode = C.TL_ROPE_MODE_NEOX
	// Elements k and k + n_dims / 2, with four positions for each token,
	// see Sections.
	RopeModeMrope RopeMode = C.TL_ROPE_MODE_MROPE
	// As mrope, with sections that take turns pair by pair.
	RopeModeImrope RopeMode = C.TL_ROPE_MODE_IMROPE
	// Elements k and k + n_dims, with four positions for each token, see
	// Sections.
	RopeModeVision RopeMode = C.TL_ROPE_MODE_VISION
)

// RopeOptions holds the optional attributes of [Context.Rope]. A field that is
// zero has its default.
type RopeOptions struct {
	// The elements that form pair k. Default: normal.
	Mode RopeMode
	// Number of elements of each row that are rotated, from Offset on; with
	// vision, half of that number. It must be even, except with vision. 0
	// rotates all. Range: 0 to 1048576. Default: 0.
	NDims int64
	// The first element that is rotated. Range: 0 to 1048576. Default: 0.
	Offset int64
	// For mrope, imrope and vision only: the number of consecutive pairs
	// that use the first position of a token, the second, the third and the
	// fourth. After these pairs the sequence repeats. With imrope, let z be
	// k modulo the sum of the sections: a pair uses position z mod 3, or
	// the fourth if z / 3 is not below that section. Each 0 to 1048576.
	Sections [4]int64
	// Context length that the model was trained for. Required if ExtFactor
	// is above 0. At least 0. Default: 0.
	NCtxOrig int64
	// Base of the frequencies. Range: 0.001 to 1e38. Default: 10000.
	FreqBase float64
	// Factor of the positions, which stretches the context. Range: 1e-6
	// to 1000000. Default: 1.
	FreqScale float64
	// Strength of YaRN. 0 disables it. Range: 0 to 1000000. Default: 0.
	ExtFactor float64
	// Factor of the result. Range: 1e-6 to 1000000. Default: 1.
	AttnFactor float64
	// Pairs with more turns than this within NCtxOrig are not stretched.
	// Range: 1e-6 to 1000000000. Default: 32.
	BetaFast float64
	// Pairs with fewer turns than this within NCtxOrig are stretched fully.
	// Range: 1e-6 to 1000000000. Default: 1.
	BetaSlow float64
	// If true, rotates in the opposite direction, by -t. Default: false.
	Inverse bool
}

// Rope rotates pairs of elements of each row by angles that are proportional to
// its position (rotary position embedding).
//
// Computes (x, y) = m (x cos t - y sin t, x sin t + y cos t); t = position
// w(k); w(k) = freq_base^(-2 k / n_dims) / freq_factors[k] * (freq_scale (1 -
// r(k)) + r(k)).
//
// (x, y) is pair k of the n_dims / 2 pairs of a row. All other elements are
// copied. With vision there are n_dims pairs, and k in w(k) counts from the
// first pair of the section. Without freqFactors all factors are 1. Without
// ExtFactor, r(k) = 0 and m = attn_factor. With ExtFactor (YaRN, Peng and
// others, 2023), m = attn_factor (1 + 0.1 ln(1 / freq_scale)) and r(k) =
// ext_factor (1 - q), where q is (k - low) / max(high - low, 0.001) limited to
// 0 to 1. There low = max(0, floor(d(beta_fast))), high = min(n_dims - 1,
// ceil(d(beta_slow))) and d(beta) = n_dims ln(n_ctx_orig / (2 pi beta)) / (2 ln
// freq_base).
//
//   - Shapes: a (n, heads, tokens, batch), positions (tokens) or
//     (tokens, batch), freqFactors (n_dims / 2). c has the shape of a. If Mode
//     is mrope, imrope or vision, positions is (4 tokens) or (4 tokens, batch):
//     all positions of the first section, then all of the second, and so on.
//   - Types: a is F32, F16 or BF16, positions I32 or I64, freqFactors F32.
//     Angles are computed in F64 and the rest in F32, with an error of at most
//     8 * 2^-24 m (|x| + |y|). The result is rounded once to the type of a.
//   - Result: The type of a.
//   - freqFactors is optional: nil leaves it out.
func (c *Context) Rope(a, positions, freqFactors *Tensor, options *RopeOptions) (*Tensor, error) {
	freqFactors = orNone(freqFactors)
	params := C.tl_rope_params{struct_size: C.sizeof_tl_rope_params}
	if options != nil {
		params.mode = C.tl_rope_mode(options.Mode)
		params.n_dims = C.int64_t(options.NDims)
		params.offset = C.int64_t(options.Offset)
		for i, value := range options.Sections {
			params.sections[i] = C.int64_t(value)
		}
		params.n_ctx_orig = C.int64_t(options.NCtxOrig)
		params.freq_base = C.double(options.FreqBase)
		params.freq_scale = C.double(options.FreqScale)
		params.ext_factor = C.double(options.ExtFactor)
		params.attn_factor = C.double(options.AttnFactor)
		params.beta_fast = C.double(options.BetaFast)
		params.beta_slow = C.double(options.BetaSlow)
		params.inverse = C.bool(options.Inverse)
	}
	return c.construct("rope", []*Tensor{a, positions, freqFactors}, func() *C.tl_tensor {
		return C.tl_rope(c.ptr, a.ptr, positions.ptr, freqFactors.ptr, &params)
	})
}

// FlashAttnExtOptions holds the optional attributes of [Context.FlashAttnExt].
// A field that is zero has its default.
type FlashAttnExtOptions struct {
	// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
	Scale float64
	// Steepness of the slopes, usually 8. A value above 0 requires mask.
	// Range: 0 to 10000. Default: 0.
	MaxBias float64
	// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000.
	// Default: 0.
	LogitSoftcap float64
}

// FlashAttnExt computes attention: for each query, the mean of the values,
// weighted by the softmax of its products with the keys.
//
// Computes x[j] = scale (q[., t, h, b] . k[., j, h', b']) + slope(h)
// mask[j, t]; w = softmax(x); c[d, h, t, b] = sum over j of w[j]
// v[d, j, h', b'].
//
// h' = h / (heads / heads') is the head of k and v that query head h uses, and
// b' follows in the same way. With sinks, e^sinks[h] is one more summand of the
// softmax, which has no value. With LogitSoftcap s above 0, the product becomes
// s tanh(scale (q . k) / s). slope(h) is 1 if MaxBias is 0. Otherwise let p be
// the largest power of 2 that is at most the number of heads: slope(h) is
// 2^(-max_bias (h + 1) / p) for h < p, and 2^(-max_bias (2 (h - p) + 1) / (2
// p)) for the other heads (Press, Smith and Lewis, Train Short, Test Long,
// 2022). Keys with a mask of -infinity for all queries of a block are skipped.
// Other masked keys multiply their value by 0, which gives NaN if the value is
// not finite. A query without keys becomes NaN unless there are sinks. A query
// with NaN or infinity among its products becomes NaN.
//
//   - Shapes: q (n, tokens, heads, batch), k (n, keys, heads', batch'), v
//     (m, keys, heads', batch'), mask (keys, tokens', x, y), sinks (heads), c
//     (m, heads, tokens, batch). heads' divides heads and batch' divides batch.
//     tokens' is at least tokens; further rows of mask are not read. x divides
//     heads and y divides batch.
//   - Types: q and mask are each F32, F16 or BF16. k and v each have a float
//     type, or a quantised type other than Q8_1 and Q8_K. sinks is F32.
//     Computed in F32: products and sums over up to 144 keys, and then block by
//     block. e^x is computed to within 1e-6.
//   - Result: F32.
//   - mask and sinks are optional: nil leaves one out.
func (c *Context) FlashAttnExt(q, k, v, mask, sinks *Tensor, options *FlashAttnExtOptions) (*Tensor, error) {
	mask, sinks = orNone(mask), orNone(sinks)
	params := C.tl_flash_attn_ext_params{struct_size: C.sizeof_tl_flash_attn_ext_params}
	if options != nil {
		params.scale = C.double(options.Scale)
		params.max_bias = C.double(options.MaxBias)
		params.logit_softcap = C.double(options.LogitSoftcap)
	}
	return c.construct("flash_attn_ext", []*Tensor{q, k, v, mask, sinks}, func() *C.tl_tensor {
		return C.tl_flash_attn_ext(c.ptr, q.ptr, k.ptr, v.ptr, mask.ptr, sinks.ptr, &params)
	})
}

// PagedAttentionOptions holds the optional attributes of
// [Context.PagedAttention]. A field that is zero has its default.
type PagedAttentionOptions struct {
	// Rows of a page. Range: 1 to 65536. Default: 64.
	Page int64
	// Number of keys that a token sees, including its own. 0: all. At
	// least 0. Default: 0.
	Window int64
	// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
	Scale float64
	// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000.
	// Default: 0.
	LogitSoftcap float64
}

// PagedAttention computes causal attention of tokens of several sequences,
// whose keys and values lie in pages of a pool.
//
// Computes x[j] = scale (q[., t, h] . k[., h', r(j)]) for j from max(0, p -
// window + 1) to p, where p = positions[t]; w = softmax(x); c[d, h, t] = sum
// over j of w[j] v[d, h', r(j)]; r(j) = page
// pages[floor(j / page), sequences[t]] + j mod page.
//
// A token sees the keys of its own sequence up to its own position, or the last
// Window of them if Window is above 0. h' = h / (heads / heads') is the head of
// k and v that query head h uses. Rows of k and v that no token sees are not
// read, nor are numbers of pages that no token needs. With sinks, e^sinks[h] is
// one more summand of the softmax, which has no value. With LogitSoftcap s
// above 0, the product becomes s tanh(scale (q . k) / s). A query with NaN or
// infinity among its products becomes NaN. A number of a page, a position or a
// sequence that does not exist is an error of the run. One pool serves any
// number of sequences: PagedAttention (Kwon and others, 2023).
//
//   - Shapes: q (n, tokens, heads), k (n, heads', rows), v (m, heads', rows),
//     pages (most, n_sequences), positions (tokens), sequences (tokens), sinks
//     (heads), c (m, heads, tokens). heads' divides heads and Page divides
//     rows.
//   - Types: q is F32, F16 or BF16. k and v each have a float type, or a
//     quantised type other than Q8_1 and Q8_K. pages, positions and sequences
//     are I32 or I64. sinks is F32. Computed in F32: products and sums over up
//     to 256 keys, and then block by block. e^x is computed to within 1e-6.
//   - Result: F32.
//   - sinks is optional: nil leaves it out.
func (c *Context) PagedAttention(q, k, v, pages, positions, sequences, sinks *Tensor, options *PagedAttentionOptions) (*Tensor, error) {
	sinks = orNone(sinks)
	params := C.tl_paged_attention_params{struct_size: C.sizeof_tl_paged_attention_params}
	if options != nil {
		params.page = C.int64_t(options.Page)
		params.window = C.int64_t(options.Window)
		params.scale = C.double(options.Scale)
		params.logit_softcap = C.double(options.LogitSoftcap)
	}
	return c.construct("paged_attention", []*Tensor{q, k, v, pages, positions, sequences, sinks}, func() *C.tl_tensor {
		return C.tl_paged_attention(c.ptr, q.ptr, k.ptr, v.ptr, pages.ptr, positions.ptr, sequences.ptr, sinks.ptr, &params)
	})
}

// Sum sums a over dimensions.
//
// Computes c[k] = sum over r of a[k, r].
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// Along dimension 0, elements are summed in F32 in blocks of 1024, each of
// which has 32 partial sums that are added pairwise. If dimension 0 stays, they
// are summed in F32 in blocks of 32. Blocks are summed in F64. The error is at
// most 2^-18.6 of the sum of the magnitudes. The order depends on the shape and
// on the positions of the elements alone.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. The sum of
//     no elements is 0.
//   - Types: a is a float, an integer or BOOL. c is F32 for F32, F16 and BF16,
//     F64 for F64, and otherwise I64, which wraps around where it overflows.
//     F64 is computed in F64, in an order that depends on the shape alone.
func (c *Context) Sum(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("sum")
	if err != nil {
		return nil, err
	}
	params := C.tl_sum_params{struct_size: C.sizeof_tl_sum_params, dims: set, keep: keep}
	return c.construct("sum", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sum(c.ptr, a.ptr, &params)
	})
}

// SumRows sums each row of a.
//
// Computes c[0, i1, i2, i3] = sum over i of a[i, i1, i2, i3].
//
// It is [Context.Sum] over dimension 0, which stays with 1 element.
//
//   - Shapes: a (n, m, x, y), c (1, m, x, y). The sum of an empty row is 0.
//   - Types: a is a float, an integer or BOOL. c is F32 for F32, F16 and BF16,
//     F64 for F64, and otherwise I64, which wraps around where it overflows.
//     F64 is computed in F64, in an order that depends on the shape alone.
func (c *Context) SumRows(a *Tensor) (*Tensor, error) {
	return c.construct("sum_rows", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sum_rows(c.ptr, a.ptr)
	})
}

// Mean computes the mean of a over dimensions.
//
// Computes c[k] = (sum over r of a[k, r]) / n.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions, n
// the number of reduced elements.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. The mean of
//     no elements is NaN.
//   - Types: a is a float, an integer or BOOL. Summed as by [Context.Sum],
//     integers in F64, and divided in F64. c is F32 for F32, F16 and BF16,
//     rounded once, and F64 for other types.
func (c *Context) Mean(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("mean")
	if err != nil {
		return nil, err
	}
	params := C.tl_mean_params{struct_size: C.sizeof_tl_mean_params, dims: set, keep: keep}
	return c.construct("mean", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_mean(c.ptr, a.ptr, &params)
	})
}

// Cumsum computes the running sums of each row of a.
//
// Computes c[i, i1, i2, i3] = sum over j <= i of a[j, i1, i2, i3].
//
// In F32, the sum of the preceding blocks of 1024 elements is computed as by
// [Context.Sum]. Within such a block, elements are summed in blocks of 256:
// runs of 16 pairwise, and these one after another. The error is at most
// 2^-18.7 of the sum of the magnitudes up to the element.
//
//   - Shapes: c has the shape of a.
//   - Types: a is a float, an integer or BOOL. c is F32 for F32, F16 and BF16,
//     F64 for F64, and otherwise I64, which wraps around where it overflows.
//     F64 is computed in F64, in an order that depends on the shape alone.
func (c *Context) Cumsum(a *Tensor) (*Tensor, error) {
	return c.construct("cumsum", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cumsum(c.ptr, a.ptr)
	})
}

// Argmax finds the index of the largest element of a over dimensions.
//
// Computes c[k] = the smallest r for which a[k, r] is largest.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// The reduced elements are counted in the order of their dimensions: over
// dimensions 0 and 1, element (i0, i1) has the index i0 + i1 times the extent
// of dimension 0. NaN is less than everything else, so NaN alone gives 0. -0
// and 0 are equal.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. Each
//     reduced dimension has 1 element or more, unless c is empty. At most
//     2^31 - 1 elements are reduced to one.
//   - Types: a is a float, an integer or BOOL.
//   - Result: I32.
func (c *Context) Argmax(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("argmax")
	if err != nil {
		return nil, err
	}
	params := C.tl_argmax_params{struct_size: C.sizeof_tl_argmax_params, dims: set, keep: keep}
	return c.construct("argmax", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_argmax(c.ptr, a.ptr, &params)
	})
}

// ArgsortOrder is the attribute Order of [Context.Argsort]: the direction.
// Default: asc.
type ArgsortOrder int32

// The values of ArgsortOrder.
const (
	// Smallest element first.
	ArgsortOrderAsc ArgsortOrder = C.TL_ARGSORT_ORDER_ASC
	// Largest element first.
	ArgsortOrderDesc ArgsortOrder = C.TL_ARGSORT_ORDER_DESC
)

// ArgsortOptions holds the optional attributes of [Context.Argsort]. A field
// that is zero has its default.
type ArgsortOptions struct {
	// The direction. Default: asc.
	Order ArgsortOrder
}

// Argsort computes the indices that sort each row of a.
//
// Computes a[c[0], i1, i2, i3] <= a[c[1], i1, i2, i3] <= .. in ascending order,
// >= in descending order.
//
// Equal elements keep their order in both directions. -0 and 0 are equal, and
// NaN is last in both directions.
//
//   - Shapes: c has the shape of a. Rows have at most 2^31 - 1 elements.
//   - Types: a is a float, an integer or BOOL.
//   - Result: I32.
func (c *Context) Argsort(a *Tensor, options *ArgsortOptions) (*Tensor, error) {
	params := C.tl_argsort_params{struct_size: C.sizeof_tl_argsort_params}
	if options != nil {
		params.order = C.tl_argsort_order(options.Order)
	}
	return c.construct("argsort", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_argsort(c.ptr, a.ptr, &params)
	})
}

// TopK finds the indices of the k largest elements of each row of a, the
// largest first.
//
// Computes c[j, i1, i2, i3] = the index of the (j + 1)-th largest element of
// row (i1, i2, i3) of a.
//
// Among equal elements, the one with the smaller index comes first. -0 and 0
// are equal, and NaN is less than everything else.
//
//   - Shapes: a (n, m, x, y), c (k, m, x, y). k is 0 to n, and n is at most
//     2^31 - 1.
//   - Types: a is a float, an integer or BOOL.
//   - Result: I32.
//   - k: number of elements of each row. Range: 0 to 2^31 - 1.
func (c *Context) TopK(a *Tensor, k int64) (*Tensor, error) {
	return c.construct("top_k", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_top_k(c.ptr, a.ptr, C.int64_t(k))
	})
}

// CountEqual counts the positions at which a and b are equal.
//
// Computes c[0] = number of i with a[i] = b[i].
//
// NaN equals nothing. -0 and 0 are equal.
//
//   - Shapes: a and b have the same shape. c (1).
//   - Types: a and b have the same type, which is not quantised.
//   - Result: I64.
func (c *Context) CountEqual(a, b *Tensor) (*Tensor, error) {
	return c.construct("count_equal", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_count_equal(c.ptr, a.ptr, b.ptr)
	})
}

// CrossEntropyLoss computes the mean over all rows of the cross entropy of the
// labels b and the softmax of the logits a.
//
// Computes c[0] = -(1 / rows) * sum over rows and i of b[i] *
// log(soft_max(a)[i]).
//
// Each row is taken relative to its largest element, so no exponential
// overflows. Where b is 0 nothing is added, even if a is -infinity. NaN in
// either operand makes the result NaN.
//
//   - Shapes: a (logits) and b (labels, as probabilities) have the same shape.
//     c (1). Without rows the result is NaN.
//   - Types: a and b are each F32, F16 or BF16. Sums are computed as by
//     [Context.Sum].
//   - Result: F32.
func (c *Context) CrossEntropyLoss(a, b *Tensor) (*Tensor, error) {
	return c.construct("cross_entropy_loss", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_cross_entropy_loss(c.ptr, a.ptr, b.ptr)
	})
}

// Max finds the largest element of a over dimensions.
//
// Computes c[k] = the largest a[k, r] over all r.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// NaN if one of the elements is NaN. 0 counts as larger than -0.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. Each
//     reduced dimension has 1 element or more, unless c is empty.
//   - Types: a is a float, an integer or BOOL. c has the type of a, but is F32
//     if that is F16 or BF16.
func (c *Context) Max(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("max")
	if err != nil {
		return nil, err
	}
	params := C.tl_max_params{struct_size: C.sizeof_tl_max_params, dims: set, keep: keep}
	return c.construct("max", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_max(c.ptr, a.ptr, &params)
	})
}

// Min finds the smallest element of a over dimensions.
//
// Computes c[k] = the smallest a[k, r] over all r.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// NaN if one of the elements is NaN. 0 counts as larger than -0.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. Each
//     reduced dimension has 1 element or more, unless c is empty.
//   - Types: a is a float, an integer or BOOL. c has the type of a, but is F32
//     if that is F16 or BF16.
func (c *Context) Min(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("min")
	if err != nil {
		return nil, err
	}
	params := C.tl_min_params{struct_size: C.sizeof_tl_min_params, dims: set, keep: keep}
	return c.construct("min", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_min(c.ptr, a.ptr, &params)
	})
}

// Argmin finds the index of the smallest element of a over dimensions.
//
// Computes c[k] = the smallest r for which a[k, r] is smallest.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// The reduced elements are counted in the order of their dimensions: over
// dimensions 0 and 1, element (i0, i1) has the index i0 + i1 times the extent
// of dimension 0. NaN is greater than everything else, so NaN alone gives 0. -0
// and 0 are equal.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. Each
//     reduced dimension has 1 element or more, unless c is empty. At most
//     2^31 - 1 elements are reduced to one.
//   - Types: a is a float, an integer or BOOL.
//   - Result: I32.
func (c *Context) Argmin(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("argmin")
	if err != nil {
		return nil, err
	}
	params := C.tl_argmin_params{struct_size: C.sizeof_tl_argmin_params, dims: set, keep: keep}
	return c.construct("argmin", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_argmin(c.ptr, a.ptr, &params)
	})
}

// Var computes the variance of a over dimensions.
//
// Computes c[k] = (sum over r of (a[k, r] - mean)^2) / (n - correction).
//
// k is an index in the dimensions that stay, r one in the reduced dimensions, n
// the number of reduced elements. Elements are taken in blocks: of 1024 along
// dimension 0, or of 32 if dimension 0 stays. The mean and the squares of a
// block are computed in F32, in a second pass over it, and blocks are joined in
// F64. The divisor is 0 where n is less than correction, and 0 / 0 is NaN.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each.
//   - Types: a is a float, an integer or BOOL. Integers are computed in F64. c
//     is F32 for F32, F16 and BF16, rounded once, and F64 for other types.
//   - correction: what is subtracted from the number of elements: 0 gives the
//     variance of the elements, as in NumPy and JAX, and 1 estimates that of a
//     population from a sample, as in PyTorch and candle. Range: 0 to 2^31 - 1.
func (c *Context) Var(a *Tensor, correction int64, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("var")
	if err != nil {
		return nil, err
	}
	params := C.tl_var_params{struct_size: C.sizeof_tl_var_params, dims: set, keep: keep}
	return c.construct("var", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_var(c.ptr, a.ptr, C.int64_t(correction), &params)
	})
}

// Std computes the standard deviation of a over dimensions: the square root of
// [Context.Var].
//
// Computes c[k] = sqrt((sum over r of (a[k, r] - mean)^2) / (n - correction)).
//
// k is an index in the dimensions that stay, r one in the reduced dimensions, n
// the number of reduced elements.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each.
//   - Types: a is a float, an integer or BOOL. Computed as [Context.Var], with
//     the root in F64. c is F32 for F32, F16 and BF16, rounded once, and F64
//     for other types.
//   - correction: what is subtracted from the number of elements: 0 gives the
//     variance of the elements, as in NumPy and JAX, and 1 estimates that of a
//     population from a sample, as in PyTorch and candle. Range: 0 to 2^31 - 1.
func (c *Context) Std(a *Tensor, correction int64, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("std")
	if err != nil {
		return nil, err
	}
	params := C.tl_std_params{struct_size: C.sizeof_tl_std_params, dims: set, keep: keep}
	return c.construct("std", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_std(c.ptr, a.ptr, C.int64_t(correction), &params)
	})
}

// Prod multiplies the elements of a over dimensions.
//
// Computes c[k] = product over r of a[k, r].
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// Products of floats are computed in F64, in an order that depends on the shape
// alone.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. The product
//     of no elements is 1.
//   - Types: a is a float, an integer or BOOL. c is F32 for F32, F16 and BF16,
//     F64 for F64, and otherwise I64, which wraps around where it overflows.
//     F64 is computed in F64, in an order that depends on the shape alone.
func (c *Context) Prod(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("prod")
	if err != nil {
		return nil, err
	}
	params := C.tl_prod_params{struct_size: C.sizeof_tl_prod_params, dims: set, keep: keep}
	return c.construct("prod", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_prod(c.ptr, a.ptr, &params)
	})
}

// Any tests whether any element of a is not 0, over dimensions.
//
// Computes c[k] = 1 if a[k, r] != 0 for some r, else 0.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// NaN is not 0.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. No elements
//     give 0.
//   - Types: a is a float, an integer or BOOL. c is BOOL if a is, and F32
//     otherwise.
func (c *Context) Any(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("any")
	if err != nil {
		return nil, err
	}
	params := C.tl_any_params{struct_size: C.sizeof_tl_any_params, dims: set, keep: keep}
	return c.construct("any", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_any(c.ptr, a.ptr, &params)
	})
}

// All tests whether no element of a is 0, over dimensions.
//
// Computes c[k] = 1 if a[k, r] != 0 for every r, else 0.
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// NaN is not 0.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. No elements
//     give 1.
//   - Types: a is a float, an integer or BOOL. c is BOOL if a is, and F32
//     otherwise.
func (c *Context) All(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("all")
	if err != nil {
		return nil, err
	}
	params := C.tl_all_params{struct_size: C.sizeof_tl_all_params, dims: set, keep: keep}
	return c.construct("all", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_all(c.ptr, a.ptr, &params)
	})
}

// LogSumExp computes the logarithm of the sum of the exponentials of a over
// dimensions.
//
// Computes c[k] = log(sum over r of e^a[k, r]).
//
// k is an index in the dimensions that stay, r one in the reduced dimensions.
// Elements are taken relative to the largest, so no exponential overflows.
//
//   - Shapes: c has the shape of a without the dimensions Dims, and is (1) if
//     none is left. If Keep is true, they stay with 1 element each. No elements
//     give -infinity.
//   - Types: a is a float, an integer or BOOL. Exponentials are computed in
//     F32, or in F64 for other types, and summed as by [Context.Sum]; the
//     logarithm is computed in F64. c is F32 for F32, F16 and BF16, rounded
//     once, and F64 for other types.
func (c *Context) LogSumExp(a *Tensor, dims *Dims) (*Tensor, error) {
	set, keep, err := dims.params("log_sum_exp")
	if err != nil {
		return nil, err
	}
	params := C.tl_log_sum_exp_params{struct_size: C.sizeof_tl_log_sum_exp_params, dims: set, keep: keep}
	return c.construct("log_sum_exp", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_log_sum_exp(c.ptr, a.ptr, &params)
	})
}

// Repeat repeats a until it fills a shape.
//
// Computes c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3].
//
// Element-wise operations broadcast operands without [Context.Repeat], and a
// [Context.View] with strides of 0 repeats rows without copying them.
//
//   - Shapes: a (n0, n1, n2, n3). Each extent of c is a multiple of that of a.
//   - Types: Any type. Elements are copied exactly.
//   - Result: The type of a.
//   - shape: shape of the result. Dimensions that it lacks are 1. Each at
//     least 0.
func (c *Context) Repeat(a *Tensor, shape []int64) (*Tensor, error) {
	return c.construct("repeat", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_repeat(c.ptr, a.ptr, C.int32_t(len(shape)), dims(shape))
	})
}

// Concat concatenates a and b along a dimension.
//
// Computes c[i] = a[i] if i < n else b[i - n].
//
// i is the index in dimension dim, and n is the size of a there. [Context.Cat]
// takes any number of tensors. By name, the operation takes up to 10.
//
//   - Shapes: a and b have the same shape except in dimension dim, where c has
//     the sum of their sizes.
//   - Types: Any type, the same for a and b. Elements are copied exactly.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
func (c *Context) Concat(a, b *Tensor, dim int64) (*Tensor, error) {
	return c.construct("concat", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_concat(c.ptr, a.ptr, b.ptr, C.int64_t(dim))
	})
}

// PadOptions holds the optional attributes of [Context.Pad]. A field that is
// zero has its default.
type PadOptions struct {
	// Number of elements before the first one of each dimension. Each at
	// least 0.
	Lp [4]int64
	// If true, a repeats instead of zeros. Default: false.
	Circular bool
}

// Pad extends a in each dimension, by zeros or by its own repetitions.
//
// Computes c[i] = a[i - lp] if a has element i - lp else 0.
//
// With Circular, c[i] = a[(i - lp) mod n], where n is the extent of a in the
// dimension.
//
//   - Shapes: Dimension d of c has the size of that of a plus lp[d] and p[d].
//     With Circular, dimensions of a that are extended are not empty.
//   - Types: Any type. For a quantised type p[0] and lp[0] are multiples of the
//     block size. Elements are copied exactly.
//   - Result: The type of a.
//   - p: number of elements after the last one of each dimension. Each at
//     least 0.
func (c *Context) Pad(a *Tensor, p [4]int64, options *PadOptions) (*Tensor, error) {
	var cP [4]C.int64_t
	for i, value := range p {
		cP[i] = C.int64_t(value)
	}
	params := C.tl_pad_params{struct_size: C.sizeof_tl_pad_params}
	if options != nil {
		for i, value := range options.Lp {
			params.lp[i] = C.int64_t(value)
		}
		params.circular = C.bool(options.Circular)
	}
	return c.construct("pad", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_pad(c.ptr, a.ptr, &cP[0], &params)
	})
}

// PadReflect1d extends each row of a at both ends by its mirror image.
//
// Computes c[i] = a[p0 - i] for i < p0; c[i] = a[i - p0] for p0 <= i < p0 + n;
// c[i] = a[2 (n - 1) - (i - p0)] for i >= p0 + n.
//
//   - Shapes: a (n, ..), c (p0 + n + p1, ..). p0 and p1 must be less than n.
//   - Types: Any type that is not quantised. Elements are copied exactly.
//   - Result: The type of a.
//   - p0: number of elements before each row. At least 0.
//   - p1: number of elements after each row. At least 0.
func (c *Context) PadReflect1d(a *Tensor, p0 int64, p1 int64) (*Tensor, error) {
	return c.construct("pad_reflect_1d", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_pad_reflect_1d(c.ptr, a.ptr, C.int64_t(p0), C.int64_t(p1))
	})
}

// Roll shifts a cyclically in each dimension.
//
// Computes c[(i + shift) mod n] = a[i] in each dimension, of size n.
//
//   - Shapes: c has the shape of a.
//   - Types: Any type. For a quantised type shift[0] is a multiple of the block
//     size. Elements are copied exactly.
//   - Result: The type of a.
//   - shift: shift in each dimension. A negative one shifts toward the
//     beginning.
func (c *Context) Roll(a *Tensor, shift [4]int64) (*Tensor, error) {
	var cShift [4]C.int64_t
	for i, value := range shift {
		cShift[i] = C.int64_t(value)
	}
	return c.construct("roll", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_roll(c.ptr, a.ptr, &cShift[0])
	})
}

// Diag makes matrices that have the rows of a as their diagonals.
//
// Computes c[i0, i1, i2, i3] = a[i0, 0, i2, i3] if i0 = i1 else 0.
//
//   - Shapes: a (n, 1, x, y), c (n, n, x, y).
//   - Types: Any type that is not quantised. Elements are copied exactly.
//   - Result: The type of a.
func (c *Context) Diag(a *Tensor) (*Tensor, error) {
	return c.construct("diag", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_diag(c.ptr, a.ptr)
	})
}

// TriType is the attribute part of [Context.Tri]: the triangle that is kept.
type TriType int32

// The values of TriType.
const (
	// i0 < i1, the lower triangle without the diagonal.
	TriTypeLower TriType = C.TL_TRI_TYPE_LOWER
	// i0 <= i1, the lower triangle with the diagonal.
	TriTypeLowerDiag TriType = C.TL_TRI_TYPE_LOWER_DIAG
	// i1 < i0, the upper triangle without the diagonal.
	TriTypeUpper TriType = C.TL_TRI_TYPE_UPPER
	// i1 <= i0, the upper triangle with the diagonal.
	TriTypeUpperDiag TriType = C.TL_TRI_TYPE_UPPER_DIAG
)

// Tri keeps a triangle of each matrix of a and sets all other elements to 0.
//
// Computes c[i0, i1] = a[i0, i1] if (i0, i1) is in the triangle else 0.
//
//   - Shapes: c has the shape of a. Matrices need not be square.
//   - Types: Any type that is not quantised. Elements are copied exactly.
//   - Result: The type of a.
//   - part: the triangle that is kept.
func (c *Context) Tri(a *Tensor, part TriType) (*Tensor, error) {
	return c.construct("tri", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_tri(c.ptr, a.ptr, C.tl_tri_type(part))
	})
}

// DiagMaskInf sets the attention scores of later positions to -infinity (causal
// mask).
//
// Computes c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else -infinity.
//
//   - Shapes: a (keys, queries, ..). c has the shape of a.
//   - Types: F32, F16 or BF16. Elements are copied exactly.
//   - Result: The type of a.
//   - nPast: position of the first query. At least 0.
func (c *Context) DiagMaskInf(a *Tensor, nPast int64) (*Tensor, error) {
	return c.construct("diag_mask_inf", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_diag_mask_inf(c.ptr, a.ptr, C.int64_t(nPast))
	})
}

// DiagMaskZero sets the attention scores of later positions to 0 (causal mask).
//
// Computes c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else 0.
//
//   - Shapes: a (keys, queries, ..). c has the shape of a.
//   - Types: F32, F16 or BF16. Elements are copied exactly.
//   - Result: The type of a.
//   - nPast: position of the first query. At least 0.
func (c *Context) DiagMaskZero(a *Tensor, nPast int64) (*Tensor, error) {
	return c.construct("diag_mask_zero", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_diag_mask_zero(c.ptr, a.ptr, C.int64_t(nPast))
	})
}

// AccOptions holds the optional attributes of [Context.Acc]. A field that is
// zero has its default.
type AccOptions struct {
	// Stride in bytes from one row of the window to the next. 0 selects
	// that of c. At least 0. Default: 0.
	Nb1 int64
	// Stride in bytes from one matrix of the window to the next. 0 selects
	// that of c. At least 0. Default: 0.
	Nb2 int64
	// Stride in bytes of dimension 3 of the window. 0 selects that of c. At
	// least 0. Default: 0.
	Nb3 int64
	// Start of the window, in bytes. At least 0. Default: 0.
	Offset int64
}

// Acc adds b to a window of a copy of a.
//
// Computes c = a; window(c)[i0, i1, i2, i3] += b[i0, i1, i2, i3].
//
// The window starts Offset bytes after the first element of c and has the
// strides Nb1, Nb2 and Nb3. a is not changed.
//
//   - Shapes: c has the shape of a and is contiguous. b has any shape that
//     fits. No two elements of the window may share memory.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32 and rounded
//     once to the type of a.
//   - Result: The type of a.
func (c *Context) Acc(a, b *Tensor, options *AccOptions) (*Tensor, error) {
	params := C.tl_acc_params{struct_size: C.sizeof_tl_acc_params}
	if options != nil {
		params.nb1 = C.int64_t(options.Nb1)
		params.nb2 = C.int64_t(options.Nb2)
		params.nb3 = C.int64_t(options.Nb3)
		params.offset = C.int64_t(options.Offset)
	}
	return c.construct("acc", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_acc(c.ptr, a.ptr, b.ptr, &params)
	})
}

// SetOptions holds the optional attributes of [Context.Set]. A field that is
// zero has its default.
type SetOptions struct {
	// Stride in bytes from one row of the window to the next. 0 selects
	// that of c. At least 0. Default: 0.
	Nb1 int64
	// Stride in bytes from one matrix of the window to the next. 0 selects
	// that of c. At least 0. Default: 0.
	Nb2 int64
	// Stride in bytes of dimension 3 of the window. 0 selects that of c. At
	// least 0. Default: 0.
	Nb3 int64
	// Start of the window, in bytes. At least 0. Default: 0.
	Offset int64
}

// Set stores b in a window of a copy of a.
//
// Computes c = a; window(c)[i0, i1, i2, i3] = b[i0, i1, i2, i3].
//
// The window starts Offset bytes after the first element of c and has the
// strides Nb1, Nb2 and Nb3. a is not changed.
//
//   - Shapes: c has the shape of a and is contiguous. b has any shape that
//     fits. No two elements of the window may share memory.
//   - Types: Any type, the same for a and b. Elements are copied exactly.
//   - Result: The type of a.
func (c *Context) Set(a, b *Tensor, options *SetOptions) (*Tensor, error) {
	params := C.tl_set_params{struct_size: C.sizeof_tl_set_params}
	if options != nil {
		params.nb1 = C.int64_t(options.Nb1)
		params.nb2 = C.int64_t(options.Nb2)
		params.nb3 = C.int64_t(options.Nb3)
		params.offset = C.int64_t(options.Offset)
	}
	return c.construct("set", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_set(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Gather gathers elements of a by index along a dimension.
//
// Computes c[i0, i1, i2, i3] = a[indices[i0, i1, i2, i3], i1, i2, i3].
//
// The formula is for dim 0. For another dimension, the index takes the place of
// i1, i2 or i3.
//
//   - Shapes: c has the shape of indices. In dimensions other than dim, indices
//     is at most as large as a.
//   - Types: a has any type that is not quantised, and indices is I32 or I64.
//     Elements are copied exactly.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - Computing fails with [StatusInvalidArgument] for an index out of range.
//     The message names the first such element.
func (c *Context) Gather(a, indices *Tensor, dim int64) (*Tensor, error) {
	return c.construct("gather", []*Tensor{a, indices}, func() *C.tl_tensor {
		return C.tl_gather(c.ptr, a.ptr, indices.ptr, C.int64_t(dim))
	})
}

// AddId adds to each row of a the row of b that ids selects.
//
// Computes c[i, u, t] = a[i, u, t] + b[i, ids[u, t]].
//
//   - Shapes: a (n, used, tokens), b (n, experts), ids (used, tokens). c has
//     the shape of a.
//   - Types: a and b are each F32, F16 or BF16, and ids is I32 or I64. Computed
//     in F32 and rounded once to the type of a.
//   - Result: The type of a.
//   - Computing fails with [StatusInvalidArgument] for a row index out of
//     range. The message names the first such element.
func (c *Context) AddId(a, b, ids *Tensor) (*Tensor, error) {
	return c.construct("add_id", []*Tensor{a, b, ids}, func() *C.tl_tensor {
		return C.tl_add_id(c.ptr, a.ptr, b.ptr, ids.ptr)
	})
}

// Arange makes a vector of equally spaced numbers.
//
// Computes c[i] = start + i step.
//
//   - Shapes: c (n), n = (stop - start) / step, rounded up. stop itself is not
//     included. n is 0 if start equals stop.
//   - Types: F32. Computed in F64 and rounded once.
//   - Result: F32.
//   - start: the first number.
//   - stop: end of the range, which is not included.
//   - step: difference between neighbours. It is negative if the numbers
//     decrease.
func (c *Context) Arange(start float64, stop float64, step float64) (*Tensor, error) {
	return c.construct("arange", nil, func() *C.tl_tensor {
		return C.tl_arange(c.ptr, C.double(start), C.double(stop), C.double(step))
	})
}

// ScatterAdd adds the elements of b to elements of a copy of a, by index along
// a dimension.
//
// Computes c = a;
// c[indices[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3], i1, i2, i3] +=
// b[i0, i1, i2, i3].
//
// The formula is for dim 0. For another dimension, the index takes the place of
// i1, i2 or i3. Elements are added in the order of b, so the bits are always
// the same. Integers wrap around. a is not changed.
//
//   - Shapes: c has the shape of a. In dimensions other than dim, b is at most
//     as large as a. indices (n0, n1, n2, n3) is broadcast to b: each of its
//     dimensions is 1 or divides that of b.
//   - Types: a is F32 and b is F32, F16 or BF16, or both are I32, I64 or F64.
//     indices is I32 or I64. c has the type of a.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - Computing fails with [StatusInvalidArgument] for an index out of range,
//     for which nothing is added. The message names the first such element.
func (c *Context) ScatterAdd(a, b, indices *Tensor, dim int64) (*Tensor, error) {
	return c.construct("scatter_add", []*Tensor{a, b, indices}, func() *C.tl_tensor {
		return C.tl_scatter_add(c.ptr, a.ptr, b.ptr, indices.ptr, C.int64_t(dim))
	})
}

// Flip reverses a along a dimension.
//
// Computes c[i] = a[n - 1 - i].
//
// i is the index in dimension dim, and n is the size of a there.
//
//   - Shapes: c has the shape of a.
//   - Types: Any type. If dim is 0, it is not quantised. Elements are copied
//     exactly.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
func (c *Context) Flip(a *Tensor, dim int64) (*Tensor, error) {
	return c.construct("flip", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_flip(c.ptr, a.ptr, C.int64_t(dim))
	})
}

// OneHot turns each index into a row with a 1 at the index and 0 elsewhere.
//
// Computes c[i, j0, j1, j2] = 1 if indices[j0, j1, j2] = i else 0.
//
// An index outside 0 to classes - 1, such as -1, gives a row of zeros.
//
//   - Shapes: indices (n0, n1, n2), c (classes, n0, n1, n2).
//   - Types: indices is an integer or BOOL. c is F32.
//   - Result: F32.
//   - classes: the number of classes. Range: 0 to 16777216.
func (c *Context) OneHot(indices *Tensor, classes int64) (*Tensor, error) {
	return c.construct("one_hot", []*Tensor{indices}, func() *C.tl_tensor {
		return C.tl_one_hot(c.ptr, indices.ptr, C.int64_t(classes))
	})
}

// Eye makes an identity matrix.
//
// Computes c[i, j] = 1 if i = j else 0.
//
//   - Shapes: c (n, n).
//   - Types: F32.
//   - Result: F32.
//   - n: the number of rows. Range: 0 to 16777216.
func (c *Context) Eye(n int64) (*Tensor, error) {
	return c.construct("eye", nil, func() *C.tl_tensor {
		return C.tl_eye(c.ptr, C.int64_t(n))
	})
}

// Linspace makes a vector of n equally spaced numbers from start to stop.
//
// Computes c[i] = start + i (stop - start) / (n - 1).
//
// stop is the last number, unlike that of [Context.Arange]. A single number is
// start.
//
//   - Shapes: c (n).
//   - Types: F32. Computed in F64 and rounded once, where F64 tells neighbours
//     apart.
//   - Result: F32.
//   - start: the first number.
//   - stop: the last number.
//   - n: how many numbers. At least 0.
func (c *Context) Linspace(start float64, stop float64, n int64) (*Tensor, error) {
	return c.construct("linspace", nil, func() *C.tl_tensor {
		return C.tl_linspace(c.ptr, C.double(start), C.double(stop), C.int64_t(n))
	})
}

// TimestepEmbedding turns each time into a row of cosines and sines of growing
// periods (sinusoidal embedding).
//
// Computes c[j, t] = cos(timesteps[t] w(j)) for j < h; c[j + h, t] =
// sin(timesteps[t] w(j)); w(j) = max_period^(-j / h); h = floor(dim / 2).
//
// The last element of a row is 0 if dim is odd.
//
//   - Shapes: timesteps (n), c (dim, n).
//   - Types: timesteps is F32, F16 or BF16. Computed in F32: angles are off by
//     up to 4e-7 of their size.
//   - Result: F32.
//   - dim: length of a row. Range: 1 to 1048576.
//   - maxPeriod: the period that the slowest of infinitely many waves would
//     have, in radians. At least 1.
func (c *Context) TimestepEmbedding(timesteps *Tensor, dim int64, maxPeriod int64) (*Tensor, error) {
	return c.construct("timestep_embedding", []*Tensor{timesteps}, func() *C.tl_tensor {
		return C.tl_timestep_embedding(c.ptr, timesteps.ptr, C.int64_t(dim), C.int64_t(maxPeriod))
	})
}

// UpscaleMode is the attribute Mode of [Context.Upscale]: the interpolation.
// Default: nearest.
type UpscaleMode int32

// The values of UpscaleMode.
const (
	// The nearest pixel.
	UpscaleModeNearest UpscaleMode = C.TL_UPSCALE_MODE_NEAREST
	// Linear interpolation in both dimensions.
	UpscaleModeBilinear UpscaleMode = C.TL_UPSCALE_MODE_BILINEAR
	// Cubic interpolation in both dimensions.
	UpscaleModeBicubic UpscaleMode = C.TL_UPSCALE_MODE_BICUBIC
)

// UpscaleOptions holds the optional attributes of [Context.Upscale]. A field
// that is zero has its default.
type UpscaleOptions struct {
	// Factor of the width and of the height. 0: Shape is the size. At
	// least 0. Default: 0.
	Factor int64
	// The interpolation. Default: nearest.
	Mode UpscaleMode
	// Shape of the result. Dimensions that it lacks are 1. Each at least 0.
	Shape [4]int64
	// If true, the centres of the pixels in the corners stay where they
	// are. Default: false.
	AlignCorners bool
	// If true, bilinear takes all pixels into account that an image becomes
	// smaller by. Default: false.
	Antialias bool
}

// Upscale enlarges or reduces images, by a factor or to a size.
//
// Computes c[i0, i1] = sum over j0 and j1 of w0(i0, j0) w1(i1, j1) a[j0, j1].
//
// In a dimension of n pixels that becomes one of m, the centre of pixel i is x
// = (i + 1/2) n / m - 1/2, or with AlignCorners i (n - 1) / (m - 1). nearest
// takes pixel floor(i n / m), or floor(i (n - 1) / (m - 1)). bilinear has the
// weights 1 - |j - x| for the pixels j around x, and bicubic those of cubic
// convolution with a = -0.75 (Keys, 1981) for the four around it. Beyond an
// edge, the pixels at the edge are used. With Antialias, bilinear has the
// weights 1 - |j - x| / max(1, n / m), divided by their sum, as far as they are
// above 0 and j exists. Dimensions 2 and 3 are always those of nearest.
//
//   - Shapes: a (w, h, x, y), c (factor w, factor h, x, y), or the shape Shape.
//     Either Factor or Shape is given.
//   - Types: F32, F16 or BF16. With nearest, elements are copied exactly.
//     Otherwise they are computed in F32, first between rows and then between
//     columns, and rounded once.
//   - Result: The type of a.
func (c *Context) Upscale(a *Tensor, options *UpscaleOptions) (*Tensor, error) {
	params := C.tl_upscale_params{struct_size: C.sizeof_tl_upscale_params}
	if options != nil {
		params.factor = C.int64_t(options.Factor)
		params.mode = C.tl_upscale_mode(options.Mode)
		for i, value := range options.Shape {
			params.ne[i] = C.int64_t(value)
		}
		params.align_corners = C.bool(options.AlignCorners)
		params.antialias = C.bool(options.Antialias)
	}
	return c.construct("upscale", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_upscale(c.ptr, a.ptr, &params)
	})
}

// PoolOp is the operation on a window.
type PoolOp int32

// The values of PoolOp.
const (
	// The maximum.
	PoolOpMax PoolOp = C.TL_POOL_1D_OP_MAX
	// The average.
	PoolOpAvg PoolOp = C.TL_POOL_1D_OP_AVG
)

// Pool1dOptions holds the optional attributes of [Context.Pool1d]. A field that
// is zero has its default.
type Pool1dOptions struct {
	// Stride of the windows. 0 selects k. At least 0. Default: 0.
	S int64
	// Padding at both ends of a row. At least 0. Default: 0.
	P int64
	// If true, an average counts padding as zeros. Default: false.
	CountPadding bool
}

// Pool1d takes the maximum or the average of each window that slides along the
// rows of a.
//
// Computes c[o] = max or average over t < k of a[o s + t - p].
//
// Only elements inside a take part. In a window without one, which p >= k
// makes, the maximum is the lowest number of F32 and the average 0, as in ggml.
// The maximum is exact, and is NaN if a window has a NaN. The average is summed
// in F64 and rounded once. It is taken over the elements inside a, as in ggml,
// or with CountPadding over all k, as in PyTorch.
//
//   - Shapes: a (n, ..), c ((n + 2 p - k) / s + 1, ..), rounded down.
//   - Types: F32, F16 or BF16.
//   - Result: The type of a.
//   - op: the operation on a window.
//   - k: length of the window. At least 1.
func (c *Context) Pool1d(a *Tensor, op PoolOp, k int64, options *Pool1dOptions) (*Tensor, error) {
	params := C.tl_pool_1d_params{struct_size: C.sizeof_tl_pool_1d_params}
	if options != nil {
		params.s = C.int64_t(options.S)
		params.p = C.int64_t(options.P)
		params.count_padding = C.bool(options.CountPadding)
	}
	return c.construct("pool_1d", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_pool_1d(c.ptr, a.ptr, C.tl_pool_1d_op(op), C.int64_t(k), &params)
	})
}

// Pool2dOptions holds the optional attributes of [Context.Pool2d]. A field that
// is zero has its default.
type Pool2dOptions struct {
	// Stride of the windows in dimension 0. 0 selects k0. At least 0.
	// Default: 0.
	S0 int64
	// Stride of the windows in dimension 1. 0 selects k1. At least 0.
	// Default: 0.
	S1 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// If true, an average does not count padding. Default: false.
	SkipPadding bool
}

// Pool2d takes the maximum or the average of each window that slides over the
// matrices of a.
//
// Computes c[x, y] = max or average over t0 < k0, t1 < k1 of
// a[x s0 + t0 - p0, y s1 + t1 - p1].
//
// The maximum is that of the elements inside a. In a window without one, which
// p0 >= k0 or p1 >= k1 makes, the maximum is the lowest number of F32 and the
// average 0, as in ggml. A maximum is exact, and is NaN if a window has a NaN.
// The average is summed in F64 and rounded once. It is taken over all k0 k1
// elements, where padding counts as zeros, as in ggml and PyTorch, or with
// SkipPadding over the elements inside a.
//
//   - Shapes: a (w, h, ..), c
//     ((w + 2 p0 - k0) / s0 + 1, (h + 2 p1 - k1) / s1 + 1, ..), rounded down.
//   - Types: F32, F16 or BF16.
//   - Result: The type of a.
//   - op: the operation on a window.
//   - k0: width of the window. At least 1.
//   - k1: height of the window. At least 1.
func (c *Context) Pool2d(a *Tensor, op PoolOp, k0 int64, k1 int64, options *Pool2dOptions) (*Tensor, error) {
	params := C.tl_pool_2d_params{struct_size: C.sizeof_tl_pool_2d_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.skip_padding = C.bool(options.SkipPadding)
	}
	return c.construct("pool_2d", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_pool_2d(c.ptr, a.ptr, C.tl_pool_2d_op(op), C.int64_t(k0), C.int64_t(k1), &params)
	})
}

// Im2colTo is the attribute To of [Context.Im2col]: type of the result.
// Default: f32.
type Im2colTo int32

// The values of Im2colTo.
const (
	Im2colToF32  Im2colTo = C.TL_IM2COL_TO_F32
	Im2colToF16  Im2colTo = C.TL_IM2COL_TO_F16
	Im2colToBf16 Im2colTo = C.TL_IM2COL_TO_BF16
)

// Im2colOptions holds the optional attributes of [Context.Im2col]. A field that
// is zero has its default.
type Im2colOptions struct {
	// Stride of the windows in dimension 0. At least 1. Default: 1.
	S0 int64
	// Stride of the windows in dimension 1. At least 1. Default: 1.
	S1 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
	// If true, b has images, else signals. Default: false.
	Is2D bool
	// Type of the result. Default: f32.
	To Im2colTo
}

// Im2col copies the elements under each window of a convolution into a row of
// the result.
//
// Computes c[(channel kh + ty) kw + tx, x, y, n] =
// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off. a is the kernel, of which only the shape is used. The convolution
// is the product of the result and the kernel, reshaped to
// (kw kh channels, outputs).
//
//   - Shapes: For images: a (kw, kh, channels, outputs), b
//     (w, h, channels, images), c (kw kh channels, w', h', images), with w' =
//     (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1)
//     d1 - 1) / s1 + 1, both rounded down. For signals: a
//     (k, channels, outputs), b (n, channels, signals), c
//     (k channels, (n + 2 p0 - (k - 1) d0 - 1) / s0 + 1, signals), rounded
//     down.
//   - Types: a and b are each F32, F16 or BF16. c has the type To, to which
//     each element is rounded once.
func (c *Context) Im2col(a, b *Tensor, options *Im2colOptions) (*Tensor, error) {
	params := C.tl_im2col_params{struct_size: C.sizeof_tl_im2col_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
		params.is_2d = C.bool(options.Is2D)
		params.to = C.tl_im2col_to(options.To)
	}
	return c.construct("im2col", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_im2col(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Conv1dOptions holds the optional attributes of [Context.Conv1d]. A field that
// is zero has its default.
type Conv1dOptions struct {
	// Stride of the windows. At least 1. Default: 1.
	S int64
	// Padding at both ends of a row. At least 0. Default: 0.
	P int64
	// Dilation: the distance between the taps of a window. At least 1.
	// Default: 1.
	D int64
}

// Conv1d convolves the signals b with the kernel a.
//
// Computes c[x, m, n] = sum over channels and t < k of a[t, channel, m]
// b[x s + t d - p, channel, n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off.
//
//   - Shapes: a (k, channels, outputs), b (n, channels, signals), c
//     ((n + 2 p - (k - 1) d - 1) / s + 1, outputs, signals), rounded down.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) Conv1d(a, b *Tensor, options *Conv1dOptions) (*Tensor, error) {
	params := C.tl_conv_1d_params{struct_size: C.sizeof_tl_conv_1d_params}
	if options != nil {
		params.s = C.int64_t(options.S)
		params.p = C.int64_t(options.P)
		params.d = C.int64_t(options.D)
	}
	return c.construct("conv_1d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_1d(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Conv2dOptions holds the optional attributes of [Context.Conv2d]. A field that
// is zero has its default.
type Conv2dOptions struct {
	// Stride of the windows in dimension 0. At least 1. Default: 1.
	S0 int64
	// Stride of the windows in dimension 1. At least 1. Default: 1.
	S1 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
}

// Conv2d convolves the images b with the kernel a.
//
// Computes c[x, y, m, n] = sum over channels, tx < kw and ty < kh of
// a[tx, ty, channel, m] b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off.
//
//   - Shapes: a (kw, kh, channels, outputs), b (w, h, channels, images), c
//     (w', h', outputs, images), with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 +
//     1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) Conv2d(a, b *Tensor, options *Conv2dOptions) (*Tensor, error) {
	params := C.tl_conv_2d_params{struct_size: C.sizeof_tl_conv_2d_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
	}
	return c.construct("conv_2d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_2d(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Conv1dDwOptions holds the optional attributes of [Context.Conv1dDw]. A field
// that is zero has its default.
type Conv1dDwOptions struct {
	// Stride of the windows. At least 1. Default: 1.
	S int64
	// Padding at both ends of a row. At least 0. Default: 0.
	P int64
	// Dilation: the distance between the taps of a window. At least 1.
	// Default: 1.
	D int64
}

// Conv1dDw convolves each channel of the signals b with the same channel of the
// kernel a (depthwise).
//
// Computes c[x, m, n] = sum over t < k of a[t, 0, m] b[x s + t d - p, m, n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off.
//
//   - Shapes: a (k, 1, channels), b (n, channels, signals), c
//     ((n + 2 p - (k - 1) d - 1) / s + 1, channels, signals), rounded down.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) Conv1dDw(a, b *Tensor, options *Conv1dDwOptions) (*Tensor, error) {
	params := C.tl_conv_1d_dw_params{struct_size: C.sizeof_tl_conv_1d_dw_params}
	if options != nil {
		params.s = C.int64_t(options.S)
		params.p = C.int64_t(options.P)
		params.d = C.int64_t(options.D)
	}
	return c.construct("conv_1d_dw", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_1d_dw(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Conv2dDwOptions holds the optional attributes of [Context.Conv2dDw]. A field
// that is zero has its default.
type Conv2dDwOptions struct {
	// Stride of the windows in dimension 0. At least 1. Default: 1.
	S0 int64
	// Stride of the windows in dimension 1. At least 1. Default: 1.
	S1 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
}

// Conv2dDw convolves each channel of the images b with the same channel of the
// kernel a (depthwise).
//
// Computes c[x, y, m, n] = sum over tx < kw and ty < kh of a[tx, ty, 0, m]
// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, m, n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off.
//
//   - Shapes: a (kw, kh, 1, channels), b (w, h, channels, images), c
//     (w', h', channels, images), with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 +
//     1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) Conv2dDw(a, b *Tensor, options *Conv2dDwOptions) (*Tensor, error) {
	params := C.tl_conv_2d_dw_params{struct_size: C.sizeof_tl_conv_2d_dw_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
	}
	return c.construct("conv_2d_dw", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_2d_dw(c.ptr, a.ptr, b.ptr, &params)
	})
}

// ConvTranspose1dOptions holds the optional attributes of
// [Context.ConvTranspose1d]. A field that is zero has its default.
type ConvTranspose1dOptions struct {
	// Distance in the result of elements that are neighbours in b. At
	// least 1. Default: 1.
	S int64
	// Number of elements cut off at both ends of the result. At least 0.
	// Default: 0.
	P int64
	// Dilation: the distance between the taps of a window. At least 1.
	// Default: 1.
	D int64
}

// ConvTranspose1d computes the transposed convolution of the signals b with the
// kernel a.
//
// Computes c[x s + t d - p, m, n] = sum over channels, and the x and t < k that
// give this index, of a[t, m, channel] b[x, channel, n].
//
//   - Shapes: a (k, outputs, channels), b (n, channels, signals), c
//     ((n - 1) s - 2 p + (k - 1) d + 1, outputs, signals).
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) ConvTranspose1d(a, b *Tensor, options *ConvTranspose1dOptions) (*Tensor, error) {
	params := C.tl_conv_transpose_1d_params{struct_size: C.sizeof_tl_conv_transpose_1d_params}
	if options != nil {
		params.s = C.int64_t(options.S)
		params.p = C.int64_t(options.P)
		params.d = C.int64_t(options.D)
	}
	return c.construct("conv_transpose_1d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_transpose_1d(c.ptr, a.ptr, b.ptr, &params)
	})
}

// ConvTranspose2dOptions holds the optional attributes of
// [Context.ConvTranspose2d]. A field that is zero has its default.
type ConvTranspose2dOptions struct {
	// Distance in the result of elements that are neighbours in b. At
	// least 1. Default: 1.
	Stride int64
	// Number of elements cut off at both ends of dimension 0. At least 0.
	// Default: 0.
	P0 int64
	// Number of elements cut off at both ends of dimension 1. At least 0.
	// Default: 0.
	P1 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
}

// ConvTranspose2d computes the transposed convolution of the images b with the
// kernel a.
//
// Computes c[x stride + tx d0 - p0, y stride + ty d1 - p1, m, n] = sum over
// channels, and the x, y, tx < kw and ty < kh that give these indices, of
// a[tx, ty, m, channel] b[x, y, channel, n].
//
//   - Shapes: a (kw, kh, outputs, channels), b (w, h, channels, images), c
//     (w', h', outputs, images), with w' = (w - 1) stride - 2 p0 + (kw - 1)
//     d0 + 1 and h' = (h - 1) stride - 2 p1 + (kh - 1) d1 + 1.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
func (c *Context) ConvTranspose2d(a, b *Tensor, options *ConvTranspose2dOptions) (*Tensor, error) {
	params := C.tl_conv_transpose_2d_params{struct_size: C.sizeof_tl_conv_transpose_2d_params}
	if options != nil {
		params.stride = C.int64_t(options.Stride)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
	}
	return c.construct("conv_transpose_2d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_transpose_2d(c.ptr, a.ptr, b.ptr, &params)
	})
}

// Im2col3dTo is the attribute To of [Context.Im2col3d]: type of the result.
// Default: f32.
type Im2col3dTo int32

// The values of Im2col3dTo.
const (
	Im2col3dToF32  Im2col3dTo = C.TL_IM2COL_3D_TO_F32
	Im2col3dToF16  Im2col3dTo = C.TL_IM2COL_3D_TO_F16
	Im2col3dToBf16 Im2col3dTo = C.TL_IM2COL_3D_TO_BF16
)

// Im2col3dOptions holds the optional attributes of [Context.Im2col3d]. A field
// that is zero has its default.
type Im2col3dOptions struct {
	// Stride of the windows in dimension 0. At least 1. Default: 1.
	S0 int64
	// Stride of the windows in dimension 1. At least 1. Default: 1.
	S1 int64
	// Stride of the windows in dimension 2. At least 1. Default: 1.
	S2 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// Padding at both ends of dimension 2. At least 0. Default: 0.
	P2 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
	// Dilation: the distance between the taps of a window in dimension 2.
	// At least 1. Default: 1.
	D2 int64
	// Type of the result. Default: f32.
	To Im2col3dTo
}

// Im2col3d copies the elements under each window of a convolution of volumes
// into a row of the result.
//
// Computes c[((channel kd + tz) kh + ty) kw + tx, x, y, z + d' n] =
// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off. a is the kernel, of which only the shape is used.
//
//   - Shapes: a (kw, kh, kd, channels outputs), b (w, h, d, channels volumes),
//     c (kw kh kd channels, w', h', d' volumes), with w' = (w + 2 p0 - (kw - 1)
//     d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both
//     rounded down, and d' in the same way. kd is at most 4096.
//   - Types: a and b are each F32, F16 or BF16. c has the type To, to which
//     each element is rounded once.
//   - channels: number of channels of a volume of b. At least 1.
func (c *Context) Im2col3d(a, b *Tensor, channels int64, options *Im2col3dOptions) (*Tensor, error) {
	params := C.tl_im2col_3d_params{struct_size: C.sizeof_tl_im2col_3d_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.s2 = C.int64_t(options.S2)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.p2 = C.int64_t(options.P2)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
		params.d2 = C.int64_t(options.D2)
		params.to = C.tl_im2col_3d_to(options.To)
	}
	return c.construct("im2col_3d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_im2col_3d(c.ptr, a.ptr, b.ptr, C.int64_t(channels), &params)
	})
}

// Conv3dOptions holds the optional attributes of [Context.Conv3d]. A field that
// is zero has its default.
type Conv3dOptions struct {
	// Stride of the windows in dimension 0. At least 1. Default: 1.
	S0 int64
	// Stride of the windows in dimension 1. At least 1. Default: 1.
	S1 int64
	// Stride of the windows in dimension 2. At least 1. Default: 1.
	S2 int64
	// Padding at both ends of dimension 0. At least 0. Default: 0.
	P0 int64
	// Padding at both ends of dimension 1. At least 0. Default: 0.
	P1 int64
	// Padding at both ends of dimension 2. At least 0. Default: 0.
	P2 int64
	// Dilation: the distance between the taps of a window in dimension 0.
	// At least 1. Default: 1.
	D0 int64
	// Dilation: the distance between the taps of a window in dimension 1.
	// At least 1. Default: 1.
	D1 int64
	// Dilation: the distance between the taps of a window in dimension 2.
	// At least 1. Default: 1.
	D2 int64
}

// Conv3d convolves the volumes b with the kernel a.
//
// Computes c[x, y, z, m + outputs n] = sum over channels, tx < kw, ty < kh and
// tz < kd of a[tx, ty, tz, channel + channels m]
// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n].
//
// Elements outside b count as zeros. A window that is larger than b with its
// padding is refused, as by PyTorch: ggml computes one position, whose window
// is cut off. It is the sum of a [Context.Conv2d] for each plane of the kernel.
//
//   - Shapes: a (kw, kh, kd, channels outputs), b (w, h, d, channels volumes),
//     c (w', h', d', outputs volumes), with w' = (w + 2 p0 - (kw - 1) d0 - 1) /
//     s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down,
//     and d' in the same way. kd is at most 4096.
//   - Types: a and b are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
//   - channels: number of channels of a volume of b. At least 1.
func (c *Context) Conv3d(a, b *Tensor, channels int64, options *Conv3dOptions) (*Tensor, error) {
	params := C.tl_conv_3d_params{struct_size: C.sizeof_tl_conv_3d_params}
	if options != nil {
		params.s0 = C.int64_t(options.S0)
		params.s1 = C.int64_t(options.S1)
		params.s2 = C.int64_t(options.S2)
		params.p0 = C.int64_t(options.P0)
		params.p1 = C.int64_t(options.P1)
		params.p2 = C.int64_t(options.P2)
		params.d0 = C.int64_t(options.D0)
		params.d1 = C.int64_t(options.D1)
		params.d2 = C.int64_t(options.D2)
	}
	return c.construct("conv_3d", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_conv_3d(c.ptr, a.ptr, b.ptr, C.int64_t(channels), &params)
	})
}

// Col2im1d adds up windows that overlap: the second half of a transposed
// convolution of signals.
//
// Computes c[x, channel] = sum over t < k and j with j stride + t - padding = x
// of a[t + k channel, j].
//
//   - Shapes: a (k channels, n), c ((n - 1) stride + k - 2 padding, channels).
//     k is at most 4096 times stride.
//   - Types: F32, F16 or BF16. Sums are computed in F32 and rounded once.
//   - Result: The type of a.
//   - stride: distance of neighbouring windows in the result. At least 1.
//   - padding: number of elements cut off at both ends of the result. At
//     least 0.
//   - channels: number of channels of the result. At least 1.
func (c *Context) Col2im1d(a *Tensor, stride int64, padding int64, channels int64) (*Tensor, error) {
	return c.construct("col2im_1d", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_col2im_1d(c.ptr, a.ptr, C.int64_t(stride), C.int64_t(padding), C.int64_t(channels))
	})
}

// SsmConvOptions holds the optional attributes of [Context.SsmConv]. A field
// that is zero has its default.
type SsmConvOptions struct {
	// If true, Silu is applied to the sums. Default: false.
	Silu bool
}

// SsmConv convolves each channel of sequences with its own short kernel,
// without looking ahead, as state space models do.
//
// Computes c[i, t, s] = f(sum over j < k of kernel[j, i] x[t + j, i, s] +
// bias[i]); x is `state` followed by `a`, or `a`.
//
// f is Silu if that is true, otherwise nothing. The first tokens need k - 1
// elements before them: these are the state, which are the last k - 1 elements
// of x when the next tokens come, or a begins with them. A [Context.Conv1dDw],
// transposed.
//
//   - Shapes: a (t, channels, sequences) with a state
//     (k - 1, channels, sequences), or (k - 1 + t, channels, sequences) without
//     one. kernel (k, channels), bias (channels), c (channels, t, sequences).
//   - Types: All operands are each F32, F16 or BF16. Computed in F32.
//   - Result: F32.
//   - state and bias are optional: nil leaves one out.
func (c *Context) SsmConv(a, kernel, state, bias *Tensor, options *SsmConvOptions) (*Tensor, error) {
	state, bias = orNone(state), orNone(bias)
	params := C.tl_ssm_conv_params{struct_size: C.sizeof_tl_ssm_conv_params}
	if options != nil {
		params.silu = C.bool(options.Silu)
	}
	return c.construct("ssm_conv", []*Tensor{a, kernel, state, bias}, func() *C.tl_tensor {
		return C.tl_ssm_conv(c.ptr, a.ptr, kernel.ptr, state.ptr, bias.ptr, &params)
	})
}

// RandomUniform draws random numbers that are uniformly distributed between two
// bounds.
//
// Computes c[i] = low + (high - low) u[i]; u[i] = (the upper 24 bits of word i)
// 2^-24.
//
// Elements i are counted along dimension 0 first. Word i is word i mod 4 of
// Philox4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel
// Random Numbers: As Easy as 1, 2, 3, 2011). Its key is the lower and the upper
// half of the seed. Its counter is i / 4, stream, and the lower and the upper
// half of the counter in state. So results depend on state, stream and the
// shape alone, and a graph draws the same numbers in each run until the caller
// advances the counter. Operations with the same stream draw the same words,
// and those with another stream draw others. low <= c <= high: c is high only
// if low + (high - low) (1 - 2^-24) rounds to it, and never if low is 0 and
// high is above 2^-126.
//
//   - Shapes: state (2): a seed and a counter. c has at most 2^34 elements.
//   - Types: state is I64, c is F32. The bounds are rounded to F32, and so is
//     each operation of the formula, so the bits are the same on every device.
//   - Result: F32.
//   - shape: shape of the result. Dimensions that it lacks are 1. Each at
//     least 0.
//   - low: lower bound.
//   - high: upper bound. It is not less than low.
//   - stream: stream of random words. Operations that are to draw different
//     numbers need different streams. Range: 0 to 2^31 - 1.
func (c *Context) RandomUniform(state *Tensor, shape []int64, low float64, high float64, stream int64) (*Tensor, error) {
	return c.construct("random_uniform", []*Tensor{state}, func() *C.tl_tensor {
		return C.tl_random_uniform(c.ptr, state.ptr, C.int32_t(len(shape)), dims(shape), C.double(low), C.double(high), C.int64_t(stream))
	})
}

// RandomNormal draws normally distributed random numbers.
//
// Computes c[i] = mean + deviation z; z = quantile of the standard normal
// distribution at (word i + 1/2) 2^-32.
//
// Words are those of [Context.RandomUniform]. The quantile is computed by the
// rational functions of M. J. Wichura (AS 241, 1988). The largest |z| is 6.338,
// at 2^-33.
//
//   - Shapes: state (2): a seed and a counter. c has at most 2^34 elements.
//   - Types: state is I64, c is F32. Everything is computed in F64, with each
//     operation rounded, and c is then rounded to F32, so the bits are the same
//     on every device.
//   - Result: F32.
//   - shape: shape of the result. Dimensions that it lacks are 1. Each at
//     least 0.
//   - mean: mean of the distribution.
//   - deviation: standard deviation. At least 0.
//   - stream: stream of random words. Operations that are to draw different
//     numbers need different streams. Range: 0 to 2^31 - 1.
func (c *Context) RandomNormal(state *Tensor, shape []int64, mean float64, deviation float64, stream int64) (*Tensor, error) {
	return c.construct("random_normal", []*Tensor{state}, func() *C.tl_tensor {
		return C.tl_random_normal(c.ptr, state.ptr, C.int32_t(len(shape)), dims(shape), C.double(mean), C.double(deviation), C.int64_t(stream))
	})
}

// Dropout sets random elements of a to 0 and scales the others up to keep the
// mean.
//
// Computes c[i] = a[i] / (1 - p) if word i >= p 2^32 else 0.
//
// Words are those of [Context.RandomUniform], with i counted along dimension 0
// first. An element that is dropped becomes 0 even if it is NaN.
//
//   - Shapes: c has the shape of a, with at most 2^34 elements. state (2): a
//     seed and a counter.
//   - Types: a is F32, F16 or BF16 with any strides, and state is I64. 1 - p is
//     rounded to F32, and the quotient is rounded to F32 and then to the type
//     of a, so the bits are the same on every device.
//   - Result: The type of a.
//   - p: probability that an element is dropped: 0 or more, and less than 1.
//   - stream: stream of random words. Operations that are to draw different
//     numbers need different streams. Range: 0 to 2^31 - 1.
func (c *Context) Dropout(a, state *Tensor, p float64, stream int64) (*Tensor, error) {
	return c.construct("dropout", []*Tensor{a, state}, func() *C.tl_tensor {
		return C.tl_dropout(c.ptr, a.ptr, state.ptr, C.double(p), C.int64_t(stream))
	})
}

// OptStepSgd updates a by a step of gradient descent.
//
// Computes a[i] = a[i] (1 - rate decay) - rate grad[i].
//
// Operands that are written must be contiguous and not constant, and must not
// share memory with another operand. A node that was differentiated reads the
// values from before the step, regardless of the order of the outputs of the
// graph.
//
//   - Shapes: a and grad have the same shape. settings (2) holds rate and
//     decay.
//   - Types: a is F32, grad is F32, F16 or BF16, and settings is F32. Each
//     operation of the formula is rounded to F32, so the bits are the same on
//     every device.
//   - Result: A view of a, which is overwritten when the node is computed. Make
//     the result an output of the graph, or use it in another node: otherwise
//     nothing is written.
func (c *Context) OptStepSgd(a, grad, settings *Tensor) (*Tensor, error) {
	return c.construct("opt_step_sgd", []*Tensor{a, grad, settings}, func() *C.tl_tensor {
		return C.tl_opt_step_sgd(c.ptr, a.ptr, grad.ptr, settings.ptr)
	})
}

// OptStepMomentumOptions holds the optional attributes of
// [Context.OptStepMomentum]. A field that is zero has its default.
type OptStepMomentumOptions struct {
	// If true, the last term is rate (grad[i] + momentum velocity[i])
	// (Nesterov). Default: false.
	Nesterov bool
}

// OptStepMomentum updates a by a step of gradient descent with momentum.
//
// Computes velocity[i] = momentum velocity[i] + grad[i]; a[i] = a[i] (1 - rate
// decay) - rate velocity[i].
//
// Operands that are written must be contiguous and not constant, and must not
// share memory with another operand. A node that was differentiated reads the
// values from before the step, regardless of the order of the outputs of the
// graph.
//
//   - Shapes: a, grad and velocity have the same shape. velocity is zeros
//     before the first step. settings (3) holds rate, decay and momentum.
//   - Types: a and velocity are F32, grad is F32, F16 or BF16, and settings is
//     F32. Each operation of the formula is rounded to F32, so the bits are the
//     same on every device.
//   - Result: A view of a, which is overwritten when the node is computed. Make
//     the result an output of the graph, or use it in another node: otherwise
//     nothing is written.
//   - velocity is overwritten as well.
func (c *Context) OptStepMomentum(a, grad, velocity, settings *Tensor, options *OptStepMomentumOptions) (*Tensor, error) {
	params := C.tl_opt_step_momentum_params{struct_size: C.sizeof_tl_opt_step_momentum_params}
	if options != nil {
		params.nesterov = C.bool(options.Nesterov)
	}
	return c.construct("opt_step_momentum", []*Tensor{a, grad, velocity, settings}, func() *C.tl_tensor {
		return C.tl_opt_step_momentum(c.ptr, a.ptr, grad.ptr, velocity.ptr, settings.ptr, &params)
	})
}

// OptStepAdamw updates a by a step of AdamW (I. Loshchilov, F. Hutter,
// Decoupled Weight Decay Regularization, 2019).
//
// Computes m[i] = beta1 m[i] + (1 - beta1) grad[i]; v[i] = beta2 v[i] + (1 -
// beta2) grad[i]^2; a[i] = a[i] (1 - rate decay) - rate m[i] unbias1 /
// (sqrt(v[i] unbias2) + eps).
//
// With a decay of 0 this is Adam. Operands that are written must be contiguous
// and not constant, and must not share memory with another operand. A node that
// was differentiated reads the values from before the step, regardless of the
// order of the outputs of the graph.
//
//   - Shapes: a, grad, m and v have the same shape. m and v are zeros before
//     the first step. settings (7) holds rate, beta1, beta2, eps, decay,
//     unbias1 = 1 / (1 - beta1^t) and unbias2 = 1 / (1 - beta2^t), where t is 1
//     in the first step.
//   - Types: a, m and v are F32, grad is F32, F16 or BF16, and settings is F32.
//     Each operation of the formula is rounded to F32, so the bits are the same
//     on every device.
//   - Result: A view of a, which is overwritten when the node is computed. Make
//     the result an output of the graph, or use it in another node: otherwise
//     nothing is written.
//   - m and v are overwritten as well.
func (c *Context) OptStepAdamw(a, grad, m, v, settings *Tensor) (*Tensor, error) {
	return c.construct("opt_step_adamw", []*Tensor{a, grad, m, v, settings}, func() *C.tl_tensor {
		return C.tl_opt_step_adamw(c.ptr, a.ptr, grad.ptr, m.ptr, v.ptr, settings.ptr)
	})
}

// OptStepLion updates a by a step of Lion (X. Chen and others, Symbolic
// Discovery of Optimization Algorithms, 2023).
//
// Computes a[i] = a[i] (1 - rate decay) - rate sgn(beta1 m[i] + (1 - beta1)
// grad[i]); m[i] = beta2 m[i] + (1 - beta2) grad[i].
//
// Operands that are written must be contiguous and not constant, and must not
// share memory with another operand. A node that was differentiated reads the
// values from before the step, regardless of the order of the outputs of the
// graph.
//
//   - Shapes: a, grad and m have the same shape. m is zeros before the first
//     step. settings (4) holds rate, beta1, beta2 and decay.
//   - Types: a and m are F32, grad is F32, F16 or BF16, and settings is F32.
//     Each operation of the formula is rounded to F32, so the bits are the same
//     on every device.
//   - Result: A view of a, which is overwritten when the node is computed. Make
//     the result an output of the graph, or use it in another node: otherwise
//     nothing is written.
//   - m is overwritten as well.
func (c *Context) OptStepLion(a, grad, m, settings *Tensor) (*Tensor, error) {
	return c.construct("opt_step_lion", []*Tensor{a, grad, m, settings}, func() *C.tl_tensor {
		return C.tl_opt_step_lion(c.ptr, a.ptr, grad.ptr, m.ptr, settings.ptr)
	})
}

// SparseBy is the test of a score s that selects active neurons.
type SparseBy int32

// The values of SparseBy.
const (
	// s >= threshold.
	SparseByScore SparseBy = C.TL_MUL_MAT_SPARSE_BY_SCORE
	// abs(s) >= threshold.
	SparseByMagnitude SparseBy = C.TL_MUL_MAT_SPARSE_BY_MAGNITUDE
	// s > 0.
	SparseByPositive SparseBy = C.TL_MUL_MAT_SPARSE_BY_POSITIVE
)

// MulMatSparseOptions holds the optional attributes of [Context.MulMatSparse].
// A field that is zero has its default.
type MulMatSparseOptions struct {
	// The test for active neurons, where s is the score. A NaN is not
	// active. Default: score.
	By SparseBy
	// Threshold of the tests score and magnitude, rounded to F32.
	// Default: 0.
	Threshold float64
	// Number of neurons. Required with rows and without scores. At least 0.
	// Default: 0.
	N int64
	// If true, no kernel rounds an operand. Default: false.
	Exact bool
}

// MulMatSparse computes the elements of a matrix product whose neurons are
// active, and sets all others to 0.
//
// Computes c[i, t] = sum over k of a[k, i] * b[k, t] if neuron i is active for
// token t else 0.
//
// Row i of a belongs to neuron i, and row t of b to token t. With rows, a has
// the weights of these neurons only, in ascending order, and c is 0 for all
// others. Without scores, rows is required, and all of its neurons are active.
// k = 0 gives zeros.
//
//   - Shapes: a (k, n), b (k, T), scores (n, T), c (n, T). With rows (m): a
//     (k, m), and n is that of scores or the attribute N.
//   - Types: a and b as for [Context.MulMat], and with the same rounding of b.
//     scores is F32, and rows is I32.
//   - Result: F32.
//   - scores and rows are optional: nil leaves one out.
//   - Computing fails with [StatusInvalidArgument] for rows that do not ascend,
//     or are out of range. The message names the first such element.
func (c *Context) MulMatSparse(a, b, scores, rows *Tensor, options *MulMatSparseOptions) (*Tensor, error) {
	scores, rows = orNone(scores), orNone(rows)
	params := C.tl_mul_mat_sparse_params{struct_size: C.sizeof_tl_mul_mat_sparse_params}
	if options != nil {
		params.by = C.tl_mul_mat_sparse_by(options.By)
		params.threshold = C.double(options.Threshold)
		params.n = C.int64_t(options.N)
		params.exact = C.bool(options.Exact)
	}
	return c.construct("mul_mat_sparse", []*Tensor{a, b, scores, rows}, func() *C.tl_tensor {
		return C.tl_mul_mat_sparse(c.ptr, a.ptr, b.ptr, scores.ptr, rows.ptr, &params)
	})
}

// AxpyOptions holds the optional attributes of [Context.Axpy]. A field that is
// zero has its default.
type AxpyOptions struct {
	// The test for active neurons, where s is the score or, without scores,
	// the element of h. A NaN in scores is not active, and a NaN in h is.
	// Default: score.
	By SparseBy
	// Threshold of the tests score and magnitude, rounded to F32.
	// Default: 0.
	Threshold float64
}

// Axpy sums the rows of aT, each multiplied by the activation of its neuron,
// over the active neurons.
//
// Computes c[k, t] = sum over active i with h[i, t] != 0 of h[i, t] *
// a_t[k, i].
//
// This is the product with the transpose of aT, of which only the rows of
// active neurons are read. With rows, aT has the rows of these neurons only, in
// ascending order, and all others count as zeros. Without scores, h itself is
// tested. Products and sums are computed in F32, and no operand is rounded.
//
//   - Shapes: aT (k, n), h (n, T), scores (n, T), c (k, T). With rows (m): aT
//     (k, m).
//   - Types: aT has a float type, or a quantised type other than Q8_1 and Q8_K.
//     h is F32, F16 or BF16, scores is F32, and rows is I32.
//   - Result: F32.
//   - scores and rows are optional: nil leaves one out.
//   - Computing fails with [StatusInvalidArgument] for rows that do not ascend,
//     or are out of range. The message names the first such element.
func (c *Context) Axpy(aT, h, scores, rows *Tensor, options *AxpyOptions) (*Tensor, error) {
	scores, rows = orNone(scores), orNone(rows)
	params := C.tl_axpy_params{struct_size: C.sizeof_tl_axpy_params}
	if options != nil {
		params.by = C.tl_axpy_by(options.By)
		params.threshold = C.double(options.Threshold)
	}
	return c.construct("axpy", []*Tensor{aT, h, scores, rows}, func() *C.tl_tensor {
		return C.tl_axpy(c.ptr, aT.ptr, h.ptr, scores.ptr, rows.ptr, &params)
	})
}

// SparseFfnActivation is the attribute Activation of [Context.SparseFfn]: the
// activation of the gate. Default: relu.
type SparseFfnActivation int32

// The values of SparseFfnActivation.
const (
	SparseFfnActivationRelu SparseFfnActivation = C.TL_SPARSE_FFN_ACTIVATION_RELU
	SparseFfnActivationSilu SparseFfnActivation = C.TL_SPARSE_FFN_ACTIVATION_SILU
	SparseFfnActivationGelu SparseFfnActivation = C.TL_SPARSE_FFN_ACTIVATION_GELU
)

// SparseFfnFirst is the attribute First of [Context.SparseFfn]: the projection
// that is computed for all neurons and tested, if there are no scores. Default:
// gate.
type SparseFfnFirst int32

// The values of SparseFfnFirst.
const (
	SparseFfnFirstGate SparseFfnFirst = C.TL_SPARSE_FFN_FIRST_GATE
	SparseFfnFirstUp   SparseFfnFirst = C.TL_SPARSE_FFN_FIRST_UP
)

// SparseFfnOptions holds the optional attributes of [Context.SparseFfn]. A
// field that is zero has its default.
type SparseFfnOptions struct {
	// The activation of the gate. Default: relu.
	Activation SparseFfnActivation
	// The test for active neurons, where s is the score or, without scores,
	// the element of the projection. A NaN in scores is not active, and a
	// NaN in a projection is. Default: score.
	By SparseBy
	// Threshold of the tests score and magnitude, rounded to F32.
	// Default: 0.
	Threshold float64
	// The projection that is computed for all neurons and tested, if there
	// are no scores. Default: gate.
	First SparseFfnFirst
}

// SparseFfn computes a gated feed-forward block over its active neurons only.
//
// Computes c[j, t] = sum over active i of activation(sum over k of gate[k, i]
// x[k, t]) * (sum over k of up[k, i] x[k, t]) * down_t[j, i].
//
// Row i of each matrix belongs to neuron i, and the down projection is
// transposed. With rows, the matrices have the rows of these neurons only, in
// ascending order, out of the neurons that scores has. Without scores, the
// operation finds the active neurons itself: it computes one projection of all
// neurons, which First selects, and tests it. The projection by gate is tested
// after the activation. rows must then be left out.
//
//   - Shapes: x (k, T), gate (k, n), up (k, n), downT (m, n), scores (n, T), c
//     (m, T). With rows (r), the matrices have r rows instead of n.
//   - Types: gate, up and downT each have a float type, or a quantised type
//     other than Q8_1 and Q8_K. x is F32, F16 or BF16, scores is F32, and rows
//     is I32. Kernels may round x, as for [Context.MulMat].
//   - Result: F32.
//   - scores and rows are optional: nil leaves one out.
//   - Computing fails with [StatusInvalidArgument] for rows that do not ascend,
//     or are out of range. The message names the first such element.
func (c *Context) SparseFfn(x, gate, up, downT, scores, rows *Tensor, options *SparseFfnOptions) (*Tensor, error) {
	scores, rows = orNone(scores), orNone(rows)
	params := C.tl_sparse_ffn_params{struct_size: C.sizeof_tl_sparse_ffn_params}
	if options != nil {
		params.activation = C.tl_sparse_ffn_activation(options.Activation)
		params.by = C.tl_sparse_ffn_by(options.By)
		params.threshold = C.double(options.Threshold)
		params.first = C.tl_sparse_ffn_first(options.First)
	}
	return c.construct("sparse_ffn", []*Tensor{x, gate, up, downT, scores, rows}, func() *C.tl_tensor {
		return C.tl_sparse_ffn(c.ptr, x.ptr, gate.ptr, up.ptr, downT.ptr, scores.ptr, rows.ptr, &params)
	})
}

// BitwiseAnd keeps the bits that a and b both have.
//
// Computes c[i] = a[i mod shape(a)] & b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are both I8, I16, I32, I64, U8 or BOOL.
//   - Result: The type of a.
func (c *Context) BitwiseAnd(a, b *Tensor) (*Tensor, error) {
	return c.construct("bitwise_and", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_bitwise_and(c.ptr, a.ptr, b.ptr)
	})
}

// BitwiseOr joins the bits of a and b.
//
// Computes c[i] = a[i mod shape(a)] | b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are both I8, I16, I32, I64, U8 or BOOL.
//   - Result: The type of a.
func (c *Context) BitwiseOr(a, b *Tensor) (*Tensor, error) {
	return c.construct("bitwise_or", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_bitwise_or(c.ptr, a.ptr, b.ptr)
	})
}

// BitwiseXor keeps the bits that either a or b has, but not both.
//
// Computes c[i] = a[i mod shape(a)] ^ b[i mod shape(b)].
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are both I8, I16, I32, I64, U8 or BOOL.
//   - Result: The type of a.
func (c *Context) BitwiseXor(a, b *Tensor) (*Tensor, error) {
	return c.construct("bitwise_xor", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_bitwise_xor(c.ptr, a.ptr, b.ptr)
	})
}

// BitwiseNot inverts each bit of a; BOOL has one.
//
// Computes c[i] = ~a[i].
//
//   - Shapes: c has the shape of a.
//   - Types: I8, I16, I32, I64, U8 or BOOL.
//   - Result: The type of a.
func (c *Context) BitwiseNot(a *Tensor) (*Tensor, error) {
	return c.construct("bitwise_not", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_bitwise_not(c.ptr, a.ptr)
	})
}

// ShiftLeft moves the bits of each element of a up by as many places as b says.
//
// Computes c[i] = a[i mod shape(a)] * 2^b[i mod shape(b)].
//
// A b below 0, or as large as the bits of the type, moves all bits out. Bits
// that leave the type are lost, and zeros come in.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are both I8, I16, I32, I64 or U8.
//   - Result: The type of a.
func (c *Context) ShiftLeft(a, b *Tensor) (*Tensor, error) {
	return c.construct("shift_left", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_shift_left(c.ptr, a.ptr, b.ptr)
	})
}

// ShiftRight moves the bits of each element of a down by as many places as b
// says.
//
// Computes c[i] = floor(a[i mod shape(a)] / 2^b[i mod shape(b)]).
//
// A b below 0, or as large as the bits of the type, moves all bits out. Copies
// of the sign come in.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are both I8, I16, I32, I64 or U8.
//   - Result: The type of a.
func (c *Context) ShiftRight(a, b *Tensor) (*Tensor, error) {
	return c.construct("shift_right", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_shift_right(c.ptr, a.ptr, b.ptr)
	})
}

// LogicalAnd tests whether a and b are both not 0.
//
// Computes c[i] = 1 if a[i mod shape(a)] != 0 and b[i mod shape(b)] != 0
// else 0.
//
// NaN counts as not 0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each a float, an integer or BOOL. c is BOOL if both
//     are, has the type of a if that is F32, F16 or BF16, and is F32 otherwise.
func (c *Context) LogicalAnd(a, b *Tensor) (*Tensor, error) {
	return c.construct("logical_and", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_logical_and(c.ptr, a.ptr, b.ptr)
	})
}

// LogicalOr tests whether a or b is not 0.
//
// Computes c[i] = 1 if a[i mod shape(a)] != 0 or b[i mod shape(b)] != 0 else 0.
//
// NaN counts as not 0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each a float, an integer or BOOL. c is BOOL if both
//     are, has the type of a if that is F32, F16 or BF16, and is F32 otherwise.
func (c *Context) LogicalOr(a, b *Tensor) (*Tensor, error) {
	return c.construct("logical_or", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_logical_or(c.ptr, a.ptr, b.ptr)
	})
}

// LogicalXor tests whether either a or b is not 0, but not both.
//
// Computes c[i] = 1 if (a[i mod shape(a)] != 0) != (b[i mod shape(b)] != 0)
// else 0.
//
// NaN counts as not 0.
//
//   - Shapes: a and b are broadcast to the shape of c. In each dimension their
//     extents are equal, or one of them is 1 and its elements repeat. An extent
//     of b may also divide that of a, and its elements then repeat as tiles. A
//     dimension that a shape lacks is 1.
//   - Types: a and b are each a float, an integer or BOOL. c is BOOL if both
//     are, has the type of a if that is F32, F16 or BF16, and is F32 otherwise.
func (c *Context) LogicalXor(a, b *Tensor) (*Tensor, error) {
	return c.construct("logical_xor", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_logical_xor(c.ptr, a.ptr, b.ptr)
	})
}

// LogicalNot tests whether a is 0.
//
// Computes c[i] = 1 if a[i] = 0 else 0.
//
// NaN counts as not 0.
//
//   - Shapes: c has the shape of a.
//   - Types: a is a float, an integer or BOOL. c has the type of a if that is
//     BOOL, F32, F16 or BF16, and is F32 otherwise.
func (c *Context) LogicalNot(a *Tensor) (*Tensor, error) {
	return c.construct("logical_not", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_logical_not(c.ptr, a.ptr)
	})
}

// WinPart divides images into square windows.
//
// Computes c[i, x, y, p + px q + px py n] = a[i, p w + x, q w + y, n], or 0
// beyond the edges of `a`.
//
// px and py are the numbers of windows across and down, rounded up.
//
//   - Shapes: a (n, w0, h0, images), c (n, w, w, px py images), px = w0 / w and
//     py = h0 / w, rounded up.
//   - Types: Any type without blocks. Elements are copied exactly.
//   - Result: The type of a.
//   - w: width and height of a window. Range: 1 to 1048576.
func (c *Context) WinPart(a *Tensor, w int64) (*Tensor, error) {
	return c.construct("win_part", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_win_part(c.ptr, a.ptr, C.int64_t(w))
	})
}

// WinUnpart puts the windows of [Context.WinPart] together.
//
// Computes c[i, x, y, n] =
// a[i, x mod w, y mod w, floor(x / w) + px floor(y / w) + px py n].
//
// px = w0 / w and py = h0 / w, rounded up.
//
//   - Shapes: a (n, w, w, px py images), c (n, w0, h0, images).
//   - Types: Any type without blocks. Elements are copied exactly.
//   - Result: The type of a.
//   - w0: width of the images. Range: 1 to 16777216.
//   - h0: height of the images. Range: 1 to 16777216.
//   - w: width and height of a window. Range: 1 to 1048576.
func (c *Context) WinUnpart(a *Tensor, w0 int64, h0 int64, w int64) (*Tensor, error) {
	return c.construct("win_unpart", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_win_unpart(c.ptr, a.ptr, C.int64_t(w0), C.int64_t(h0), C.int64_t(w))
	})
}

// GetRelPos gathers the rows of a that belong to the distances between queries
// and keys.
//
// Computes c[i, k, q] = a[i, q - k + kh - 1].
//
//   - Shapes: a (n, qh + kh - 1), c (n, kh, qh).
//   - Types: F32, F16, BF16, F64, I32 or I64. Elements are copied exactly.
//   - Result: The type of a.
//   - qh: number of queries. Range: 1 to 1048576.
//   - kh: number of keys. Range: 1 to 1048576.
func (c *Context) GetRelPos(a *Tensor, qh int64, kh int64) (*Tensor, error) {
	return c.construct("get_rel_pos", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_get_rel_pos(c.ptr, a.ptr, C.int64_t(qh), C.int64_t(kh))
	})
}

// AddRelPos adds to attention scores a term for the horizontal and one for the
// vertical distance.
//
// Computes c[x + kw y, i, n] = a[x + kw y, i, n] + pw[x, i, n] + ph[y, i, n].
//
// i = qx + qw qy is a query, and x and y are the column and the row of a key.
//
//   - Shapes: a (kw kh, qw qh, batch), pw (kw, qw, qh, batch), ph
//     (kh, qw, qh, batch). c has the shape of a.
//   - Types: a, pw and ph are each F32, F16 or BF16. Each addition is computed
//     in F32 and rounded once to the type of a.
//   - Result: The type of a.
func (c *Context) AddRelPos(a, pw, ph *Tensor) (*Tensor, error) {
	return c.construct("add_rel_pos", []*Tensor{a, pw, ph}, func() *C.tl_tensor {
		return C.tl_add_rel_pos(c.ptr, a.ptr, pw.ptr, ph.ptr)
	})
}

// GatedDeltaNetOptions holds the optional attributes of
// [Context.GatedDeltaNet]. A field that is zero has its default.
type GatedDeltaNetOptions struct {
	// Number of states that the second result has for each sequence, the
	// newest first. Range: 1 to 1048576. Default: 1.
	NStates int64
}

// GatedDeltaNet runs the gated delta rule over the tokens of sequences (Yang
// and others, Gated Delta Networks, 2024).
//
// Computes M[j, i] = e^g M[j, i] + beta (v[j] - sum over i of e^g M[j, i] k[i])
// k[i]; c[j] = sum over i of M[j, i] q[i] / sqrt(S).
//
// This is for a token of a head, and M is the state that the token before it
// left: state for the first one. g is a number for each head, or one for each
// i. Head h uses head h mod heads' of q and k, and sequence n uses theirs
// number n sequences' / sequences. The second result are the states after the
// last token, and after those before it with NStates above 1: state s of that
// many is the one s tokens before the end, after those of all sequences for
// s - 1. It is 0 if there are fewer tokens than that. Without tokens, state 0
// is state.
//
//   - Shapes: q and k (S, heads', tokens, sequences'), v and c
//     (S, heads, tokens, sequences), g (1 or S, heads, tokens, sequences), beta
//     (1, heads, tokens, sequences), state (S, S, heads, sequences) with index
//     i first. heads' divides heads and sequences' divides sequences.
//   - Types: All F32, as is what is computed. e^x is computed to within 1e-6.
//   - Result: F32.
//   - Result 1, by [Context.Result]: the states,
//     (S, S, heads, sequences NStates).
func (c *Context) GatedDeltaNet(q, k, v, g, beta, state *Tensor, options *GatedDeltaNetOptions) (*Tensor, error) {
	params := C.tl_gated_delta_net_params{struct_size: C.sizeof_tl_gated_delta_net_params}
	if options != nil {
		params.n_states = C.int64_t(options.NStates)
	}
	return c.construct("gated_delta_net", []*Tensor{q, k, v, g, beta, state}, func() *C.tl_tensor {
		return C.tl_gated_delta_net(c.ptr, q.ptr, k.ptr, v.ptr, g.ptr, beta.ptr, state.ptr, &params)
	})
}

// SsmScanOptions holds the optional attributes of [Context.SsmScan]. A field
// that is zero has its default.
type SsmScanOptions struct {
	// Number of states that the second result has for each sequence, the
	// newest first. Range: 1 to 1048576. Default: 1.
	NStates int64
}

// SsmScan runs a selective state space model over the tokens of sequences (Gu
// and Dao, Mamba, 2023).
//
// Computes M[j, i] = e^(d a[i]) M[j, i] + d x[j] b[i]; y[j] = sum over i of
// M[j, i] c[i]; d = log(1 + e^dt).
//
// This is for a token of a head, and M is the state that the token before it
// left. Sequence n begins with state number ids[n] of state. a is a number for
// each head (Mamba 2), or one for each i (Mamba). Head h uses group h / (heads
// / groups) of b and out. The second result are the states after the last
// token, and after those before it with NStates above 1: state s of that many
// is the one s tokens before the end, after those of all sequences for s - 1.
// It is 0 if there are fewer tokens than that. Without tokens, state 0 is
// state.
//
//   - Shapes: state (d_state, dim, heads, any) with index i first, x and y
//     (dim, heads, tokens, sequences), dt (heads, tokens, sequences), a
//     (1 or d_state, heads), b and out (d_state, groups, tokens, sequences),
//     ids (sequences). groups divides heads.
//   - Types: ids is I32 or I64, the others are F32, as is what is computed. e^x
//     is computed to within 1e-6.
//   - Result: F32.
//   - Result 1, by [Context.Result]: the states,
//     (d_state, dim, heads, sequences NStates).
//   - Computing fails with [StatusInvalidArgument] for an id that is no state.
//     The message names the first such element.
func (c *Context) SsmScan(state, x, dt, a, b, out, ids *Tensor, options *SsmScanOptions) (*Tensor, error) {
	params := C.tl_ssm_scan_params{struct_size: C.sizeof_tl_ssm_scan_params}
	if options != nil {
		params.n_states = C.int64_t(options.NStates)
	}
	return c.construct("ssm_scan", []*Tensor{state, x, dt, a, b, out, ids}, func() *C.tl_tensor {
		return C.tl_ssm_scan(c.ptr, state.ptr, x.ptr, dt.ptr, a.ptr, b.ptr, out.ptr, ids.ptr, &params)
	})
}

// RwkvWkv6 runs the time mixing of RWKV 6 over the tokens of sequences (Peng
// and others, Eagle and Finch, 2024).
//
// Computes c[j] = sum over i of r[i] (M[i, j] + tf[i] k[i] v[j]); M[i, j] =
// td[i] M[i, j] + k[i] v[j].
//
// This is for a token of a head, and M is the state that the token before it
// left: state for the first one of a sequence. Sequences have as many tokens
// each, one sequence after the other.
//
//   - Shapes: k, v, r and td (S, heads, tokens), tf (S, heads), state
//     (S S heads, sequences) with index j first, c (S heads, tokens). sequences
//     divides tokens.
//   - Types: All F32, as is what is computed.
//   - Result: F32.
//   - Result 1, by [Context.Result]: the states, in the shape of state.
func (c *Context) RwkvWkv6(k, v, r, tf, td, state *Tensor) (*Tensor, error) {
	return c.construct("rwkv_wkv6", []*Tensor{k, v, r, tf, td, state}, func() *C.tl_tensor {
		return C.tl_rwkv_wkv6(c.ptr, k.ptr, v.ptr, r.ptr, tf.ptr, td.ptr, state.ptr)
	})
}

// RwkvWkv7 runs the time mixing of RWKV 7 over the tokens of sequences (Peng
// and others, Goose, 2025).
//
// Computes M[j, i] = w[i] M[j, i] + v[j] k[i] + b[i] sum over l of M[j, l]
// a[l]; c[j] = sum over i of M[j, i] r[i].
//
// This is for a token of a head, and M is the state that the token before it
// left: state for the first one of a sequence. Sequences have as many tokens
// each, one sequence after the other.
//
//   - Shapes: r, w, k, v, a and b (S, heads, tokens), state
//     (S S heads, sequences) with index i first, c (S heads, tokens). sequences
//     divides tokens.
//   - Types: All F32, as is what is computed.
//   - Result: F32.
//   - Result 1, by [Context.Result]: the states, in the shape of state.
func (c *Context) RwkvWkv7(r, w, k, v, a, b, state *Tensor) (*Tensor, error) {
	return c.construct("rwkv_wkv7", []*Tensor{r, w, k, v, a, b, state}, func() *C.tl_tensor {
		return C.tl_rwkv_wkv7(c.ptr, r.ptr, w.ptr, k.ptr, v.ptr, a.ptr, b.ptr, state.ptr)
	})
}

// GatedLinearAttn runs gated linear attention over the tokens of sequences
// (Yang and others, 2023).
//
// Computes M[i, j] = g[i] M[i, j] + k[i] v[j]; c[j] = scale sum over i of q[i]
// M[i, j].
//
// This is for a token of a head, and M is the state that the token before it
// left: state for the first one of a sequence. Sequences have as many tokens
// each, one sequence after the other.
//
//   - Shapes: k, v, q and g (S, heads, tokens), state (S S heads, sequences)
//     with index j first, c (S heads, tokens). sequences divides tokens.
//   - Types: All F32, as is what is computed.
//   - Result: F32.
//   - Result 1, by [Context.Result]: the states, in the shape of state.
//   - scale: factor of the result.
func (c *Context) GatedLinearAttn(k, v, q, g, state *Tensor, scale float64) (*Tensor, error) {
	return c.construct("gated_linear_attn", []*Tensor{k, v, q, g, state}, func() *C.tl_tensor {
		return C.tl_gated_linear_attn(c.ptr, k.ptr, v.ptr, q.ptr, g.ptr, state.ptr, C.double(scale))
	})
}

// AllSum adds the tensors a of all ranks of a group, element by element.
//
// Computes c = the sum of `a` over all ranks.
//
// All ranks of the group compute it, each in a graph of its own. The nodes of
// groups are computed in the order in which they were built. A rank that fails,
// or misses the deadline, is an error on the others. Sums of F16, BF16, and of
// F32 and F64 of at most 64 KiB, are computed in the order of the ranks, so
// their bits do not depend on what connects the ranks. Larger sums of F32 and
// F64 have equal bits on all ranks.
//
//   - Shapes: a has the same shape and type on all ranks. c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) AllSum(a *Tensor, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("all_sum", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_all_sum(c.ptr, a.ptr, group.ptr)
	})
}

// AllMax finds the largest elements of the tensors a of all ranks of a group.
//
// Computes c = the largest element of `a` over all ranks, in each position.
//
// All ranks of the group compute it, each in a graph of its own. The nodes of
// groups are computed in the order in which they were built. A rank that fails,
// or misses the deadline, is an error on the others. NaN if one of the elements
// is NaN. 0 counts as larger than -0.
//
//   - Shapes: a has the same shape and type on all ranks. c has the shape of a.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) AllMax(a *Tensor, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("all_max", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_all_max(c.ptr, a.ptr, group.ptr)
	})
}

// AllGather concatenates the tensors a of all ranks of a group along a
// dimension, in the order of the ranks.
//
// Computes c[i0, k + rank * ne1, i2, i3] = a[i0, k, i2, i3] of that rank.
//
// The formula is for dim 1. All ranks of the group compute it, each in a graph
// of its own. The nodes of groups are computed in the order in which they were
// built. A rank that fails, or misses the deadline, is an error on the others.
//
//   - Shapes: a has the same shape and type on all ranks. c has the shape of a,
//     but as many times its elements in dimension dim as there are ranks.
//   - Types: Any type; a quantised one as long as no row is divided. Elements
//     are copied exactly.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) AllGather(a *Tensor, dim int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("all_gather", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_all_gather(c.ptr, a.ptr, C.int64_t(dim), group.ptr)
	})
}

// SumScatter adds the tensors a of all ranks of a group, and gives each rank
// its part along a dimension.
//
// Computes c[i0, k, i2, i3] = the sum of a[i0, k + rank * ne1 / ranks, i2, i3]
// over all ranks.
//
// The formula is for dim 1, where rank is the rank that computes. All ranks of
// the group compute it, each in a graph of its own. The nodes of groups are
// computed in the order in which they were built. A rank that fails, or misses
// the deadline, is an error on the others. Sums are computed in the order of
// the ranks.
//
//   - Shapes: a has the same shape and type on all ranks. The number of ranks
//     divides the elements of dimension dim, and c has as many times fewer in
//     it.
//   - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or
//     F64, computed in this type. Integers wrap around where they overflow.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) SumScatter(a *Tensor, dim int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("sum_scatter", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_sum_scatter(c.ptr, a.ptr, C.int64_t(dim), group.ptr)
	})
}

// Broadcast gives all ranks of a group the tensor a of one of them.
//
// Computes c = `a` of the rank `root`.
//
// All ranks of the group compute it, each in a graph of its own. The nodes of
// groups are computed in the order in which they were built. A rank that fails,
// or misses the deadline, is an error on the others.
//
//   - Shapes: a has the same shape and type on all ranks. c has the shape of a.
//   - Types: Any type; a quantised one as long as no row is divided. Elements
//     are copied exactly.
//   - Result: The type of a.
//   - root: the rank whose tensor it is. Range: 0 to 2^31 - 1.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) Broadcast(a *Tensor, root int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("broadcast", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_broadcast(c.ptr, a.ptr, C.int64_t(root), group.ptr)
	})
}

// AllToAll gives each rank of a group its part of the tensors a of all ranks,
// in the order of the ranks.
//
// Computes c[i0, k + r * ne1 / ranks, i2, i3] =
// a[i0, k + rank * ne1 / ranks, i2, i3] of rank r.
//
// The formula is for dim 1, where rank is the rank that computes. All ranks of
// the group compute it, each in a graph of its own. The nodes of groups are
// computed in the order in which they were built. A rank that fails, or misses
// the deadline, is an error on the others.
//
//   - Shapes: a has the same shape and type on all ranks. The number of ranks
//     divides the elements of dimension dim. c has the shape of a.
//   - Types: Any type; a quantised one as long as no row is divided. Elements
//     are copied exactly.
//   - Result: The type of a.
//   - dim: the dimension; 0 is the contiguous one. Range: 0 to 3.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) AllToAll(a *Tensor, dim int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("all_to_all", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_all_to_all(c.ptr, a.ptr, C.int64_t(dim), group.ptr)
	})
}

// Send sends a to another rank of a group, which receives it with
// [Context.Receive].
//
// Computes c = a.
//
// The tensor is copied, so the sender does not wait. It is sent when the node
// is computed: make it, or a node that reads it, an output of the graph. All
// ranks of the group compute it, each in a graph of its own. The nodes of
// groups are computed in the order in which they were built. A rank that fails,
// or misses the deadline, is an error on the others.
//
//   - Shapes: c has the shape of a.
//   - Types: Any type; a quantised one as long as no row is divided. Elements
//     are copied exactly.
//   - Result: The type of a.
//   - to: the rank that receives it. Range: 0 to 2^31 - 1.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) Send(a *Tensor, to int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("send", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_send(c.ptr, a.ptr, C.int64_t(to), group.ptr)
	})
}

// Receive receives the tensor that another rank of a group sends with
// [Context.Send].
//
// Computes c = what the rank `from` sends.
//
// Only the shape and the type of a are used. All ranks of the group compute it,
// each in a graph of its own. The nodes of groups are computed in the order in
// which they were built. A rank that fails, or misses the deadline, is an error
// on the others.
//
//   - Shapes: c has the shape of a, which is that of what is sent.
//   - Types: Any type; a quantised one as long as no row is divided. Elements
//     are copied exactly.
//   - Result: The type of a.
//   - from: the rank that sends it. Range: 0 to 2^31 - 1.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) Receive(a *Tensor, from int64, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("receive", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_receive(c.ptr, a.ptr, C.int64_t(from), group.ptr)
	})
}

// CopyToGroup marks a, which is the same on all ranks of a group, as an operand
// of what the ranks compute differently.
//
// Computes c = a.
//
// Nothing is computed. With tensor parallelism, the input of a layer whose
// matrices are divided among the ranks is such an operand.
//
//   - Shapes: c has the shape and the strides of a.
//   - Types: Any type.
//   - Result: A view of a. Nothing is computed.
//   - group: the group, of which this process or thread is a rank.
func (c *Context) CopyToGroup(a *Tensor, group *Group) (*Tensor, error) {
	if err := group.enter(); err != nil {
		return nil, err
	}
	defer group.h.leave()
	return c.construct("copy_to_group", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_copy_to_group(c.ptr, a.ptr, group.ptr)
	})
}
