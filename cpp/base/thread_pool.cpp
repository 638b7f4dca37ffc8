#include "base/thread_pool.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/wait.hpp"

#include <algorithm>
#include <new>
#include <system_error>

namespace tensorlib::core {

namespace {

// A value above max_chunks in place of a chunk, so that no thread takes it.
constexpr std::uint64_t closed = 0xffffffffu;

constexpr std::uint32_t epoch_of(std::uint64_t next) { return static_cast<std::uint32_t>(next >> 32); }
constexpr std::int64_t chunk_of(std::uint64_t next) { return static_cast<std::int64_t>(next & 0xffffffffu); }

}  // namespace

ThreadPool::ThreadPool(int n_threads, int cores)
    : size_(n_threads), useful_(std::min(n_threads, cores > 0 ? cores : platform::usable_cpus())), owner_process_(platform::process_id()) {
    if (n_threads < 1 || n_threads > max_threads) {
        fail(Status::invalid_argument, "backend: n_threads is %d: 1 to %d are valid, or 0 for all", n_threads, max_threads);
    }
    try {
        workers_.reserve(static_cast<std::size_t>(n_threads - 1));
        for (int i = 1; i < n_threads; i++) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error &e) {
        const int started = static_cast<int>(workers_.size());
        stop();
        fail(Status::unavailable, "backend: thread %d of %d could not be started: %s", started + 1, n_threads, e.what());
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() {
    if (usable()) {
        stop();
    } else {
        // Joining threads of the parent would hang; a joinable std::thread must not be destroyed either.
        for (auto &worker : workers_) worker.detach();
        (void)parking_.release();
    }
}

bool ThreadPool::usable() const noexcept { return owner_process_ == platform::process_id(); }

void ThreadPool::stop() noexcept {
    {
        std::lock_guard lock(parking_->mutex);
        stopping_.store(true);
    }
    parking_->wake_workers.notify_all();
    for (auto &worker : workers_) worker.join();
    workers_.clear();
}

void ThreadPool::run(std::int64_t n_chunks, Task task, void *context, std::int64_t most) noexcept {
    if (n_chunks <= most) return run_part(n_chunks, task, context);
    struct Range {
        Task task;
        void *context;
        std::int64_t first;
    } range{task, context, 0};
    const Task run_one = [](void *of_range, std::int64_t chunk, int thread) noexcept {
        const Range &r = *static_cast<const Range *>(of_range);
        r.task(r.context, r.first + chunk, thread);
    };
    for (; range.first < n_chunks; range.first += most) run_part(std::min(most, n_chunks - range.first), run_one, &range);
}

void ThreadPool::run_part(std::int64_t n_chunks, Task task, void *context) noexcept {
    if (n_chunks <= 1 || size_ == 1) {
        for (std::int64_t chunk = 0; chunk < n_chunks; chunk++) task(context, chunk, 0);
        return;
    }
    const std::uint32_t epoch = epoch_of(next_.load(std::memory_order_relaxed)) + 1;
    // No worker is inside a chunk now, but a late one may still be between reading the old task's fields and its
    // compare-exchange. So the old epoch is closed first: a worker that sees one of the new fields (release here,
    // acquire there) finds it closed, whatever mixture of fields it has read.
    next_.store((std::uint64_t{epoch - 1} << 32) | closed, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    task_.store(task, std::memory_order_release);
    context_.store(context, std::memory_order_release);
    n_chunks_.store(n_chunks, std::memory_order_release);
    // seq_cst against parked_: either a worker that goes to sleep sees this epoch, or we see it parked. The store also
    // publishes the task's fields to threads that see the epoch.
    next_.store(std::uint64_t{epoch} << 32, std::memory_order_seq_cst);
    const auto wanted = static_cast<int>(std::min<std::int64_t>(n_chunks, useful_)) - 1;
    if (size_ - 1 - parked_.load(std::memory_order_seq_cst) < wanted) wake_workers(wanted);
    take_chunks(epoch, 0);
    const auto all_done = [&] { return done_.load(std::memory_order_acquire) == n_chunks; };
    // The caller keeps its core: otherwise it would get it back only after others' time slices, milliseconds later.
    if (spin_until(Spin::keep_core, all_done)) return;
    std::unique_lock lock(parking_->mutex);
    waiting_.store(true, std::memory_order_seq_cst);
    parking_->wake_caller.wait(lock, [&] { return done_.load(std::memory_order_seq_cst) == n_chunks; });
    waiting_.store(false, std::memory_order_relaxed);
}

// Wakes workers until `wanted` are awake.
void ThreadPool::wake_workers(int wanted) noexcept {
    int n;
    {
        // The lock ensures that a worker which has just looked is already waiting.
        std::lock_guard lock(parking_->mutex);
        n = wanted - (size_ - 1 - parked_.load(std::memory_order_relaxed));
        if (n <= 0) return;
        // Done on their behalf: the next run must count them as awake, even if they have not run by then.
        parked_.fetch_sub(n, std::memory_order_relaxed);
        parking_->woken += n;
    }
    for (int i = 0; i < n; i++) parking_->wake_workers.notify_one();
}

void ThreadPool::take_chunks(std::uint32_t epoch, int thread) noexcept {
    const Task task = task_.load(std::memory_order_acquire);
    void *context = context_.load(std::memory_order_acquire);
    const std::int64_t n_chunks = n_chunks_.load(std::memory_order_acquire);
    std::uint64_t next = next_.load(std::memory_order_acquire);
    for (;;) {
        if (epoch_of(next) != epoch || chunk_of(next) >= n_chunks) return;
        if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
        task(context, chunk_of(next), thread);
        // release: the caller sees what the task wrote once it has counted all chunks. seq_cst against waiting_, as
        // above. After the last count, the caller may return, so from here only the pool's own fields are touched.
        const bool last = done_.fetch_add(1, std::memory_order_seq_cst) + 1 == n_chunks;
        if (last && waiting_.load(std::memory_order_seq_cst)) {
            {
                std::lock_guard lock(parking_->mutex);
            }
            parking_->wake_caller.notify_one();
        }
        next = next_.load(std::memory_order_acquire);
    }
}

// Waits for an epoch other than the one seen; false if the pool stops.
bool ThreadPool::wait_for_task(std::uint32_t seen) noexcept {
    const auto ready = [&] { return epoch_of(next_.load(std::memory_order_seq_cst)) != seen || stopping_.load(std::memory_order_seq_cst); };
    // A worker offers its core: with a worker spinning on the caller's core, 13 us of work took 60.
    if (!spin_until(Spin::offer_core, ready)) {
        std::unique_lock lock(parking_->mutex);
        parked_.fetch_add(1, std::memory_order_seq_cst);
        if (ready()) {
            parked_.fetch_sub(1, std::memory_order_relaxed);
        } else {
            parking_->wake_workers.wait(lock, [&] { return parking_->woken > 0 || stopping_.load(std::memory_order_relaxed); });
            if (parking_->woken > 0) parking_->woken--;
        }
    }
    return !stopping_.load(std::memory_order_seq_cst);
}

void ThreadPool::work(int thread) noexcept {
    std::uint32_t seen = 0;
    while (wait_for_task(seen)) {
        seen = epoch_of(next_.load(std::memory_order_acquire));
        take_chunks(seen, thread);
    }
}

}  // namespace tensorlib::core
