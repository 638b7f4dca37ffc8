// Questions that a program can ask about contexts, tensors and graphs; single elements and parts; handles of the C ABI;
// observers of runs.
#include "c_abi.hpp"
#include "support.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <thread>

using tl::Status;

namespace {

std::vector<std::string> ops(const std::vector<tl::Tensor> &tensors) {
    std::vector<std::string> ops;
    for (const tl::Tensor &t : tensors) ops.push_back(t.op());
    return ops;
}

using Names = std::vector<std::string>;

TEST(Introspection, a_context_lists_its_tensors_in_order) {
    tl::Context ctx;
    EXPECT_TRUE(ctx.tensors().empty());
    {
        const auto x = support::leaf(ctx, {4}, 1), y = support::leaf(ctx, {4}, 2);
        const auto z = (x + y).reshape({2, 2});
        EXPECT_EQ(ops(ctx.tensors()), (Names{"leaf", "leaf", "add", "reshape"}));
        EXPECT_EQ(ctx.tensors()[3].handle(), z.handle());
        EXPECT_ANY_THROW(ctx.op("add", {x}));  // what was refused is not there
        EXPECT_EQ(ctx.tensors().size(), 4u);
    }
    ctx.reset();
    EXPECT_TRUE(ctx.tensors().empty());
    const auto again = support::leaf(ctx, {1}, 1);
    EXPECT_EQ(ctx.tensors().size(), 1u);
}

// Gradients that fail take their nodes back, from the middle of the list too.
TEST(Introspection, nodes_that_are_taken_back_are_not_listed) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {4}, 1);
    const auto loss = sum(sqr(x));
    EXPECT_ANY_THROW(ctx.gradients(std::vector{loss}, std::vector{x, ctx.zeros(tl::Type::i32, {2})}));
    EXPECT_EQ(ops(ctx.tensors()), (Names{"leaf", "sqr", "sum", "leaf"}));
    (void)loss.gradients({x});
    const auto all = ctx.tensors();
    EXPECT_GT(all.size(), 4u);
    for (std::size_t i = 0; i < all.size(); i++) EXPECT_EQ(all[i].context().id(), ctx.id());
}

TEST(Introspection, tensors_are_found_by_name) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {1}, 1), b = support::leaf(ctx, {2}, 1), c = a + a;
    EXPECT_FALSE(ctx.find("w"));
    EXPECT_FALSE(ctx.find(""));
    b.set_name("w");
    c.set_name("w");
    EXPECT_EQ(ctx.find("w")->handle(), b.handle());
    b.set_name("");
    EXPECT_EQ(ctx.find("w")->handle(), c.handle());
}

TEST(Introspection, sources_come_in_order_across_contexts) {
    const tl::Context weights, request;
    const auto w = support::leaf(weights, {4, 2}, 1), x = support::leaf(request, {4}, 2);
    const auto y = mul_mat(w, x);
    const auto sources = y.sources();
    ASSERT_EQ(sources.size(), 2u);
    EXPECT_EQ(sources[0]->handle(), w.handle());
    EXPECT_EQ(sources[0]->context().id(), weights.id());
    EXPECT_EQ(sources[1]->handle(), x.handle());
    EXPECT_TRUE(w.sources().empty());
    const auto norm = support::leaf(request, {8, 2}, 3);
    const auto gated = glu(norm, std::nullopt, tl::GluOp::swiglu).sources();
    ASSERT_EQ(gated.size(), 2u);
    EXPECT_TRUE(gated[0]);
    EXPECT_FALSE(gated[1]);
    EXPECT_ANY_THROW((void)tl::Tensor().sources());
}

TEST(Introspection, a_graph_lists_nodes_leafs_and_outputs) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {4}, 1), y = support::leaf(ctx, {4}, 2);
    const auto a = sqr(x), b = a * y, unused = exp(x);
    const tl::Graph graph({b, a});
    EXPECT_EQ(ops(graph.nodes()), (Names{"sqr", "mul"}));
    EXPECT_EQ(graph.nodes().size(), graph.n_nodes());
    ASSERT_EQ(graph.leafs().size(), 2u);
    EXPECT_EQ(graph.leafs()[0].handle(), x.handle());
    ASSERT_EQ(graph.outputs().size(), 2u);
    EXPECT_EQ(graph.outputs()[0].handle(), b.handle());
}

// The tensors that a graph of its own makes for what is computed again are nobody's to hold.
TEST(Introspection, nodes_that_are_computed_again_are_the_originals) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {64, 64}, 1), w = support::leaf(ctx, {64, 64}, 2);
    tl::Tensor y = x;
    for (int i = 0; i < 16; i++) y = tanh(mul_mat(w, y));
    const auto gradient = sum(sqr(y)).gradients({w})[0];
    const std::array outputs{gradient};
    const tl::Graph graph = tl::Graph::within(outputs, 16 * 64 * 64 * 4);
    std::map<const void *, int> listed;
    for (const tl::Tensor &node : graph.nodes()) listed[node.handle()]++;
    EXPECT_LT(listed.size(), graph.n_nodes());
    std::map<const void *, int> made;
    for (const tl::Tensor &t : ctx.tensors()) made[t.handle()]++;
    for (const auto &[node, n] : listed) EXPECT_EQ(made[node], 1);
    std::map<const void *, int> shown;
    graph.set_observer([&](const tl::Tensor &node, std::size_t, std::size_t) {
        shown[node.handle()]++;
        return true;
    });
    graph.compute(support::backend(support::isas().front(), 2));
    for (const auto &[node, n] : shown) EXPECT_EQ(n, 1);
}

TEST(Elements, one_at_a_time_of_every_kind) {
    const tl::Context ctx;
    const auto f = ctx.tensor<float>({2, 2}, {1, 2, 3, 4});
    EXPECT_EQ(f.get({1, 1}), 4);
    EXPECT_EQ(f.get({1}), 2);
    EXPECT_EQ(f.get({}), 1);
    f.set({0, 1}, 7);
    f.set({1, 1}, 0.5);
    EXPECT_EQ(f.read<float>(), (std::vector<float>{1, 2, 7, 0.5}));
    f.permute({1, 0, 2, 3}).set({1, 0}, 9);
    EXPECT_EQ(f.get({0, 1}), 9);
    const auto i = ctx.zeros(tl::Type::i64, {3});
    constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
    i.set({2}, large);
    EXPECT_EQ(i.get<std::int64_t>({2}), large);
    const auto d = ctx.zeros(tl::Type::f64, {1});
    d.set({0}, 0.1);
    EXPECT_EQ(d.get<double>({0}), 0.1);
    const auto small = ctx.zeros(tl::Type::i32, {1});
    small.set({0}, 16777217);
    EXPECT_EQ(small.get<std::int32_t>({0}), 16777217);
    const auto half = ctx.zeros(tl::Type::f16, {2});
    half.set({1}, 1.5);
    EXPECT_EQ(half.get({1}), 1.5f);
}

TEST(Elements, what_does_not_fit_is_refused) {
    const tl::Context ctx;
    const auto f = ctx.tensor<float>({2, 2}, {1, 2, 3, 4});
    support::expect_error(Status::invalid_argument, {"outside"}, [&] { (void)f.get({2}); });
    support::expect_error(Status::invalid_argument, {"outside"}, [&] { (void)f.get({0, -1}); });
    support::expect_error(Status::invalid_argument, {"5 indices"}, [&] { (void)f.get({0, 0, 0, 0, 0}); });
    support::expect_error(Status::invalid_argument, {"outside"}, [&] { f.set({0, 0, 1}, 1.0f); });
    support::expect_error(Status::type_mismatch, {"f32"}, [&] { (void)f.get<double>({0}); });
    support::expect_error(Status::invalid_argument, {"cannot hold 16777217"}, [&] { f.set({0}, 16777217); });
    const auto bytes = ctx.zeros(tl::Type::i8, {2});
    support::expect_error(Status::invalid_argument, {"300"}, [&] { bytes.set({0}, 300); });
    const auto ints = ctx.zeros(tl::Type::i32, {2});
    support::expect_error(Status::invalid_argument, {}, [&] { ints.set({0}, std::int64_t{1} << 40); });
    support::expect_error(Status::invalid_argument, {}, [&] { ints.set({0}, std::nan("")); });
    support::expect_error(Status::invalid_argument, {"null"}, [&] { (void)tl::Tensor().get({0}); });
    support::expect_error(Status::invalid_argument, {"the result of"}, [&] { (f + f).set({0}, 1.0f); });
    EXPECT_EQ(f.read<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Elements, parts_are_read_and_written) {
    const tl::Context ctx;
    const auto f = ctx.tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
    std::array<float, 3> part;
    f.read_at<float>(2, part);
    EXPECT_EQ(part, (std::array<float, 3>{3, 4, 5}));
    f.permute({1, 0, 2, 3}).read_at<float>(1, part);  // 1 4, 2 5, 3 6
    EXPECT_EQ(part, (std::array<float, 3>{4, 2, 5}));
    f.write_at<float>(4, std::array<float, 2>{8, 9});
    EXPECT_EQ(f.read<float>(), (std::vector<float>{1, 2, 3, 4, 8, 9}));
    f.read_at<float>(6, std::span<float>());
    support::expect_error(Status::invalid_argument, {"element -1: 0 to 6"}, [&] { f.read_at<float>(-1, part); });
    support::expect_error(Status::invalid_argument, {"element 7: 0 to 6"}, [&] { f.read_at<float>(7, part); });
    support::expect_error(Status::invalid_argument, {}, [&] { f.read_at<float>(4, part); });
    std::array<double, 1> other;
    support::expect_error(Status::type_mismatch, {"f32"}, [&] { f.read_at<double>(0, other); });
}

TEST(CHandles, are_shared_with_the_c_abi) {
    tl_context *c = nullptr;
    ASSERT_EQ(tl_context_create(nullptr, &c, nullptr), TL_STATUS_OK);
    tl_tensor *leaf = tl_tensor_new_1d(c, TL_TYPE_F32, 2);
    tl::Tensor t = tl::Tensor::from(leaf);
    EXPECT_EQ(t.handle(), leaf);
    const tl::Tensor y = tl::Context::from(c).add(t, t);
    tl_context_free(c);  // the C++ handles keep it
    t.set({0}, 3.0f);
    support::backend(support::isas().front(), 1).compute({y});
    EXPECT_EQ(y.get({0}), 6);
    support::expect_error(Status::invalid_argument, {"NULL"}, [] { (void)tl::Tensor::from(nullptr); });
    support::expect_error(Status::invalid_argument, {"NULL"}, [] { (void)tl::Context::from(nullptr); });
    support::expect_error(Status::invalid_argument, {"tl_none"}, [] { (void)tl::Tensor::from(tl_none()); });
}

TEST(Observer, sees_every_result_in_order) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2}, {1, 4});
    const auto a = sqr(x), b = log(a), c = b.reshape({1, 2}), d = sum(b);
    const tl::Graph graph({d});
    for (const std::string &isa : support::isas()) {
        const tl::Backend backend = support::backend(isa, 2);
        graph.compute(backend);
        const float plain = d.get({});
        Names seen;
        graph.set_observer([&](const tl::Tensor &node, std::size_t done, std::size_t total) {
            seen.push_back(node.op());
            EXPECT_EQ(done, seen.size());
            EXPECT_EQ(total, 3u);
            const auto values = node.read_f32();
            if (node.op() == "sqr") {
                EXPECT_EQ(values, (std::vector<float>{1, 16}));
            } else if (node.op() == "log") {
                EXPECT_NEAR(node.get({1}), std::log(16.0), 1e-6);
            }
            // Others of a context that the run writes stay closed.
            support::expect_error(Status::busy, {}, [&] { (void)x.read_f32(); });
            return true;
        });
        graph.compute(backend);
        EXPECT_EQ(seen, (Names{"sqr", "log", "sum"}));
        EXPECT_EQ(d.get({}), plain);
        support::expect_error(Status::invalid_argument, {"not computed"}, [&] { (void)b.read_f32(); });
        graph.set_observer(nullptr);
        graph.compute(backend);
        EXPECT_EQ(seen.size(), 3u);
    }
}

TEST(Observer, stops_the_run_and_its_exceptions_come_out) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2}, {1, 4});
    const auto y = exp(log(sqr(x)));
    const tl::Graph graph({y});
    const tl::Backend backend = support::backend(support::isas().front(), 1);
    graph.set_observer([](const tl::Tensor &node, std::size_t, std::size_t) { return node.op() != "log"; });
    support::expect_error(Status::aborted, {"stopped by the observer after 2 of 3 nodes"}, [&] { graph.compute(backend); });
    support::expect_error(Status::invalid_argument, {"not computed"}, [&] { (void)y.read_f32(); });
    graph.set_observer([](const tl::Tensor &node, std::size_t, std::size_t) { return node.op() != "exp"; });
    graph.compute(backend);  // after the last node there is nothing to stop
    graph.set_observer([](const tl::Tensor &, std::size_t, std::size_t) -> bool { throw 42; });
    EXPECT_THROW(graph.compute(backend), int);
    graph.set_observer({});
    graph.compute(backend);
    EXPECT_NEAR(y.get({1}), 16, 1e-4);
}

TEST(Observer, another_thread_is_shown_nothing) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2}, {1, 4}), a = sqr(x), y = log(a);
    const tl::Graph graph({y});
    graph.set_observer([&](const tl::Tensor &node, std::size_t, std::size_t) {
        std::thread([&] { support::expect_error(Status::busy, {}, [&] { (void)node.read_f32(); }); }).join();
        return true;
    });
    graph.compute(support::backend(support::isas().front(), 1));
}

// What copies write, and views of results, lie with strides.
TEST(Observer, reads_results_with_strides) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6}), target = ctx.tensor<float>({2, 3}, {0, 0, 0, 0, 0, 0});
    const auto copied = ctx.op("cpy", {x, target.permute({1, 0, 2, 3})});
    const auto y = sum(sqr(copied));
    const tl::Graph graph({y});
    std::vector<float> seen;
    graph.set_observer([&](const tl::Tensor &node, std::size_t, std::size_t) {
        if (node.op() == "cpy") seen = node.read_f32();
        return true;
    });
    graph.compute(support::backend(support::isas().front(), 2));
    EXPECT_EQ(seen, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(y.get({}), 91);
}

TEST(LongMessages, the_whole_text_is_kept) {
    tl_error err{};
    err.struct_size = sizeof err;
    const std::string path = std::string("/") + std::string(600, 'x') + "/no such file";
    tl_gguf *file = nullptr;
    ASSERT_NE(tl_gguf_open(path.c_str(), &file, &err), TL_STATUS_OK);
    const std::string cut = err.message;
    EXPECT_NE(cut.find(" ... "), std::string::npos);
    const std::size_t n = tl_error_text(&err, nullptr, 0);
    ASSERT_GT(n, path.size());
    std::string whole(n + 1, '\0');
    EXPECT_EQ(tl_error_text(&err, whole.data(), whole.size()), n);
    EXPECT_NE(whole.find(path), std::string::npos);
    std::array<char, 8> small;
    EXPECT_EQ(tl_error_text(&err, small.data(), small.size()), n);
    EXPECT_EQ(std::string(small.data()), whole.substr(0, 7));
    // Another thread may ask; after 64 more the cut one is what there is.
    std::thread([&] { EXPECT_EQ(tl_error_text(&err, nullptr, 0), n); }).join();
    tl_error later{};
    later.struct_size = sizeof later;
    for (int i = 0; i < 64; i++) ASSERT_NE(tl_gguf_open(path.c_str(), &file, &later), TL_STATUS_OK);
    EXPECT_EQ(tl_error_text(&later, nullptr, 0), n);
    EXPECT_EQ(tl_error_text(&err, nullptr, 0), cut.size());
    // Short ones are whole, and after a success there is none.
    ASSERT_NE(tl_gguf_open("/no such file", &file, &err), TL_STATUS_OK);
    EXPECT_EQ(tl_error_text(&err, nullptr, 0), std::string(err.message).size());
    tl_context *c = nullptr;
    ASSERT_EQ(tl_context_create(nullptr, &c, &err), TL_STATUS_OK);
    EXPECT_EQ(tl_error_text(&err, nullptr, 0), 0u);
    EXPECT_EQ(tl_error_text(nullptr, nullptr, 0), 0u);
    tl_context_free(c);
}

}  // namespace
