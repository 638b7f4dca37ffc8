package tensorlib

// #include "progress.h"
import "C"

import "runtime/cgo"

// run is one call of Graph.Compute with a progress callback.
type run struct {
	progress func(done, total int) bool
	panicked bool
	value    any // what the callback panicked with
}

// tlgoProgress is called by progress.c after each node. A panic must not unwind
// C's frames: it is kept here, stops the run, and Compute panics with it again.
//
//export tlgoProgress
func tlgoProgress(id C.uintptr_t, done, total C.size_t) (goOn C.bool) {
	r := cgo.Handle(id).Value().(*run)
	defer func() {
		if value := recover(); value != nil {
			r.panicked, r.value, goOn = true, value, false
		}
	}()
	return C.bool(r.progress(int(done), int(total)))
}
