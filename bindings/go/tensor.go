package tensorlib

/*
#include <stdlib.h>
#include <tensorlib/tensorlib.h>

// The properties of a tensor that never change, in one call instead of twelve.
typedef struct {
	tl_type     type;
	int32_t     n_dims;
	int64_t     ne[4];
	size_t      nb[4];
	size_t      nbytes;
	int64_t     n_elements;
	const char *op;
} tlgo_traits;

static void tlgo_describe(const tl_tensor *t, tlgo_traits *out) {
	out->type   = tl_tensor_type(t);
	out->n_dims = tl_tensor_n_dims(t);
	for (int32_t i = 0; i < 4; i++) {
		out->ne[i] = tl_tensor_ne(t, i);
		out->nb[i] = tl_tensor_nb(t, i);
	}
	out->nbytes     = tl_tensor_nbytes(t);
	out->n_elements = tl_tensor_n_elements(t);
	out->op         = tl_tensor_op(t);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// Tensor is a leaf with data of its own, or a node that an operation makes and a
// graph computes. It belongs to its context. Type, shape and strides never change
// and are available at any time, also after the context's Close. A nil tensor is
// empty: 0 dimensions, 0 elements, no operation.
type Tensor struct {
	ctx        *Context
	ptr        *C.tl_tensor
	generation uint64

	typ    Type
	nDims  int
	ne, nb [4]int64
	nbytes int64
	n      int64
	op     string
}

// none stands for an operand that is left out. It never leaves this package.
var none = &Tensor{ptr: C.tl_none()}

// orNone returns t or, for nil, the tensor that stands for an operand left out.
func orNone(t *Tensor) *Tensor {
	if t == nil {
		return none
	}
	return t
}

// orNil returns t or, for nil, an empty tensor.
func (t *Tensor) orNil() *Tensor {
	if t == nil {
		return &Tensor{}
	}
	return t
}

// newTensor wraps a pointer that a constructor returned; the context is entered.
func newTensor(c *Context, ptr *C.tl_tensor) *Tensor {
	var traits C.tlgo_traits
	C.tlgo_describe(ptr, &traits)
	t := &Tensor{
		ctx: c,
		ptr: ptr,
		// Safe without the handle's lock: it changes only while no call is inside.
		generation: c.h.generation,
		typ:        Type(traits._type),
		nDims:      int(traits.n_dims),
		nbytes:     int64(traits.nbytes),
		n:          int64(traits.n_elements),
		op:         C.GoString(traits.op),
	}
	for i := range t.ne {
		t.ne[i], t.nb[i] = int64(traits.ne[i]), int64(traits.nb[i])
	}
	return t
}

// NewTensor makes a leaf of 1 to 4 dimensions, filled with zeros.
//
// Errors: [StatusInvalidArgument] for an unknown type, an invalid number of
// dimensions or a negative dimension; [StatusOutOfMemory].
func (c *Context) NewTensor(typ Type, ne ...int64) (*Tensor, error) {
	return c.construct("tensor", nil, func() *C.tl_tensor {
		return C.tl_tensor_new(c.ptr, C.tl_type(typ), C.int32_t(len(ne)), dims(ne))
	})
}

// NewTensorFrom makes a leaf of T's type that holds a copy of data, ne[0]
// fastest. It fails in a [WithNoAlloc] context, whose leafs have no memory for
// data yet.
//
// Errors: as [Context.NewTensor]; [StatusInvalidArgument] also if the length of
// data does not match the shape.
func NewTensorFrom[T Element](c *Context, data []T, ne ...int64) (*Tensor, error) {
	// Checked before the leaf is made: a leaf that cannot be filled would stay in
	// the arena.
	if n, ok := countElements(ne); ok && n != int64(len(data)) {
		return nil, invalid("tensor: %d values given, the shape %s has %d elements", len(data), shapeText(ne), n)
	}
	t, err := c.NewTensor(TypeOf[T](), ne...)
	if err != nil {
		return nil, err
	}
	if err := Write(t, data); err != nil {
		return nil, err
	}
	return t, nil
}

// countElements returns the product of ne; false if ne is not a shape or the
// product does not fit, for which the library has the better message.
func countElements(ne []int64) (int64, bool) {
	n := int64(1)
	for _, d := range ne {
		if d < 0 || (d > 0 && n > (1<<62)/d) {
			return 0, false
		}
		n *= d
	}
	return n, len(ne) > 0
}

// Context returns the context that owns the tensor.
func (t *Tensor) Context() *Context { return t.orNil().ctx }

// Type returns the element type.
func (t *Tensor) Type() Type { return t.orNil().typ }

// NDims returns the number of dimensions that the tensor was made with, 1 to 4.
func (t *Tensor) NDims() int { return t.orNil().nDims }

// Shape returns the elements in each of the [Tensor.NDims] dimensions, the
// contiguous one first, in a new slice.
func (t *Tensor) Shape() []int64 {
	t = t.orNil()
	return append([]int64(nil), t.ne[:t.nDims]...)
}

// Strides returns the bytes from one element to the next in each dimension, in a
// new slice.
func (t *Tensor) Strides() []int64 {
	t = t.orNil()
	return append([]int64(nil), t.nb[:t.nDims]...)
}

// Dim returns the number of elements in a dimension: 1 for one that the tensor
// does not use, 0 if dim is not 0 to 3.
func (t *Tensor) Dim(dim int) int64 {
	if dim < 0 || dim > 3 {
		return 0
	}
	return t.orNil().ne[dim]
}

// Len returns the number of elements.
func (t *Tensor) Len() int64 { return t.orNil().n }

// NBytes returns the number of bytes of all elements when packed without gaps.
func (t *Tensor) NBytes() int64 { return t.orNil().nbytes }

// Op returns the operation that computes the tensor, "mul_mat"; "leaf" for a
// leaf.
func (t *Tensor) Op() string { return t.orNil().op }

// Name returns the tensor's name; "" if it has none or its context was closed.
func (t *Tensor) Name() string {
	if t.enter() != nil {
		return ""
	}
	defer t.leave()
	return cText(func(buf *C.char, size C.size_t) C.size_t { return C.tl_tensor_copy_name(t.ptr, buf, size) })
}

// SetName names the tensor for messages and dumps; "" removes the name.
//
// Errors: [StatusInvalidArgument] for a name that contains a NUL or is not UTF-8,
// [StatusOutOfMemory].
func (t *Tensor) SetName(name string) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	return named("tensor name", name, func(cname *C.char, cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_set_name(t.ptr, cname, cerr)
	})
}

// SetRecompute sets whether graphs made from now on recompute this node where
// gradients read it, instead of keeping its result until then. Recomputation
// takes less memory and more time, and gives the same bits. The node is
// recomputed together with the marked nodes that it is computed from; results of
// unmarked nodes are kept for it. Outputs are kept in any case; marking a view
// marks the node that it is a view of.
//
// Errors: [StatusInvalidArgument] for a leaf, a view of a leaf, and a node that
// writes into an operand.
func (t *Tensor) SetRecompute(recompute bool) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	cerr := newCError()
	return check(C.tl_tensor_set_recompute(t.ptr, C.bool(recompute), &cerr), &cerr)
}

// Place chooses the device that computes this node in graphs that a joined
// backend runs ([JoinBackends]); "" lets the backend choose again. Placing a view
// places the node that it is a view of.
//
// Errors: [StatusInvalidArgument] for a leaf, a view of a leaf, and an unknown
// device.
func (t *Tensor) Place(device string) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	return named("device", device, func(cname *C.char, cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_place(t.ptr, cname, cerr)
	})
}

// SetConstant promises that a leaf's contents never change: every later write to
// it, and every operation that targets it, is an error, and plans may keep a
// packed copy. The promise cannot be withdrawn.
//
// Errors: [StatusInvalidArgument] for a tensor that is not a leaf or has no data
// yet, [StatusBusy].
func (t *Tensor) SetConstant() error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status { return C.tl_tensor_set_constant(t.ptr, cerr) })
}

// DropOriginal frees a constant's original data if a packed copy can replace
// them: after a CPU backend has computed a product with the whole tensor and
// [Backend.PackedMemory] grew by its copy. Every reader of the tensor gets the
// same bits as before; it can no longer be mapped. The context then owns the
// copy, which outlives the backend. A leaf of a mapped GGUF file releases its
// pages and otherwise stays as it is.
//
// Errors: [StatusInvalidArgument] for a tensor that is not constant,
// [StatusUnsupported] if no packed copy can replace the data (types whose blocks
// cannot be rebuilt, such as IQ2), [StatusOutOfMemory] if the copy exceeds the
// context's limit, [StatusBusy]; nothing has changed then.
func (t *Tensor) DropOriginal() error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status { return C.tl_tensor_drop_original(t.ptr, cerr) })
}

// String describes the tensor, not its values: "mul_mat scores: f32 [4, 3]".
func (t *Tensor) String() string {
	if t == nil {
		return "nil tensor"
	}
	name := t.Name()
	if name != "" {
		name = " " + name
	}
	return fmt.Sprintf("%s%s: %v %v", t.op, name, t.typ, shapeText(t.ne[:t.nDims]))
}

func (t *Tensor) enter() error {
	if t == none {
		return nil // belongs to no context
	}
	if t == nil || t.ctx == nil {
		return invalid("tensor is nil: make one first")
	}
	return t.ctx.h.enterGeneration("tensor", t.generation)
}

func (t *Tensor) leave() {
	if t == none {
		return
	}
	t.ctx.h.leave()
	runtime.KeepAlive(t)
}

// shapeText formats a shape as the library's messages do.
func shapeText(ne []int64) string {
	words := make([]string, len(ne))
	for i, d := range ne {
		words[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// dims returns the address of a shape for C; nil if it is empty.
func dims(ne []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(ne)))
}
