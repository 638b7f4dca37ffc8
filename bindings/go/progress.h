// The way from the engine's callbacks back into Go.
#ifndef TENSORLIB_GO_PROGRESS_H
#define TENSORLIB_GO_PROGRESS_H

#include <stdint.h>
#include <tensorlib/tensorlib.h>

// tl_graph_compute() on behalf of a run: a cgo handle, or 0 where the run has no
// callback.
tl_status tlgo_graph_compute(tl_graph *graph, tl_backend *backend, uintptr_t run, tl_error *err);

// Has the coming runs of the graph call their run's callback, or nothing.
tl_status tlgo_graph_set_progress(tl_graph *graph, bool on, tl_error *err);

// The same of the observer.
tl_status tlgo_graph_set_observer(tl_graph *graph, bool on, tl_error *err);

// Whether the calling goroutine is in a progress callback: until this returns, it
// stays on the thread that C called back on.
bool tlgo_in_callback(void);

#endif
