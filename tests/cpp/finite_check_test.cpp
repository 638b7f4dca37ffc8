// Runs that look for the first result that is not finite: which node they name, which infinities they accept as intended, and that
// everything else stays unchanged.
#include "support.hpp"

#include <cmath>
#include <limits>
#include <optional>

using tl::Status;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

tl::Backend cpu(int threads = 2) { return support::backend(support::isas().front(), threads); }

tl::Graph checking(std::initializer_list<tl::Tensor> outputs) {
    tl::Graph graph(outputs);
    graph.set_check_finite(true);
    return graph;
}

void expect_found(const tl::Graph &graph, const std::vector<std::string> &words) {
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3}) {
            support::expect_error(Status::invalid_argument, words, [&] { graph.compute(support::backend(isa, threads)); });
        }
    }
}

TEST(Finite, the_first_result_is_named_among_joined_ones) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({3, 2}, {1, 2, 3, 4, -5, 6}), y = log(x);
    y.set_name("logs");
    const auto z = sqr(scale(y, 2)), loss = sum(z);
    expect_found(checking({loss}), {"check_finite: log 'logs' [3, 2] f32", "element 4 [1, 1, 0, 0] is NaN; it was made of [3, 2] f32"});
}

// Without the check the plan makes them one step.
TEST(Finite, without_the_check_all_is_as_before) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2}, {1, -1}), y = sqr(log(x));
    const tl::Graph graph({y});
    const tl::Backend one = cpu();
    const std::string joined = graph.plan_text(one);
    graph.compute(one);
    EXPECT_TRUE(std::isnan(y.read_f32()[1]));
    graph.set_check_finite(true);
    EXPECT_NE(graph.plan_text(one), joined);
    support::expect_error(Status::invalid_argument, {"log"}, [&] { graph.compute(one); });
    support::expect_error(Status::invalid_argument, {}, [&] { (void)y.read_f32(); });
    x.write_f32(std::vector<float>{1, 2});
    graph.compute(one);
    const auto checked = y.read_f32();
    graph.set_check_finite(false);
    EXPECT_EQ(graph.plan_text(one), joined);
    graph.compute(one);
    EXPECT_EQ(y.read_f32(), checked);
}

TEST(Finite, leafs_come_first_and_only_those_that_are_read) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2}, {-1, 1}), bad = ctx.tensor<float>({2, 2}, {1, 2, 3, nan});
    bad.set_name("input");
    expect_found(checking({add(bad, log(x))}), {"check_finite: leaf 'input' [2, 2] f32: element 3 [1, 1, 0, 0] is NaN"});
    const auto target = ctx.tensor<float>({2}, {nan, nan});
    const auto copied = cpy(ctx.tensor<float>({2}, {1, 2}), target);
    checking({copied + copied}).compute(cpu());
    EXPECT_EQ(target.read_f32(), (std::vector<float>{1, 2}));
}

TEST(Finite, infinities_count_where_they_appear) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({2, 2}, {0, 1, 200, 2}), e = exp(x);
    e.set_name("exps");
    expect_found(checking({sqr(e)}), {"exp 'exps' [2, 2] f32: element 2 [0, 1, 0, 0] is inf", "without NaN or infinity"});
    const auto zero = ctx.zeros(tl::Type::f32, {2, 2});
    expect_found(checking({div(x, zero)}), {"div [2, 2] f32: element 0"});
}

// A mask's are meant, and so is what is made of them; but not the NaN of a row of masks alone.
TEST(Finite, infinities_that_mask_are_meant) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {4, 4}, 1), mask = ctx.tensor<float>({4, 4}, std::vector<float>(16, 0.0f));
    std::vector<float> values(16, 0.0f);
    for (std::size_t i = 0; i < 16; i++) values[i] = i % 4 > i / 4 ? -inf : 0;
    mask.write_f32(values);
    checking({soft_max(x + mask), soft_max(diag_mask_inf(x, 0)), soft_max_ext(x, mask, std::nullopt, {})}).compute(cpu());
    checking({maximum(fill(x, -static_cast<double>(inf)), x)}).compute(cpu());
    const auto all = ctx.tensor<float>({4, 4}, std::vector<float>(16, -inf));
    expect_found(checking({soft_max(x + all)}), {"soft_max [4, 4] f32", "is NaN", "without NaN"});
    // What was infinite once is not for ever.
    expect_found(checking({exp(scale(soft_max(x + mask), 1000))}), {"exp", "inf"});
}

TEST(Finite, results_of_16_bits_and_parts_of_tensors) {
    const tl::Context ctx;
    const auto x = ctx.tensor<float>({4}, {1, 2, 1e6f, 4});
    expect_found(checking({x.cast(tl::Type::f16)}), {"[4] f16: element 2", "inf"});
    const auto b = support::leaf(ctx, {4}, 1, tl::Type::bf16);
    b.write_f32(std::vector<float>{1, -1, 3, -3});
    expect_found(checking({sqrt(b)}), {"sqrt [4] bf16: element 1"});
    // A result that lies apart in a leaf, and one through a view.
    const auto room = ctx.zeros(tl::Type::f32, {3, 4});
    const auto column = room.transpose().narrow(0, 0, 4).narrow(1, 1, 1);
    expect_found(checking({cpy(log(sub(x, x)).reshape({4, 1}), column)}), {"log [4] f32: element 0", "-inf"});
    const auto reshaped = log(scale(x, -1)).reshape({2, 2});
    expect_found(checking({reshaped.transpose().cont()}), {"log [4] f32: element 0"});
    const auto strange = ctx.tensor<float>({4, 1}, {1, 2, inf, 4});
    const auto put = cpy(sub(strange, strange), column);
    expect_found(checking({put}), {"sub [4] f32: element 2 [2, 0, 0, 0] is NaN"});
}

// A strided target: the check reads the elements that the operation wrote at their places in it.
TEST(Finite, copies_are_read_where_they_lie) {
    const tl::Context ctx;
    const auto room = ctx.zeros(tl::Type::f16, {3, 4});
    const auto column = room.transpose().narrow(1, 1, 1);
    expect_found(checking({cpy(ctx.tensor<float>({4, 1}, {1, 2, 3, 1e9f}), column)}), {"cpy [4] f16: element 3 [3, 0, 0, 0] is inf"});
}

TEST(Finite, steps_of_optimisers_are_looked_at_in_all_that_they_write) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {4}, 1), g = ctx.tensor<float>({4}, {0, 1e30f, 0, 0}), m = ctx.zeros(tl::Type::f32, {4}),
               v = ctx.zeros(tl::Type::f32, {4});
    const auto settings = ctx.tensor<float>({7}, {0.01f, 0.9f, 0.999f, 1e-8f, 0, 1, 1});
    const tl::Graph graph = checking({opt_step_adamw(a, g, m, v, settings)});
    // 1e30 squared is beyond all floats; the parameter itself stays finite, as it is divided by that.
    support::expect_error(Status::invalid_argument, {"opt_step_adamw [4] f32: element 1 [1, 0, 0, 0] is inf"},
                          [&] { graph.compute(cpu()); });
    EXPECT_TRUE(std::isfinite(a.read_f32()[1]));
}

TEST(Finite, integers_and_blocks_are_not_looked_at) {
    const tl::Context ctx;
    const auto ids = ctx.zeros(tl::Type::i32, {2}), w = ctx.zeros(tl::Type::q8_0, {32, 4});
    checking({get_rows(w, ids), argmax(support::leaf(ctx, {4, 2}, 1), {.dims = {0}})}).compute(cpu());
    checking({support::leaf(ctx, {0, 3}, 1) + support::leaf(ctx, {0, 3}, 2)}).compute(cpu());
}

TEST(Finite, goes_with_progress_and_gradients_and_is_refused_while_computing) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {8}, 1), loss = sum(sqr(tanh(x)));
    const auto gradient = loss.gradients({x}).at(0);
    const tl::Graph graph({loss, gradient});
    const tl::Backend one = cpu();
    graph.compute(one);
    const auto want = gradient.read_f32();
    graph.set_check_finite(true);
    std::size_t calls = 0;
    graph.set_progress([&](std::size_t, std::size_t) {
        calls++;
        support::expect_error(Status::busy, {"graph_set_check_finite"}, [&] { graph.set_check_finite(false); });
        return true;
    });
    graph.compute(one);
    EXPECT_GT(calls, 3u);
    EXPECT_EQ(gradient.read_f32(), want);
}

}  // namespace
