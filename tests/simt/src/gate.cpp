// The gate that every call passes, the last error, reports, and the lifetime of the state.
#include "host_guard.hpp"
#include "state.hpp"

#include "simt/testing.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace simt {

namespace {

std::mutex lock;
State *instance = nullptr;
std::atomic<bool> in_child_of_fork = false;

struct LastError {
    cudaError_t code = cudaSuccess;
    std::string report;  // the last one, and its code
    cudaError_t report_code = cudaSuccess;
    bool fresh = false;  // of the call that runs
    std::string shown;   // what cudaGetErrorString returned
};

LastError &last_error() {
    thread_local LastError e;
    return e;
}

void create_state() {
    instance = new State;
    State &s = *instance;
    s.config = read_config();
    s.random = Random(s.config.seed);
    s.timeline.eager = s.config.seed % 4 == 3;
    if (s.config.driver != Driver::ok) return;
    for (int i = 0; i < s.config.devices; i++) {
        auto device = std::make_unique<Device>();
        device->index = i;
        if (!device->memory.reserve(s.config.memory)) die("no address space for a device of %zu bytes", s.config.memory);
        device->legacy = new_stream(*device);
        s.devices.push_back(std::move(device));
    }
    install_host_guard();
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
        if (instance) in_child_of_fork = true;
    });
    (void)registered;
}

cudaError_t planned_failure(State &s, const char *name) {
    if (s.config.failures.empty()) return cudaSuccess;
    const std::uint64_t n = ++s.n_calls[name];
    for (const PlannedFailure &failure : s.config.failures) {
        if (failure.call == name && failure.n == n) return failure.code;
    }
    return cudaSuccess;
}

bool is_sticky(cudaError_t code) {
    return code >= cudaErrorIllegalAddress && code <= cudaErrorLaunchFailure && code != cudaErrorLaunchOutOfResources;
}

void set_report(cudaError_t code, const std::string &text) {
    last_error().report = text;
    last_error().report_code = code;
    last_error().fresh = true;
}

cudaError_t pass(State &s, const char *name, unsigned gate) {
    if (const cudaError_t failure = planned_failure(s, name)) {
        const std::string text = format("simulated GPU: %s fails as TENSORLIB_SIMT_FAIL asks, with %s", name, cudaGetErrorName(failure));
        if (is_sticky(failure) && !s.devices.empty()) {
            kill_device(current_device(), failure, text);
        } else {
            set_report(failure, text);
        }
        return failure;
    }
    if ((gate & works_without_driver) == 0) {
        if (s.config.driver != Driver::ok) return cudaErrorInsufficientDriver;
        if (s.devices.empty()) return cudaErrorNoDevice;
        if ((gate & works_when_dead) == 0 && current_device().dead) return health(current_device());
    }
    if (gate & (unsafe_during_capture | implicit_during_capture)) {
        if (const auto capture = forbidding_capture()) {
            invalidate(*capture);
            const cudaError_t code = gate & implicit_during_capture ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported;
            return refuse(code, "%s while a stream is capturing", name);
        }
    }
    return cudaSuccess;
}

}  // namespace

State &state() { return *instance; }

int &current_device_index() noexcept {
    thread_local int index = 0;
    return index;
}

Device &current_device() {
    const auto index = static_cast<std::size_t>(current_device_index());
    return *state().devices[index < state().devices.size() ? index : 0];
}

cudaError_t call(const char *name, unsigned gate, const std::function<cudaError_t()> &body) {
    cudaError_t result = cudaErrorInitializationError;
    LastError &last = last_error();
    last.fresh = false;
    // The child of a fork has the parent's lock in whatever state it was, and none of its work.
    if (!in_child_of_fork) {
        std::lock_guard guard(lock);
        if (!instance) create_state();
        result = pass(*instance, name, gate);
        if (result == cudaSuccess) result = body();
        for (auto &device : instance->devices) device->memory.close();
    }
    if (result != cudaSuccess && result != cudaErrorNotReady) {
        last.code = result;
        // An older error's report would mislead.
        if (!last.fresh && last.report_code == result) last.report_code = cudaSuccess;
    }
    return result;
}

std::string format(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("simulated GPU: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
    std::abort();
}

cudaError_t refuse(cudaError_t code, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const std::string report = simt::format("simulated GPU: %s (seed %llu)", text, static_cast<unsigned long long>(state().config.seed));
    std::fprintf(stderr, "%s\n", report.c_str());
    set_report(code, report);
    return code;
}

cudaError_t health(const Device &device) {
    if (device.dead) set_report(device.dead, device.report);
    return device.dead;
}

void kill_device(Device &device, cudaError_t code, const std::string &text) {
    if (device.dead) return;
    std::fprintf(stderr, "%s\n", text.c_str());
    device.dead = code;
    device.report = text;
    drop_queue(device);
    set_report(code, text);
}

std::size_t live_allocations() {
    std::lock_guard guard(lock);
    std::size_t n = 0;
    if (instance) {
        for (const auto &device : instance->devices) n += device->memory.n_live;
    }
    return n;
}

void reset() {
    std::lock_guard guard(lock);
    for (State *s = instance; s; s = nullptr) {
        s->timeline.captures.clear();
        for (auto &device : s->devices) {
            device->memory.close();
            drop_queue(*device);
        }
        // Executable graphs and streams give slots back when they go, so they go before the timeline.
        s->timeline.execs.clear();
        s->timeline.stream_handles.clear();
        s->timeline.streams.clear();
        for (auto &device : s->devices) device->legacy.reset();
        for (const auto &[address, pinned] : s->pinned) std::free(reinterpret_cast<void *>(address));
        delete s;
        instance = nullptr;
    }
    last_error() = {};
    current_device_index() = 0;
}

bool has_state() noexcept { return instance != nullptr; }

}  // namespace simt

using namespace simt;

cudaError_t cudaGetLastError() {
    const cudaError_t code = cudaPeekAtLastError();
    last_error().code = cudaSuccess;
    return code;
}

cudaError_t cudaPeekAtLastError() {
    if (in_child_of_fork) return cudaErrorInitializationError;
    std::lock_guard guard(lock);
    // A dead device is an error for ever.
    if (instance && !instance->devices.empty() && current_device().dead) return health(current_device());
    return last_error().code;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define SIMT_ERROR(name, number, text) \
    case name: return #name;
#include "simt/error_list.inc"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    LastError &last = last_error();
    if (error != cudaSuccess && error == last.report_code) {
        last.shown = last.report;
        return last.shown.c_str();
    }
    switch (error) {
#define SIMT_ERROR(name, number, text) \
    case name: return text;
#include "simt/error_list.inc"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}
