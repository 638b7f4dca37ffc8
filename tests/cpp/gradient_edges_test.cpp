// Gradients where functions end, bend or leave the range of floats. Wherever a value and its derivative are finite, the gradient is that
// derivative, or the documented side of it, and never NaN. Compares with derivatives in double, on every ISA and at several thread
// counts.
#include "support.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
constexpr float tiny = std::numeric_limits<float>::denorm_min();

using Floats = std::vector<float>;
using Many = std::vector<tl::Tensor>;

// Calls check(backend, its name) for every ISA, with one thread and with three.
template <class Check>
void on_all_backends(Check check) {
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3}) check(support::backend(isa, threads), isa + ", " + std::to_string(threads) + " threads");
    }
}

void expect_near(const Floats &got, const std::vector<double> &want, double bound, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        // EXPECT_NEAR would not do: NaN must fail, and equal infinities are equal.
        const bool close = got[i] == want[i] || std::fabs(got[i] - want[i]) <= bound * std::max(1.0, std::fabs(want[i]));
        EXPECT_TRUE(close) << what << ", element " << i << ": " << got[i] << ", expected " << want[i];
    }
}

void expect_gradients(const tl::Context &ctx, const tl::Tensor &y, const Many &of, const std::vector<std::vector<double>> &want,
                      double bound, const std::string &name, std::optional<tl::Tensor> seed = std::nullopt) {
    const auto gradients = seed ? ctx.gradients(std::array{y}, of, std::array{seed}) : ctx.gradients(std::array{y}, of);
    on_all_backends([&](const tl::Backend &backend, const std::string &where) {
        backend.compute(gradients);
        for (std::size_t i = 0; i < of.size(); i++)
            expect_near(gradients[i].read_f32(), want[i], bound, name + ", operand " + std::to_string(i) + ", " + where);
    });
}

// ---- Functions of one operand

struct Unary {
    std::string name;
    tl::Tensor (*make)(const tl::Tensor &);
    double (*derivative)(double);
    double most = inf;  // the largest element whose value is finite
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double swish(double x, double factor) {
    const double s = logistic(factor * x);
    return s == 0 ? 0 : s + factor * x * s * logistic(-factor * x);
}
double gelu(double x) {
    const double k = std::sqrt(2 / std::numbers::pi), t = std::tanh(k * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x * (1 - t * t) * k * (1 + 0.134145 * x * x) / 2;
}
double gelu_erf(double x) {
    return std::erfc(-x / std::numbers::sqrt2) / 2 + x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

const std::vector<Unary> unaries{
    {"abs", [](const tl::Tensor &a) { return abs(a); }, [](double x) { return x > 0   ? 1.0
                                                                              : x < 0 ? -1.0
                                                                                      : 0.0; }},
    {"sqr", [](const tl::Tensor &a) { return sqr(a); }, [](double x) { return 2 * x; }, 1.8e19},
    {"exp", [](const tl::Tensor &a) { return exp(a); }, [](double x) { return std::exp(x); }, 88},
    {"expm1", [](const tl::Tensor &a) { return expm1(a); }, [](double x) { return std::exp(x); }, 88},
    {"erf", [](const tl::Tensor &a) { return erf(a); }, [](double x) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }},
    {"relu", [](const tl::Tensor &a) { return relu(a); }, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"sigmoid", [](const tl::Tensor &a) { return sigmoid(a); }, [](double x) { return logistic(x) * logistic(-x); }},
    {"tanh", [](const tl::Tensor &a) { return tanh(a); }, [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {"elu", [](const tl::Tensor &a) { return elu(a); }, [](double x) { return x > 0 ? 1 : std::exp(x); }},
    {"softplus", [](const tl::Tensor &a) { return softplus(a); }, logistic},
    {"silu", [](const tl::Tensor &a) { return silu(a); }, [](double x) { return swish(x, 1); }},
    {"gelu", [](const tl::Tensor &a) { return gelu(a); }, gelu},
    {"gelu_erf", [](const tl::Tensor &a) { return gelu_erf(a); }, gelu_erf},
    {"gelu_quick", [](const tl::Tensor &a) { return gelu_quick(a); }, [](double x) { return swish(x, 1.702); }},
    {"hardswish", [](const tl::Tensor &a) { return hardswish(a); }, [](double x) { return x <= -3  ? 0
                                                                                          : x >= 3 ? 1
                                                                                                   : (2 * x + 3) / 6; }},
    {"hardsigmoid", [](const tl::Tensor &a) { return hardsigmoid(a); }, [](double x) { return std::fabs(x) < 3 ? 1.0 / 6 : 0; }},
    {"leaky_relu", [](const tl::Tensor &a) { return leaky_relu(a, 0.1); }, [](double x) { return x > 0 ? 1 : 0.1; }},
    {"leaky_relu with a large slope", [](const tl::Tensor &a) { return leaky_relu(a, 1e9); }, [](double x) { return x > 0 ? 1 : 1e9; }},
    {"clamp", [](const tl::Tensor &a) { return clamp(a, -3, 3); }, [](double x) { return std::fabs(x) <= 3 ? 1.0 : 0.0; }},
    {"xielu", [](const tl::Tensor &a) { return xielu(a, 0.8, 0.7, 0.5, -1e-6); },
     [](double x) { return x > 0 ? 1.4 * x + 0.5 : 0.8 * ((x < -1e-6 ? std::exp(x) : 0) - 1) + 0.5; }, 1.8e19},
    {"scale", [](const tl::Tensor &a) { return scale(a, 0.25); }, [](double) { return 0.25; }},
    {"sin", [](const tl::Tensor &a) { return sin(a); }, [](double x) { return std::cos(x); }},
    {"cos", [](const tl::Tensor &a) { return cos(a); }, [](double x) { return -std::sin(x); }},
};

TEST(Edges, functions_of_one_operand) {
    Floats points{0.0f, -0.0f, tiny, -tiny, 1e-30f, -1e-30f};
    for (const float x : {1e-6f, 1.0f, 3.0f, 5.0f, 12.0f, 20.0f, 70.0f, 87.0f, 104.0f, 150.0f, 1e4f, 1.7e19f, 1e20f, 2.5e38f, most, inf})
        points.insert(points.end(), {x, -x});
    const auto n = static_cast<std::int64_t>(points.size());
    for (const Unary &op : unaries) {
        const tl::Context ctx;
        const auto a = ctx.tensor<float>({n}, points), y = op.make(a), gradient = sum(y).gradients({a}).at(0);
        on_all_backends([&](const tl::Backend &backend, const std::string &where) {
            backend.compute({y, gradient});
            const Floats values = y.read_f32(), got = gradient.read_f32();
            for (std::size_t i = 0; i < points.size(); i++) {
                if (!std::isfinite(values[i]) || points[i] > op.most) continue;
                // The limit at infinity is where the function has been for long.
                const double x = std::clamp<double>(points[i], -1e39, 1e39), want = op.derivative(x);
                EXPECT_LE(std::fabs(got[i] - want), 4e-6 * std::max(1.0, std::fabs(want)))
                    << op.name << " at " << points[i] << ": " << got[i] << ", expected " << want << ", " << where;
                EXPECT_FALSE(std::isnan(got[i])) << op.name << " at " << points[i] << ", " << where;
            }
        });
    }
}

// Infinite derivatives are infinite; where a mask keeps a value out of the result nothing comes back.
TEST(Edges, infinite_derivatives_behind_a_mask) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({4}, {0, 4, 0, 1}), keep = ctx.tensor<float>({4}, {0, 1, 1, 1});
    const auto zeros = ctx.zeros(tl::Type::f32, {4});
    const auto masked = [&](const tl::Tensor &y) { return sum(where(keep, y, zeros)); };
    expect_gradients(ctx, masked(sqrt(a)), {a}, {{0, 0.25, inf, 0.5}}, 1e-6, "sqrt");
    expect_gradients(ctx, masked(log(a)), {a}, {{0, 0.25, inf, 1}}, 1e-6, "log");
    expect_gradients(ctx, masked(pow(a, ctx.tensor<float>({1}, {0.5f}))), {a}, {{0, 0.25, inf, 0.5}}, 1e-6, "pow");
}

TEST(Edges, powers) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({11}, {0, 0, 0, 2, -2, -2, inf, inf, 0, -0.0f, -inf});
    const auto b = ctx.tensor<float>({11}, {0, 1, 2, 0, 0, 3, 0, -1, 0.5f, 0, -2});
    const auto y = sum(pow(a, b));
    expect_gradients(ctx, y, {a}, {{0, 1, 0, 0, 0, 12, 0, 0, inf, 0, 0}}, 1e-6, "pow by a");
    // By the exponent: of a above 0 alone, as a power of a number below 0 has none around b.
    const auto c = ctx.tensor<float>({6}, {0, 0, 2, inf, 1, 0}), d = ctx.tensor<float>({6}, {0, 2, 0, -1, 0, 0.5f});
    expect_gradients(ctx, sum(pow(c, d)), {d}, {{0, 0, std::numbers::ln2, 0, 0, 0}}, 1e-6, "pow by b");
    // An exponent that repeats.
    const auto m = ctx.tensor<float>({2, 2}, {0, 3, 0, -3}), zero = ctx.tensor<float>({1}, {0});
    expect_gradients(ctx, sum(pow(m, zero)), {m}, {{0, 0, 0, 0}}, 0, "pow by a, repeated");
}

TEST(Edges, maximum_and_minimum_of_equal_elements) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({4}, {1, inf, -inf, 0}), b = ctx.tensor<float>({4}, {1, inf, -inf, -0.0f});
    for (const auto &y : {sum(maximum(a, b)), sum(minimum(a, b))})
        expect_gradients(ctx, y, {a, b}, {{1, 1, 1, 1}, {0, 0, 0, 0}}, 0, "maximum or minimum");
}

// ---- Gates

TEST(Edges, swiglu_oai_at_and_beyond_its_limit) {
    struct Point {
        float gate, up;
    };
    for (const double limit : {7.0, 0.1, 1e17, 1e38}) {
        for (const double alpha : {1.702, -1.0, 0.01, 1e-30}) {
            const auto at = static_cast<float>(limit);
            const float above = std::nextafterf(at, inf), below = std::nextafterf(at, 0);
            std::vector<Point> points;
            for (const float gate : {at, above, below, -inf, -most, -200.0f, most, 0.0f, 2.0f}) {
                for (const float up : {0.5f, at, -at, above, -above, inf}) points.push_back({gate, up});
            }
            Floats gates, ups;
            std::vector<double> d_gate, d_up;
            for (const auto &[gate, up] : points) {
                const double x = std::min(gate, at), u = std::clamp(up, -at, at), s = logistic(alpha * x);
                const double value = s == 0 ? 0 : x * s, derivative = swish(x, alpha);
                // Where the value is beyond floats there is nothing to ask for.
                if (!(std::fabs(value * (u + 1)) < 1e37) || !(std::fabs(derivative * (u + 1)) < 1e37)) continue;
                gates.push_back(gate), ups.push_back(up);
                d_gate.push_back(gate <= at ? derivative * (u + 1) : 0);
                d_up.push_back(std::fabs(up) <= at ? value : 0);
            }
            const tl::Context ctx;
            const auto n = static_cast<std::int64_t>(gates.size());
            const auto a = ctx.tensor<float>({n}, gates), b = ctx.tensor<float>({n}, ups);
            const auto y = sum(glu(a, b, tl::GluOp::swiglu_oai, {.split = true, .alpha = alpha, .limit = limit}));
            expect_gradients(ctx, y, {a, b}, {d_gate, d_up}, 1e-5, "limit " + std::to_string(limit) + ", alpha " + std::to_string(alpha));
        }
    }
}

// ---- Rows

TEST(Edges, norms_of_rows_that_do_not_vary) {
    const tl::Context ctx;
    const auto zeros = ctx.tensor<float>({2}, {0, 0}), ones = ctx.tensor<float>({2}, {1, 1}), seed = ctx.tensor<float>({2}, {3, 1});
    const double eps = 0.25;
    expect_gradients(ctx, l2_norm(zeros, eps), {zeros}, {{12, 4}}, 1e-6, "l2_norm", seed);
    expect_gradients(ctx, rms_norm(zeros, eps), {zeros}, {{6, 2}}, 1e-6, "rms_norm", seed);
    expect_gradients(ctx, norm(ones, eps), {ones}, {{2, -2}}, 1e-6, "norm", seed);
    // At the least length itself the row is divided by a constant.
    const auto row = ctx.tensor<float>({2}, {0.25f, 0});
    expect_gradients(ctx, l2_norm(row, eps), {row}, {{12, 4}}, 1e-6, "l2_norm at eps", seed);
}

TEST(Edges, soft_max_of_masked_rows) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({2, 2}, {1, 2, 3, 4}), seed = ctx.tensor<float>({2, 2}, {3, 1, 2, 5});
    const auto mask = ctx.tensor<float>({2, 2}, {0, -inf, -inf, -inf}), sink = ctx.tensor<float>({1}, {1});
    // The first row: its weight and the sink's are 1/2 each. The second one has no key: all is the sink's.
    expect_gradients(ctx, soft_max_ext(a, mask, sink), {a, mask, sink}, {{0.75, 0, 0, 0}, {0.75, 0, 0, 0}, {-0.75}}, 1e-6, "soft_max_ext",
                     seed);
    const auto some = ctx.tensor<float>({3}, {0, -inf, 0}), g = ctx.tensor<float>({3}, {4, 3, 2});
    expect_gradients(ctx, soft_max(some), {some}, {{0.5, 0, -0.5}}, 1e-6, "soft_max", g);
    expect_gradients(ctx, log_soft_max(some), {some}, {{-0.5, 3, -2.5}}, 1e-6, "log_soft_max", g);
}

// A row that is masked altogether and has no labels is part of no loss; a label's derivative is infinite where its weight is 0.
TEST(Edges, cross_entropy_of_masked_rows) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({2, 3}, {-inf, -inf, 1, 1, -inf, 0}), b = ctx.tensor<float>({2, 3}, {0, 0, 1, 0, 0, 1});
    expect_gradients(ctx, cross_entropy_loss(a, b), {a}, {{0, 0, -1.0 / 6, 1.0 / 6, 0, 0}}, 1e-6, "cross_entropy_loss");
    const auto some = ctx.tensor<float>({2}, {-inf, 0}), one = ctx.tensor<float>({2}, {0, 1}), off = ctx.tensor<float>({1}, {0});
    expect_gradients(ctx, cross_entropy_loss(some, one), {one}, {{inf, 0}}, 1e-6, "cross_entropy_loss by b");
    expect_gradients(ctx, cross_entropy_loss(some, one), {one}, {{0, 0}}, 0, "cross_entropy_loss by b, masked", off);
}

// ---- All of them

struct Function {
    std::string name;
    tl::Tensor (*make)(const tl::Tensor &a, const tl::Tensor &b);
};

template <tl::GluOp gate>
tl::Tensor gated(const tl::Tensor &a, const tl::Tensor &b) {
    return glu(a, b, gate, {.split = true});
}

using Of = const tl::Tensor &;
const std::vector<Function> functions{
    {"add", [](Of a, Of b) { return add(a, b); }},
    {"mul", [](Of a, Of b) { return mul(a, b); }},
    {"div", [](Of a, Of b) { return div(a, b); }},
    {"maximum", [](Of a, Of b) { return maximum(a, b); }},
    {"minimum", [](Of a, Of b) { return minimum(a, b); }},
    {"pow of what is above 0", [](Of a, Of b) { return pow(relu(a), b); }},
    {"where", [](Of a, Of b) { return where(a, b, a); }},
    {"norm", [](Of a, Of) { return norm(a, 1e-5); }},
    {"rms_norm", [](Of a, Of) { return rms_norm(a, 1e-5); }},
    {"rms_norm without eps", [](Of a, Of) { return rms_norm(a, 0); }},
    {"l2_norm", [](Of a, Of) { return l2_norm(a, 1e-6); }},
    {"soft_max", [](Of a, Of) { return soft_max(a); }},
    {"soft_max_ext", [](Of a, Of b) { return soft_max_ext(a, b, std::nullopt, {.scale = 0.5}); }},
    {"log_soft_max", [](Of a, Of) { return log_soft_max(a); }},
    {"cumsum", [](Of a, Of) { return cumsum(a); }},
    {"mean", [](Of a, Of) { return mean(a, {.dims = {0}, .keep = true}); }},
    {"max", [](Of a, Of) { return max(a, {.dims = {0}}); }},
    {"min", [](Of a, Of) { return min(a, {.dims = {1}}); }},
    {"var", [](Of a, Of) { return var(a, 1, {.dims = {0}}); }},
    {"std", [](Of a, Of) { return stddev(a, 0, {.dims = {0}}); }},
    {"prod", [](Of a, Of) { return prod(a, {.dims = {1}}); }},
    {"log_sum_exp", [](Of a, Of) { return log_sum_exp(a, {.dims = {0}}); }},
    {"reglu", gated<tl::GluOp::reglu>},
    {"geglu", gated<tl::GluOp::geglu>},
    {"swiglu", gated<tl::GluOp::swiglu>},
    {"geglu_erf", gated<tl::GluOp::geglu_erf>},
    {"geglu_quick", gated<tl::GluOp::geglu_quick>},
    {"swiglu_oai", gated<tl::GluOp::swiglu_oai>},
    {"sqrt", [](Of a, Of) { return sqrt(a); }},
    {"log", [](Of a, Of) { return log(a); }},
    {"pool_1d max", [](Of a, Of) { return pool_1d(a, tl::PoolOp::max, 3, {.s = 1, .p = 1}); }},
    {"pool_1d avg", [](Of a, Of) { return pool_1d(a, tl::PoolOp::avg, 3, {.s = 1, .p = 1}); }},
    {"cross_entropy_loss by a", [](Of a, Of b) { return cross_entropy_loss(a, stop_gradient(step(b))); }},
};

// Rows of limits, infinities and zeros, with gradients of 0 and 1: where all values are finite no gradient is NaN.
TEST(Edges, no_finite_value_has_a_gradient_of_nan) {
    const Floats points{0,      -0.0f, 1,     -1,     2,  0.5f, -3,  3,    1e-30f, -1e-30f, tiny, 1e19f,
                        -1e19f, 2e19f, 3e38f, -3e38f, 88, -88,  104, -200, 7,      -7,      inf,  -inf};
    std::mt19937 random(3);
    const auto draw = [&](std::size_t n, const Floats &from) {
        Floats drawn(n);
        for (float &x : drawn) x = from[random() % from.size()];
        return drawn;
    };
    const std::string isa = support::isas()[random() % support::isas().size()];
    const auto backend = support::backend(isa, 1);
    for (const Function &function : functions) {
        std::size_t finite = 0;
        for (int i = 0; i < support::repeats(200, 5000); i++) {
            const tl::Context ctx;
            const std::int64_t n = 1 + 2 * (i % 2);
            const auto count = static_cast<std::size_t>(n);
            const Floats av = draw(count, points), bv = draw(count, points);
            const auto a = ctx.tensor<float>({n}, av), b = ctx.tensor<float>({n}, bv), y = function.make(a, b);
            const auto seed = ctx.tensor<float>({y.n_elements()}, draw(static_cast<std::size_t>(y.n_elements()), {0, 1}));
            const auto gradients = ctx.gradients(std::array{y}, std::array{a, b}, std::array{std::optional(seed)});
            backend.compute({y, gradients[0], gradients[1]});
            if (!std::ranges::all_of(y.read_f32(), [](float x) { return std::isfinite(x); })) continue;
            finite++;
            for (const auto &gradient : gradients) {
                for (const float x : gradient.read_f32())
                    ASSERT_FALSE(std::isnan(x)) << function.name << " of " << testing::PrintToString(av) << " and "
                                                << testing::PrintToString(bv) << " by " << testing::PrintToString(seed.read_f32());
            }
        }
        EXPECT_GT(finite, 0u) << function.name;
    }
}

// ---- Windows and reflections

TEST(Edges, max_pooling_of_minus_infinity_stays_in_the_row) {
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({4}, {-inf, -inf, 1, 2}), seed = ctx.tensor<float>({4}, {1, 10, 100, 1000});
    expect_gradients(ctx, pool_1d(a, tl::PoolOp::max, 3, {.s = 1, .p = 1}), {a}, {{1, 0, 10, 1100}}, 0, "pool_1d", seed);
    // Numbers below 0 are less than padding would be as zeros; the last window has 1 alone.
    const auto image = ctx.tensor<float>({3, 2}, {-inf, -inf, -5, -inf, -inf, -inf}), weights = ctx.tensor<float>({2, 2}, {1, 2, 4, 8});
    expect_gradients(ctx, pool_2d(image, tl::PoolOp::max, 3, 2, {.s0 = 2, .s1 = 2, .p0 = 1, .p1 = 1}), {image}, {{1, 0, 2, 4, 8, 0}}, 0,
                     "pool_2d", weights);
    // Tiles: another element of the window meets no NaN of the gradient.
    const auto tiles = ctx.tensor<float>({4}, {1, 2, -inf, -inf}), g = ctx.tensor<float>({2}, {inf, 3});
    expect_gradients(ctx, pool_1d(tiles, tl::PoolOp::max, 2), {tiles}, {{0, inf, 3, 0}}, 0, "pool_1d in tiles", g);
}

std::vector<double> reflected_gradient(const Floats &g, std::int64_t n, std::int64_t p0) {
    std::vector<double> sums(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < g.size(); i++) {
        std::int64_t from = std::abs(static_cast<std::int64_t>(i) - p0);
        if (from > n - 1) from = 2 * (n - 1) - from;
        sums[static_cast<std::size_t>(from)] += g[i];
    }
    return sums;
}

TEST(Edges, reflections_of_rows_of_any_length) {
    constexpr std::int64_t large = (1 << 24) + 8;
    struct Row {
        std::int64_t n, p0, p1;
    };
    for (const auto &[n, p0, p1] : {Row{1, 0, 0}, {2, 1, 1}, {5, 4, 4}, {5, 0, 3}, {5, 2, 0}, {large, 1, 3}, {large, large - 1, 1}}) {
        const tl::Context ctx;
        const auto a = ctx.zeros(tl::Type::f32, {n}), y = pad_reflect_1d(a, p0, p1), seed = ctx.zeros(tl::Type::f32, {n + p0 + p1});
        Floats g(static_cast<std::size_t>(n + p0 + p1));
        for (std::size_t i = 0; i < g.size(); i++) g[i] = static_cast<float>(i % 1021);
        seed.write<float>(g);
        const auto gradient = y.gradients({a}, seed).at(0);
        const std::vector<double> want = reflected_gradient(g, n, p0);
        const std::string what = std::to_string(n) + " by " + std::to_string(p0) + " and " + std::to_string(p1);
        on_all_backends([&](const tl::Backend &backend, const std::string &where) {
            backend.compute({gradient});
            const Floats got = gradient.read_f32();
            ASSERT_EQ(got.size(), want.size());
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < got.size(); i++) wrong += got[i] == want[i] ? 0 : 1;
            EXPECT_EQ(wrong, 0u) << what << ", " << where;
        });
    }
}

}  // namespace
