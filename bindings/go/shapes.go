package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"math"
	"unsafe"
)

// Index selects elements of a dimension for [Context.Index]. Make one with [At]
// or [Range], or use [All].
type Index struct {
	begin, end int64
	dropped    bool
}

// End is the end of a dimension in [Range].
const End = math.MaxInt64

// All selects all elements of a dimension.
var All = Range(0, End)

// At selects one element, whose dimension the result lacks. Negative ones count
// from the end: -1 is the last.
func At(index int64) Index { return Index{begin: index, dropped: true} }

// Range selects the elements from begin to before end. Negative ones count from
// the end.
func Range(begin, end int64) Index { return Index{begin: begin, end: end} }

// Index is a part of each of a's dimensions, dimension 0 first, and all of the
// dimensions that have no index: c.Index(a, All, Range(3, 5), At(k)). A view.
func (c *Context) Index(a *Tensor, indices ...Index) (*Tensor, error) {
	begin, end := make([]int64, len(indices)), make([]int64, len(indices))
	var dropped C.uint32_t
	for d, index := range indices {
		begin[d], end[d] = index.begin, index.end
		if index.dropped && d < 4 {
			dropped |= 1 << d
		}
	}
	return c.construct("index", []*Tensor{a}, func() *C.tl_tensor {
		return C.tl_index(c.ptr, a.ptr, C.int32_t(len(indices)), dims(begin), dims(end), dropped)
	})
}

// Index is [Context.Index] of this tensor, in its context.
func (t *Tensor) Index(indices ...Index) (*Tensor, error) {
	return t.orNil().ctx.Index(t, indices...)
}

// Cat concatenates tensors of one type along a dimension, with one shape in all
// others.
func (c *Context) Cat(tensors []*Tensor, dim int64) (*Tensor, error) {
	return c.ofList("cat", tensors, func(src **C.tl_tensor, n C.size_t) *C.tl_tensor {
		return C.tl_cat(c.ptr, src, n, C.int64_t(dim))
	})
}

// Stack stacks tensors of one type and shape along a new dimension, which is
// inserted as by [Context.Unsqueeze].
func (c *Context) Stack(tensors []*Tensor, dim int64) (*Tensor, error) {
	return c.ofList("stack", tensors, func(src **C.tl_tensor, n C.size_t) *C.tl_tensor {
		return C.tl_stack(c.ptr, src, n, C.int64_t(dim))
	})
}

// Einsum sums products of tensors whose dimensions have names. The equation has a
// list of letters for each tensor, one for each dimension and dimension 0 first,
// and one for the result: "km,kn->mn" is [Context.MulMat]. NumPy lists the same
// dimensions in the opposite order. Letters that the result lacks are summed.
// Without "->", the result has the letters that occur once, in the order of the
// alphabet. A letter that a tensor has twice selects its diagonal. Tensors and
// products of two have at most 4 dimensions.
func (c *Context) Einsum(equation string, tensors ...*Tensor) (*Tensor, error) {
	cequation, err := cstring("equation", equation)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cequation))
	return c.ofList("einsum", tensors, func(src **C.tl_tensor, n C.size_t) *C.tl_tensor {
		return C.tl_einsum(c.ptr, cequation, src, n)
	})
}

func (c *Context) ofList(op string, tensors []*Tensor, call func(**C.tl_tensor, C.size_t) *C.tl_tensor) (*Tensor, error) {
	// Go memory that holds only C pointers, which cgo allows C to read.
	src := make([]*C.tl_tensor, len(tensors))
	return c.construct(op, tensors, func() *C.tl_tensor {
		for i, t := range tensors {
			src[i] = t.ptr
		}
		return call(unsafe.SliceData(src), C.size_t(len(src)))
	})
}

// Split returns parts of size elements of a dimension, as views. The last one may
// be smaller.
func (c *Context) Split(a *Tensor, size int64, dim int) ([]*Tensor, error) {
	if size < 1 {
		return nil, invalid("split: size is %d: at least 1 is valid", size)
	}
	n, err := extentOf("split", a, dim)
	if err != nil {
		return nil, err
	}
	var sizes []int64
	for first := int64(0); first < n; first += sizes[len(sizes)-1] {
		sizes = append(sizes, min(size, n-first))
	}
	return c.SplitSizes(a, sizes, dim)
}

// SplitSizes returns parts of these sizes of a dimension, as views. Their sum is
// the dimension's extent.
func (c *Context) SplitSizes(a *Tensor, sizes []int64, dim int) ([]*Tensor, error) {
	n, err := extentOf("split", a, dim)
	if err != nil {
		return nil, err
	}
	left := n
	for _, size := range sizes {
		if size < 0 || size > left {
			left = -1
			break
		}
		left -= size
	}
	if left != 0 {
		return nil, invalid("split: sizes are %v: a sum of %d is valid, the extent of dimension %d", sizes, n, dim)
	}
	parts := make([]*Tensor, len(sizes))
	first := int64(0)
	for i, size := range sizes {
		if parts[i], err = c.Narrow(a, dim, first, size); err != nil {
			return nil, err
		}
		first += size
	}
	return parts, nil
}

// Chunk returns at most n parts of a dimension, as views. All have the same size
// except the last one, which may be smaller; as in PyTorch, there may be fewer
// parts.
func (c *Context) Chunk(a *Tensor, n int64, dim int) ([]*Tensor, error) {
	if n < 1 {
		return nil, invalid("chunk: n is %d: at least 1 is valid", n)
	}
	all, err := extentOf("chunk", a, dim)
	if err != nil {
		return nil, err
	}
	size := all / n
	if all%n != 0 {
		size++
	}
	return c.Split(a, max(size, 1), dim)
}

// Unbind returns each element of a dimension, without the dimension, as views.
func (c *Context) Unbind(a *Tensor, dim int) ([]*Tensor, error) {
	n, err := extentOf("unbind", a, dim)
	if err != nil {
		return nil, err
	}
	parts := make([]*Tensor, n)
	for i := range parts {
		if parts[i], err = c.Select(a, int64(dim), int64(i)); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// Meshgrid returns a grid of the points whose coordinates are the elements of 1
// to 4 vectors. Result d has the shape of all lengths, and element i of vector d
// where the index in dimension d is i: PyTorch's order "ij". Views.
func (c *Context) Meshgrid(vectors ...*Tensor) ([]*Tensor, error) {
	if len(vectors) < 1 || len(vectors) > 4 {
		return nil, invalid("meshgrid: %d vectors: 1 to 4 are valid", len(vectors))
	}
	ne := make([]int64, len(vectors))
	for d, vector := range vectors {
		if vector.NDims() > 1 {
			return nil, invalid("meshgrid: a vector is %v: one dimension is valid", vector.Shape())
		}
		ne[d] = vector.Len()
	}
	grid := make([]*Tensor, len(vectors))
	for d, vector := range vectors {
		shape := []int64{1, 1, 1, 1}
		shape[d] = ne[d]
		column, err := c.Reshape(vector, shape[:len(vectors)]...)
		if err != nil {
			return nil, err
		}
		if grid[d], err = c.Expand(column, ne); err != nil {
			return nil, err
		}
	}
	return grid, nil
}

// extentOf returns the elements of a dimension, 1 if the shape lacks it.
func extentOf(function string, a *Tensor, dim int) (int64, error) {
	if dim < 0 || dim > 3 {
		return 0, invalid("%s: dim is %d: 0 to 3 are valid", function, dim)
	}
	if dim >= a.NDims() {
		return 1, nil
	}
	return a.Shape()[dim], nil
}
