// Calls that wait for resources of other threads: how long and for what they wait, what they hold meanwhile, and where they must not wait.
#include "support.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using tl::Status;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// Long enough to be reached on a busy machine only by a call that would never end.
constexpr auto long_time = 60s;

tl::Backend cpu(int threads = 1) { return support::backend(support::isas().front(), threads); }

// A graph whose run another thread holds up until it is told to go on.
class HeldRun {
public:
    HeldRun(const tl::Graph &graph, const tl::Backend &backend) {
        graph.set_progress([this](std::size_t, std::size_t) {
            running_ = true;
            while (!released_) std::this_thread::sleep_for(1ms);
            return true;
        });
        thread_ = std::thread([graph, backend] { graph.compute(backend); });
        while (!running_) std::this_thread::sleep_for(1ms);
    }
    ~HeldRun() {
        release();
        thread_.join();
    }
    void release() { released_ = true; }

private:
    std::atomic<bool> running_{false}, released_{false};
    std::thread thread_;
};

struct Model {
    tl::Context ctx;
    tl::Tensor x = support::leaf(ctx, {8}, 1), y = sqr(x);
    tl::Graph graph{{y}};
};

TEST(BusyTimeout, none_is_the_default_and_is_not_waited) {
    Model m;
    EXPECT_EQ(m.ctx.busy_timeout(), 0ns);
    const HeldRun run(m.graph, cpu());
    support::expect_error(Status::busy, {"in use by a running graph"}, [&] { (void)m.y.read_f32(); });
}

TEST(BusyTimeout, a_call_that_waits_in_vain_says_how_long) {
    Model m;
    m.ctx.set_busy_timeout(30ms);
    EXPECT_EQ(m.ctx.busy_timeout(), 30ms);
    const HeldRun run(m.graph, cpu());
    const auto begin = Clock::now();
    support::expect_error(Status::busy, {"for longer than the busy timeout of 30 ms"}, [&] { (void)m.x.read_f32(); });
    EXPECT_GE(Clock::now() - begin, 30ms);
    support::expect_error(Status::busy, {"the graph is being computed, for longer"}, [&] { m.graph.compute(cpu()); });
    support::expect_error(Status::busy, {"30 ms"}, [&] { m.graph.set_check_finite(true); });
    support::expect_error(Status::busy, {"30 ms"}, [&] { m.x.write_f32(std::vector<float>(8)); });
    support::expect_error(Status::busy, {"30 ms"}, [&] { m.x.set_constant(); });
    const tl::Graph other({m.y});
    support::expect_error(Status::busy, {"30 ms", "the result of sqr, is a node of it"}, [&] { other.compute(cpu()); });
    support::expect_error(Status::invalid_argument, {"-1 ns"}, [&] { m.ctx.set_busy_timeout(-1ns); });
}

// Each of the calls begins while the run is held up, and ends when it is over.
TEST(BusyTimeout, calls_wait_until_the_run_is_over) {
    const auto waits_for_the_run = [](auto call) {
        Model m;
        m.ctx.set_busy_timeout(long_time);
        HeldRun run(m.graph, cpu());
        std::atomic<bool> called{false}, ended{false};
        std::thread caller([&] {
            called = true;
            call(m);
            ended = true;
        });
        while (!called) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(20ms);
        EXPECT_FALSE(ended);
        run.release();
        caller.join();
        EXPECT_TRUE(ended);
    };
    waits_for_the_run([](Model &m) { EXPECT_EQ(m.y.read_f32().size(), 8u); });
    waits_for_the_run([](Model &m) { EXPECT_EQ(m.x.get({1}), m.x.read_f32()[1]); });
    waits_for_the_run([](Model &m) { m.x.set({0}, 2.0f); });
    waits_for_the_run([](Model &m) { m.x.write_f32(std::vector<float>(8, 3)); });
    waits_for_the_run([](Model &m) { m.x.set_constant(); });
    waits_for_the_run([](Model &m) { m.graph.set_check_finite(true); });
    waits_for_the_run([](Model &m) { (void)m.graph.plan_text(cpu()); });
    waits_for_the_run([](Model &m) {
        m.graph.compute(cpu());
        EXPECT_EQ(m.y.read_f32()[0], m.x.read_f32()[0] * m.x.read_f32()[0]);
    });
}

// The timeout of the context that the call is about counts: the reader's, not the weights'.
TEST(BusyTimeout, of_the_callers_own_context) {
    const tl::Context weights, request;
    const auto w = support::leaf(weights, {8}, 1), target = support::leaf(weights, {8}, 2);
    const auto y = request.add(w, w);
    const tl::Graph reading({y}), writing({weights.op("cpy", {w, target})});
    HeldRun run(writing, cpu());
    weights.set_busy_timeout(long_time);
    support::expect_error(Status::busy, {"it reads leaf"}, [&] { reading.compute(cpu()); });
    weights.set_busy_timeout(0ns);
    request.set_busy_timeout(long_time);
    std::thread computing([&] { reading.compute(cpu()); });
    std::this_thread::sleep_for(20ms);
    run.release();
    computing.join();
    EXPECT_EQ(y.read_f32()[3], 2 * w.read_f32()[3]);
}

TEST(BusyTimeout, computing_waits_no_longer_for_the_backend) {
    Model one, other;
    const tl::Backend backend = cpu();
    other.ctx.set_busy_timeout(30ms);
    HeldRun run(one.graph, backend);
    support::expect_error(Status::busy, {"the backend computes for other threads, for longer than the busy timeout of 30 ms"},
                          [&] { other.graph.compute(backend); });
    other.ctx.set_busy_timeout(long_time);
    std::thread computing([&] { other.graph.compute(backend); });
    run.release();
    computing.join();
    EXPECT_EQ(other.y.read_f32().size(), 8u);
}

// Who holds a context may need the backend to come to an end: a call that waited for the context with the backend's turn in its hands would
// keep both from it.
TEST(BusyTimeout, nothing_is_held_while_a_call_waits) {
    Model m, other;
    m.ctx.set_busy_timeout(long_time);
    const tl::Backend backend = cpu();
    HeldRun run(m.graph, cpu());
    std::thread waiting([&] { m.graph.compute(backend); });
    std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 20; i++) other.graph.compute(backend);
    run.release();
    waiting.join();
}

// It might wait for itself.
TEST(BusyTimeout, callbacks_do_not_wait) {
    Model m;
    m.ctx.set_busy_timeout(long_time);
    int refused = 0;
    m.graph.set_progress([&](std::size_t, std::size_t) {
        support::expect_error(Status::busy, {}, [&] { (void)m.x.read_f32(); });
        support::expect_error(Status::busy, {}, [&] { m.graph.compute(cpu()); });
        refused++;
        return true;
    });
    m.graph.compute(cpu());
    EXPECT_GT(refused, 0);
    EXPECT_EQ(m.y.read_f32().size(), 8u);  // and afterwards they may again
}

TEST(BusyTimeout, a_reset_waits_for_readers_but_not_for_owners) {
    tl::Context ctx;
    ctx.set_busy_timeout(long_time);
    {
        const tl::Graph graph({sqr(support::leaf(ctx, {4}, 1))});
        support::expect_error(Status::busy, {"still refers to"}, [&] { ctx.reset(); });
    }
    ctx.reset();
    EXPECT_EQ(ctx.busy_timeout(), long_time);
}

// Many threads, one graph: nobody is refused, and each result is whole.
TEST(BusyTimeout, threads_take_turns) {
    Model m;
    m.ctx.set_busy_timeout(long_time);
    m.x.write_f32(std::vector<float>(8, 1));
    const tl::Backend backend = cpu(2);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < support::repeats(2000, 50000); round++) {
                if (i == 0) m.x.write_f32(std::vector<float>(8, static_cast<float>(round)));
                m.graph.compute(backend);
                const auto y = m.y.read_f32();
                for (const float value : y) wrong += value != y[0];
            }
        });
    }
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
