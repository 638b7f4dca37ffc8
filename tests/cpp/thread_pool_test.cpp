// The pool: every chunk once, any number of threads, several pools, sleep and wake, fork.
#include "base/thread_pool.hpp"

#include "support.hpp"

#include <atomic>
#include <chrono>
#include <thread>

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
        ThreadPool pool(threads);
        for (const std::int64_t n : {0, 1, 2, 7, 100, 1000}) run_all(pool, n);
    }
}

TEST(ThreadPool, many_short_runs) {
    ThreadPool pool(4);
    std::atomic<std::int64_t> sum{0};
    auto task = [&](std::int64_t chunk, int) noexcept { sum.fetch_add(chunk + 1, std::memory_order_relaxed); };
    const int runs = support::repeats(20000, 3000000);
    for (int i = 0; i < runs; i++) pool.run(3, task);
    EXPECT_EQ(sum.load(), std::int64_t{6} * runs);
}

TEST(ThreadPool, wakes_after_a_pause) {
    ThreadPool pool(3);
    for (int i = 0; i < support::repeats(20, 2000); i++) {
        run_all(pool, 50);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // far more than it spins
    }
}

TEST(ThreadPool, a_slow_chunk_makes_the_caller_sleep_and_wakes_it) {
    ThreadPool pool(2);
    std::atomic<int> done{0};
    auto task = [&](std::int64_t, int thread) noexcept {
        std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 20));
        done.fetch_add(1);
    };
    for (int i = 0; i < 5; i++) pool.run(2, task);
    EXPECT_EQ(done.load(), 10);
}

TEST(ThreadPool, pools_are_independent) {
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; i++) {
        callers.emplace_back([] {
            ThreadPool pool(3);
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
    auto pool = std::make_unique<ThreadPool>(3);
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
