// Plans that outlive their graphs: graphs of the same structure take them over, others do not; their memory, and threads.
#include "runtime/plan_cache.hpp"

#include "api/devices.hpp"
#include "graph/constants.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <cstdint>
#include <functional>
#include <thread>

namespace core = tensorlib::core;
using core::DType;
using core::Op;
using core::Tensor;

namespace {

constexpr std::int64_t n = 8;

// Builds graphs, computes them, and says whose plan they got.
struct Builder {
    core::Ref<core::Context> context;
    core::Ref<core::Backend> backend = core::open_backend("cpu", {});

    explicit Builder(const core::ContextParams &params = {}) : context(core::Context::create(params)) {}

    Tensor *leaf(std::vector<std::int64_t> ne, float value = 1, DType type = DType::f32) {
        Tensor *t = context->new_leaf(core::contiguous_layout("test", type, ne));
        fill(t, value);
        return t;
    }
    static void fill(Tensor *t, float value) {
        std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()), value);
        core::write_f32(*t, values.data(), values.size());
    }
    Tensor *node(Op op, std::vector<Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }
    Tensor *add(Tensor *a, Tensor *b) { return node(Op::add, {a, b}); }
    core::Ref<core::Graph> graph(std::vector<Tensor *> outputs) { return core::Graph::create(*context, outputs); }

    const core::Plan *plan_of(const core::Graph &g) const { return core::PlanCache::of(*context).find(g, backend->serial()); }
    // The plan may be looked at as an address alone once the graph is gone.
    const core::Plan *compute(const std::vector<Tensor *> &outputs) {
        const auto g = graph(outputs);
        core::compute(*g, *backend);
        return plan_of(*g);
    }
    static std::vector<float> read(Tensor *t) {
        std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
        core::read_f32(*t, values.data(), values.size());
        return values;
    }
};

TEST(PlanCache, a_graph_built_anew_takes_the_plan) {
    Builder b;
    const core::Plan *first = nullptr;
    for (int round = 0; round < 5; round++) {
        // Other leafs and nodes each time, at other addresses.
        Tensor *x = b.leaf({n, 3}, static_cast<float>(round)), *y = b.leaf({n}, 0.5f);
        Tensor *sum = b.add(b.add(x, y), b.node(Op::cont, {x}));
        const core::Plan *plan = b.compute({sum});
        if (round == 0) first = plan;
        EXPECT_EQ(plan, first);
        EXPECT_EQ(Builder::read(sum), std::vector<float>(3 * n, 2 * static_cast<float>(round) + 0.5f));
        EXPECT_EQ(b.compute({sum}), first) << "the same nodes in another graph";
    }
}

TEST(PlanCache, plans_outlive_a_reset) {
    Builder b;
    const core::Plan *first = nullptr;
    for (int round = 0; round < 3; round++) {
        Tensor *x = b.leaf({n, 3}, static_cast<float>(round));
        Tensor *product = b.node(Op::mul_mat, {x, x});
        const core::Plan *plan = b.compute({b.add(product, product), product});
        if (round == 0) first = plan;
        EXPECT_EQ(plan, first);
        EXPECT_EQ(Builder::read(product)[0], static_cast<float>(n * round * round));
        b.context->reset();
    }
}

// In a caller's buffer all is the caller's after a reset.
TEST(PlanCache, plans_in_a_callers_buffer_go_with_a_reset) {
    alignas(64) static std::byte buffer[1 << 16];
    core::ContextParams params;
    params.mem_buffer = buffer;
    params.mem_buffer_size = sizeof buffer;
    Builder b(params);
    for (int round = 0; round < 3; round++) {
        Tensor *x = b.leaf({n, 3}, static_cast<float>(round)), *sum = b.add(b.add(x, x), x);
        b.compute({sum});
        EXPECT_EQ(Builder::read(sum)[0], 3 * static_cast<float>(round));
        b.context->reset();
        EXPECT_EQ(b.context->used_memory(), 0u);
    }
}

// Structures that differ in one thing each: the places of operands, an attribute, a type, a shape or an operation. The
// first three are x + y + x, x + y + y and 2 (x + y) for 1 and 10.
std::vector<std::function<Tensor *()>> structures(Builder &b) {
    // All chains have equal operations and shapes in equal order, so that hashes are equal; places differ.
    const auto chain = [&b](int which) {
        Tensor *x = b.leaf({n}, 1), *y = b.leaf({n}, 10);
        Tensor *sum = b.add(x, y);
        return b.add(sum, which == 0 ? x : which == 1 ? y : sum);
    };
    const auto view = [&b](std::int64_t offset) {
        Tensor *x = b.leaf({n}, 1);
        const std::int64_t ne[] = {4};
        return b.node(Op::cont, {b.node(Op::view, {x}, {core::Attr::of_ints("ne", ne), core::Attr::of_int("offset", offset)})});
    };
    const auto product = [&b](bool exact, DType type) {
        Tensor *w = b.leaf({32, 3}, 1, type), *x = b.leaf({32, 2}, 1);
        return b.node(Op::mul_mat, {w, x}, exact ? std::vector{core::Attr::of_int("exact", 1)} : std::vector<core::Attr>{});
    };
    const auto repeats = [&b](std::vector<std::int64_t> ne) { return b.add(b.leaf({n, 2}), b.leaf(ne)); };
    const auto transposed = [&b](bool first) {
        Tensor *x = b.leaf({n, n}), *y = b.leaf({n, n});
        return first ? b.add(b.node(Op::transpose, {x}), y) : b.add(x, b.node(Op::transpose, {y}));
    };
    return {
        [=] { return chain(0); },
        [=] { return chain(1); },
        [=] { return chain(2); },
        [=] { return view(0); },
        [=] { return view(16); },
        [=] { return product(false, DType::q4_0); },
        [=] { return product(true, DType::q4_0); },
        [=] { return product(false, DType::q8_0); },
        [=] { return product(false, DType::f32); },
        [=] { return repeats({n, 2}); },
        [=] { return repeats({n}); },
        [=] { return repeats({1, 2}); },
        [&b] { return b.node(Op::cont, {b.leaf({n, 2})}); },
        [&b] { return b.node(Op::dup, {b.leaf({n, 2})}); },
        [&b] { return b.node(Op::cont, {b.leaf({2, n})}); },
        [=] { return transposed(true); },
        [=] { return transposed(false); },
    };
}

TEST(PlanCache, other_structures_get_plans_of_their_own) {
    Builder b;
    const auto kinds = structures(b);
    std::vector<const core::Plan *> plans;
    std::vector<std::vector<float>> results;
    for (int round = 0; round < 2; round++) {
        for (std::size_t i = 0; i < kinds.size(); i++) {
            Tensor *result = kinds[i]();
            const core::Plan *plan = b.compute({result});
            if (round == 0) {
                EXPECT_EQ(std::ranges::find(plans, plan), plans.end()) << i;
                plans.push_back(plan);
                results.push_back(Builder::read(result));
            } else {
                EXPECT_EQ(plan, plans[i]) << i;
                EXPECT_EQ(Builder::read(result), results[i]) << i;
            }
        }
    }
    EXPECT_EQ(results[0][0], 12.0f);
    EXPECT_EQ(results[1][0], 21.0f);
    EXPECT_EQ(results[2][0], 22.0f);
    // More outputs than one, and another order of them.
    Tensor *x = b.leaf({n}), *once = b.add(x, x), *twice = b.add(once, once);
    const core::Plan *one = b.compute({twice}), *both = b.compute({once, twice}), *other = b.compute({twice, once});
    EXPECT_NE(one, both);
    EXPECT_NE(both, other);
}

// A plan has the address of a constant's packed copy: it is for that one and no other, even at the same address.
TEST(PlanCache, constants_are_the_same_objects) {
    Builder b;
    Builder weights;
    const auto compute = [&](Tensor *w, float value) {
        Tensor *x = b.leaf({256, 2}, 1), *product = b.node(Op::mul_mat, {w, x});
        const core::Plan *plan = b.compute({product});
        EXPECT_NEAR(Builder::read(product)[0], 256 * value, 0.01f * 256 * value);
        return plan;
    };
    Tensor *first = weights.leaf({256, 64}, 2, DType::f32);
    const core::Plan *plan = compute(first, 2);
    core::set_constant(*first);
    const core::Plan *of_constant = compute(first, 2);
    EXPECT_NE(of_constant, plan);
    EXPECT_EQ(compute(first, 2), of_constant);
    Tensor *second = weights.leaf({256, 64}, 3, DType::f32);
    EXPECT_EQ(compute(second, 3), plan) << "no constant";
    core::set_constant(*second);
    const core::Plan *of_second = compute(second, 3);
    EXPECT_NE(of_second, of_constant);
    core::drop_original(*first);
    const core::Plan *of_dropped = compute(first, 2);
    EXPECT_NE(of_dropped, of_constant);
    EXPECT_EQ(compute(second, 3), of_second);

    // The context's nodes refer to the weights: without them these can be emptied, and the next ones lie where the first did.
    b.context->reset();
    weights.context->reset();
    Tensor *third = weights.leaf({256, 64}, 5, DType::f32);
    EXPECT_EQ(static_cast<void *>(third), static_cast<void *>(first));
    core::set_constant(*third);
    EXPECT_NE(compute(third, 5), of_constant);
}

// A node that another graph was asked for has data of its own, which a plan for nodes without would not write.
TEST(PlanCache, nodes_with_data_of_their_own) {
    Builder b;
    const auto build = [&](bool inner_first) {
        Tensor *x = b.leaf({n}, 2), *inner = b.add(x, x), *outer = b.add(inner, x);
        if (inner_first) b.compute({inner});
        const core::Plan *plan = b.compute({outer});
        EXPECT_EQ(Builder::read(outer)[0], 6.0f);
        return plan;
    };
    const core::Plan *plain = build(false), *with_data = build(true);
    EXPECT_NE(plain, with_data);
    EXPECT_EQ(build(false), plain);
    EXPECT_EQ(build(true), with_data);
}

TEST(PlanCache, two_graphs_that_are_there_have_a_plan_each) {
    Builder b;
    Tensor *x = b.leaf({n}, 2), *y = b.leaf({n}, 3), *of_x = b.add(b.add(x, x), x), *of_y = b.add(b.add(y, y), y);
    const auto first = b.graph({of_x}), second = b.graph({of_y});
    for (int round = 0; round < 3; round++) {
        core::compute(*first, *b.backend);
        core::compute(*second, *b.backend);
        EXPECT_NE(b.plan_of(*first), b.plan_of(*second));
        EXPECT_EQ(Builder::read(of_x)[0], 6.0f);
        EXPECT_EQ(Builder::read(of_y)[0], 9.0f);
    }
}

TEST(PlanCache, leafs_without_data_are_refused_by_plans_that_are_there_too) {
    core::ContextParams params;
    params.no_alloc = true;
    Builder b(params);
    for (int round = 0; round < 2; round++) {
        Tensor *x = b.context->new_leaf(core::contiguous_layout("test", DType::f32, std::vector<std::int64_t>{n}));
        Tensor *sum = b.add(x, x);
        support::expect_error(tl::Status::invalid_argument, {"graph_compute", "no data yet"}, [&] { b.compute({sum}); });
        b.context->allocate();
        b.compute({sum});
    }
}

// Elements that cannot be taken are noted in memory that plans share: none of another plan's is taken for one's own.
TEST(PlanCache, faults_are_each_plans_own) {
    Builder b;
    Tensor *table = b.leaf({n, 4}, 1);
    const auto rows = [&](std::int32_t row, int nodes) {
        Tensor *ids = b.context->new_leaf(core::contiguous_layout("test", DType::i32, std::vector<std::int64_t>{1}));
        core::write_bytes(*ids, &row, 0, sizeof row);
        Tensor *sum = b.node(Op::get_rows, {table, ids});
        for (int i = 1; i < nodes; i++) sum = b.add(sum, b.node(Op::get_rows, {table, ids}));
        return sum;
    };
    for (const int nodes : {1, 3, 20, 2, 1, 20, 3}) {
        support::expect_error(tl::Status::invalid_argument, {"get_rows", "is 9"}, [&] { b.compute({rows(9, nodes)}); });
        Tensor *x = b.leaf({n, 50}, -1);
        b.compute({b.add(b.add(x, x), b.node(Op::cont, {x}))});
        Tensor *sum = rows(3, nodes);
        EXPECT_NO_THROW(b.compute({sum})) << nodes;
        EXPECT_EQ(Builder::read(sum)[0], static_cast<float>(nodes));
    }
}

// The bytes that the context holds in addition to tensors and their data while a graph with that many nodes and columns exists: the
// graph, its plan, and whatever waits for reuse.
std::size_t bytes_of_graph(Builder &b, std::int64_t nodes, std::int64_t columns) {
    b.context->reset();
    const std::size_t waiting = b.context->used_memory();
    Tensor *x = b.leaf({64, columns}), *sum = x;
    for (std::int64_t i = 0; i < nodes; i++) sum = b.add(sum, x);
    const std::size_t tensors = b.context->used_memory() - waiting + sum->layout.nbytes();
    const auto graph = b.graph({sum});
    core::compute(*graph, *b.backend);
    return b.context->used_memory() - tensors;
}

// Each larger than the one before: in its shapes, as with a growing cache, and in its nodes.
TEST(PlanCache, growing_graphs_take_little_more_than_the_largest) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");  // joined sums would need no intermediates
    const auto check = [](const std::vector<std::pair<std::int64_t, std::int64_t>> &sizes) {
        Builder alone, growing;
        const std::size_t largest = bytes_of_graph(alone, sizes.back().first, sizes.back().second);
        std::size_t most = 0;
        for (const auto &[nodes, columns] : sizes) most = std::max(most, bytes_of_graph(growing, nodes, columns));
        EXPECT_GE(most, largest);
        EXPECT_LE(most, largest + largest / 2);
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
    for (std::int64_t i = 1; i <= 4000; i++) sizes.emplace_back(4, i);
    check(sizes);
    sizes.clear();
    for (std::int64_t i = 1; i <= 400; i++) sizes.emplace_back(10 * i, 1);
    check(sizes);
}

// What waits goes before anything else fails for want of memory; what a run uses does not.
TEST(PlanCache, waiting_plans_make_room) {
    core::ContextParams params;
    params.mem_limit = 1 << 20;
    Builder b(params);
    Tensor *x = b.leaf({1024, 32});  // 128 KiB
    const auto large = [&] {
        return b.node(Op::cont, {b.node(Op::transpose, {b.add(b.node(Op::cont, {b.node(Op::transpose, {x})}), b.leaf({1}))})});
    };
    Tensor *result = large();
    b.compute({result});
    const std::size_t used = b.context->used_memory();
    EXPECT_GT(used, std::size_t{3} * 128 << 10);
    // As much as there is but for the plan and its block.
    const std::size_t left = (std::size_t{1} << 20) - used;
    Tensor *more = b.leaf({static_cast<std::int64_t>((left + (64 << 10)) / 4)}, 3);
    EXPECT_EQ(Builder::read(more).back(), 3.0f);
    // And there is none left for another run's.
    support::expect_error(tl::Status::out_of_memory, {"graph_compute", "mem_limit"}, [&] { b.compute({b.add(b.add(x, x), b.add(x, x))}); });
    EXPECT_EQ(Builder::read(result)[0], 2.0f);
}

// A run reuses freed blocks, although its graph existed all the time.
TEST(PlanCache, a_graph_that_is_there_gets_another_block) {
    core::ContextParams params;
    params.mem_limit = 1 << 20;
    Builder b(params);
    Tensor *x = b.leaf({1024}, 2), *sum = b.add(b.node(Op::cont, {b.add(x, x)}), x);
    const auto graph = b.graph({sum});
    core::compute(*graph, *b.backend);
    const core::Plan *plan = b.plan_of(*graph);
    // A leaf that needs all the rest makes the block go, and fails.
    support::expect_error(tl::Status::out_of_memory, {"tensor_new"}, [&] { b.leaf({1 << 18}); });
    Builder::fill(x, 5);
    core::compute(*graph, *b.backend);
    EXPECT_EQ(b.plan_of(*graph), plan);
    EXPECT_EQ(Builder::read(sum)[0], 15.0f);
}

// Two backends compute graphs of one context that reads only, each in a thread of its own, while a third builds and drops others.
TEST(PlanCache, threads) {
    Builder weights;
    Tensor *w = weights.leaf({n, n}, 2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
        threads.emplace_back([&, i] {
            Builder own;
            for (int round = 0; round < 100; round++) {
                Tensor *x = own.leaf({n, 1 + (round + i) % 5}, static_cast<float>(i)), *product = own.node(Op::mul_mat, {w, x});
                // A graph of the shared context, whose plan is there with those of the other threads.
                const std::vector<Tensor *> outputs{own.add(product, product)};
                const auto graph = core::Graph::create(*weights.context, outputs);
                core::compute(*graph, *own.backend);
                EXPECT_EQ(Builder::read(outputs[0])[0], static_cast<float>(2 * 2 * n * i));
                if (round % 10 == 9) weights.context->new_leaf(core::contiguous_layout("test", DType::f32, std::vector<std::int64_t>{n}));
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
}

}  // namespace
