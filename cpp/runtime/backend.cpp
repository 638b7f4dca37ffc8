#include "runtime/backend.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/text.hpp"
#include "graph/context.hpp"
#include "ops/custom.hpp"
#include "ops/op_def.hpp"
#include "runtime/trace.hpp"

#include <algorithm>

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

// Operations that TENSORLIB_REFUSE forbids on a device: "cuda:0/add,cpu/mul_mat".
std::bitset<op_end> refused_on(const char *device) {
    std::bitset<op_end> refused;
    const std::string list = platform::environment("TENSORLIB_REFUSE");
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string entry = list.substr(begin, end - begin);
        const std::size_t slash = entry.find('/');
        const OpDef *op = slash == std::string::npos ? nullptr : find_op(std::string_view(entry).substr(slash + 1));
        if (!op) {
            fail(Status::invalid_argument, "backend: TENSORLIB_REFUSE has '%.64s': DEVICE/OPERATION is valid, as cuda:0/add",
                 entry.c_str());
        }
        if (equal_ignoring_case(entry.substr(0, slash), device)) refused.set(static_cast<std::size_t>(op->op));
        begin = end + 1;
    }
    return refused;
}

}  // namespace

Backend::Backend(const Device &device)
    : device_(device), serial_(next_serial()), fuses_(fusing_wanted()), refused_(refused_on(device.name())) {}
Backend::~Backend() = default;

std::optional<std::size_t> Backend::part_on(const DeviceMemory &memory) const noexcept {
    const auto all = parts();
    for (std::size_t i = 0; i < all.size(); i++) {
        if (&all[i]->device().memory() == &memory) return i;
    }
    return {};
}

bool Backend::refuses(const Problem &problem) const noexcept { return refused_[static_cast<std::size_t>(problem.node.op)]; }

Choice Backend::choose(const Problem &problem) const noexcept { return refuses(problem) ? Choice{} : choose_kernel(problem); }

std::string Backend::refusals(const Problem &problem, const Kernel *chosen) const {
    return refuses(problem) ? "TENSORLIB_REFUSE names it" : kernels_refusals(problem, chosen);
}

const std::byte *Backend::constant_on(std::size_t, const Tensor &root) {
    fail(Status::context_mismatch, "graph_compute: %s lives on %s, the backend computes on %s", tensor_text(root).c_str(),
         root.context->memory().device(), device().name());
}

void Backend::execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &) {
    for (const Step &step : steps) run_step(step);
}

void Backend::start_trace(const std::string &path) { trace_ = Trace::open(path, *this); }

void Backend::set_watch(StepWatch *watch) noexcept {
    for (Backend *part : parts()) part->watch_ = watch;
}

void Backend::run_traced(const Step &step) {
    const Tensor &node = *step.node;
    const char *name = node.op == Op::custom ? CustomOp::of(node).name().c_str() : op_name(node.op);
    const Trace::Span span(trace(), name, &step);
    execute(step);
}

Backend::Turn::Turn(Backend &backend, const char *what, const Patience &patience) : backend_(backend) {
    const bool may_wait = turns_held() == 0;
    try {
        for (Backend *part : backend.parts_in_turn()) take(*part, may_wait, what, patience);
    } catch (...) {
        give_back();
        throw;
    }
}

void Backend::Turn::take(Backend &part, bool may_wait, const char *what, const Patience &patience) {
    if (part.holder_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        fail(Status::busy, "%s: called from inside a callback of a graph that this backend is computing", what);
    }
    // Before the lock: in a forked child, the parent's holder would never release it.
    part.check_usable(what);
    if (may_wait && patience.is_limited()) {
#if defined(__SANITIZE_THREAD__)
        // The sanitizer does not see pthread_mutex_clocklock(), which try_lock_until() calls, and would report a wrong
        // unlock.
        Patience tries = patience;
        const bool taken = tries.until([&] { return part.turn_.try_lock(); });
#else
        const bool taken = part.turn_.try_lock_until(patience.deadline());
#endif
        if (!taken) {
            fail(Status::busy, "%s: the backend computes for other threads%s", what, patience.text().c_str());
        }
    } else if (may_wait) {
        part.turn_.lock();
    } else if (!part.turn_.try_lock()) {
        fail(Status::busy, "%s: called from inside a callback of another backend's graph, while this backend computes for another thread",
             what);
    }
    n_taken_++;
    turns_held()++;
    part.holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void Backend::Turn::give_back() noexcept {
    const auto parts = backend_.parts_in_turn();
    while (n_taken_ > 0) {
        Backend &part = *parts[--n_taken_];
        part.holder_.store(std::thread::id(), std::memory_order_relaxed);
        turns_held()--;
        part.turn_.unlock();
    }
}

}  // namespace tensorlib::core
