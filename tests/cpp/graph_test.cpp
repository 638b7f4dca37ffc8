// Graphs and plans: order, counts, memory that is reused and never too early, aliasing, callbacks.
#include "graph/graph.hpp"

#include "api/devices.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "runtime/memory_planner.hpp"
#include "runtime/plan_cache.hpp"
#include "support.hpp"

#include <thread>

using support::leaf;
namespace core = tensorlib::core;

namespace {

TEST(Graph, post_order_each_tensor_once) {
    const auto context = tl::core::Context::create({});
    const auto layout = tl::core::contiguous_layout("test", tl::core::DType::f32, std::vector<std::int64_t>{4});
    tl::core::Tensor *x = context->new_leaf(layout), *y = context->new_leaf(layout);
    const auto add = [&](tl::core::Tensor *a, tl::core::Tensor *b) {
        tl::core::Tensor *src[] = {a, b};
        tl::core::NodeSpec spec;
        spec.op = tl::core::Op::add, spec.layout = layout, spec.src = src;
        return context->new_node(spec);
    };
    tl::core::Tensor *p = add(x, y), *q = add(p, x), *r = add(q, p), *unused = add(x, x);
    tl::core::Tensor *outputs[] = {q, r, q};
    const auto graph = tl::core::Graph::create(*context, outputs);
    ASSERT_EQ(graph->nodes().size(), 3u);
    EXPECT_EQ(graph->nodes()[0], p);
    EXPECT_EQ(graph->nodes()[1], q);
    EXPECT_EQ(graph->nodes()[2], r);
    ASSERT_EQ(graph->leafs().size(), 2u);
    EXPECT_EQ(graph->leafs()[0], x);
    EXPECT_EQ(graph->uses()[0], 2u);  // of p: q and r
    EXPECT_EQ(graph->uses()[1], 3u);  // of q: r, and twice an output
    EXPECT_EQ(graph->uses()[2], 1u);
    EXPECT_FALSE(unused->storage.computed.load());
    const std::string dot = graph->dot();
    EXPECT_EQ(dot.rfind("digraph", 0), 0u);
    EXPECT_NE(dot.find("n0 -> n1"), std::string::npos);
    EXPECT_NE(dot.find("bold"), std::string::npos);
}

// Operands that are left out are no tensors of the graph.
TEST(Graph, operands_that_are_left_out) {
    const auto context = core::Context::create({});
    const auto layout = core::contiguous_layout("test", core::DType::f32, std::vector<std::int64_t>{4});
    core::Tensor *x = context->new_leaf(layout), *y = context->new_leaf(layout);
    core::Tensor *src[] = {nullptr, x, nullptr, nullptr, y, nullptr};
    core::NodeSpec spec;
    spec.op = core::Op::add, spec.layout = layout, spec.src = src;
    core::Tensor *node = context->new_node(spec);
    std::vector<const core::Tensor *> there;
    for (const core::Tensor *source : node->sources()) there.push_back(source);
    EXPECT_EQ(there, (std::vector<const core::Tensor *>{x, y}));
    EXPECT_EQ(core::sources_text(*node), "[4] f32, [4] f32");
    const auto graph = core::Graph::create(*context, {&node, 1});
    EXPECT_EQ(graph->nodes().size(), 1u);
    EXPECT_EQ(graph->leafs().size(), 2u);
    const std::string dot = graph->dot();
    EXPECT_NE(dot.find("l0 -> n0 [label=\"1\"]"), std::string::npos) << dot;
    EXPECT_NE(dot.find("l1 -> n0 [label=\"4\"]"), std::string::npos) << dot;
}

// A node that writes into several operands is a view of the first, keeps the contexts of all roots, and a run needs each of them alone.
TEST(Graph, several_written_operands) {
    const auto old = core::Context::create({}), views = core::Context::create({}), context = core::Context::create({});
    const auto layout = core::contiguous_layout("test", core::DType::f32, std::vector<std::int64_t>{4});
    core::Tensor *a = context->new_leaf(layout), *root = old->new_leaf(layout), *gradient = views->new_leaf(layout);
    core::NodeSpec of_view;
    of_view.op = core::Op::reshape, of_view.layout = layout, of_view.src = {&root, 1}, of_view.view_of = root;
    core::Tensor *b = views->new_node(of_view);
    core::Tensor *src[] = {a, gradient, b};
    core::NodeSpec spec;
    spec.op = core::Op::add, spec.layout = layout, spec.src = src, spec.view_of = a, spec.written = 0b101;
    core::Tensor *node = context->new_node(spec);
    EXPECT_TRUE(node->writes() && node->writes(0) && !node->writes(1) && node->writes(2));
    EXPECT_EQ(node->root, a);
    const auto graph = core::Graph::create(*context, {&node, 1});
    ASSERT_EQ(graph->contexts().size(), 3u);
    for (const auto &reached : graph->contexts()) EXPECT_EQ(reached.written, reached.context.get() != views.get());
}

TEST(Graph, a_chain_too_long_for_a_recursion) {
    tl::Context ctx;
    auto sum = leaf(ctx, {1}, 1);
    const auto one = ctx.tensor<float>({1}, {1.0f});
    const float first = sum.read<float>()[0];
    for (int i = 0; i < 200000; i++) sum = sum + one;
    const tl::Graph graph({sum});
    EXPECT_EQ(graph.n_nodes(), 200000u);
    graph.compute(tl::Backend("cpu", {1}));
    EXPECT_EQ(sum.read<float>()[0], first + 200000.0f);
}

TEST(Graph, only_leafs) {
    tl::Context ctx;
    const auto x = leaf(ctx, {3}, 1);
    const tl::Graph graph({x});
    EXPECT_EQ(graph.n_nodes(), 0u);
    graph.compute(tl::Backend("cpu", {1}));
    support::expect_error(tl::Status::invalid_argument, {"output"}, [] { tl::Graph graph(std::span<const tl::Tensor>{}); });
}

// Random graphs of adds and views, each node's value known: memory given away too early would show.
TEST(Plan, intermediates_share_memory_but_never_while_needed) {
    const tl::Backend cpu("cpu", {2});
    for (std::uint32_t seed = 1; seed <= static_cast<std::uint32_t>(support::repeats(60, 5000)); seed++) {
        tl::Context ctx;
        std::uint32_t state = seed;
        const auto random = [&](std::size_t n) {
            state = state * 1664525u + 1013904223u;
            return static_cast<std::size_t>(state >> 8) % n;
        };
        std::vector<tl::Tensor> tensors;
        std::vector<std::vector<float>> values;  // in units of 1/512: exact
        for (std::uint32_t i = 0; i < 3; i++) {
            tensors.push_back(leaf(ctx, {8, 8}, seed * 10 + i));
            values.push_back(tensors.back().read<float>());
        }
        for (int i = 0; i < 40; i++) {
            const std::size_t a = random(tensors.size()), b = random(tensors.size());
            if (random(4) == 0) {
                tensors.push_back(tensors[a].transpose().cont());
                std::vector<float> t(64);
                for (std::size_t r = 0; r < 8; r++) {
                    for (std::size_t c = 0; c < 8; c++) t[c * 8 + r] = values[a][r * 8 + c];
                }
                values.push_back(t);
            } else if (random(4) == 0) {
                tensors.push_back(tensors[a].transpose());
                std::vector<float> t(64);
                for (std::size_t r = 0; r < 8; r++) {
                    for (std::size_t c = 0; c < 8; c++) t[c * 8 + r] = values[a][r * 8 + c];
                }
                values.push_back(t);
            } else {
                tensors.push_back(tensors[a] + tensors[b]);
                std::vector<float> t(64);
                for (std::size_t j = 0; j < 64; j++) t[j] = values[a][j] + values[b][j];
                values.push_back(t);
            }
        }
        const std::size_t other = 3 + random(40);
        const tl::Graph graph({tensors.back(), tensors[other]});
        for (int run = 0; run < 2; run++) {
            graph.compute(cpu);
            EXPECT_EQ(tensors.back().read<float>(), values.back()) << "seed " << seed;
            EXPECT_EQ(tensors[other].read<float>(), values[other]) << "seed " << seed;
        }
    }
}

// A sum lies on the operand that ends there; of a chain of those that cannot, one reads what the one before has written.
TEST(Plan, a_chain_takes_one_intermediate_or_two) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");
    tl::Context ctx;
    const auto x = leaf(ctx, {32, 32}, 1);
    auto sum = x, turned = x;
    for (int i = 0; i < 100; i++) sum = sum + x, turned = x + turned.transpose();
    const tl::Backend cpu("cpu", {1});
    const std::string of_sums = tl::Graph({sum}).plan_text(cpu), of_turned = tl::Graph({turned}).plan_text(cpu);
    EXPECT_NE(of_sums.find("intermediates 4096 bytes (405504 without reuse)"), std::string::npos) << of_sums.substr(0, 200);
    EXPECT_NE(of_turned.find("intermediates 8192 bytes (405504 without reuse)"), std::string::npos) << of_turned.substr(0, 200);
}

// An operand that ends with a node, and is read there turned as well, is no place for its result.
TEST(Plan, a_sum_does_not_lie_on_what_it_reads_elsewhere) {
    tl::Context ctx;
    const auto x = leaf(ctx, {8, 8}, 1);
    const auto twice = x + x, sum = twice + twice.transpose(), result = sum + x;
    const auto of = x.read<float>();
    tl::Backend("cpu", {1}).compute({result});
    const auto got = result.read<float>();
    for (std::size_t r = 0; r < 8; r++) {
        for (std::size_t c = 0; c < 8; c++) EXPECT_EQ(got[r * 8 + c], 3 * of[r * 8 + c] + 2 * of[c * 8 + r]);
    }
}

TEST(Plan, what_is_not_an_output_cannot_be_read) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto x = leaf(ctx, {4}, 1);
    const auto middle = x + x, end = middle + x;
    support::expect_error(tl::Status::invalid_argument, {"not computed", "output"}, [&] { end.read<float>(); });
    cpu.compute({end});
    EXPECT_NO_THROW(end.read<float>());
    EXPECT_NO_THROW(end.view({2}).read<float>());
    support::expect_error(tl::Status::invalid_argument, {"not computed", "output", "add"}, [&] { middle.read<float>(); });
    support::expect_error(tl::Status::invalid_argument, {"add", "only leafs"}, [&] { end.write_f32(std::vector<float>(4)); });
    // middle becomes an output of another graph: readable until the first graph, of which it is a node, runs again.
    const tl::Graph first({end});
    first.compute(cpu);
    cpu.compute({middle});
    EXPECT_NO_THROW(middle.read<float>());
    first.compute(cpu);
    support::expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { middle.read<float>(); });
}

// A key-value cache: what is copied into a leaf is seen by later nodes through any view of it.
TEST(Plan, writes_to_a_leaf_are_seen_through_its_views) {
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto cache = ctx.zeros(tl::Type::f32, {4, 8});
    const auto fresh = leaf(ctx, {4}, 1);
    for (std::size_t row = 0; row < 8; row++) {
        const auto stored = cpy(fresh, cache.view({4}, {}, row * 16));
        const auto sum = cache.view({4, 8}) + fresh;
        const tl::Graph graph({stored, sum});
        graph.compute(cpu);
        const auto x = fresh.read<float>(), all = cache.read<float>(), sums = sum.read<float>();
        for (std::size_t i = 0; i < 32; i++) {
            EXPECT_EQ(all[i], i / 4 <= row ? x[i % 4] : 0.0f);
            EXPECT_EQ(sums[i], all[i] + x[i % 4]);
        }
    }
}

TEST(Plan, a_target_that_became_constant_is_an_error) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto x = leaf(ctx, {4}, 1), target = ctx.zeros(tl::Type::f32, {4});
    const tl::Graph graph({cpy(x, target)});
    graph.compute(cpu);
    target.set_constant();
    support::expect_error(tl::Status::invalid_argument, {"constant"}, [&] { graph.compute(cpu); });
    support::expect_error(tl::Status::invalid_argument, {"constant"}, [&] { target.write_f32(std::vector<float>(4)); });
    EXPECT_EQ(target.read<float>(), x.read<float>());
}

TEST(Plan, leafs_may_be_rewritten_and_graphs_repeated_without_growth) {
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto a = leaf(ctx, {33, 20}, 1), b = leaf(ctx, {33, 30}, 2);
    const auto c = mul_mat(a, b);
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < 20; i++) {
        std::vector<float> values(33 * 20);
        for (std::uint32_t j = 0; j < values.size(); j++) values[j] = support::value(i + 3, j);
        a.write<float>(values);
        cpu.compute({c});  // a graph and a plan each time
        EXPECT_EQ(support::first_wrong(c.read<float>(), support::mul_mat(values, a.shape(), b.read<float>(), b.shape())), "");
        if (i == 0) used = ctx.used_memory();
        EXPECT_EQ(ctx.used_memory(), used);
    }
}

TEST(Progress, counts_up_stops_and_throws) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");  // a step for each node
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto x = leaf(ctx, {4, 4}, 1);
    const auto y = (x + x.transpose()).transpose() + x;
    const auto z = y + x;
    const tl::Graph graph({z});
    std::vector<std::size_t> done;
    graph.set_progress([&](std::size_t d, std::size_t total) {
        EXPECT_EQ(total, graph.n_nodes());
        done.push_back(d);
        return true;
    });
    graph.compute(cpu);
    ASSERT_FALSE(done.empty());
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_EQ(done.back(), graph.n_nodes());

    graph.set_progress([](std::size_t, std::size_t) { return false; });
    support::expect_error(tl::Status::aborted, {"graph_compute", "callback"}, [&] { graph.compute(cpu); });
    support::expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { z.read<float>(); });

    graph.set_progress([](std::size_t, std::size_t) -> bool { throw std::runtime_error("from the callback"); });
    EXPECT_THROW(graph.compute(cpu), std::runtime_error);

    // From inside: this graph, another graph on the same backend, and the context's data are all busy.
    const tl::Graph other({x + x});
    int busy = 0, calls = 0;
    graph.set_progress([&](std::size_t, std::size_t) {
        calls++;
        for (const auto &attempt : std::vector<std::function<void()>>{[&] { graph.compute(cpu); }, [&] { other.compute(cpu); },
                                                                      [&] { x.read<float>(); }, [&] { graph.set_progress({}); }}) {
            try {
                attempt();
            } catch (const tl::Error &error) {
                busy += error.code() == tl::Status::busy;
            }
        }
        return true;
    });
    graph.compute(cpu);
    EXPECT_GE(calls, 3);  // more if a step takes 10 ms
    EXPECT_EQ(busy, 4 * calls);
    graph.set_progress({});
    graph.compute(cpu);
}

// One node of many chunks: the callback is called between them, and stops it there.
TEST(Progress, stops_a_long_node_between_its_chunks) {
    for (const int threads : {1, 3}) {
        const tl::Backend cpu = support::backend("baseline", threads);
        tl::Context ctx;
        const auto a = leaf(ctx, {1600, 1600}, 1), b = leaf(ctx, {1600, 1600}, 2);
        const auto c = mul_mat(a, b);
        const tl::Graph graph({c, cumsum(c)});
        std::vector<std::size_t> done;
        graph.set_progress([&](std::size_t d, std::size_t) {
            done.push_back(d);
            return false;
        });
        support::expect_error(tl::Status::aborted, {"graph_compute", "stopped by the progress callback in a node", "0 of 2"},
                              [&] { graph.compute(cpu); });
        EXPECT_EQ(done, std::vector<std::size_t>{0});
        support::expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { c.read<float>(); });
        // It goes on to the results that a run without a callback has.
        done.clear();
        graph.set_progress([&](std::size_t d, std::size_t) {
            done.push_back(d);
            return true;
        });
        graph.compute(cpu);
        EXPECT_GT(done.size(), 2u);
        EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
        EXPECT_EQ(done.back(), 2u);
        const auto watched = c.read<float>();
        graph.set_progress({});
        graph.compute(cpu);
        EXPECT_EQ(c.read<float>(), watched);
    }
}

TEST(Progress, stopping_after_the_last_node_keeps_the_results) {
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto x = leaf(ctx, {4, 4}, 1);
    const auto y = cumsum(cumsum(x));
    const tl::Graph graph({y});
    graph.compute(cpu);
    const auto wanted = y.read<float>();
    graph.set_progress([](std::size_t done, std::size_t total) { return done < total; });
    graph.compute(cpu);
    EXPECT_EQ(y.read<float>(), wanted);
    // What a callback throws then reaches the caller, and the results stay.
    graph.set_progress([](std::size_t done, std::size_t total) -> bool {
        if (done == total) throw std::runtime_error("at the end");
        return true;
    });
    EXPECT_THROW(graph.compute(cpu), std::runtime_error);
    EXPECT_EQ(y.read<float>(), wanted);
}

// A run that ended early after a kernel had noted a bad element: the next one begins without it.
TEST(Plan, a_note_of_a_stopped_run_is_forgotten) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto a = leaf(ctx, {4, 3}, 1);
    const auto rows = ctx.tensor<std::int32_t>({2}, {0, 7});
    const auto taken = get_rows(a, rows);
    const tl::Graph graph({cumsum(taken)});
    graph.set_progress([](std::size_t, std::size_t) { return false; });
    support::expect_error(tl::Status::aborted, {"callback"}, [&] { graph.compute(cpu); });
    graph.set_progress({});
    rows.write<std::int32_t>(std::vector<std::int32_t>{0, 2});
    EXPECT_NO_THROW(graph.compute(cpu));
    rows.write<std::int32_t>(std::vector<std::int32_t>{0, 3});
    support::expect_error(tl::Status::invalid_argument, {"get_rows", "element 1", "is 3"}, [&] { graph.compute(cpu); });
    rows.write<std::int32_t>(std::vector<std::int32_t>{2, 1});
    EXPECT_NO_THROW(graph.compute(cpu));
}

// Five backends, four plans kept: those that were used since stay.
TEST(Plan, the_one_not_used_for_longest_goes) {
    using namespace tl::core;
    std::vector<Ref<Backend>> backends;
    for (int i = 0; i < 5; i++) backends.push_back(open_backend("cpu", {}));
    const auto context = Context::create({});
    Tensor *x = context->new_leaf(contiguous_layout("test", DType::f32, std::vector<std::int64_t>{4}));
    Tensor *src[] = {x, x}, *sum = build_node(*context, Op::add, src);
    const auto graph = Graph::create(*context, {&sum, 1});
    for (const std::size_t i : {0, 1, 2, 3, 0, 4}) compute(*graph, *backends[i]);
    const PlanCache &plans = PlanCache::of(*context);
    for (std::size_t i = 0; i < backends.size(); i++) EXPECT_EQ(plans.find(*graph, backends[i]->serial()) != nullptr, i != 1) << i;
}

// The callback assigns to the last handle of the graph that calls it.
TEST(Progress, a_graph_may_be_dropped_by_its_own_callback) {
    const tl::Backend cpu("cpu", {2});
    tl::Context ctx;
    const auto x = leaf(ctx, {4}, 1);
    const auto y = (x + x) + x;
    auto graph = std::make_unique<tl::Graph>(std::initializer_list<tl::Tensor>{y});
    graph->set_progress([&](std::size_t, std::size_t) {
        if (graph) *graph = tl::Graph({x});
        return true;
    });
    graph->compute(cpu);
    EXPECT_EQ(y.read<float>()[0], 3 * x.read<float>()[0]);
}

// More elements than counts of bytes and chunks are made for: only views that repeat theirs have them.
TEST(Plan, absurd_sizes_are_refused) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto t = leaf(ctx, {4}, 1);
    const std::vector<std::size_t> none{0};
    const auto many = t.view({1, std::int64_t{1} << 60}, none).transpose();
    for (const auto &node : {mul_mat(many, many), many + many, many.cont()}) {
        support::expect_error(tl::Status::unsupported, {"graph_compute", "2^44"}, [&] { cpu.compute({node.view({1})}); });
    }
}

}  // namespace
