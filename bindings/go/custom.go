package tensorlib

// #include <stdlib.h>
// #include "custom.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// CustomOp is an operation of your own: a function that computes slices of the
// result, from several goroutines at once. Its nodes are planned, traced and
// placed like all others. It is computed on the CPU.
//
// Contexts with nodes of it keep its functions until they are closed or reset. A
// function must not hold a tensor of such a context: each would keep the other
// alive.
type CustomOp struct {
	h   *handle
	ptr *C.tl_custom_op
}

// CustomOptions describe what a [CustomOp] does beyond computing. nil, and zero
// values, stand for the defaults.
type CustomOptions struct {
	// Shape returns the type and the shape of the result, or why there is none.
	// Without it, they are those of the first operand. A quantised type is not
	// valid.
	Shape func(operands []CustomOperand) (Type, []int64, error)
	// Gradient builds the gradient of an operand, in its shape, from the node, whose
	// operands are its Sources, and the gradient of its result. It makes nodes in c
	// alone. It is called for operands of F32, F16 or BF16 whose gradient is wanted.
	// Without it, the operation has no gradient.
	Gradient func(c *Context, node, gradient *Tensor, operand int) (*Tensor, error)
	// Slices begin at multiples of SliceUnit elements: 0 for whole rows, 1 for any.
	// -1: the result is one slice.
	SliceUnit int64
	// Cost is about how many operations an element takes; 0 counts as 1. It decides
	// how many threads are worth waking.
	Cost float64
}

// CustomOperand is the type and the shape of an operand.
type CustomOperand struct {
	Type  Type
	Shape []int64
}

// customFunctions are what a handle of the engine stands for.
type customFunctions struct {
	compute  func(s *CustomSlice) error
	shape    func(operands []CustomOperand) (Type, []int64, error)
	gradient func(c *Context, node, gradient *Tensor, operand int) (*Tensor, error)
}

// NewCustomOp makes an operation. compute fills in the elements of a slice; the
// result must not depend on how it is divided into slices. Its error, or its
// panic, fails the run. Inside it, calls that need a context, a graph or a backend
// fail with [StatusInvalidArgument]. The name is for messages, plans and traces.
//
// Errors: [StatusInvalidArgument] for a nil function, a name that is no UTF-8 of 1
// to 64 bytes, or options out of range; [StatusOutOfMemory].
func NewCustomOp(name string, compute func(s *CustomSlice) error, options *CustomOptions) (*CustomOp, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	if compute == nil {
		return nil, invalid("custom: the function of %q is nil", name)
	}
	if options == nil {
		options = &CustomOptions{}
	}
	cname, err := cstring("name", name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cname))
	data := cgo.NewHandle(&customFunctions{compute, options.Shape, options.Gradient})
	var ptr *C.tl_custom_op
	cerr := newCError()
	status := C.tlgo_custom_op_create(cname, C.uintptr_t(data), C.bool(options.Shape != nil), C.bool(options.Gradient != nil),
		C.int64_t(options.SliceUnit), C.double(options.Cost), &ptr, &cerr)
	if err := check(status, &cerr); err != nil {
		data.Delete()
		return nil, err
	}
	op := &CustomOp{h: &handle{what: "custom operation", free: func() { C.tl_custom_op_free(ptr) }}, ptr: ptr}
	runtime.AddCleanup(op, (*handle).close, op.h)
	return op, nil
}

// Close drops the operation; contexts with nodes of it still keep its functions. A
// second Close does nothing.
func (op *CustomOp) Close() {
	if op != nil {
		op.h.close()
	}
}

// Custom is a node of a custom operation with 1 to 10 operands.
//
// Errors: what the operation's Shape returned; [StatusInvalidArgument] for a wrong
// number of operands or a shape that is not valid, [StatusTypeMismatch] for a
// quantised result, and those of other operations.
func (c *Context) Custom(op *CustomOp, operands ...*Tensor) (*Tensor, error) {
	if op == nil {
		return nil, invalid("custom: the operation is nil: make one with NewCustomOp")
	}
	if err := op.h.enter("custom operation"); err != nil {
		return nil, err
	}
	defer op.h.leave()
	return c.ofList("custom", operands, func(src **C.tl_tensor, n C.size_t) *C.tl_tensor {
		return C.tl_custom(c.ptr, op.ptr, src, n)
	})
}

// CustomSlice is the part of a result that a function is to compute. It and the
// slices that it returns are valid until the function returns.
type CustomSlice struct {
	raw *C.tl_custom_slice
}

// Range returns the elements to compute, counted in the order of the result's
// shape, dimension 0 first.
func (s *CustomSlice) Range() (begin, end int) { return int(s.raw.begin), int(s.raw.end) }

// Thread returns a number below the backend's threads. No two calls for one node
// have the same number at a time.
func (s *CustomSlice) Thread() int { return int(s.raw.thread) }

// Shape returns the shape of the whole result.
func (s *CustomSlice) Shape() []int64 { return shapeOfView(&s.raw.dst) }

// NOperands returns the number of operands.
func (s *CustomSlice) NOperands() int { return int(s.raw.n_src) }

// Operand returns the type and the shape of an operand. It panics, as an index
// does, if there is no such operand.
func (s *CustomSlice) Operand(i int) CustomOperand {
	v := s.view(i)
	return CustomOperand{Type(v._type), shapeOfView(v)}
}

func (s *CustomSlice) view(i int) *C.tl_custom_view {
	return (*C.tl_custom_view)(unsafe.Pointer(&unsafe.Slice(s.raw.src, int(s.raw.n_src))[i]))
}

func shapeOfView(v *C.tl_custom_view) []int64 {
	shape := make([]int64, v.n_dims)
	for d := range shape {
		shape[d] = int64(v.ne[d])
	}
	return shape
}

func lengthOfView(v *C.tl_custom_view) int { return int(v.ne[0] * v.ne[1] * v.ne[2] * v.ne[3]) }

func checkView[T Element](what string, v *C.tl_custom_view) error {
	if want := TypeOf[T](); Type(v._type) != want {
		return errorf(StatusTypeMismatch, "%s is %v, not %v", what, Type(v._type), want)
	}
	return nil
}

// CustomInput returns all elements of an operand, in the order of its shape. They
// must not be changed. It panics, as an index does, if there is no such operand.
//
// Errors: [StatusTypeMismatch] if its elements are no T, [StatusInvalidArgument]
// if they are not contiguous: pass [Context.Cont] of it.
func CustomInput[T Element](s *CustomSlice, operand int) ([]T, error) {
	v := s.view(operand)
	what := fmt.Sprintf("operand %d", operand)
	if err := checkView[T](what, v); err != nil {
		return nil, err
	}
	n := lengthOfView(v)
	stride := int64(unsafe.Sizeof(*new(T)))
	for d, extent := range v.ne {
		if extent != 1 && int64(v.nb[d]) != stride && n > 0 {
			return nil, invalid("%s is not contiguous: pass its Cont", what)
		}
		stride *= int64(extent)
	}
	if n == 0 {
		return nil, nil
	}
	return unsafe.Slice((*T)(v.data), n), nil
}

// CustomOutput returns the elements of the slice, which are to be filled in: as
// many as the range has. They hold anything before.
//
// Errors: [StatusTypeMismatch] if the result's elements are no T.
func CustomOutput[T Element](s *CustomSlice) ([]T, error) {
	if err := checkView[T]("the result", &s.raw.dst); err != nil {
		return nil, err
	}
	begin, end := s.Range()
	if begin == end {
		return nil, nil
	}
	return unsafe.Slice((*T)(s.raw.dst.data), end)[begin:], nil
}

// customCall runs one of an operation's functions. Its error, or its panic, which
// must not unwind C's frames, goes to C.
func customCall(cerr *C.tl_error, call func() error) (status C.tl_status) {
	defer func() {
		if value := recover(); value != nil {
			status = reportTo(cerr, errorf(StatusAborted, "it panicked: %v", value))
		}
	}()
	if err := call(); err != nil {
		return reportTo(cerr, err)
	}
	return C.TL_STATUS_OK
}

func reportTo(cerr *C.tl_error, err error) C.tl_status {
	code := StatusAborted
	var e *Error
	if errors.As(err, &e) && e.Code != StatusOK {
		code = e.Code
	}
	// Whole characters only.
	n := 0
	for i, r := range err.Error() {
		if i+len(string(r)) >= len(cerr.message) || r == 0 {
			break
		}
		n = i + len(string(r))
	}
	for i := range n {
		cerr.message[i] = C.char(err.Error()[i])
	}
	cerr.message[n] = 0
	cerr.code = C.tl_status(code)
	return cerr.code
}

func customOf(data C.uintptr_t) *customFunctions { return cgo.Handle(data).Value().(*customFunctions) }

//export tlgoCustomShape
func tlgoCustomShape(data C.uintptr_t, src **C.tl_tensor, n C.size_t, result *C.tl_custom_result, cerr *C.tl_error) C.tl_status {
	return customCall(cerr, func() error {
		operands := make([]CustomOperand, n)
		for i, t := range unsafe.Slice(src, int(n)) {
			shape := make([]int64, C.tl_tensor_n_dims(t))
			for d := range shape {
				shape[d] = int64(C.tl_tensor_ne(t, C.int32_t(d)))
			}
			operands[i] = CustomOperand{Type(C.tl_tensor_type(t)), shape}
		}
		typ, shape, err := customOf(data).shape(operands)
		if err != nil {
			return err
		}
		result._type, result.n_dims = C.tl_type(typ), C.int32_t(len(shape))
		for d := range min(len(shape), len(result.ne)) {
			result.ne[d] = C.int64_t(shape[d])
		}
		return nil
	})
}

//export tlgoCustomCompute
func tlgoCustomCompute(data C.uintptr_t, slice *C.tl_custom_slice, cerr *C.tl_error) C.tl_status {
	return customCall(cerr, func() error { return customOf(data).compute(&CustomSlice{slice}) })
}

//export tlgoCustomGradient
func tlgoCustomGradient(data C.uintptr_t, node, gradient *C.tl_tensor, operand C.size_t, cerr *C.tl_error) (made *C.tl_tensor) {
	_ = customCall(cerr, func() error {
		outer := contextOf(gradient)
		defer outer.leave()
		// The call of Gradients that this is part of holds outer.build.
		c := &Context{h: outer.h, ptr: outer.ptr, busy: outer.busy}
		t, err := customOf(data).gradient(c, tensorOf(node), newTensor(c, gradient), int(operand))
		if err != nil {
			return err
		}
		if err := t.enter(); err != nil {
			return err
		}
		defer t.leave()
		made = t.ptr
		return nil
	})
	return made
}

//export tlgoCustomDestroy
func tlgoCustomDestroy(data C.uintptr_t) { cgo.Handle(data).Delete() }
