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
