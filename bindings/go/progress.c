#include "progress.h"

#include "_cgo_export.h"

// The run that this thread computes. The engine calls back on the thread that
// computes, and a goroutine stays on its thread while it is inside C, so this
// variable identifies the run. A user_data per graph could not tell runs of one
// graph apart, and a panic has to come out of the Compute that it happened in.
static _Thread_local uintptr_t current_run;

_Thread_local int tlgo_callbacks;

tl_status tlgo_graph_compute(tl_graph *graph, tl_backend *backend, uintptr_t run, tl_error *err) {
	const uintptr_t outer = current_run; // not 0 if a callback computes another graph
	current_run = run;
	const tl_status status = tl_graph_compute(graph, backend, err);
	current_run = outer;
	return status;
}

static bool on_progress(void *user_data, size_t done, size_t total) {
	(void)user_data;
	// 0: the run has no callback, or the callback was set after the run had begun.
	if (current_run == 0) return true;
	tlgo_callbacks++;
	const bool go_on = tlgoProgress(current_run, done, total);
	tlgo_callbacks--;
	return go_on;
}

static bool on_result(void *user_data, tl_tensor *node, size_t done, size_t total) {
	(void)user_data;
	if (current_run == 0) return true;
	tlgo_callbacks++;
	const bool go_on = tlgoObserve(current_run, node, done, total);
	tlgo_callbacks--;
	return go_on;
}

bool tlgo_in_callback(void) { return tlgo_callbacks > 0; }

tl_status tlgo_graph_set_progress(tl_graph *graph, bool on, tl_error *err) {
	return tl_graph_set_progress(graph, on ? on_progress : NULL, NULL, err);
}

tl_status tlgo_graph_set_observer(tl_graph *graph, bool on, tl_error *err) {
	return tl_graph_set_observer(graph, on ? on_result : NULL, NULL, err);
}
