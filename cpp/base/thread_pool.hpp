// A pool of threads that run one task at a time, cut into chunks.
//
// run(n, task) calls task(chunk, thread) once for each chunk 0 .. n-1, on the calling thread (thread 0) and on
// the workers (1 .. size-1), and returns when all chunks are done. Which thread takes which chunk is open;
// chunks are taken one by one, so a slow or descheduled thread holds up only the chunk that it has.
//
// No more threads are woken than a run has chunks, or the process had cores when the pool was made: more would only take
// turns, and each hand-over of a core costs more than a short chunk. The others sleep.
//
// One caller at a time (a backend's own lock sees to that). Pools know nothing of each other. After fork() a
// child's copy has no workers: usable() says so, and its destructor leaves the threads alone.
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

    // n_threads counts the calling thread: n_threads - 1 are started. Throws Error(unavailable) where one cannot
    // be; those started before it have ended then. cores: how many threads may be of use at one time; 0 = as many as this
    // process may use.
    explicit ThreadPool(int n_threads, int cores = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;

    int size() const noexcept { return size_; }

    // False in a forked child, where the workers do not exist.
    bool usable() const noexcept;

    // Blocks until all n_chunks are done. task must not throw; it and context must live until run() returns, and are not touched after
    // that. A task that calls run() on its own pool is a defect. More than `most` chunks are run one part after the other: their numbers
    // share a word with the run's.
    void run(std::int64_t n_chunks, Task task, void *context, std::int64_t most = max_chunks) noexcept;

    // The same for any callable f(chunk, thread).
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

    int size_, useful_;  // threads; how many of them there are cores for
    std::int64_t owner_process_;
    std::vector<std::thread> workers_;

    // The next chunk to take, and of which run: epoch in the upper half, chunk in the lower. Taken by
    // compare-exchange, so a worker that was descheduled between two runs cannot take a chunk of a run that
    // it does not know. (It would have to sleep through exactly 2^32 runs.) Written by all threads.
    alignas(64) std::atomic<std::uint64_t> next_{0};

    // Chunks done of this run. Written by all threads, once a chunk.
    alignas(64) std::atomic<std::int64_t> done_{0};

    // The run's task. Written by the caller between runs, read by workers after they saw the new epoch;
    // atomic because a late worker may read while the next run writes. What it read is used only if its
    // compare-exchange on next_ then proves that the epoch had not changed.
    alignas(64) std::atomic<Task> task_{nullptr};
    std::atomic<void *> context_{nullptr};
    std::atomic<std::int64_t> n_chunks_{0};

    // Parking. parked_: workers asleep or about to be, that nobody has woken yet; waiting_: the caller is. Both are raised
    // before the last look at what is waited for, and looked at after that was changed (sequentially consistent), so no
    // wake-up is lost. parked_ is written under the mutex.
    alignas(64) std::atomic<int> parked_{0};
    std::atomic<bool> waiting_{false};
    std::atomic<bool> stopping_{false};
    // Apart, so that a forked child can leave it alone: there the copied condition variables still count the parent's
    // sleepers, and destroying them would wait for those for ever.
    struct Parking {
        std::mutex mutex;
        std::condition_variable wake_workers, wake_caller;
        int woken = 0;  // workers that are to wake up and have not yet; under the mutex
    };
    std::unique_ptr<Parking> parking_ = std::make_unique<Parking>();
};

}  // namespace tensorlib::core
