package tensorlib

// #include "progress.h"
import "C"

import (
	"context"
	"runtime/cgo"
)

// run is one call of Graph.Compute with a progress callback, an observer, or a
// context that may end.
type run struct {
	ctx      context.Context
	progress func(done, total int) bool               // may be nil
	observe  func(node *Tensor, done, total int) bool // may be nil
	ended    bool                                     // by ctx
	panicked bool
	value    any // the value of the callback's panic
}

// tlgoProgress is called by progress.c after each node. A panic must not unwind
// C's frames: it is kept here, stops the run, and Compute panics with it again.
//
//export tlgoProgress
func tlgoProgress(id C.uintptr_t, done, total C.size_t) (goOn C.bool) {
	r := cgo.Handle(id).Value().(*run)
	defer r.keepPanic(&goOn)
	if r.ctx.Err() != nil {
		r.ended = true
		return false
	}
	return C.bool(r.progress == nil || r.progress(int(done), int(total)))
}

// tlgoObserve is tlgoProgress with the node whose result is complete.
//
//export tlgoObserve
func tlgoObserve(id C.uintptr_t, node *C.tl_tensor, done, total C.size_t) (goOn C.bool) {
	r := cgo.Handle(id).Value().(*run)
	defer r.keepPanic(&goOn)
	return C.bool(r.observe == nil || r.observe(tensorOf(node), int(done), int(total)))
}

func (r *run) keepPanic(goOn *C.bool) {
	if value := recover(); value != nil {
		r.panicked, r.value, *goOn = true, value, false
	}
}
