package tensorlib

// #include "progress.h"
import "C"

import (
	"context"
	"runtime"
	"runtime/cgo"
	"sync"
	"time"
	"unsafe"
)

// Graph is the nodes that some outputs need, in an order in which they can be
// computed. It is immutable and can be computed any number of times, with new
// values in its leafs. It keeps the memory of all contexts that it reaches alive.
// All methods may be called from any goroutine.
type Graph struct {
	h   *handle
	ptr *C.tl_graph

	busy *patience // shared with its context

	mu       sync.Mutex // guards the fields below, and keeps them consistent with the state in C
	progress func(done, total int) bool
	watched  bool // whether C calls back
	observe  func(node *Tensor, done, total int) bool
}

// NewGraph makes the graph of the outputs: post-order from each in turn, every
// tensor once. c owns the graph's memory. Close it after use.
//
// Errors: [StatusInvalidArgument] for no output, or a nil or closed one,
// [StatusContextMismatch] for tensors of different devices, [StatusOutOfMemory].
func NewGraph(c *Context, outputs ...*Tensor) (*Graph, error) {
	return newGraph(c, nil, outputs)
}

// NewGraphWithin makes a graph whose intermediates take at most memory bytes, not
// counting kernels' workspaces. To stay within the limit, nodes that gradients
// read are recomputed instead of kept, cheap ones first. Results have the same
// bits; [Graph.PlanText] lists the nodes that run twice.
//
// Errors: those of [NewGraph]; [StatusOutOfMemory] also if no plan within memory
// is found: the message has the fewest bytes for which one was found.
func NewGraphWithin(c *Context, memory uint, outputs ...*Tensor) (*Graph, error) {
	return newGraph(c, &memory, outputs)
}

func newGraph(c *Context, memory *uint, outputs []*Tensor) (*Graph, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	couts := make([]*C.tl_tensor, len(outputs))
	for i, t := range outputs {
		if err := t.enter(); err != nil {
			return nil, operandError("graph", i, err)
		}
		defer t.leave()
		couts[i] = t.ptr
	}
	var ptr *C.tl_graph
	cerr := newCError()
	// Locked, because this call too would take an error that a constructor of
	// another goroutine has just left.
	c.build.Lock()
	var code C.tl_status
	if memory == nil {
		code = C.tl_graph_create(c.ptr, unsafe.SliceData(couts), C.size_t(len(couts)), &ptr, &cerr)
	} else {
		code = C.tl_graph_create_within(c.ptr, unsafe.SliceData(couts), C.size_t(len(couts)), C.size_t(*memory), &ptr, &cerr)
	}
	c.build.Unlock()
	if err := check(code, &cerr); err != nil {
		return nil, err
	}
	g := &Graph{
		h:    &handle{what: "graph", free: func() { C.tl_graph_free(ptr) }},
		ptr:  ptr,
		busy: c.busy,
	}
	runtime.AddCleanup(g, (*handle).close, g.h)
	return g, nil
}

// Close frees the graph; the outputs' data stay with their contexts. It takes
// effect when calls that use the graph have returned; a second Close does
// nothing.
func (g *Graph) Close() {
	if g != nil {
		g.h.close()
	}
}

// Nodes returns the number of nodes, including views; 0 after Close.
func (g *Graph) Nodes() int {
	if g.enter() != nil {
		return 0
	}
	defer g.leave()
	return int(C.tl_graph_n_nodes(g.ptr))
}

// Leafs returns the number of leafs; 0 after Close.
func (g *Graph) Leafs() int {
	if g.enter() != nil {
		return 0
	}
	defer g.leave()
	return int(C.tl_graph_n_leafs(g.ptr))
}

// SetProgress sets the callback of future runs; nil removes it. It runs on the
// goroutine that computes, after each node and on the CPU about every 10 ms while
// a node takes longer. Returning false stops the run with [StatusAborted], even
// within a node; after the last node it has no effect, as the results are
// complete. A panic in the callback stops the run and continues in the caller of
// Compute. The callback may close things and start other graphs on other
// backends, on its own goroutine. It must not end this goroutine (runtime.Goexit,
// testing's FailNow), because C is on the stack.
//
// Errors: [StatusBusy] while the graph is being computed, [StatusInvalidArgument]
// after Close.
func (g *Graph) SetProgress(progress func(done, total int) bool) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.watch(progress != nil)
	if err == nil {
		g.progress = progress
	}
	return err
}

// watch makes C call back in future runs, or not; mu is locked.
func (g *Graph) watch(on bool) error {
	err := g.busy.patiently(func(cerr *C.tl_error) C.tl_status { return C.tlgo_graph_set_progress(g.ptr, C.bool(on), cerr) })
	if err == nil {
		g.watched = on
	}
	return err
}

// SetObserver sets the observer of future runs; nil removes it. It is called with
// each node that computes something when its result is complete, on the goroutine
// that computes. Until it returns, [Read], [Tensor.ReadF32], [Tensor.GetF32] and
// similar functions can read the node's result on that goroutine alone, even if
// it is an intermediate; other tensors of a context that the run writes are
// [StatusBusy]. Views have no result of their own. Each node runs separately,
// which is slower and gives the same bits. Its result and its panics are treated
// as those of [Graph.SetProgress].
//
// Errors: as [Graph.SetProgress].
func (g *Graph) SetObserver(observe func(node *Tensor, done, total int) bool) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.busy.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tlgo_graph_set_observer(g.ptr, C.bool(observe != nil), cerr)
	})
	if err == nil {
		g.observe = observe
	}
	return err
}

// SetCheckFinite makes future runs check each result and fail with
// [StatusInvalidArgument] at the first that has a NaN, or an infinity although no
// operand has one; the error names the operation, tensor, element and value.
// Infinities of leafs, of DiagMaskInf, of an infinite fill and of results
// computed from them count as intended. Each node runs separately and its result
// is read, which is slow and gives the same bits.
//
// Errors: [StatusBusy] while the graph is being computed, [StatusInvalidArgument]
// after Close.
func (g *Graph) SetCheckFinite(on bool) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	return g.busy.patiently(func(cerr *C.tl_error) C.tl_status { return C.tl_graph_set_check_finite(g.ptr, C.bool(on), cerr) })
}

// SetBatchInvariant makes future runs batch-invariant: each column of MulMat and
// MulMatId, and each query of FlashAttnExt and PagedAttention, has the bits that it
// has if it is computed alone, however many are computed with it. A query's bits do
// not depend on keys that its mask hides either. Operations that take each row by
// itself are always batch-invariant. Prompts are slower, single columns hardly.
//
// Errors: [StatusBusy] while the graph is being computed, [StatusInvalidArgument]
// after Close. Compute then fails with [StatusUnsupported] on a backend other than
// the CPU, and for MulMatSparse, Axpy and SparseFfn.
func (g *Graph) SetBatchInvariant(on bool) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	return g.busy.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_graph_set_batch_invariant(g.ptr, C.bool(on), cerr)
	})
}

// Compute computes the graph and returns when the results are complete. The first
// run on a backend makes a plan, which later runs reuse.
//
// Errors: [StatusInvalidArgument] if a leaf has no data yet,
// [StatusContextMismatch] if the data live on another device, [StatusUnsupported]
// for a node that no kernel of the backend supports, [StatusBusy] if a context is
// in use or the call comes from the backend's own callback, [StatusAborted],
// [StatusUnavailable] in a forked child, [StatusOutOfMemory]. After an error the
// outputs count as not computed.
func (g *Graph) Compute(b *Backend) error {
	return g.ComputeContext(context.Background(), b)
}

// ComputeContext is [Graph.Compute] that ends when ctx does: immediately while it
// waits for the backend, within about 10 ms while it computes on the CPU, and
// after the current node on a GPU. After the last node the results are complete,
// and it returns no error.
//
// Errors: those of [Graph.Compute]. If ctx ended it, [StatusAborted] with an
// error that errors.Is finds: [context.Canceled], [context.DeadlineExceeded] or
// the given cause.
func (g *Graph) ComputeContext(ctx context.Context, b *Backend) error {
	if ctx == nil {
		return invalid("compute: the context is nil: context.Background() is valid")
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	return g.busy.try(ctx, func(until time.Time) error { return g.computeInTurn(ctx, b, until) })
}

// computeInTurn waits for the backend's turn, at most until a time if there is
// one, and computes; graph and backend are entered.
func (g *Graph) computeInTurn(ctx context.Context, b *Backend, until time.Time) error {
	isMine, err := b.takeTurn(ctx, until)
	if err != nil {
		return err
	}
	if isMine {
		defer func() { <-b.turn }()
	}
	g.mu.Lock()
	progress, observe := g.progress, g.observe
	if ctx.Done() != nil && !g.watched {
		err = g.watch(true)
	}
	g.mu.Unlock()
	if err != nil {
		return err
	}

	cerr := newCError()
	if progress == nil && observe == nil && ctx.Done() == nil {
		return check(C.tlgo_graph_compute(g.ptr, b.ptr, 0, &cerr), &cerr)
	}
	r := &run{ctx: ctx, progress: progress, observe: observe}
	id := cgo.NewHandle(r)
	defer id.Delete()
	err = check(C.tlgo_graph_compute(g.ptr, b.ptr, C.uintptr_t(id), &cerr), &cerr)
	if r.panicked {
		panic(r.value)
	}
	if err != nil && r.ended {
		return endedBy(ctx)
	}
	return err
}

// takeTurn waits until the backend computes for nobody else. Goroutines that
// waited in C would each hold a thread of the system. It returns false within a
// progress callback if the backend is in use: C then decides who may wait.
func (b *Backend) takeTurn(ctx context.Context, until time.Time) (bool, error) {
	if ctx.Err() != nil {
		return false, endedBy(ctx)
	}
	select {
	case b.turn <- struct{}{}:
		return true, nil
	default:
	}
	if C.tlgo_in_callback() {
		return false, nil
	}
	var tooLate <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		tooLate = timer.C
	}
	select {
	case b.turn <- struct{}{}:
		return true, nil
	case <-tooLate:
		return false, errorf(StatusBusy, "compute: the backend computes for other goroutines")
	case <-ctx.Done():
		return false, endedBy(ctx)
	}
}

func endedBy(ctx context.Context) error {
	cause := context.Cause(ctx)
	return &Error{Code: StatusAborted, Message: "compute: " + cause.Error(), cause: cause}
}

// Dot returns the graph in Graphviz's DOT language.
//
// Errors: [StatusInvalidArgument] after Close, [StatusOutOfMemory].
func (g *Graph) Dot() (string, error) {
	if err := g.enter(); err != nil {
		return "", err
	}
	defer g.leave()
	text := cText(func(buf *C.char, size C.size_t) C.size_t {
		return C.tl_graph_dot(g.ptr, buf, size)
	})
	if text == "" {
		return "", errorf(StatusOutOfMemory, "dot: no memory for the text")
	}
	return text, nil
}

// PlanText returns the plan for a backend as text, a line per node: kernel,
// threads, memory, and why better kernels refused.
//
// Errors: those of [Graph.Compute].
func (g *Graph) PlanText(b *Backend) (string, error) {
	if err := g.enter(); err != nil {
		return "", err
	}
	defer g.leave()
	if err := b.enter(); err != nil {
		return "", err
	}
	defer b.leave()
	var text string
	err := g.busy.patiently(func(cerr *C.tl_error) C.tl_status {
		text = cText(func(buf *C.char, size C.size_t) C.size_t {
			return C.tl_graph_plan_text(g.ptr, b.ptr, buf, size, cerr)
		})
		return cerr.code
	})
	return text, err
}

// PlanBytes returns the bytes that computing the graph takes on each device of
// the backend, in the order of [Backend.Devices]: leafs and outputs there,
// intermediates, workspace, transfers to the device, packed copies of constants.
// Leafs need no data, so in a context without data it tells the need in advance.
//
// Errors: those of [Graph.Compute].
func (g *Graph) PlanBytes(b *Backend) ([]uint64, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	cbytes := make([]C.size_t, len(b.devices))
	if err := g.busy.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_graph_plan_bytes(g.ptr, b.ptr, &cbytes[0], C.size_t(len(cbytes)), cerr)
	}); err != nil {
		return nil, err
	}
	bytes := make([]uint64, len(cbytes))
	for i, n := range cbytes {
		bytes[i] = uint64(n)
	}
	return bytes, nil
}

// cText gets a text from a function that returns the length it needs. The text
// may grow between two calls (another goroutine names a tensor), so it repeats
// until the text fits.
func cText(get func(buf *C.char, size C.size_t) C.size_t) string {
	need := get(nil, 0)
	for need > 0 {
		buf := make([]byte, need+1)
		n := get((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
		if n <= need {
			return string(buf[:n])
		}
		need = n
	}
	return ""
}

func (g *Graph) enter() error {
	if g == nil {
		return invalid("graph is nil: make one first")
	}
	return g.h.enter("graph")
}

func (g *Graph) leave() {
	g.h.leave()
	runtime.KeepAlive(g)
}
