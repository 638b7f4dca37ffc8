package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Context is an arena that owns tensors and their data and frees them together.
// All methods may be called from any goroutine.
type Context struct {
	h   *handle
	ptr *C.tl_context

	// build is held over a constructor and the reading of its error, so that each
	// goroutine gets its own error.
	build sync.Mutex

	busy *patience // shared with its graphs
}

// ContextOption is an option of [NewContext].
type ContextOption func(*contextParams)

type contextParams struct {
	c       C.tl_context_params
	backend *Backend
	on      bool // whether WithBackend was given, even with nil
}

// WithMemLimit sets the most bytes that objects and data of the context may take
// together. 0, the default, means no limit.
func WithMemLimit(bytes uint64) ContextOption {
	return func(p *contextParams) { p.c.mem_limit = C.size_t(bytes) }
}

// WithNoAlloc makes a context whose tensors have shapes but no data;
// [Context.Allocate] gives leafs their data.
func WithNoAlloc() ContextOption {
	return func(p *contextParams) { p.c.no_alloc = true }
}

// WithBackend puts the tensors' data on the backend's device. The default is
// host memory. The context keeps the backend alive in the C library.
func WithBackend(b *Backend) ContextOption {
	return func(p *contextParams) { p.backend, p.on = b, true }
}

// NewContext makes a context. Close it after use. Any limit is accepted; tensors
// that do not fit fail later with [StatusOutOfMemory].
//
// Errors: [StatusInvalidArgument] for a nil or closed backend,
// [StatusOutOfMemory], [StatusUnavailable] if the C library is too old.
func NewContext(options ...ContextOption) (*Context, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	var params contextParams
	C.tl_context_params_init(&params.c, C.sizeof_tl_context_params)
	for i, option := range options {
		if option == nil {
			return nil, invalid("context: option %d is nil", i)
		}
		option(&params)
	}
	if params.on {
		if err := params.backend.enter(); err != nil {
			return nil, err
		}
		defer params.backend.leave()
		params.c.backend = params.backend.ptr
	}
	var ptr *C.tl_context
	cerr := newCError()
	if err := check(C.tl_context_create(&params.c, &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	contexts.Lock()
	defer contexts.Unlock()
	return wrapContext(ptr), nil
}

// Close releases the context: from now on its tensors return errors. Graphs and
// other contexts that refer to its memory keep that alive and stay usable. Close
// takes effect when calls that use the context have returned; a second one does
// nothing.
func (c *Context) Close() {
	if c != nil {
		c.h.close()
	}
}

// UsedMemory returns the number of bytes in use by objects, data, and plans that
// are kept for graphs of the same structure; 0 after Close.
func (c *Context) UsedMemory() uint64 {
	if c.enter() != nil {
		return 0
	}
	defer c.leave()
	return uint64(C.tl_context_used_memory(c.ptr))
}

// PeakMemory returns the most bytes that were in use at any time; 0 after Close.
func (c *Context) PeakMemory() uint64 {
	if c.enter() != nil {
		return 0
	}
	defer c.leave()
	return uint64(C.tl_context_peak_memory(c.ptr))
}

// SetName names the context for messages: "context 3 'weights'"; "" removes the
// name.
//
// Errors: [StatusInvalidArgument] for a name that contains a NUL or is not UTF-8,
// [StatusOutOfMemory].
func (c *Context) SetName(name string) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return named("context name", name, func(cname *C.char, cerr *C.tl_error) C.tl_status {
		return C.tl_context_set_name(c.ptr, cname, cerr)
	})
}

// Name returns the context's name; "" if it has none or was closed.
func (c *Context) Name() string {
	if c.enter() != nil {
		return ""
	}
	defer c.leave()
	return cText(func(buf *C.char, size C.size_t) C.size_t { return C.tl_context_name(c.ptr, buf, size) })
}

// Freeze closes the context for building: from now on new leafs and nodes in it
// return errors that say where to build instead, so a model does not grow by
// nodes that were meant for a request's context. [Context.Reset] opens it again.
func (c *Context) Freeze() error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	cerr := newCError()
	return check(C.tl_context_freeze(c.ptr, &cerr), &cerr)
}

// named calls set with a name as a C string.
func named(what, name string, set func(cname *C.char, cerr *C.tl_error) C.tl_status) error {
	cname, err := cstring(what, name)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(cname))
	cerr := newCError()
	return check(set(cname, &cerr), &cerr)
}

// Allocate gives data, all zeros, to every leaf of a [WithNoAlloc] context that
// has none yet, on the device of b; nil means the context's own.
//
// Errors: [StatusInvalidArgument] if the context is of another kind,
// [StatusContextMismatch] for another device, [StatusOutOfMemory] (no leaf was
// changed), [StatusBusy].
func (c *Context) Allocate(b *Backend) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	var backend *C.tl_backend
	if b != nil {
		if err := b.enter(); err != nil {
			return err
		}
		defer b.leave()
		backend = b.ptr
	}
	return c.busy.patiently(func(cerr *C.tl_error) C.tl_status { return C.tl_context_allocate(c.ptr, backend, cerr) })
}

// Reset removes all tensors from the context and keeps its memory. From now on
// the tensors return errors.
//
// Errors: [StatusBusy] if a graph or another context refers to the context, or
// another call is using it; nothing was changed then. [StatusInvalidArgument]
// after Close.
func (c *Context) Reset() error {
	if c == nil || c.h == nil {
		return invalid("context is nil: make one first")
	}
	defer runtime.KeepAlive(c)
	return c.busy.try(context.Background(), func(time.Time) error {
		return c.h.renew(func() error {
			cerr := newCError()
			return check(C.tl_context_reset(c.ptr, &cerr), &cerr)
		})
	})
}

func (c *Context) enter() error {
	if c == nil {
		return invalid("context is nil: make one first")
	}
	return c.h.enter("context")
}

func (c *Context) leave() {
	c.h.leave()
	runtime.KeepAlive(c)
}

// construct runs a constructor of the C library and takes its error. The caller
// has entered the operands.
func (c *Context) construct(what string, operands []*Tensor, call func() *C.tl_tensor) (*Tensor, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	for i, t := range operands {
		if err := t.enter(); err != nil {
			return nil, operandError(what, i, err)
		}
		defer t.leave()
	}
	c.build.Lock()
	defer c.build.Unlock()
	ptr := call()
	if ptr == nil {
		return nil, c.takeError(what)
	}
	return newTensor(c, ptr), nil
}

// takeError reads the error that a constructor left; build is locked.
func (c *Context) takeError(what string) error {
	cerr := newCError()
	if err := check(C.tl_context_error(c.ptr, &cerr), &cerr); err != nil {
		return err
	}
	return errorf(StatusInternal, "%s failed without a reason: please report this", what)
}
