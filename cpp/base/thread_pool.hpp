// A pool of threads that run one task at a time, divided into chunks.
//
// run(n, task) calls task(chunk, thread) once for each chunk 0 .. n-1, on the calling thread (thread 0) and on the
// workers (1 .. size-1), and returns when all chunks are done. Any thread may take any chunk. Chunks are taken one by
// one, so a slow or descheduled thread delays only its own chunk.
//
// A run wakes no more threads than it has chunks, or than the process had cores when the pool was made. More threads
// would only take turns, and each hand-over of a core costs more than a short chunk. The others sleep.
//
// The pool has one caller at a time; a backend's own lock ensures it. Pools do not know each other. After fork(), a
// child's copy has no workers: usable() returns false, and its destructor ignores the threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tensorlib::core {

class ThreadPool {
public:
    using Task = void (*)(void *context, std::int64_t chunk, int thread) noexcept;

    static constexpr int max_threads = 1024;
    static constexpr std::int64_t max_chunks = std::int64_t{1} << 31;

    // n_threads includes the calling thread: n_threads - 1 are started. Throws Error(unavailable) if one cannot be
    // started; those started before have ended then. cores: how many threads may be useful at one time; 0 = as many as
    // this process may use.
    explicit ThreadPool(int n_threads, int cores = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;

    int size() const noexcept { return size_; }

    // False in a forked child, which has no workers.
    bool usable() const noexcept;

    // Blocks until all n_chunks are done. task must not throw. It and context must live until run() returns, and are
    // not touched after that. A task that calls run() on its own pool is a bug. More than `most` chunks are run in
    // consecutive parts, because their numbers share a word with the run's.
    void run(std::int64_t n_chunks, Task task, void *context, std::int64_t most = max_chunks) noexcept;

    // As run(), for any callable f(chunk, thread).
    template <class F>
    void run(std::int64_t n_chunks, F &f) noexcept {
        run(n_chunks, [](void *c, std::int64_t chunk, int thread) noexcept { (*static_cast<F *>(c))(chunk, thread); }, &f);
    }

private:
    void run_part(std::int64_t n_chunks, Task task, void *context) noexcept;
    void work(int thread) noexcept;
    void take_chunks(std::uint32_t epoch, int thread) noexcept;
    void wake_workers(int wanted) noexcept;
    bool wait_for_task(std::uint32_t seen) noexcept;
    void stop() noexcept;

    int size_, useful_;  // threads, and how many of them have a core
    std::int64_t owner_process_;
    std::vector<std::thread> workers_;

    // The next chunk to take and its run: epoch in the upper half, chunk in the lower. It is taken by compare-exchange,
    // so a worker that was descheduled between two runs cannot take a chunk of a run that it does not know, unless it
    // sleeps through exactly 2^32 runs. Written by all threads.
    alignas(64) std::atomic<std::uint64_t> next_{0};

    // Completed chunks of this run. Written by all threads, once per chunk.
    alignas(64) std::atomic<std::int64_t> done_{0};

    // The run's task. The caller writes it between runs, and workers read it after they saw the new epoch. It is atomic
    // because a late worker may read while the next run writes. The worker uses what it read only if its
    // compare-exchange on next_ then proves that the epoch has not changed.
    alignas(64) std::atomic<Task> task_{nullptr};
    std::atomic<void *> context_{nullptr};
    std::atomic<std::int64_t> n_chunks_{0};

    // Parking. parked_: workers that are asleep or about to be and that no thread has woken yet; waiting_: the caller
    // is. Both are raised before the last look at what is waited for, and read after that was changed (sequentially
    // consistent), so no wake-up is lost. parked_ is written under the mutex.
    alignas(64) std::atomic<int> parked_{0};
    std::atomic<bool> waiting_{false};
    std::atomic<bool> stopping_{false};
    // Separate, so that a forked child can ignore it: there the copied condition variables still count the parent's
    // sleepers, and destroying them would wait for those forever.
    struct Parking {
        std::mutex mutex;
        std::condition_variable wake_workers, wake_caller;
        int woken = 0;  // workers that have been told to wake and have not yet; under the mutex
    };
    std::unique_ptr<Parking> parking_ = std::make_unique<Parking>();
};

}  // namespace tensorlib::core
