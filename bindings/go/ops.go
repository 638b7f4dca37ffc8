package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import "unsafe"

// The operations are methods of the context that owns the result; only graphs
// compute them. Operands may belong to other contexts of the same device, whose
// memory is then kept alive. The errors are StatusShapeMismatch,
// StatusTypeMismatch, StatusContextMismatch, StatusOutOfMemory, and
// StatusInvalidArgument for nil or closed operands and values out of range.

// MulMat is the matrix product: a (k, m, x, y) and b (k, n, X, Y) give F32 (m, n,
// X, Y), each element the dot product of a row of a and a row of b. X must be a
// multiple of x and Y of y. Types: a any float or weight type, b F32, F16 or
// BF16.
//
// If a is quantised, b may be rounded to 8 bits with a scale for each 32 elements
// along k. An element of the result is then off by up to the sum over k of |a| *
// h, in addition to F32's own rounding. h is a 127th of the larger of two values:
// the largest |b| of the 32 elements, and a 16th of the largest |b| of the 256
// elements around them. Q2_0 uses 64 elements instead of 32, Q1_0 128, TQ1_0 and
// TQ2_0 256. A single column may be rounded to 16 bits instead. If a is BF16, b
// may be rounded to BF16, by up to 2^-8 of an element. MulMatExact does not
// round. The bits may depend on n and, for an F32, F16 or BF16 a, on whether a is
// constant.
func (c *Context) MulMat(a, b *Tensor) (*Tensor, error) {
	return c.construct("mul_mat", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_mul_mat(c.ptr, a.ptr, b.ptr)
	})
}

// MulMatExact is MulMat without rounding of b: only sums round, in F32. Shapes
// and types are those of MulMat. It is slower where MulMat rounds b (on the CPU:
// quantised weights on avx512 and avx2, BF16 on avx512); elsewhere the two are
// equal.
func (c *Context) MulMatExact(a, b *Tensor) (*Tensor, error) {
	return c.construct("mul_mat", []*Tensor{a, b}, func() *C.tl_tensor {
		return C.tl_mul_mat_exact(c.ptr, a.ptr, b.ptr)
	})
}

// MulMatID multiplies each column by the matrix that an index selects (a mixture
// of experts): a (k, m, experts), b (k, x, tokens) and ids (used, tokens) of I32
// or I64 give F32 (m, used, tokens); x divides used. Column (u, t) is the product
// of the expert ids[u, t] and b's column (u mod x, t). Types and the rounding of
// b are those of MulMat; Op with the attribute exact = 1 avoids the rounding. The
// index -1 gives zeros; computing fails for any other index without an expert.
func (c *Context) MulMatID(a, b, ids *Tensor) (*Tensor, error) {
	return c.construct("mul_mat_id", []*Tensor{a, b, ids}, func() *C.tl_tensor {
		return C.tl_mul_mat_id(c.ptr, a.ptr, b.ptr, ids.ptr)
	})
}

// View is a window into a's memory: the shape ne, strides nb in bytes of the
// dimensions from 1 on (one value less than ne; nil = contiguous), and offset, in
// bytes from a's first element. It must lie inside the memory of a's root. Its
// rows may overlap, so strides given in elements by mistake are accepted too;
// [Context.Narrow] and [Context.Slice] count in elements.
func (c *Context) View(a *Tensor, ne, nb []int64, offset int64) (*Tensor, error) {
	if nb != nil && len(nb) != len(ne)-1 {
		return nil, invalid("view: %d strides for %d dimensions: must be one less, or nil", len(nb), len(ne))
	}
	if offset < 0 {
		return nil, invalid("view: the offset %d is negative", offset)
	}
	strides := make([]C.size_t, len(nb))
	for i, v := range nb {
		if v < 0 {
			return nil, invalid("view: the strides %v have a negative one", nb)
		}
		strides[i] = C.size_t(v)
	}
	return c.construct("view", []*Tensor{a}, func() *C.tl_tensor {
		var first *C.size_t
		if len(strides) > 0 {
			first = &strides[0]
		}
		return C.tl_view(c.ptr, a.ptr, C.int32_t(len(ne)), dims(ne), first, C.size_t(offset))
	})
}

// Slice is the elements start[d] to start[d] + ne[d] of each of a's dimensions: a
// view with a's strides. In dimension 0 of a quantised type start and ne are
// multiples of the block size.
func (c *Context) Slice(a *Tensor, start, ne []int64) (*Tensor, error) {
	if len(start) != len(ne) {
		return nil, invalid("slice: %d starts for %d dimensions: must be as many", len(start), len(ne))
	}
	return c.construct("slice", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_slice(c.ptr, a.ptr, C.int32_t(len(ne)), dims(start), dims(ne))
	})
}

// Narrow is [Context.Slice] in one dimension: length elements from start on.
func (c *Context) Narrow(a *Tensor, dim int, start, length int64) (*Tensor, error) {
	// The conversion could turn a wrong dimension into a valid one.
	if dim < 0 || dim > 3 {
		return nil, invalid("narrow: dim is %d: 0 to 3 are valid", dim)
	}
	return c.construct("narrow", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_narrow(c.ptr, a.ptr, C.int32_t(dim), C.int64_t(start), C.int64_t(length))
	})
}

// Reshape is a's elements in another shape of the same size, in the same order.
// One dimension may be -1: it is computed from the others. A view: if a is not
// contiguous, strides must be able to express the new shape; otherwise apply
// [Context.Cont] first.
func (c *Context) Reshape(a *Tensor, ne ...int64) (*Tensor, error) {
	return c.construct("reshape", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_reshape(c.ptr, a.ptr, C.int32_t(len(ne)), dims(ne))
	})
}

// Permute is a's dimensions in another order: source dimension i becomes
// dimension axes[i], and axes must be a permutation of 0 to 3. A view.
func (c *Context) Permute(a *Tensor, axes [4]int) (*Tensor, error) {
	var caxes [4]C.int32_t
	for i, axis := range axes {
		// The conversion could turn a wrong dimension into a valid one.
		if axis < 0 || axis > 3 {
			return nil, invalid("permute: the axes %v are no permutation of 0 to 3", axes)
		}
		caxes[i] = C.int32_t(axis)
	}
	return c.construct("permute", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_permute(c.ptr, a.ptr, &caxes[0])
	})
}

// Cast is a contiguous copy in another type. Integers convert to integers
// exactly; F64 and integers convert to each other rounded to nearest even;
// everything else goes through F32, rounded to nearest even or as the type is
// encoded. Computing fails for a value that the type cannot hold.
func (c *Context) Cast(a *Tensor, typ Type) (*Tensor, error) {
	return c.construct("cast", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_cast(c.ptr, a.ptr, C.tl_type(typ))
	})
}

// Ops lists the names of all operations, for tools that enumerate them.
func Ops() []string {
	ops := make([]string, C.tl_op_count())
	for i := range ops {
		ops[i] = C.GoString(C.tl_op_name(C.size_t(i)))
	}
	return ops
}

// Attr is a named attribute of an operation for [Context.Op]. Make one with
// [Ints], [Number] or [Text].
type Attr struct {
	name   string
	kind   int32
	ints   []int64
	number float64
	text   string
}

// Ints makes an attribute of 1 to 6 integers; booleans are 0 and 1.
func Ints(name string, values ...int64) Attr {
	return Attr{name: name, kind: C.TL_ATTR_INTS, ints: values}
}

// Number makes an attribute of one number.
func Number(name string, value float64) Attr {
	return Attr{name: name, kind: C.TL_ATTR_NUMBER, number: value}
}

// Text makes a text attribute.
func Text(name, value string) Attr {
	return Attr{name: name, kind: C.TL_ATTR_TEXT, text: value}
}

// Op makes the node of any operation by name, with its attributes by name:
// docs/ops.md lists them. An optional attribute of 0 has its default. Unknown,
// missing and malformed ones are [StatusInvalidArgument]. A nil operand is left
// out, which is valid for optional ones.
func (c *Context) Op(name string, src []*Tensor, attrs ...Attr) (*Tensor, error) {
	cname, err := cstring("operation", name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cname))
	cattrs, free, err := cAttrs(attrs)
	defer free()
	if err != nil {
		return nil, err
	}
	operands := make([]*Tensor, len(src))
	// Go memory that holds only C pointers, which cgo allows C to read.
	csrc := make([]*C.tl_tensor, len(src))
	for i, t := range src {
		operands[i] = orNone(t)
	}
	return c.construct(name, operands, func() *C.tl_tensor {
		for i, t := range operands {
			csrc[i] = t.ptr
		}
		return C.tl_op(c.ptr, cname, unsafe.SliceData(csrc), C.size_t(len(csrc)),
			unsafe.SliceData(cattrs), C.size_t(len(cattrs)))
	})
}

// cAttrs copies attributes for C; free frees the texts, also after an error.
func cAttrs(attrs []Attr) (cattrs []C.tl_attr, free func(), err error) {
	var texts []*C.char
	free = func() {
		for _, text := range texts {
			C.free(unsafe.Pointer(text))
		}
	}
	for _, attr := range attrs {
		c := C.tl_attr{kind: C.int32_t(attr.kind), number: C.double(attr.number)}
		if len(attr.ints) > len(c.ints) {
			return nil, free, invalid("attribute %s: %d integers: at most %d", attr.name, len(attr.ints), len(c.ints))
		}
		c.n_ints = C.int32_t(len(attr.ints))
		for i, v := range attr.ints {
			c.ints[i] = C.int64_t(v)
		}
		if c.name, err = cstring("attribute's name", attr.name); err != nil {
			return nil, free, err
		}
		texts = append(texts, c.name)
		if c.text, err = cstring("attribute's text", attr.text); err != nil {
			return nil, free, err
		}
		texts = append(texts, c.text)
		cattrs = append(cattrs, c)
	}
	return cattrs, free, nil
}

// operandError names the operand of an operation that an error is about.
func operandError(op string, index int, err error) error {
	e := err.(*Error)
	return errorf(e.Code, "%s: operand %d: %s", op, index, e.Message)
}
