// Contexts: lifetimes in any order, links, locks, limits.
#include "support.hpp"

#include <atomic>
#include <thread>

using support::leaf;

namespace {

TEST(Context, handles_may_be_dropped_in_any_order) {
    const tl::Backend cpu("cpu", {2});
    for (int order = 0; order < 6; order++) {
        auto weights = std::make_unique<tl::Context>(), token = std::make_unique<tl::Context>();
        auto w = std::make_unique<tl::Tensor>(leaf(*weights, {8, 4}, 1));
        auto x = std::make_unique<tl::Tensor>(leaf(*token, {8}, 2));
        auto y = std::make_unique<tl::Tensor>(mul_mat(*w, *x));
        auto graph = std::make_unique<tl::Graph>(std::initializer_list<tl::Tensor>{*y});
        const auto expected = support::mul_mat(w->read<float>(), w->shape(), x->read<float>(), x->shape());
        if (order % 2) weights.reset();
        if (order / 2 == 1) w.reset();
        if (order / 2 == 2) token.reset(), x.reset();
        graph->compute(cpu);
        EXPECT_EQ(support::first_wrong(y->read<float>(), expected), "");
        if (order == 3) y.reset();
        graph->compute(cpu);
    }
}

TEST(Context, nodes_go_to_the_youngest_context_and_circles_are_refused) {
    tl::Context old;
    tl::Context young;
    const auto a = leaf(old, {4}, 1), b = leaf(young, {4}, 2);
    const std::size_t before = old.used_memory();
    const auto c = a + b, d = b + a;
    EXPECT_EQ(old.used_memory(), before);
    support::expect_error(tl::Status::context_mismatch, {"context", "refers"}, [&] { old.op("add", {a, c}); });
    EXPECT_NO_THROW(young.op("add", {a, d}));
}

TEST(Context, two_threads_cannot_make_a_circle) {
    for (int i = 0; i < support::repeats(200, 20000); i++) {
        tl::Context one, two;
        const auto a = leaf(one, {1}, 1), b = leaf(two, {1}, 2);
        std::atomic<int> linked{0}, ready{0};
        const auto link = [&](const tl::Context &from, const tl::Tensor &mine, const tl::Tensor &other) {
            ready++;
            while (ready < 2) {
            }
            try {
                from.op("add", {mine, other});
                linked++;
            } catch (const tl::Error &error) {
                EXPECT_EQ(error.code(), tl::Status::context_mismatch);
            }
        };
        std::thread first([&] { link(one, a, b); }), second([&] { link(two, b, a); });
        first.join();
        second.join();
        EXPECT_LE(linked.load(), 1);
    }
}

TEST(Context, reset_keeps_the_memory_and_waits_for_nobody) {
    tl::Context ctx;
    std::size_t peak = 0;
    for (int i = 0; i < 10; i++) {
        {
            const auto a = leaf(ctx, {1000}, 1);
            support::expect_error(tl::Status::busy, {"reset"}, [&] { ctx.reset(); });
        }
        ctx.reset();
        EXPECT_EQ(ctx.used_memory(), 0u);
        if (i == 0) peak = ctx.peak_memory();
        EXPECT_EQ(ctx.peak_memory(), peak);
    }
}

TEST(Context, leafs_start_as_zeros_in_any_memory) {
    std::vector<std::byte> dirty(1 << 16, std::byte{0xff});
    tl::ContextOptions options;
    options.mem_buffer = dirty;
    tl::Context inside(options), own;
    for (tl::Context *ctx : {&inside, &own}) {
        for (int i = 0; i < 3; i++) {
            {
                const auto t = ctx->zeros(tl::Type::f32, {100, 7});
                for (const float x : t.read<float>()) ASSERT_EQ(x, 0.0f);
                t.write_f32(std::vector<float>(700, 5.0f));
            }
            ctx->reset();
        }
    }
    support::expect_error(tl::Status::out_of_memory, {"buffer", "65"}, [&] { inside.zeros(tl::Type::f32, {1 << 14}); });
}

TEST(Context, no_alloc_then_allocate) {
    tl::ContextOptions options;
    options.no_alloc = true;
    options.mem_limit = 40000;
    tl::Context ctx(options);
    const auto a = ctx.zeros(tl::Type::f32, {1000}), b = ctx.zeros(tl::Type::f32, {1000});
    const auto c = a + b;
    const tl::Backend cpu("cpu", {1});
    support::expect_error(tl::Status::invalid_argument, {"no data", "allocate"}, [&] { a.read<float>(); });
    support::expect_error(tl::Status::invalid_argument, {"no data", "allocate"}, [&] { cpu.compute({c}); });
    ctx.allocate();
    a.write_f32(std::vector<float>(1000, 2.0f));
    cpu.compute({c});
    EXPECT_EQ(c.read<float>()[999], 2.0f);
    const auto d = ctx.zeros(tl::Type::f32, {1000}), e = ctx.zeros(tl::Type::f32, {8000});
    support::expect_error(tl::Status::out_of_memory, {"mem_limit", "40000"}, [&] { ctx.allocate(); });
    support::expect_error(tl::Status::invalid_argument, {"no data"}, [&] { d.read<float>(); });
    tl::Context plain;
    support::expect_error(tl::Status::invalid_argument, {"no_alloc"}, [&] { plain.allocate(); });
}

TEST(Context, a_limit_that_is_too_small_says_so_at_every_step) {
    const tl::Backend cpu("cpu", {1});
    int failures = 0;
    for (std::size_t limit = 1; limit < 200000; limit += 997) {
        tl::ContextOptions options;
        options.mem_limit = limit;
        tl::Context ctx(options);
        try {
            const auto a = leaf(ctx, {40, 40}, 1), b = leaf(ctx, {40, 40}, 2);
            const auto c = mul_mat(mul_mat(a, b), b) + a;
            cpu.compute({c});
            c.read<float>();
        } catch (const tl::Error &error) {
            EXPECT_EQ(error.code(), tl::Status::out_of_memory) << error.what();
            failures++;
        }
        EXPECT_LE(ctx.peak_memory(), limit);
    }
    EXPECT_GT(failures, 10);
    EXPECT_LT(failures, 200);
}

// One context of weights, read by many graphs at once; writes to it are refused meanwhile, never torn.
TEST(Locks, graphs_share_weights_and_exclude_writers) {
    tl::Context weights;
    const auto w = leaf(weights, {64, 64}, 1);
    const auto packed = w.read<float>();
    std::atomic<int> wrong{0}, attempts{0}, computed{0}, busy{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 3; t++) {
        threads.emplace_back([&, t] {
            const tl::Backend cpu("cpu", {2});
            // Until one is computed: on a busy machine the writer may have the lock at each of fifty looks.
            int mine = 0;
            for (int i = 0; i < 50 || mine == 0; i++) {
                attempts++;
                tl::Context ctx;
                const auto x = leaf(ctx, {64, 20}, 100 + t);
                const auto y = mul_mat(w, x);
                try {
                    cpu.compute({y});
                    computed++, mine++;
                    if (!support::first_wrong(y.read<float>(), support::mul_mat(packed, w.shape(), x.read<float>(), x.shape())).empty())
                        wrong++;
                } catch (const tl::Error &error) {
                    EXPECT_EQ(error.code(), tl::Status::busy);
                    busy++;
                }
            }
        });
    }
    threads.emplace_back([&] {
        for (int i = 0; i < 2000; i++) {
            try {
                w.write<float>(packed);
            } catch (const tl::Error &error) {
                EXPECT_EQ(error.code(), tl::Status::busy);
            }
        }
    });
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_GE(computed.load(), 3);
    EXPECT_EQ(computed.load() + busy.load(), attempts.load());
}

TEST(Locks, building_goes_on_while_another_thread_computes) {
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto x = leaf(ctx, {256, 256}, 1);
    const tl::Graph graph({mul_mat(x, x)});
    std::atomic<bool> stop{false};
    std::thread builder([&] {
        while (!stop) {
            const auto y = x + x;
            const tl::Graph unused({y});
        }
    });
    for (int i = 0; i < 30; i++) graph.compute(cpu);
    stop = true;
    builder.join();
}

TEST(Locks, one_backend_serves_threads_in_turn) {
    const tl::Backend cpu("cpu", {2});
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint32_t t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            tl::Context ctx;
            const auto a = leaf(ctx, {65, 40}, t), b = leaf(ctx, {65, 30}, t + 10);
            const auto c = mul_mat(a, b);
            const tl::Graph graph({c});
            const auto expected = support::mul_mat(a.read<float>(), a.shape(), b.read<float>(), b.shape());
            for (int i = 0; i < 50; i++) {
                graph.compute(cpu);
                if (!support::first_wrong(c.read<float>(), expected).empty()) wrong++;
            }
        });
    }
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
