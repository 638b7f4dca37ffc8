// Wrappers of the C ABI for C++ tests, whose handles end with their scope. tensorlib::cpp exports
// the ABI too.
#pragma once

#include <tensorlib/tensorlib.h>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace support {

template <class T, void (*end)(T *)>
struct Ends {
    void operator()(T *p) const { end(p); }
};
using CContext = std::unique_ptr<tl_context, Ends<tl_context, tl_context_free>>;
using CGraph = std::unique_ptr<tl_graph, Ends<tl_graph, tl_graph_free>>;
using CBackend = std::unique_ptr<tl_backend, Ends<tl_backend, tl_backend_free>>;

// A status with its message.
struct COutcome {
    tl_status status = TL_STATUS_OK;
    std::string message;
};

// Runs f, which takes where its error goes.
template <class F>
COutcome outcome_of(F f) {
    tl_error err{};
    err.struct_size = sizeof err;
    const tl_status status = f(&err);
    return {status, err.message};
}

// Calls f as outcome_of does, and throws if it fails.
template <class F>
void must(F f) {
    const COutcome outcome = outcome_of(f);
    if (outcome.status != TL_STATUS_OK) throw std::runtime_error(std::string(tl_status_name(outcome.status)) + ": " + outcome.message);
}

inline CBackend c_backend(const char *device, std::int32_t n_threads) {
    tl_backend_params params;
    tl_backend_params_init(&params, sizeof params);
    params.n_threads = n_threads;
    tl_backend *backend = nullptr;
    must([&](tl_error *err) { return tl_backend_create(device, &params, &backend, err); });
    return CBackend(backend);
}

inline CContext c_context(const tl_context_params &params) {
    tl_context *context = nullptr;
    must([&](tl_error *err) { return tl_context_create(&params, &context, err); });
    return CContext(context);
}

// The error of the context's last constructor that failed.
inline COutcome last_error(tl_context *context) {
    return outcome_of([&](tl_error *err) { return tl_context_error(context, err); });
}

inline CGraph c_graph(tl_context *context, tl_tensor *output) {
    tl_graph *graph = nullptr;
    must([&](tl_error *err) { return tl_graph_create(context, &output, 1, &graph, err); });
    return CGraph(graph);
}

}  // namespace support
