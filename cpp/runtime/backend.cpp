#include "runtime/backend.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "runtime/trace.hpp"

namespace tensorlib::core {

namespace {

std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> serial{0};
    return serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool fusing_wanted() {
    const std::string word = platform::environment("TENSORLIB_FUSE");
    if (word.empty() || word == "1") return true;
    if (word == "0") return false;
    fail(Status::invalid_argument, "backend: TENSORLIB_FUSE is '%s': 0 (each node by itself) or 1 is valid", word.c_str());
}

}  // namespace

Backend::Backend(const Device &device) : device_(device), serial_(next_serial()), fuses_(fusing_wanted()) {}
Backend::~Backend() = default;

void Backend::execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &) {
    for (const Step &step : steps) run_step(step);
}

void Backend::start_trace(const std::string &path) { trace_ = Trace::open(path, *this); }

void Backend::run_traced(const Step &step) {
    const Trace::Span span(trace(), op_name(step.node->op), &step);
    execute(step);
}

namespace {

// Turns that this thread holds: more than none where it is inside of a callback.
thread_local int turns_held = 0;

}  // namespace

Backend::Turn::Turn(Backend &backend, const char *what) : backend_(backend) {
    if (backend_.holder_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        fail(Status::busy, "%s: called from inside a callback of a graph that this backend is computing", what);
    }
    // Before the lock: in a forked child the parent's holder would never give it back.
    backend_.check_usable(what);
    if (turns_held == 0) {
        backend_.turn_.lock();
    } else if (!backend_.turn_.try_lock()) {
        fail(Status::busy, "%s: called from inside a callback of another backend's graph, while this backend computes for another thread",
             what);
    }
    turns_held++;
    backend_.holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

Backend::Turn::~Turn() {
    backend_.holder_.store(std::thread::id(), std::memory_order_relaxed);
    turns_held--;
    backend_.turn_.unlock();
}

}  // namespace tensorlib::core
