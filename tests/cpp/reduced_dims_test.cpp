// Reductions over any dimensions: against double, over random shapes, views, types and sets of dimensions, on every ISA and at several
// thread counts; special values, long groups, results without elements, and the calls that must be refused.
#include "wanted.hpp"

#include <functional>
#include <map>

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::gamma;
using support::Ne;
using support::Random;
using support::Wanted;

namespace {

constexpr unsigned all = 15;

// ---- What is to come out

double rounding(double value) { return 0x1p-24 * std::fabs(value) + 0x1p-149; }

using Group = std::vector<double>;

// reductions_test.cpp counts the roundings of a sum along dimension 0. If dimension 0 stays, there are fewer: 31 in a block of 32.
Wanted sum_of(const Group &x) {
    double sum = 0, magnitude = 0;
    for (const double v : x) sum += v, magnitude += std::fabs(v);
    return {sum, gamma(38) * magnitude};
}

Wanted mean_of(const Group &x) {
    const Wanted sum = sum_of(x);
    const double n = static_cast<double>(x.size()), mean = sum.value / n;
    return {mean, sum.bound / n + rounding(mean)};
}

// The squares of a block have some 41 roundings. A block's mean is off by 38 of the mean distance, which changes the squares between
// blocks by as much; the distance of a block's float centre from its mean, 39 roundings of the elements, is subtracted again.
Wanted variance_of(const Group &x, std::int64_t correction) {
    long double sum = 0, squares = 0;
    for (const double v : x) sum += v;
    const long double mean = sum / static_cast<long double>(x.size());
    double largest = 0;
    for (const double v : x) squares += (v - mean) * (v - mean), largest = std::max(largest, std::fabs(v));
    const double n = static_cast<double>(x.size()), divisor = std::max(n - static_cast<double>(correction), 0.0);
    const double value = static_cast<double>(squares) / divisor, off = gamma(40) * largest;
    return {value, (gamma(100) * static_cast<double>(squares) + n * off * off) / divisor + rounding(value)};
}

Wanted deviation_of(const Group &x, std::int64_t correction) {
    const Wanted variance = variance_of(x, correction);
    const double value = std::sqrt(variance.value);
    const double off =
        std::max(std::sqrt(variance.value + variance.bound) - value, value - std::sqrt(std::max(variance.value - variance.bound, 0.0)));
    return {value, off + rounding(value)};
}

Wanted product_of(const Group &x) {
    double product = 1;
    for (const double v : x) product *= v;
    return {product, rounding(product) * 1.001};
}

// Whether a is before b if 0 is after -0; sign 1 for the largest.
bool better(double a, double b, double sign) {
    if (a == 0 && b == 0) return sign > 0 ? std::signbit(b) && !std::signbit(a) : std::signbit(a) && !std::signbit(b);
    return sign * a > sign * b;
}

Wanted extreme_of(const Group &x, double sign) {
    double best = x[0];
    for (const double v : x) {
        if (std::isnan(v)) return {v, 0};
        if (better(v, best, sign)) best = v;
    }
    return {best, 0};
}

Wanted place_of(const Group &x, double sign) {
    std::size_t best = x.size();
    for (std::size_t i = 0; i < x.size(); i++) {
        if (std::isnan(x[i])) continue;
        if (best == x.size() || sign * x[i] > sign * x[best]) best = i;
    }
    return {best == x.size() ? 0 : static_cast<double>(best), 0};
}

// An exponential of d is off by |d| 2^-24 and 2 units in the last place.
Wanted log_sum_exp_of(const Group &x) {
    double largest = -HUGE_VAL, sum = 0, off = 0;
    for (const double v : x) {
        if (std::isnan(v)) return {v, 0};
        largest = std::max(largest, v);
    }
    if (std::isinf(largest)) return {largest, 0};
    for (const double v : x) {
        const double d = v - largest, e = std::exp(d);
        sum += e;
        if (e > 0) off += e * (std::fabs(d) * 0x1p-24 + 0x1p-22) + 0x1p-150;
    }
    const double value = largest + std::log(sum);
    return {value, gamma(38) + 1.01 * off / sum + rounding(value)};
}

Wanted test_of(const Group &x, bool any) {
    for (const double v : x) {
        if ((v != 0) == any) return {any ? 1.0 : 0.0, 0};
    }
    return {any ? 0.0 : 1.0, 0};
}

struct Reduction {
    Op op;
    std::function<Wanted(const Group &)> wanted;
    bool needs_elements = false;
    std::int64_t correction = -1;
    bool one_result = true;  // whether the bits are the same on every ISA
};
const Reduction reductions[] = {
    {Op::sum, sum_of},
    {Op::mean, mean_of},
    {Op::max, [](const Group &x) { return extreme_of(x, 1); }, true},
    {Op::min, [](const Group &x) { return extreme_of(x, -1); }, true},
    {Op::argmax, [](const Group &x) { return place_of(x, 1); }, true},
    {Op::argmin, [](const Group &x) { return place_of(x, -1); }, true},
    {Op::var, [](const Group &x) { return variance_of(x, 0); }, false, 0},
    {Op::var, [](const Group &x) { return variance_of(x, 1); }, false, 1},
    {Op::std, [](const Group &x) { return deviation_of(x, 1); }, false, 1},
    {Op::prod, product_of},
    {Op::any, [](const Group &x) { return test_of(x, true); }},
    {Op::all, [](const Group &x) { return test_of(x, false); }},
    {Op::log_sum_exp, log_sum_exp_of, false, -1, false},
};

std::vector<Wanted> wanted(const Reduction &reduction, const std::vector<float> &x, const Ne &ne, unsigned set) {
    Ne kept = ne;
    for (std::size_t d = 0; d < 4; d++) kept[d] = set >> d & 1 ? 1 : ne[d];
    std::vector<Group> groups(static_cast<std::size_t>(support::count_of(kept)));
    std::size_t at = 0;
    for (std::int64_t i3 = 0; i3 < ne[3]; i3++) {
        for (std::int64_t i2 = 0; i2 < ne[2]; i2++) {
            for (std::int64_t i1 = 0; i1 < ne[1]; i1++) {
                for (std::int64_t i0 = 0; i0 < ne[0]; i0++) {
                    const std::int64_t index[4] = {i0, i1, i2, i3};
                    std::int64_t group = 0;
                    for (std::size_t d = 4; d-- > 0;) group = group * kept[d] + (set >> d & 1 ? 0 : index[d]);
                    groups[static_cast<std::size_t>(group)].push_back(double{x[at++]});
                }
            }
        }
    }
    std::vector<Wanted> all_wanted;
    for (const Group &group : groups) all_wanted.push_back(reduction.wanted(group));
    return all_wanted;
}

void expect_right(const std::vector<float> &got, const std::vector<Wanted> &want, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        const double g = double{got[i]};
        const auto [value, bound] = want[i];
        // A float cannot hold what is beyond its range.
        const bool overflows = std::fabs(value) + bound > 0x1.fffffep127;
        const bool same_sign = value != 0 || bound != 0 || std::signbit(g) == std::signbit(value);
        const bool near = std::fabs(g - value) <= bound && same_sign;
        const bool right = std::isnan(value) ? std::isnan(g) : std::isinf(value) ? g == value : near || (overflows && std::isinf(g));
        ASSERT_TRUE(right) << what << ": element " << i << " is " << g << ", expected " << value << " to within " << bound;
    }
}

// ---- Computing

std::vector<Attr> attrs_of(const Reduction &reduction, unsigned set, bool keep) {
    std::vector<Attr> attrs{Attr::of_dims("dims", set), Attr::of_int("keep", keep)};
    if (reduction.correction >= 0) attrs.push_back(Attr::of_int("correction", reduction.correction));
    return attrs;
}

Ne shape_of(const Ne &ne, int n_dims, unsigned set, bool keep) {
    Ne shape{1, 1, 1, 1};
    std::size_t n = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(n_dims); d++) {
        if (keep || !(set >> d & 1)) shape[n++] = set >> d & 1 ? 1 : ne[d];
    }
    return shape;
}

// Checks a and a copy of it: the order of the elements follows from their indices, however they are stored.
void check(Builder &build, const Reduction &reduction, Tensor *a, unsigned set, bool keep) {
    const Ne ne = a->layout.ne;
    std::string what = std::string(core::op_name(reduction.op)) + " of " + core::tensor_text(*a) + ", dims ";
    for (int d = 0; d < 4; d++) what += set >> d & 1 ? "x" : "-";
    Tensor *result = build.node(reduction.op, {a}, attrs_of(reduction, set, keep));
    ASSERT_EQ(result->layout.type, reduction.op == Op::argmax || reduction.op == Op::argmin ? DType::i32 : DType::f32) << what;
    ASSERT_EQ(result->layout.ne, shape_of(ne, a->layout.n_dims, set, keep)) << what;
    const std::vector<Wanted> want = wanted(reduction, support::values_of(a), ne, set);
    const auto isas = support::computed_on_isas(build, result, what);
    Tensor *copy = build.node(reduction.op, {build.node(Op::cont, {a})}, attrs_of(reduction, set, keep));
    const auto of_copy = support::computed_on_isas(build, copy, what);
    for (std::size_t i = 0; i < isas.size(); i++) {
        expect_right(isas[i], want, what);
        EXPECT_TRUE(support::same_values(isas[i], of_copy[i])) << what << ": other bits than of a copy of it";
        if (reduction.one_result) {
            EXPECT_TRUE(support::same_values(isas[i], isas[0])) << what << ": other bits on another ISA";
        }
    }
}

bool is_empty(const Ne &ne, unsigned set) {
    bool has_group = true, has_element = true;
    for (std::size_t d = 0; d < 4; d++) (set >> d & 1 ? has_element : has_group) &= ne[d] > 0;
    return has_group && !has_element;
}

class Reductions : public testing::TestWithParam<std::size_t> {
protected:
    const Reduction &reduction() const { return reductions[GetParam()]; }

    void check_random(std::uint32_t seed, float (*draw)(Random &), int repeats) {
        Random random(seed);
        for (int i = 0; i < repeats && !HasFailure(); i++) {
            Builder build;
            build.draw = draw;
            const Ne ne = support::some_shape(random);
            const unsigned set = 1 + random() % all;
            if (reduction().needs_elements && is_empty(ne, set)) continue;
            check(build, reduction(), build.operand(ne, support::one_of(random, support::float_types), random), set, random() % 2 == 0);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(operations, Reductions, testing::Range(std::size_t{0}, std::size(reductions)), [](const auto &info) {
    const Reduction &one = reductions[info.param];
    return std::string(core::op_name(one.op)) + (one.correction >= 0 ? std::to_string(one.correction) : "");
});

// A product of many elements stays in range if they are near 1.
float some_value(Random &random) { return support::any_value(random); }
float some_factor(Random &random) {
    const float size = 1 + static_cast<float>(random() % 256) / 16384 - 0.0078125f;
    return random() % 4 == 0 ? -size : size;
}
float some_zeros(Random &random) { return random() % 16 == 0 ? support::any_value(random) : random() % 2 ? 0.0f : -0.0f; }
float few_zeros(Random &random) { return random() % 64 == 0 ? 0.0f : 1; }
float some_special(Random &random) {
    constexpr float special[] = {support::inf, support::inf, -support::inf, NAN, 0x1p-149f, -0x1p-130f};
    const auto one = random() % 64;
    return one < 1 ? support::one_of(random, special) : one < 32 ? -0.0f : support::any_value(random);
}

TEST_P(Reductions, agree_with_double) {
    check_random(3, reduction().op == Op::prod ? some_factor : some_value, support::repeats(80, 1500));
}

TEST_P(Reductions, take_special_values) {
    if (reduction().op == Op::prod) {
        check_random(5, few_zeros, support::repeats(40, 1000));
    } else {
        const bool sums = reduction().op == Op::sum || reduction().op == Op::mean || reduction().correction >= 0;
        check_random(5, sums ? some_special : support::any_or_special_value, support::repeats(60, 1000));
    }
}

TEST_P(Reductions, of_zeros) { check_random(7, reduction().op == Op::all ? few_zeros : some_zeros, support::repeats(30, 500)); }

// Around blocks of 32 rows and 1024 elements, tiles of 256, 1024 and 4096 columns, and segments.
TEST_P(Reductions, of_long_groups) {
    Random random(11);
    struct Long {
        Ne ne;
        unsigned set;
    };
    const Long longs[] = {{{65537, 2, 1, 1}, 1}, {{3, 2500, 1, 1}, 2},   {{1030, 700, 1, 1}, 2}, {{70, 33, 40, 1}, 5},
                          {{5, 31, 3, 90}, 10},  {{1, 1, 4099, 2}, 4},   {{257, 1, 1200, 1}, 4}, {{300000, 1, 1, 1}, all},
                          {{4101, 38, 1, 1}, 2}, {{4101, 33, 16, 1}, 2}, {{1030, 300, 2, 2}, 10}};
    for (const Long &one : longs) {
        for (const DType type : {DType::f32, DType::bf16}) {
            Builder build;
            build.draw = reduction().op == Op::prod ? some_factor : reduction().op == Op::all ? few_zeros : some_value;
            check(build, reduction(), build.leaf(one.ne, type, random), one.set, false);
            if (HasFailure()) return;
        }
    }
}

// A mean far from 0 costs no digits of the variance: naive sums of squares would lose all of them.
TEST(Deviations, around_a_large_mean) {
    Random random(13);
    for (const unsigned set : {1u, 2u}) {
        Builder build;
        build.draw = [](Random &r) { return 4096 + support::any_value(r); };
        Tensor *a = build.leaf({3000, 3000, 1, 1}, DType::f32, random);
        const std::vector<Wanted> want = wanted(reductions[6], support::values_of(a), a->layout.ne, set);
        const auto got = support::computed(build, build.node(Op::var, {a}, attrs_of(reductions[6], set, false)), "a large mean");
        for (std::size_t i = 0; i < got.size(); i++) ASSERT_NEAR(double{got[i]} / want[i].value, 1, 1e-5) << i;
    }
}

TEST_P(Reductions, of_nothing) {
    const Reduction &one = reduction();
    const std::map<Op, float> nothing{{Op::sum, 0.0f},  {Op::mean, NAN}, {Op::var, NAN},  {Op::std, NAN},
                                      {Op::prod, 1.0f}, {Op::any, 0.0f}, {Op::all, 1.0f}, {Op::log_sum_exp, -support::inf}};
    for (const unsigned set : {1u, 2u}) {
        const Ne ne = set == 1 ? Ne{0, 3, 1, 1} : Ne{3, 0, 1, 1};
        Builder build;
        const auto made = [&] { return build.node(one.op, {build.leaf(ne)}, attrs_of(one, set, false)); };
        if (one.needs_elements) {
            support::expect_error(tl::Status::shape_mismatch, {core::op_name(one.op), core::shape_text(ne), "at least one element"}, made);
        } else {
            const float value = nothing.at(one.op);
            EXPECT_TRUE(support::same_values(support::computed(build, made(), "of nothing"), {value, value, value}));
        }
        // No group, no element.
        Tensor *none = build.node(one.op, {build.leaf(ne)}, attrs_of(one, all & ~set, false));
        EXPECT_EQ(none->layout.n_elements(), 0);
        EXPECT_TRUE(support::computed(build, none, "no group").empty());
    }
}

TEST_P(Reductions, are_refused) {
    using S = tl::Status;
    const Reduction &one = reduction();
    const std::string name = core::op_name(one.op);
    Builder build;
    for (const DType type : {DType::q4_0, DType::q8_0})
        support::expect_error(S::type_mismatch, {name + ": a is [32, 2] " + core::traits(type).name, "a float, an integer or bool"},
                              [&] { build.node(one.op, {build.leaf({32, 2, 1, 1}, type)}, attrs_of(one, 1, false)); });
    Tensor *a = build.leaf({4, 3, 1, 1});
    const auto with = [&](const Attr &attr) {
        std::vector<Attr> attrs{attr};
        if (one.correction >= 0 && attr.name != "correction") attrs.push_back(Attr::of_int("correction", 0));
        build.node(one.op, {a}, attrs);
    };
    support::expect_error(S::invalid_argument, {name, "dims is 4", "0 to 3"}, [&] { with(Attr::of_int("dims", 4)); });
    support::expect_error(S::invalid_argument, {name, "dims is -1", "0 to 3"}, [&] { with(Attr::of_int("dims", -1)); });
    support::expect_error(S::invalid_argument, {name, "dims has 5 values"}, [&] { with(Attr::of_dims("dims", 31)); });
    support::expect_error(S::invalid_argument, {name, "keep is 2"}, [&] { with(Attr::of_int("keep", 2)); });
    if (one.correction >= 0) {
        support::expect_error(S::invalid_argument, {name, "correction is -1"}, [&] { with(Attr::of_int("correction", -1)); });
        support::expect_error(S::invalid_argument, {name, "correction is missing"}, [&] { build.node(one.op, {a}); });
    }
    support::expect_error(S::invalid_argument, {"operands"}, [&] { build.node(one.op, {a, a}, attrs_of(one, 1, false)); });
}

}  // namespace
