package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

// contexts maps each context of the engine to its Context, if there is one, so
// that a tensor that was looked up belongs to the same Context as its siblings.
var contexts = struct {
	sync.Mutex
	of map[*C.tl_context]registered
}{of: map[*C.tl_context]registered{}}

type registered struct {
	h       *handle
	context weak.Pointer[Context]
}

// wrapContext wraps a context and takes over the caller's reference; contexts is
// locked.
func wrapContext(ptr *C.tl_context) *Context {
	h := &handle{what: "context"}
	h.free = func() {
		forget(ptr, h)
		C.tl_context_free(ptr)
	}
	c := &Context{h: h, ptr: ptr, busy: new(patience)}
	contexts.of[ptr] = registered{h, weak.Make(c)}
	runtime.AddCleanup(c, (*handle).close, h)
	return c
}

// forget is called before the context's pointer is freed, because another context
// may get its address afterwards.
func forget(ptr *C.tl_context, h *handle) {
	contexts.Lock()
	defer contexts.Unlock()
	if contexts.of[ptr].h == h {
		delete(contexts.of, ptr)
	}
}

// contextOf returns the entered Context of a tensor that the library has named; a
// new one if the tensor's own was closed or collected.
func contextOf(t *C.tl_tensor) *Context {
	ptr := C.tl_tensor_context(t)
	contexts.Lock()
	defer contexts.Unlock()
	c := contexts.of[ptr].context.Value()
	if c != nil && c.enter() == nil {
		C.tl_context_free(ptr)
		return c
	}
	c = wrapContext(ptr)
	_ = c.enter() // nobody else has it
	return c
}

// tensorsOf wraps tensors that the library has listed; nil for NULL. The object
// that keeps them alive must be entered.
func tensorsOf(list func(tensors **C.tl_tensor, n C.size_t) C.size_t) []*Tensor {
	var ptrs []*C.tl_tensor
	for {
		// The list may grow meanwhile.
		n := int(list(unsafe.SliceData(ptrs), C.size_t(len(ptrs))))
		if n <= len(ptrs) {
			ptrs = ptrs[:n]
			break
		}
		ptrs = make([]*C.tl_tensor, n)
	}
	tensors := make([]*Tensor, len(ptrs))
	for i, ptr := range ptrs {
		if ptr != nil {
			tensors[i] = tensorOf(ptr)
		}
	}
	return tensors
}

func tensorOf(ptr *C.tl_tensor) *Tensor {
	c := contextOf(ptr)
	defer c.leave()
	return newTensor(c, ptr)
}

// ID returns the context's number in messages; later contexts have larger ones. 0
// after Close.
func (c *Context) ID() uint64 {
	if c.enter() != nil {
		return 0
	}
	defer c.leave()
	return uint64(C.tl_context_id(c.ptr))
}

// Tensors lists the context's tensors, leafs and nodes, in the order in which
// they were made. The list includes nodes that operations made of several nodes
// created internally. Empty after Close.
func (c *Context) Tensors() []*Tensor {
	if c.enter() != nil {
		return nil
	}
	defer c.leave()
	return tensorsOf(func(tensors **C.tl_tensor, n C.size_t) C.size_t { return C.tl_context_tensors(c.ptr, tensors, n) })
}

// Find returns the first of the context's tensors with this name, or nil. It
// takes time in proportion to the number of tensors.
func (c *Context) Find(name string) *Tensor {
	if c.enter() != nil {
		return nil
	}
	defer c.leave()
	cname, err := cstring("name", name)
	if err != nil {
		return nil
	}
	defer C.free(unsafe.Pointer(cname))
	if ptr := C.tl_context_find(c.ptr, cname); ptr != nil {
		return newTensor(c, ptr)
	}
	return nil
}

// Sources returns the operands of the tensor's operation in the order of
// docs/ops.md: none for a leaf, nil for an operand that was left out. Empty after
// the context's Close.
func (t *Tensor) Sources() []*Tensor {
	if t.enter() != nil {
		return nil
	}
	defer t.leave()
	return tensorsOf(func(tensors **C.tl_tensor, n C.size_t) C.size_t { return C.tl_tensor_sources(t.ptr, tensors, n) })
}

// NodeTensors lists the graph's nodes in the order of computation, including
// views. A node that is recomputed for gradients ([NewGraphWithin]) appears once
// for each time it is computed. Empty after Close.
func (g *Graph) NodeTensors() []*Tensor {
	return g.tensors(func(tensors **C.tl_tensor, n C.size_t) C.size_t { return C.tl_graph_nodes(g.ptr, tensors, n) })
}

// LeafTensors lists the leafs that the graph's nodes read or write. Empty after
// Close.
func (g *Graph) LeafTensors() []*Tensor {
	return g.tensors(func(tensors **C.tl_tensor, n C.size_t) C.size_t { return C.tl_graph_leafs(g.ptr, tensors, n) })
}

// OutputTensors lists the outputs in the order in which they were given. Empty
// after Close.
func (g *Graph) OutputTensors() []*Tensor {
	return g.tensors(func(tensors **C.tl_tensor, n C.size_t) C.size_t { return C.tl_graph_outputs(g.ptr, tensors, n) })
}

func (g *Graph) tensors(list func(tensors **C.tl_tensor, n C.size_t) C.size_t) []*Tensor {
	if g.enter() != nil {
		return nil
	}
	defer g.leave()
	return tensorsOf(list)
}
