// How the engine's callbacks get back into Go.
#ifndef TENSORLIB_GO_PROGRESS_H
#define TENSORLIB_GO_PROGRESS_H

#include <stdint.h>
#include <tensorlib/tensorlib.h>

// tl_graph_compute() for a run: a cgo handle, or 0 if the run has no callback.
tl_status tlgo_graph_compute(tl_graph *graph, tl_backend *backend, uintptr_t run, tl_error *err);

// Makes future runs of the graph call their run's callback, or nothing.
tl_status tlgo_graph_set_progress(tl_graph *graph, bool on, tl_error *err);

// Makes future runs of the graph call their run's observer, or nothing.
tl_status tlgo_graph_set_observer(tl_graph *graph, bool on, tl_error *err);

// The number of callbacks that this thread is in.
extern _Thread_local int tlgo_callbacks;

// Whether the calling goroutine is in a callback. Until the callback
// returns, the goroutine stays on the thread on which C called back.
bool tlgo_in_callback(void);

#endif
