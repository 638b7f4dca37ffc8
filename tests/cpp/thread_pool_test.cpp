// The pool: every chunk once, any number of threads, several pools, sleep and wake, late threads, fork. Most pools are
// told that all of their threads have a core, so that the tests run on small machines too.
#include "base/thread_pool.hpp"

#include "support.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using tl::core::ThreadPool;

namespace {

// Runs n chunks and checks that each ran once, on a thread of the pool.
void run_all(ThreadPool &pool, std::int64_t n) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
    std::atomic<bool> outside{false};
    auto task = [&](std::int64_t chunk, int thread) noexcept {
        seen[static_cast<std::size_t>(chunk)].fetch_add(1);
        if (thread < 0 || thread >= pool.size()) outside = true;
    };
    pool.run(n, task);
    EXPECT_FALSE(outside);
    for (auto &count : seen) ASSERT_EQ(count.load(), 1);
}

TEST(ThreadPool, every_chunk_runs_once) {
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads, threads);
        for (const std::int64_t n : {0, 1, 2, 7, 100, 1000}) run_all(pool, n);
    }
}

// More chunks than fit into a word together with the run's number, here with a smaller bound.
TEST(ThreadPool, more_chunks_than_a_run_takes_are_run_in_parts) {
    for (const int threads : {1, 3}) {
        ThreadPool pool(threads, threads);
        for (const std::int64_t n : {0, 1, 6, 7, 8, 14, 25}) {
            std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
            auto task = [&](std::int64_t chunk, int) noexcept { seen[static_cast<std::size_t>(chunk)].fetch_add(1); };
            pool.run(
                n, [](void *c, std::int64_t chunk, int thread) noexcept { (*static_cast<decltype(task) *>(c))(chunk, thread); }, &task, 7);
            for (auto &count : seen) ASSERT_EQ(count.load(), 1);
        }
    }
}

TEST(ThreadPool, many_short_runs) {
    ThreadPool pool(4, 4);
    std::atomic<std::int64_t> sum{0};
    auto task = [&](std::int64_t chunk, int) noexcept { sum.fetch_add(chunk + 1, std::memory_order_relaxed); };
    const int runs = support::repeats(20000, 3000000);
    for (int i = 0; i < runs; i++) pool.run(3, task);
    EXPECT_EQ(sum.load(), std::int64_t{6} * runs);
}

TEST(ThreadPool, wakes_after_a_pause) {
    ThreadPool pool(3, 3);
    for (int i = 0; i < support::repeats(20, 2000); i++) {
        run_all(pool, 50);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // far more than it spins
    }
}

TEST(ThreadPool, a_slow_chunk_makes_the_caller_sleep_and_wakes_it) {
    ThreadPool pool(2, 2);
    std::atomic<int> done{0};
    auto task = [&](std::int64_t, int thread) noexcept {
        std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 20));
        done.fetch_add(1);
    };
    for (int i = 0; i < 5; i++) pool.run(2, task);
    EXPECT_EQ(done.load(), 10);
}

// Which threads took part in a run whose chunks are long enough for everyone who is awake to get one.
std::set<int> threads_of_a_run(ThreadPool &pool) {
    std::mutex mutex;
    std::set<int> threads;
    auto task = [&](std::int64_t, int thread) noexcept {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::lock_guard lock(mutex);
        threads.insert(thread);
    };
    pool.run(2 * pool.size(), task);
    return threads;
}

// Workers are awake when the pool is made, and sleep as soon as they get to it: after some pauses only those run that were
// woken, and that is one.
TEST(ThreadPool, no_more_workers_are_woken_than_there_are_cores) {
    ThreadPool pool(8, 2);
    std::size_t fewest = 8;
    for (int i = 0; i < 1000 && fewest > 2; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        fewest = std::min(fewest, threads_of_a_run(pool).size());
    }
    EXPECT_LE(fewest, 2u);
    ThreadPool alone(4, 1);
    for (int i = 0; i < 1000 && fewest > 1; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        fewest = std::min(fewest, threads_of_a_run(alone).size());
    }
    EXPECT_EQ(fewest, 1u);
}

TEST(ThreadPool, all_workers_are_woken_where_there_are_cores_and_chunks) {
    ThreadPool pool(6, 6);
    std::set<int> seen;
    for (int i = 0; i < 1000 && seen.size() < 6; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        seen.merge(threads_of_a_run(pool));
    }
    EXPECT_EQ(seen.size(), 6u);
}

TEST(ThreadPool, one_chunk_is_the_callers) {
    ThreadPool pool(3, 3);
    for (int i = 0; i < 100; i++) {
        std::thread::id ran;
        auto task = [&](std::int64_t, int) noexcept { ran = std::this_thread::get_id(); };
        pool.run(1, task);
        EXPECT_EQ(ran, std::this_thread::get_id());
    }
}

std::atomic<bool> stopped{false}, go_on{false};

void stop_here(int) {
    stopped = true;
    // Not for ever, should the stop have caught the thread inside a chunk or a lock.
    for (int i = 0; i < 5000 && !go_on; i++) {
        const timespec millisecond{0, 1000000};
        nanosleep(&millisecond, nullptr);
    }
    stopped = false;
}

// As if the system gave a worker no time: a signal's handler keeps it while it sleeps.
TEST(ThreadPool, a_stopped_worker_holds_up_nothing) {
    struct sigaction action = {}, before = {};
    action.sa_handler = stop_here;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    ThreadPool pool(3, 3);
    std::atomic<pthread_t> worker{};
    std::atomic<bool> known{false};
    for (int i = 0; i < 1000 && !known; i++) {
        auto task = [&](std::int64_t, int thread) noexcept {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (thread != 1) return;
            worker = pthread_self();
            known = true;
        };
        pool.run(6, task);
    }
    ASSERT_TRUE(known);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far more than it spins
    go_on = false;
    ASSERT_EQ(pthread_kill(worker, SIGUSR1), 0);
    for (int i = 0; i < 2000 && !stopped; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(stopped);
    for (int i = 0; i < 100; i++) run_all(pool, 50);
    EXPECT_TRUE(stopped) << "the runs waited for it";
    go_on = true;
    while (stopped) std::this_thread::yield();
    for (int i = 0; i < 100; i++) run_all(pool, 50);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(ThreadPool, pools_are_independent) {
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; i++) {
        callers.emplace_back([] {
            ThreadPool pool(3, 3);
            for (int j = 0; j < support::repeats(200, 20000); j++) run_all(pool, 20);
        });
    }
    for (auto &caller : callers) caller.join();
}

TEST(ThreadPool, refuses_absurd_sizes) {
    support::expect_error(tl::Status::invalid_argument, {"n_threads", "-1"}, [] { ThreadPool pool(-1); });
    support::expect_error(tl::Status::invalid_argument, {"n_threads", "1025"}, [] { ThreadPool pool(1025); });
}

// In a child with a limit on processes, so that a thread somewhere in the middle cannot be started. Root is not held to
// RLIMIT_NPROC, but to address space it is: each thread's stack takes some.
TEST(ThreadPool, a_thread_that_cannot_be_started_is_a_status) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        rlimit limit{std::size_t{3} << 30, std::size_t{3} << 30};
        setrlimit(RLIMIT_AS, &limit);
        try {
            ThreadPool pool(1024);  // 1023 stacks of 8 MiB
            _exit(1);
        } catch (const tl::Error &error) {
            _exit(error.code() == tl::Status::unavailable || error.code() == tl::Status::out_of_memory ? 0 : 2);
        } catch (...) {
            _exit(3);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's shadow memory exceeds any limit on address space";
#else
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
#endif
}

TEST(ThreadPool, a_forked_child_cannot_use_it_but_may_drop_it) {
    auto pool = std::make_unique<ThreadPool>(3, 3);
    run_all(*pool, 10);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool usable = pool->usable();
        pool.reset();
        _exit(usable ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(pool->usable());
    run_all(*pool, 10);
}

}  // namespace
