#include "handles.hpp"

#include "runtime/executor.hpp"
#include "runtime/memory_budget.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

namespace {

tl_status create(const char *function, tl_context *ctx, tl_tensor *const *outputs, size_t n_outputs, std::optional<size_t> memory,
                 tl_graph **out, tl_error *err) {
    if (out) *out = nullptr;
    return guarded(err, [&] {
        core::Context &context = *unwrap(required(ctx, function, "ctx"));
        required(out, function, "out");
        // Checked first: a NULL output is usually the result of an earlier failure, whose message
        // says more.
        if (const auto pending = context.take_error()) throw *pending;
        required(outputs, function, "outputs");
        if (n_outputs == 0) core::fail(Status::invalid_argument, "%s: n_outputs is 0: at least one output is valid", function);
        std::vector<core::Tensor *> unwrapped;
        for (size_t i = 0; i < n_outputs; i++) {
            if (!outputs[i]) core::fail(Status::invalid_argument, "%s: output %zu is NULL", function, i);
            if (!unwrap(outputs[i])) core::fail(Status::invalid_argument, "%s: output %zu is tl_none(), which is no tensor", function, i);
            unwrapped.push_back(unwrap(outputs[i]));
        }
        *out = wrap(core::create_graph(context, unwrapped, memory).release());
    });
}

}  // namespace

tl_status tl_graph_create(tl_context *ctx, tl_tensor *const *outputs, size_t n_outputs, tl_graph **out, tl_error *err) {
    return create("graph_create", ctx, outputs, n_outputs, {}, out, err);
}

tl_status tl_graph_create_within(tl_context *ctx, tl_tensor *const *outputs, size_t n_outputs, size_t memory, tl_graph **out,
                                 tl_error *err) {
    return create("graph_create_within", ctx, outputs, n_outputs, memory, out, err);
}

void tl_graph_free(tl_graph *graph) {
    if (graph) unwrap(graph)->drop_ref();
}

size_t tl_graph_n_nodes(const tl_graph *graph) { return graph ? unwrap(graph)->nodes().size() : 0; }

size_t tl_graph_n_leafs(const tl_graph *graph) { return graph ? unwrap(graph)->leafs().size() : 0; }

size_t tl_graph_nodes(const tl_graph *graph, tl_tensor **nodes, size_t n) {
    return graph ? capi::copy_tensors(unwrap(graph)->nodes(), nodes, n) : 0;
}

size_t tl_graph_leafs(const tl_graph *graph, tl_tensor **leafs, size_t n) {
    return graph ? capi::copy_tensors(unwrap(graph)->leafs(), leafs, n) : 0;
}

size_t tl_graph_outputs(const tl_graph *graph, tl_tensor **outputs, size_t n) {
    return graph ? capi::copy_tensors(unwrap(graph)->outputs(), outputs, n) : 0;
}

tl_status tl_graph_compute(tl_graph *graph, tl_backend *backend, tl_error *err) {
    constexpr const char *function = "graph_compute";
    return guarded(err, [&] {
        required(graph, function, "graph");
        required(backend, function, "backend");
        core::compute(*unwrap(graph), *unwrap(backend));
    });
}

tl_status tl_graph_set_progress(tl_graph *graph, tl_progress_fn progress, void *user_data, tl_error *err) {
    return guarded(err, [&] { core::set_progress(*unwrap(required(graph, "graph_set_progress", "graph")), progress, user_data); });
}

tl_status tl_graph_set_observer(tl_graph *graph, tl_observe_fn observe, void *user_data, tl_error *err) {
    return guarded(err, [&] { core::set_observer(*unwrap(required(graph, "graph_set_observer", "graph")), observe, user_data); });
}

tl_status tl_graph_set_check_finite(tl_graph *graph, bool check, tl_error *err) {
    return guarded(err, [&] { core::set_check_finite(*unwrap(required(graph, "graph_set_check_finite", "graph")), check); });
}

tl_status tl_graph_set_batch_invariant(tl_graph *graph, bool on, tl_error *err) {
    return guarded(err, [&] { core::set_batch_invariant(*unwrap(required(graph, "graph_set_batch_invariant", "graph")), on); });
}

size_t tl_graph_dot(const tl_graph *graph, char *buf, size_t size) {
    return capi::copied_text(buf, size, [&] { return graph ? unwrap(graph)->dot() : std::string(); });
}

size_t tl_graph_plan_text(tl_graph *graph, tl_backend *backend, char *buf, size_t size, tl_error *err) {
    constexpr const char *function = "graph_plan_text";
    size_t length = 0;
    (void)guarded(err, [&] {
        required(graph, function, "graph");
        required(backend, function, "backend");
        length = capi::copy_text(core::plan_text(*unwrap(graph), *unwrap(backend)), buf, size);
    });
    return length;
}

tl_status tl_graph_plan_bytes(tl_graph *graph, tl_backend *backend, size_t *bytes, size_t n, tl_error *err) {
    constexpr const char *function = "graph_plan_bytes";
    return guarded(err, [&] {
        required(graph, function, "graph");
        required(backend, function, "backend");
        required(bytes, function, "bytes");
        const size_t n_devices = unwrap(backend)->parts().size();
        if (n < n_devices) {
            core::fail(Status::invalid_argument, "%s: n is %zu: %s needs room for %zu", function, n, unwrap(backend)->device().name(),
                       n_devices);
        }
        std::ranges::copy(core::plan_bytes(*unwrap(graph), *unwrap(backend)), bytes);
    });
}
