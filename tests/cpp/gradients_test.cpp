// Gradients: which nodes are appended where, and the calls that must be refused. The cases (gradients.cases) compare every rule with
// differences of the float64 oracle, in all languages and on all devices.
#include "gradients/rule.hpp"
#include "support.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using tl::Status;

namespace {

namespace core = tl::core;

using Many = std::vector<tl::Tensor>;

std::vector<float> computed(const tl::Tensor &t, int threads = 2) {
    support::backend(support::isas().front(), threads).compute({t});
    return t.read_f32();
}

void expect_close(const std::vector<float> &got, const std::vector<float> &want, float part, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    float most = 0;
    for (const float x : want) most = std::max(most, std::fabs(x));
    for (std::size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], want[i], part * most) << what << ", element " << i;
}

// An operation whose operands have no gradient has no rule, and all others have one.
TEST(Rules, are_there_unless_no_operand_has_a_gradient) {
    for (const core::OpDef *def : core::all_ops()) {
        const bool no_gradient =
            std::ranges::all_of(def->operands, [](const core::Operand &operand) { return operand.no_gradient != nullptr; });
        EXPECT_EQ(core::gradients::rule_of(def->op).build == nullptr, no_gradient || def->compose) << def->name;
    }
}

TEST(Gradients, add_up_over_outputs_and_uses) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {5}, 1), b = support::leaf(ctx, {5}, 2), seed = support::leaf(ctx, {5}, 3),
               unused = support::leaf(ctx, {2, 2}, 4);
    const auto product = a * b, loss = sum(sqr(a));
    const std::array<std::optional<tl::Tensor>, 2> seeds{seed, std::nullopt};
    const Many gradients = ctx.gradients(std::array{product, loss}, std::array{a, b, unused, a}, seeds);
    ASSERT_EQ(gradients.size(), 4u);
    support::backend(support::isas().front(), 2).compute(gradients);
    const auto av = a.read_f32(), bv = b.read_f32(), sv = seed.read_f32();
    for (std::size_t i = 0; i < 5; i++) {
        EXPECT_FLOAT_EQ(gradients[0].read_f32()[i], sv[i] * bv[i] + 2 * av[i]);
        EXPECT_FLOAT_EQ(gradients[1].read_f32()[i], sv[i] * av[i]);
        EXPECT_FLOAT_EQ(gradients[3].read_f32()[i], sv[i] * bv[i] + 2 * av[i]);
    }
    EXPECT_EQ(gradients[2].read_f32(), std::vector<float>(4, 0.0f));
}

// Whatever wrt is of, and however the rules came to it.
TEST(Gradients, are_f32_contiguous_and_of_the_same_shape) {
    const tl::Context ctx;
    const auto f16 = support::leaf(ctx, {4, 3}, 1, tl::Type::f16), bf16 = support::leaf(ctx, {4}, 2, tl::Type::bf16),
               f32 = support::leaf(ctx, {3, 4}, 3);
    const auto loss = sum(mul(add(f16, bf16), f32.transpose()));
    const Many wrt{f16, bf16, f32, f32.transpose(), loss}, gradients = ctx.gradients(std::array{loss}, wrt);
    support::backend(support::isas().front(), 2).compute(gradients);
    for (std::size_t i = 0; i < wrt.size(); i++) {
        EXPECT_EQ(gradients[i].type(), tl::Type::f32) << i;
        EXPECT_EQ(gradients[i].shape(), wrt[i].shape()) << i;
        EXPECT_EQ(gradients[i].n_dims(), wrt[i].n_dims()) << i;
        EXPECT_EQ(gradients[i].strides()[1], static_cast<std::size_t>(wrt[i].shape()[0]) * 4) << i;
    }
    EXPECT_EQ(gradients[4].read_f32(), std::vector<float>{1});
}

TEST(Gradients, of_slices_are_put_where_they_were) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {4, 5, 3}, 1);
    for (const auto &whole : {a, a.permute({1, 2, 0, 3}), a.permute({2, 0, 1, 3})}) {
        for (int dim = 0; dim < 3; dim++) {
            const auto part = whole.narrow(dim, 1, whole.shape()[static_cast<std::size_t>(dim)] - 2);
            const auto seed = support::leaf(ctx, {part.shape()[0], part.shape()[1], part.shape()[2]}, 7);
            const auto gradient = part.gradients({whole}, seed).at(0);
            // Its part is the seed, and all else is 0.
            const auto same = gradient.narrow(dim, 1, part.shape()[static_cast<std::size_t>(dim)]);
            support::backend(support::isas().front(), 2).compute({gradient});
            EXPECT_EQ(same.read_f32(), seed.read_f32());
            double all = 0, some = 0;
            for (const float x : gradient.read_f32()) all += std::fabs(x);
            for (const float x : seed.read_f32()) some += std::fabs(x);
            EXPECT_EQ(all, some);
        }
    }
}

// ---- Parts of one tensor

// What the elements of a tensor are made of: x has the numbers of its elements, so what is made of them by moving says where it is from.
std::vector<double> scattered(const std::vector<float> &from, const std::vector<float> &weights, std::size_t n) {
    std::vector<double> sums(n);
    for (std::size_t i = 0; i < from.size(); i++) sums[static_cast<std::size_t>(from[i])] += weights[i];
    return sums;
}

Many parts_of(const tl::Tensor &x, const tl::Tensor &rows) {
    Many parts;
    const std::int64_t n = x.shape()[2];
    for (std::int64_t i = 0; i < n; i++) {
        parts.push_back(x.narrow(2, i, 1));
        parts.push_back(x.narrow(2, i, 1).reshape({x.shape()[0] * x.shape()[1]}));
        parts.push_back(x.permute({1, 2, 0, 3}).narrow(0, i, 1));
        parts.push_back(x.transpose().narrow(2, i, 1).transpose());
        parts.push_back(x.narrow(0, 1, 2).narrow(1, 1, 1).permute({2, 0, 1, 3}));
        parts.push_back(get_rows(x.reshape({x.shape()[0], -1}), rows));
        parts.push_back(get_rows(x.narrow(2, i, 1).reshape({x.shape()[0], x.shape()[1]}), rows));
    }
    parts.push_back(x);
    parts.push_back(x.permute({2, 0, 1, 3}));
    return parts;
}

tl::Tensor numbered(const tl::Context &ctx, const tl::Shape &shape) {
    const auto x = ctx.zeros(tl::Type::f32, shape);
    std::vector<float> numbers(static_cast<std::size_t>(x.n_elements()));
    for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<float>(i);
    x.write_f32(numbers);
    return x;
}

template <class Check>
void on_all_backends(Check check) {
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2, 3}) check(support::backend(isa, threads), isa + ", " + std::to_string(threads) + " threads");
    }
}

void expect_sums(const std::vector<float> &got, const std::vector<double> &want, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], want[i], 1e-4) << what << ", element " << i;
}

TEST(Parts, add_up_where_they_are_from) {
    const tl::Context ctx;
    const auto x = numbered(ctx, {5, 4, 6}), rows = ctx.tensor<std::int32_t>({3}, {2, 0, 2});
    const auto view = x.narrow(2, 1, 4), twin = x.narrow(2, 1, 4);
    Many parts = parts_of(x, rows);
    // What a view that is asked for is read by goes to that view, and by it to x; a view that is the same stays apart.
    const std::size_t from_view = parts.size();
    for (const auto &part : {view.narrow(2, 0, 1), view.permute({2, 1, 0, 3}).narrow(1, 1, 2), view.reshape({20, 4}).narrow(1, 3, 1)})
        parts.push_back(part);
    const std::size_t from_twin = parts.size();
    parts.push_back(get_rows(twin.reshape({5, 16}), rows));
    parts.push_back(get_rows(twin.permute({1, 0, 2, 3}).cont().reshape({4, 20}), rows));
    // A view of which no gradient comes is no place for that of one like it.
    const auto stopped = get_rows(stop_gradient(x.narrow(1, 0, 2)), ctx.tensor<std::int32_t>({1, 6}, {0, 0, 1, 1, 0, 0}));
    parts.push_back(get_rows(x.narrow(1, 0, 2), ctx.tensor<std::int32_t>({1, 6}, {0, 1, 1, 1, 0, 0})));
    std::vector<std::optional<tl::Tensor>> seeds;
    for (std::size_t i = 0; i < parts.size(); i++) {
        const auto &ne = parts[i].shape();
        seeds.emplace_back(support::leaf(ctx, {ne[0], ne[1], ne[2], ne[3]}, static_cast<std::uint32_t>(i + 1)));
    }
    parts.push_back(stopped);
    seeds.emplace_back(support::leaf(ctx, {5, 1, 6}, 99));
    const Many gradients = ctx.gradients(parts, std::array{x, view}, seeds);
    on_all_backends([&](const tl::Backend &backend, const std::string &where) {
        Many all = parts;
        all.insert(all.end(), gradients.begin(), gradients.end());
        backend.compute(all);
        std::vector<double> of_x(120), of_view(120);
        for (std::size_t i = 0; i + 1 < parts.size(); i++) {
            const auto sums = scattered(parts[i].read_f32(), seeds[i]->read_f32(), 120);
            for (std::size_t e = 0; e < 120; e++) {
                of_x[e] += sums[e];
                if (i >= from_view && i < from_twin) of_view[e] += sums[e];
            }
        }
        expect_sums(gradients[0].read_f32(), of_x, "x, " + where);
        expect_sums(gradients[1].read_f32(), std::vector<double>(of_view.begin() + 20, of_view.begin() + 100), "the view, " + where);
    });
}

// y = sum of squares of parts: its second derivative is twice how often an element is among them.
TEST(Parts, have_gradients_of_gradients) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {5, 4, 6}, 1), v = support::leaf(ctx, {5, 4, 6}, 2);
    const auto rows = ctx.tensor<std::int32_t>({3}, {2, 0, 2});
    std::optional<tl::Tensor> y;
    for (const auto &part : parts_of(x, rows)) y = y ? *y + sum(sqr(part)) : sum(sqr(part));
    const auto first = y->gradients({x}).at(0), second = sum(first * v).gradients({x}).at(0);
    const auto number = numbered(ctx, {5, 4, 6});
    Many parts = parts_of(number, rows);
    on_all_backends([&](const tl::Backend &backend, const std::string &where) {
        Many all = parts;
        all.push_back(second);
        backend.compute(all);
        std::vector<double> want(120);
        const auto by = v.read_f32();
        for (const auto &part : parts) {
            for (const float from : part.read_f32()) want[static_cast<std::size_t>(from)] += 2 * by[static_cast<std::size_t>(from)];
        }
        expect_sums(second.read_f32(), want, where);
    });
}

// As many parts of a tensor that is as much larger: nodes and memory grow with the number of parts, and no part is widened to the whole.
TEST(Parts, cost_what_they_hold) {
    const auto backend = support::backend(support::isas().front(), 1);
    for (const int way : {0, 1, 2, 3, 4}) {
        const tl::Context ctx;
        constexpr std::int64_t T = 64;
        const auto x = ctx.zeros(tl::Type::f32, {16, 8, T}), all = scale(x, 2), rows = ctx.zeros(tl::Type::i32, {8});
        std::optional<tl::Tensor> state;
        for (std::int64_t i = 0; i < T; i++) {
            const auto part = way == 0   ? all.narrow(2, i, 1).reshape({16, 8})
                              : way == 1 ? all.permute({1, 2, 0, 3}).narrow(0, i, 1).permute({2, 0, 1, 3}).cont().reshape({16, 8})
                              : way == 2 ? all.transpose().narrow(2, i, 1).transpose().reshape({16, 8})
                              : way == 3 ? get_rows(all.reshape({16, -1}), rows)
                                         : get_rows(all.reshape({16, -1}).narrow(1, 4, 8 * T - 4), rows);
            state = state ? tanh(*state + part) : tanh(part);
        }
        const tl::Graph graph({sum(*state).gradients({x}).at(0)});
        const std::string plan = graph.plan_text(backend);
        for (const char *word : {": pad", ": roll"}) EXPECT_EQ(plan.find(word), std::string::npos) << way << "\n" << plan;
        // Beyond x and its gradient: the states, their gradients and one sum.
        EXPECT_LT(graph.plan_bytes(backend)[0], 7 * 16 * 8 * T * sizeof(float)) << way;
    }
}

// A chain of windows that are set: on the way back each is taken out of one gradient in place.
TEST(Parts, that_are_set_cost_what_they_hold) {
    const auto backend = support::backend(support::isas().front(), 1);
    const tl::Context ctx;
    constexpr std::int64_t T = 64, part = 16 * 8;
    const auto x = support::leaf(ctx, {16, 8}, 1);
    tl::Tensor all = ctx.zeros(tl::Type::f32, {16, 8, T});
    for (std::int64_t i = 0; i < T; i++) all = set(all, scale(x, static_cast<double>(i + 1)), {.nb1 = 64, .offset = i * part * 4});
    const auto gradient = sum(sqr(all)).gradients({x}).at(0);
    EXPECT_LT(tl::Graph({gradient}).plan_bytes(backend)[0], 4 * part * T * sizeof(float));
    backend.compute({gradient});
    const auto values = x.read_f32(), got = gradient.read_f32();
    double squares = 0;
    for (std::int64_t i = 1; i <= T; i++) squares += 2.0 * static_cast<double>(i * i);
    for (std::size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], squares * values[i], 1e-5 * std::fabs(squares * values[i]));
}

// Windows side by side and windows that overlap are two rules; both give all to the first of those that are as large.
TEST(Gradients, of_max_pooling_go_to_the_first_of_the_largest) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({5, 3}, {1, 1, 2, 0, 9,  //
                                              1, 1, 0, 2, 9,  //
                                              9, 9, 9, 9, 9});
    const auto tiles = sum(pool_2d(a, tl::PoolOp::max, 2, 2)).gradients({a}).at(0);
    const auto overlapping = sum(pool_2d(a, tl::PoolOp::max, 2, 2, {.s0 = 1, .s1 = 2})).gradients({a}).at(0);
    support::backend(support::isas().front(), 2).compute({tiles, overlapping});
    EXPECT_EQ(tiles.read_f32(), (std::vector<float>{1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(overlapping.read_f32(), (std::vector<float>{1, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// A recursion would overflow the stack.
TEST(Gradients, of_a_long_chain) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {2}, 1);
    tl::Tensor y = a;
    for (int i = 0; i < 30000; i++) y = add(y, a);
    EXPECT_EQ(computed(sum(y).gradients({a}).at(0)), std::vector<float>(2, 30001.0f));
}

TEST(Gradients, say_whether_they_reach) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {5}, 1), b = support::leaf(ctx, {5}, 2), other = support::leaf(ctx, {5}, 3);
    const auto ids = ctx.zeros(tl::Type::i32, {2}), y = get_rows(a * stop_gradient(b), ids);
    EXPECT_TRUE(y.gradients_reach(a));
    EXPECT_TRUE(y.gradients_reach(y));
    for (const auto &t : {b, other, ids}) EXPECT_FALSE(y.gradients_reach(t));
    EXPECT_FALSE(a.gradients_reach(y));
    EXPECT_FALSE(ids.gradients_reach(ids));
    // A path through F64 is a path, although its nodes are refused; one through integers is none.
    const auto narrow = sqr(a.cast(tl::Type::f16)).cast(tl::Type::f32), wide = sqr(a.cast(tl::Type::f64)).cast(tl::Type::f32);
    EXPECT_TRUE(narrow.gradients_reach(a));
    EXPECT_TRUE(wide.gradients_reach(a));
    EXPECT_FALSE(wide.gradients_reach(b));
    EXPECT_FALSE(a.cast(tl::Type::i32).cast(tl::Type::f64).cast(tl::Type::f32).gradients_reach(a));
}

// Attention is one operation and has one rule: it must be that of the operations that it joins.
TEST(Attention, has_the_gradients_of_its_parts) {
    for (const bool shared : {false, true}) {
        const tl::Context ctx;
        const std::int64_t heads = 4, kv = shared ? 2 : 4;
        const auto q = support::leaf(ctx, {16, 5, heads, 2}, 1), k = support::leaf(ctx, {16, 7, kv, 2}, 2),
                   v = support::leaf(ctx, {8, 7, kv, 2}, 3);
        const auto mask = support::leaf(ctx, {7, 5}, 4), seed = support::leaf(ctx, {8, heads, 5, 2}, 5);
        const auto one = flash_attn_ext(q, k, v, mask, std::nullopt, {.scale = 0.25});
        const auto scores = soft_max_ext(mul_mat(k, q), mask, std::nullopt, {.scale = 0.25});
        const auto parts = mul_mat(v.transpose().cont(), scores).permute({0, 2, 1, 3}).cont();
        const Many a = one.gradients({q, k, v, mask}, seed), b = parts.gradients({q, k, v, mask}, seed);
        const tl::Backend cpu = support::backend(support::isas().front(), 2);
        cpu.compute(a);
        cpu.compute(b);
        for (std::size_t i = 0; i < 4; i++) expect_close(a[i].read_f32(), b[i].read_f32(), 1e-5f, "gradient " + std::to_string(i));
    }
}

// Two layers and a step of each weight, in place: gradients of the first are made with the second, and the other way round.
struct Layers {
    tl::Context ctx;
    tl::Tensor x = support::leaf(ctx, {4, 6}, 1), first = support::leaf(ctx, {4, 5}, 2), second = support::leaf(ctx, {5, 3}, 3);
    tl::Tensor loss = sum(sqr(mul_mat(second, tanh(mul_mat(first, x)))));
    Many gradients = loss.gradients({first, second});

    tl::Tensor stepped(const tl::Tensor &weight, const tl::Tensor &gradient) const { return sub(weight, scale(gradient, 0.125)); }
    static Many steps_in_place(const Layers &l) {
        return {cpy(l.stepped(l.first, l.gradients[0]), l.first), cpy(l.stepped(l.second, l.gradients[1]), l.second)};
    }
};

TEST(Writes, come_after_what_gradients_need) {
    const tl::Backend cpu = support::backend(support::isas().front(), 3);
    const Layers reference;
    const Many wanted{reference.stepped(reference.first, reference.gradients[0]),
                      reference.stepped(reference.second, reference.gradients[1])};
    cpu.compute(wanted);
    for (const bool swapped : {false, true}) {
        const Layers l;
        Many steps = Layers::steps_in_place(l);
        if (swapped) std::swap(steps[0], steps[1]);
        steps.push_back(l.loss);
        cpu.compute(steps);
        EXPECT_EQ(l.first.read_f32(), wanted[0].read_f32());
        EXPECT_EQ(l.second.read_f32(), wanted[1].read_f32());
        // Once more: the same plan, from where it stands.
        cpu.compute(steps);
        EXPECT_NE(l.first.read_f32(), wanted[0].read_f32());
    }
}

// What nobody differentiated sees a write that stands before it, as ever.
TEST(Writes, are_seen_by_what_comes_later) {
    const tl::Context ctx;
    const auto cache = ctx.zeros(tl::Type::f32, {3}), x = support::leaf(ctx, {3}, 1);
    const auto later = sqr(cache), y = sum(x);
    const auto gradient = y.gradients({x}).at(0), written = cpy(x, cache);
    support::backend(support::isas().front(), 2).compute({written, later, gradient});
    const auto xs = x.read_f32(), seen = later.read_f32();
    for (std::size_t i = 0; i < 3; i++) EXPECT_EQ(seen[i], xs[i] * xs[i]);
}

TEST(Writes, that_have_no_place_are_refused) {
    const tl::Context ctx;
    auto w = support::leaf(ctx, {3}, 1), other = support::leaf(ctx, {3}, 2);
    w.set_name("weight");
    const auto x = support::leaf(ctx, {3}, 3), filled = cpy(x, other);
    const auto gradient = sum(div(w, filled)).gradients({x}).at(0);
    // The step reads `other` as it was, so it precedes `filled`. The quotient follows `filled`, and must read `w` as it was.
    const auto step = cpy(other, w);
    support::expect_error(Status::invalid_argument,
                          {"graph_create", "div [3] f32", "cpy [3] f32", "must read 'weight' [3] f32", "two graphs"},
                          [&] { support::backend(support::isas().front(), 2).compute({step, gradient}); });
    EXPECT_NO_THROW(support::backend(support::isas().front(), 2).compute({gradient, step}));
}

TEST(Contexts, may_be_many) {
    const tl::Context weights, activations, gradients;
    const auto w = support::leaf(weights, {3, 2}, 1), x = support::leaf(activations, {3, 4}, 2);
    const auto loss = sum(sqr(mul_mat(w, x)));
    const auto dw = gradients.gradients(std::array{loss}, std::array{w}).at(0);
    EXPECT_EQ(computed(dw).size(), 6u);
    // The activations refer to the weights: these cannot refer back.
    const std::size_t used = weights.used_memory();
    support::expect_error(Status::context_mismatch, {"gradients", "cannot refer to", "neither could ever be freed"},
                          [&] { (void)weights.gradients(std::array{loss}, std::array{w}); });
    EXPECT_EQ(weights.used_memory(), used);
}

TEST(Refusals, name_all_nodes_and_append_nothing) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {12}, 1);
    const std::vector<std::size_t> overlapping{4};
    auto first = a.view({4, 3}, overlapping, 0), second = a.view({2, 5}, overlapping, 4);
    first.set_name("windows"), second.set_name("others");
    const auto loss = add(sum(first), sum(sqr(second)));
    const std::size_t used = ctx.used_memory();
    support::expect_error(Status::unsupported, {"2 nodes", "'windows' [4, 3] f32", "'others' [2, 5] f32", "overlap", "get_rows"},
                          [&] { (void)loss.gradients({a}); });
    EXPECT_EQ(ctx.used_memory(), used);
    // A part that no gradient passes through needs no rule.
    EXPECT_NO_THROW((void)add(sum(sqr(a)), sum(stop_gradient(first))).gradients({a}));
    // Many are counted.
    tl::Tensor total = sum(a);
    for (int i = 0; i < 20; i++) total = add(total, sum(a.view({2, 5}, overlapping, 4)));
    support::expect_error(Status::unsupported, {"20 nodes", "and 12 more"}, [&] { (void)total.gradients({a}); });
    support::expect_error(Status::invalid_argument, {"1 outputs and 2 seeds"}, [&] {
        const std::array<std::optional<tl::Tensor>, 2> seeds{};
        (void)ctx.gradients(std::array{total}, std::array{a}, seeds);
    });
    support::expect_error(Status::invalid_argument, {"gradients", "at least one"}, [&] { (void)ctx.gradients({}, std::array{a}); });
    support::expect_error(Status::invalid_argument, {"gradients", "at least one"}, [&] { (void)total.gradients({}); });
}

// Zeros would be wrong: the loss depends on a.
TEST(Refusals, of_f64_on_a_path) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {5}, 1), b = support::leaf(ctx, {5}, 2);
    auto wide = a.cast(tl::Type::f64), squares = sqr(wide);
    wide.set_name("wide"), squares.set_name("squares");
    const auto loss = add(sum(b), sum(squares.cast(tl::Type::f32)));
    const std::size_t used = ctx.used_memory();
    support::expect_error(Status::unsupported,
                          {"2 nodes", "cast 'wide' [5] f64", "sqr 'squares' [5] f64", "f32, f16 or bf16 is valid", "stop_gradient"},
                          [&] { (void)loss.gradients({a}); });
    EXPECT_EQ(ctx.used_memory(), used);
    // F64 on no path to the tensor, from constants, and from integers, has no part in gradients.
    EXPECT_EQ(computed(loss.gradients({b}).at(0)), std::vector<float>(5, 1));
    const auto factor = stop_gradient(a).cast(tl::Type::f64).cast(tl::Type::f32), whole = mean(floor(a).cast(tl::Type::i32));
    EXPECT_EQ(computed(sum(a * factor).gradients({a}).at(0)), a.read_f32());
    EXPECT_EQ(computed(sum(a * whole.cast(tl::Type::f32)).gradients({a}).at(0)),
              std::vector<float>(5, computed(whole.cast(tl::Type::f32)).at(0)));
    EXPECT_EQ(computed(sum(where(gt(a.cast(tl::Type::f64), b.cast(tl::Type::f64)), a, a)).gradients({a}).at(0)), std::vector<float>(5, 1));
    support::expect_error(Status::type_mismatch, {"output 0", "f64"}, [&] { (void)sum(wide).gradients({a}); });
    support::expect_error(Status::type_mismatch, {"tensor 0", "f64"}, [&] { (void)loss.gradients({wide}); });
}

// Wherever memory ends, all that was appended is given back.
TEST(Refusals, give_memory_back) {
    const tl::Context roomy;
    const auto build = [](const tl::Context &ctx) {
        const auto w = support::leaf(ctx, {8, 8}, 1);
        return std::pair(w, sum(sqr(silu(mul_mat(w, rms_norm(support::leaf(ctx, {8, 3}, 2), 1e-5))))));
    };
    const auto [w, loss] = build(roomy);
    const std::size_t before = roomy.used_memory();
    (void)loss.gradients({w});
    const std::size_t needed = roomy.used_memory() - before;
    int refused = 0;
    for (std::size_t limit = before + 64; limit < before + needed + 4096; limit += 97) {
        const tl::Context tight({.mem_limit = limit});
        const auto [weights, total] = build(tight);
        const std::size_t used = tight.used_memory();
        try {
            (void)total.gradients({weights});
        } catch (const tl::Error &error) {
            EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(Status::out_of_memory)) << error.what();
            EXPECT_EQ(tight.used_memory(), used);
            refused++;
        }
    }
    EXPECT_GT(refused, 10);
}

TEST(Refusals, of_a_frozen_context) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {3}, 1);
    const auto loss = sum(sqr(a));
    ctx.freeze();
    support::expect_error(Status::invalid_argument, {"frozen"}, [&] { (void)loss.gradients({a}); });
    const tl::Context other;
    EXPECT_EQ(computed(other.gradients(std::array{loss}, std::array{a}).at(0)).size(), 3u);
}

}  // namespace
