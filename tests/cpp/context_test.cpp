// Contexts: lifetimes in any order, links, locks, limits.
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "support.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
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

// Fails repeatedly: memory that a failure left in use would be counted and kept, until all of mem_limit is
// taken.
TEST(Context, what_fails_for_want_of_memory_leaves_nothing_behind) {
    tl::ContextOptions options;
    options.mem_limit = 10000;
    tl::Context ctx(options);
    ctx.set_name("small");
    const std::size_t before = ctx.used_memory();
    for (int i = 0; i < 100; i++) {
        support::expect_error(tl::Status::out_of_memory, {"tensor_new", "[10000] f32", "context", "'small'", "mem_limit is 10000"},
                              [&] { ctx.zeros(tl::Type::f32, {10000}); });
    }
    EXPECT_EQ(ctx.used_memory(), before);
}

// A link of a node that was not made would refuse the opposite one as a circle that does not exist.
TEST(Context, a_node_that_fails_leaves_no_link) {
    tl::ContextOptions options;
    options.mem_limit = 1000;
    tl::Context full(options);
    tl::Context other;
    const auto a = full.zeros(tl::Type::f32, {1});
    try {
        for (;;) full.add(a, a);
    } catch (const tl::Error &error) {
        EXPECT_EQ(error.code(), tl::Status::out_of_memory);
    }
    const auto b = other.zeros(tl::Type::f32, {1});
    support::expect_error(tl::Status::out_of_memory, {"add", "[1] f32"}, [&] { full.add(a, b); });
    EXPECT_NO_THROW(other.add(b, a));
}

class Watcher final : public tl::core::TensorWatcher {
public:
    bool ended() const noexcept override { return has_ended; }
    void tensors_gone(const tl::core::Context &) noexcept override {}
    tl::core::Ref<const tl::core::StandIn> copy_of(const tl::core::Tensor &) noexcept override { return {}; }
    void stands_in(const tl::core::Tensor &, const tl::core::StandIn &) noexcept override {}
    bool has_ended = false;
};

// Backends that are opened and closed over the same constants leave nothing with these.
TEST(Context, forgets_watchers_that_have_ended) {
    using tl::core::Ref;
    const auto context = tl::core::Context::create({});
    const auto stays = Ref<Watcher>::adopt(new Watcher);
    context->watch(*stays);
    Ref<Watcher> last;
    for (int i = 0; i < 5; i++) {
        auto next = Ref<Watcher>::adopt(new Watcher);
        context->watch(*next);
        context->watch(*next);
        EXPECT_EQ(next->ref_count(), 2u);
        if (last) {
            EXPECT_EQ(last->ref_count(), 1u);
        }
        next->has_ended = true;
        last = std::move(next);
    }
    EXPECT_EQ(stays->ref_count(), 2u);
}

TEST(Context, memory_messages_name_what_it_was_for) {
    const tl::Backend cpu("cpu", {1});
    tl::ContextOptions options;
    options.mem_limit = 30000;
    tl::Context ctx(options);
    const auto x = ctx.zeros(tl::Type::f32, {1000});
    x.set_name("x");
    auto sum = x + x;
    for (int i = 0; i < 4; i++) sum = sum + sum.transpose().cont().transpose();
    const tl::Tensor wide = ctx.op("mul_mat", {x.view({1, 1000}), x.view({1, 1000})});
    support::expect_error(tl::Status::out_of_memory, {"graph_compute", "output", "[1000, 1000] f32", "mul_mat", "context"},
                          [&] { cpu.compute({wide}); });
    support::expect_error(tl::Status::out_of_memory, {"graph_compute", "intermediates", "workspace", "bytes asked"},
                          [&] { cpu.compute({wide.view({1}) + x.view({1})}); });
}

TEST(Context, names_are_in_messages) {
    tl::Context ctx;
    EXPECT_EQ(ctx.name(), "");
    ctx.set_name("weights");
    EXPECT_EQ(ctx.name(), "weights");
    const auto t = ctx.zeros(tl::Type::f32, {4});
    support::expect_error(tl::Status::busy, {"context_reset"}, [&] { ctx.reset(); });
    support::expect_error(tl::Status::invalid_argument, {"context_set_name", "byte 1", "UTF-8"}, [&] { ctx.set_name("a\xff"); });
    support::expect_error(tl::Status::invalid_argument, {"tensor_set_name", "byte 0", "UTF-8"}, [&] { t.set_name("\xc0\x80"); });
    EXPECT_EQ(ctx.name(), "weights") << "a name that is refused changes nothing";
    ctx.set_name("");
    EXPECT_EQ(ctx.name(), "");
}

// A program that names its tensors for each token.
TEST(Context, old_names_take_no_memory) {
    tl::Context ctx;
    const auto t = ctx.zeros(tl::Type::f32, {4});
    t.set_name("token 000000");
    const std::size_t before = ctx.used_memory();
    for (int i = 0; i < 10000; i++) t.set_name("token " + std::to_string(100000 + i));
    EXPECT_EQ(ctx.used_memory(), before);
    EXPECT_EQ(t.name(), "token 109999");
}

TEST(Context, names_may_be_set_and_read_at_once) {
    tl::Context ctx;
    const auto t = ctx.zeros(tl::Type::f32, {4});
    std::atomic<bool> stop{false};
    std::thread setter([&] {
        for (int i = 0; !stop; i++) t.set_name(i % 2 ? "a name" : "another, longer name");
    });
    for (int i = 0; i < 2000; i++) {
        const std::string name = t.name();
        EXPECT_TRUE(name.empty() || name == "a name" || name == "another, longer name") << name;
    }
    stop = true;
    setter.join();
}

TEST(Context, a_frozen_one_is_not_built_in) {
    const tl::Backend cpu("cpu", {1});
    tl::Context weights;
    weights.set_name("weights");
    auto w = weights.tensor<float>({2}, {1, 2}), b = weights.tensor<float>({2}, {10, 20});
    weights.freeze();
    const std::size_t before = weights.used_memory();
    const std::vector<std::string> words{"frozen", "'weights'", "another context"};
    support::expect_error(tl::Status::invalid_argument, words, [&] { w + b; });
    support::expect_error(tl::Status::invalid_argument, words, [&] { w.view({1}); });
    support::expect_error(tl::Status::invalid_argument, words, [&] { weights.zeros(tl::Type::f32, {1}); });
    EXPECT_EQ(weights.used_memory(), before);
    {
        const tl::Context request;
        const auto sum = request.add(w, b);
        cpu.compute({sum});
        EXPECT_EQ(sum.read<float>(), (std::vector<float>{11, 22}));
    }
    w.write<float>(std::vector<float>{5, 6});  // data are not what is frozen
    EXPECT_EQ(weights.used_memory(), before);
    w = b = tl::Tensor();
    weights.reset();
    EXPECT_NO_THROW(weights.zeros(tl::Type::f32, {1}));
}

// The view's shape lies in the context that is reset, its data in another one.
TEST(Context, a_mapped_view_of_another_contexts_tensor_keeps_it_from_reset) {
    const auto owner = tl::core::Context::create({}), views = tl::core::Context::create({});
    tl::core::Tensor *leaf = owner->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::f32, std::vector<std::int64_t>{4}));
    const std::int64_t ne = 2;
    const tl::core::Attr shape = tl::core::Attr::of_ints("ne", {&ne, 1});
    tl::core::Tensor *view = tl::core::build_node(*views, tl::core::Op::view, {&leaf, 1}, {&shape, 1});
    tl::core::map(*view, true);
    support::expect_error(tl::Status::busy, {"context_reset", "mapped"}, [&] { views->reset(); });
    tl::core::unmap(*view, true);
    views->reset();
}

// Each waits for the other's turn, which its callback holds: for ever, without this.
TEST(Locks, callbacks_of_two_backends_do_not_wait_for_each_other) {
    const tl::Backend backends[2] = {tl::Backend("cpu", {1}), tl::Backend("cpu", {1})};
    std::atomic<int> inside{0}, busy{0}, done{0};
    const auto run = [&](int me) {
        tl::Context ctx;
        const auto x = leaf(ctx, {4}, 1);
        const tl::Graph graph({x + x});
        graph.set_progress([&](std::size_t, std::size_t) {
            inside++;
            while (inside < 2) std::this_thread::yield();
            tl::Context own;
            const auto y = leaf(own, {4}, 2);
            try {
                backends[1 - me].compute({y + y});
                done++;
            } catch (const tl::Error &error) {
                EXPECT_EQ(error.code(), tl::Status::busy) << error.what();
                EXPECT_NE(std::string(error.what()).find("callback"), std::string::npos);
                busy++;
            }
            // The other callback is inside until both have tried.
            inside++;
            while (inside < 4) std::this_thread::yield();
            return true;
        });
        graph.compute(backends[me]);
    };
    std::thread first(run, 0), second(run, 1);
    first.join();
    second.join();
    EXPECT_EQ(busy.load(), 2);
    EXPECT_EQ(done.load(), 0);
}

TEST(Locks, busy_names_what_the_graph_needs_the_context_for) {
    const tl::Backend cpu("cpu", {1});
    tl::Context weights, token;
    weights.set_name("model");
    const auto w = leaf(weights, {4}, 1), x = leaf(token, {4}, 2);
    w.set_name("w");
    const tl::Graph reads({token.add(x, w)}), writes({token.cpy(x, w)}), computes({weights.add(w, w)});
    const tl::Graph holder({weights.add(w, w)});
    const tl::Backend second("cpu", {1});
    holder.set_progress([&](std::size_t, std::size_t) {
        support::expect_error(tl::Status::busy, {"'model'", "reads leaf 'w' [4] f32"}, [&] { reads.compute(second); });
        support::expect_error(tl::Status::busy, {"'model'", "alone", "result of cpy", "written into it"}, [&] { writes.compute(second); });
        support::expect_error(tl::Status::busy, {"'model'", "alone", "result of add", "a node of it"}, [&] { computes.compute(second); });
        return true;
    });
    holder.compute(cpu);
}

// In the child the other thread does not exist, and the lock that it held will never be given back.
TEST(Locks, a_graph_may_be_freed_in_a_child_whose_parent_was_building) {
    class Waiting final : public tl::core::DeviceMemory {
    public:
        const char *device() const noexcept override { return "test"; }
        bool host_accessible() const noexcept override { return false; }  // so that data have an arena of their own
        std::size_t alignment() const noexcept override { return 64; }
        void *acquire(std::size_t size) override {
            // The context's build lock is held meanwhile.
            inside = true;
            while (!go_on) std::this_thread::yield();
            return std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
        }
        bool acquires_zeros() const noexcept override { return false; }
        void release(void *memory, std::size_t) noexcept override { std::free(memory); }
        void zero(void *to, std::size_t size) override { std::memset(to, 0, size); }
        void write(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
        void read(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
        std::atomic<bool> inside{false}, go_on{true};
    } memory;
    tl::core::ContextParams params;
    params.memory = &memory;
    const auto context = tl::core::Context::create(params);
    const auto layout = tl::core::contiguous_layout("test", tl::core::DType::f32, std::vector<std::int64_t>{1 << 20});
    tl::core::Tensor *output = context->new_leaf(layout);
    auto graph = tl::core::Graph::create(*context, {&output, 1});
    memory.inside = false;
    memory.go_on = false;
    std::thread builder([&] { context->allocate_data(std::size_t{32} << 20); });
    while (!memory.inside) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        graph = {};
        _exit(0);
    }
    memory.go_on = true;
    builder.join();
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
