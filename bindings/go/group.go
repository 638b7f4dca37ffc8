package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Group is a rank's handle of a group of ranks that compute together.
// [Context.AllSum] and its relatives make nodes that exchange tensors between the
// ranks. Each rank computes a graph of its own with the same nodes of the group,
// in the order in which they were built. Before a graph's first run the ranks
// compare these nodes, and a difference is a [StatusGroup] error on all of them.
//
// A rank that fails, leaves, or misses the deadline is a [StatusGroup]
// error on the others, and the group fails with it. A rank leaves when its handle
// was closed, or collected, and the last context with nodes of it.
//
// All methods may be called from any goroutine, but only one graph that uses the
// handle is computed at a time: a second one gets [StatusBusy].
type Group struct {
	h   *handle
	ptr *C.tl_group
}

// GroupOptions are the options of a group.
type GroupOptions struct {
	// How long a rank waits for another one before the group fails, in whole
	// milliseconds; 0 is five minutes.
	Timeout time.Duration
}

// NewGroup makes a group, or joins the one to which the process belongs. "self" is
// one rank. "mpi" are all processes that a launcher such as mpirun has started, each
// a rank; they make their groups in the same order. "auto" is "mpi" if a launcher has
// started the process as one of several, otherwise "self". nil stands for the default
// options.
//
// Errors: [StatusInvalidArgument] for another name or a timeout that is negative or
// more than a year, [StatusUnavailable] if there is no usable MPI library,
// [StatusGroup] if the other processes have not made the group in time,
// [StatusOutOfMemory].
func NewGroup(name string, options *GroupOptions) (*Group, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	var params C.tl_group_params
	C.tl_group_params_init(&params, C.sizeof_tl_group_params)
	if options != nil {
		if options.Timeout < 0 {
			return nil, invalid("group: a timeout of %v: 0 (the default) or more is valid", options.Timeout)
		}
		params.timeout_ms = C.uint64_t(options.Timeout.Milliseconds())
	}
	cname, err := cstring("group", name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cname))
	var ptr *C.tl_group
	cerr := newCError()
	if err := check(C.tl_group_create(cname, &params, &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	return newGroup(ptr), nil
}

// NewLocalGroup returns the handles of n ranks, 1 to 1024, for goroutines of this
// process, in the order of ranks.
//
// Errors: as [NewGroup].
func NewLocalGroup(n int, options *GroupOptions) ([]*Group, error) {
	first, err := NewGroup(fmt.Sprintf("local:%d", n), options)
	if err != nil {
		return nil, err
	}
	ranks := []*Group{first}
	for rank := 1; rank < n; rank++ {
		var ptr *C.tl_group
		cerr := newCError()
		if err := check(C.tl_group_member(first.ptr, C.int32_t(rank), &ptr, &cerr), &cerr); err != nil {
			return nil, err
		}
		ranks = append(ranks, newGroup(ptr))
	}
	return ranks, nil
}

func newGroup(ptr *C.tl_group) *Group {
	g := &Group{h: &handle{what: "group", free: func() { C.tl_group_free(ptr) }}, ptr: ptr}
	runtime.AddCleanup(g, (*handle).close, g.h)
	return g
}

// Close gives up the handle. A second Close does nothing.
func (g *Group) Close() {
	if g != nil {
		g.h.close()
	}
}

// enter starts a call with the handle.
func (g *Group) enter() error {
	if g == nil {
		return invalid("group is nil: make one with NewGroup")
	}
	return g.h.enter("group")
}

// Split divides the group: ranks of one colour form a new one, in the order of
// their keys, and of their ranks where keys are equal. All ranks call it, and it
// waits for them. It returns nil for a negative colour.
//
// Errors: [StatusGroup] if another rank fails, leaves, makes another call or misses the
// deadline; [StatusBusy]; [StatusInvalidArgument] for numbers that
// are no int32.
func (g *Group) Split(colour, key int) (*Group, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.h.leave()
	if colour > math.MaxInt32 || colour < math.MinInt32 || key > math.MaxInt32 || key < math.MinInt32 {
		return nil, invalid("group: colour %d and key %d: numbers of 32 bits are valid", colour, key)
	}
	var ptr *C.tl_group
	cerr := newCError()
	if err := check(C.tl_group_split(g.ptr, C.int32_t(colour), C.int32_t(key), &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	if ptr == nil {
		return nil, nil
	}
	return newGroup(ptr), nil
}

// Rank returns the rank, from 0; 0 for a closed handle.
func (g *Group) Rank() int {
	if g.enter() != nil {
		return 0
	}
	defer g.h.leave()
	return int(C.tl_group_rank(g.ptr))
}

// Size returns the number of ranks; 0 for a closed handle.
func (g *Group) Size() int {
	if g.enter() != nil {
		return 0
	}
	defer g.h.leave()
	return int(C.tl_group_size(g.ptr))
}

// String returns what connects the ranks, for display: the library and its version, and
// why "auto" chose one rank.
func (g *Group) String() string {
	if err := g.enter(); err != nil {
		return err.Error()
	}
	defer g.h.leave()
	return cText(func(buf *C.char, size C.size_t) C.size_t { return C.tl_group_text(g.ptr, buf, size) })
}

// ShardRange returns which elements a rank has of n elements that are divided over ranks,
// in whole blocks, such as those of a quantised type: the number of the first one, and how
// many there are. The shares follow each other in the order of ranks. They differ by at most one
// block, and the first ranks have more. If there are fewer blocks than ranks, some have
// none. The last block may be partial.
//
// Errors: [StatusInvalidArgument] for a negative n, a block or ranks of less than 1, and a
// rank that is not 0 to ranks - 1.
func ShardRange(n, block int64, rank, ranks int) (first, count int64, err error) {
	if rank != int(int32(rank)) || ranks != int(int32(ranks)) {
		return 0, 0, invalid("shard_range: rank %d of %d: numbers of 32 bits are valid", rank, ranks)
	}
	var f, c C.int64_t
	cerr := newCError()
	status := C.tl_shard_range(C.int64_t(n), C.int64_t(block), C.int32_t(rank), C.int32_t(ranks), &f, &c, &cerr)
	return int64(f), int64(c), check(status, &cerr)
}
