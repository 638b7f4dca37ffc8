// Sums, means, running sums and losses: against double, over random views and types, on every ISA and at several thread counts, all of
// which must give equal bits; and the calls that must be refused.
#include "wanted.hpp"

#include <cstdlib>
#include <map>

namespace core = tensorlib::core;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::gamma;
using support::Ne;
using support::Random;
using support::Wanted;

namespace {

// ---- What is to come out

// What is added up: in double, with the magnitudes.
struct Total {
    double sum = 0, magnitude = 0;
    void add(double x) { sum += x, magnitude += std::fabs(x); }
    Wanted rounded(int times) const { return {sum, gamma(times) * magnitude}; }
};

// A float is added to one of 32 parts of a block of 1024 (at most 31 roundings, as the first is added to 0), then the parts pairwise (5);
// blocks in F64, whose errors are below 2^-40 of a rounding each; at the end one rounding to a float, and one more for what was left out.
constexpr int roundings_of_a_sum = 38;
// 36 of what lies before 1024 elements, as above; one of that as a float, one of its sum with what comes after it, and one more. Elements
// that come after it have fewer: 4 in a run of 16, 16 of the runs before it in a block of 256, the same two, and one more.
constexpr int roundings_of_a_running_sum = 39;

std::vector<Wanted> wanted(Op op, const std::vector<float> &x, const Ne &ne) {
    const std::size_t n = static_cast<std::size_t>(ne[0]), rows = static_cast<std::size_t>(ne[1] * ne[2] * ne[3]);
    std::vector<Wanted> all;
    Total total;
    for (std::size_t r = 0; r < rows; r++) {
        if (op != Op::sum) total = {};
        for (std::size_t i = 0; i < n; i++) {
            total.add(double{x[r * n + i]});
            if (op == Op::cumsum) all.push_back(total.rounded(roundings_of_a_running_sum));
        }
        const Wanted row = total.rounded(roundings_of_a_sum);
        if (op == Op::sum_rows) all.push_back(row);
        if (op == Op::mean) {
            const double mean = row.value / static_cast<double>(n);
            all.push_back({mean, row.bound / static_cast<double>(n) + 0x1p-24 * std::fabs(mean) + 0x1p-150});
        }
    }
    if (op == Op::sum) all.push_back(total.rounded(roundings_of_a_sum));
    return all;
}

void expect_right(const std::vector<float> &got, const std::vector<Wanted> &want, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        const double g = double{got[i]};
        const auto [value, bound] = want[i];
        const bool right = std::isfinite(value) ? std::fabs(g - value) <= bound : std::isnan(value) ? std::isnan(g) : g == value;
        ASSERT_TRUE(right) << what << ": element " << i << " is " << g << ", expected " << value << " to within " << bound;
    }
}

// ---- Computing

constexpr Op sums[] = {Op::sum, Op::sum_rows, Op::mean, Op::cumsum};

Ne shape_of(Op op, const Ne &a) {
    if (op == Op::sum) return {1, 1, 1, 1};
    return {op == Op::cumsum ? a[0] : 1, a[1], a[2], a[3]};
}

// Rows, in an operation that could reduce other dimensions too.
std::vector<core::Attr> attrs_of(Op op) {
    return op == Op::mean ? std::vector{core::Attr::of_int("dims", 0), core::Attr::of_int("keep", 1)} : std::vector<core::Attr>{};
}

std::string text_of(Op op, const Tensor *a) { return std::string(core::op_name(op)) + " of " + core::tensor_text(*a); }

// Checks a and a copy of it: the order of a sum follows from the indices of the elements, however they are stored.
void check(Builder &build, Op op, Tensor *a) {
    const std::string what = text_of(op, a);
    Tensor *result = build.node(op, {a}, attrs_of(op));
    ASSERT_EQ(result->layout.type, DType::f32);
    ASSERT_EQ(result->layout.ne, shape_of(op, a->layout.ne));
    const std::vector<float> got = support::computed(build, result, what);
    expect_right(got, wanted(op, support::values_of(a), a->layout.ne), what);
    const std::vector<float> of_copy = support::computed(build, build.node(op, {build.node(Op::cont, {a})}, attrs_of(op)), what);
    EXPECT_TRUE(support::same_values(got, of_copy)) << what << ": other bits than of a copy of it";
}

// ---- Sums

class Sums : public testing::TestWithParam<Op> {};
INSTANTIATE_TEST_SUITE_P(operations, Sums, testing::ValuesIn(sums), [](const auto &info) { return core::op_name(info.param); });

TEST_P(Sums, agree_with_double) {
    Random random(3);
    for (int draw = 0; draw < support::repeats(60, 1000) && !HasFailure(); draw++) {
        Builder build;
        build.draw = support::any_value;
        check(build, GetParam(), build.operand(support::some_shape(random), support::one_of(random, support::float_types), random));
    }
}

// Few of them, or all sums would be NaN. Sums of infinities of both signs are NaN, and so is what a NaN is in; zeros give 0.
TEST_P(Sums, take_special_values) {
    Random random(5);
    for (int draw = 0; draw < support::repeats(60, 1000) && !HasFailure(); draw++) {
        Builder build;
        build.draw = [](Random &r) {
            constexpr float special[] = {support::inf, support::inf, -support::inf, NAN, 0x1p-149f, -0x1p-130f};
            const auto one = r() % 64;
            return one < 1 ? support::one_of(r, special) : one < 32 ? -0.0f : support::any_value(r);
        };
        check(build, GetParam(), build.operand(support::some_shape(random), support::one_of(random, support::float_types), random));
    }
}

// Around a segment of 65536 elements, with an offset that sums in F32 alone would lose bits by.
TEST_P(Sums, of_long_rows) {
    Random random(7);
    for (const Ne &ne : {Ne{65535, 1, 1, 1}, Ne{65536, 2, 1, 1}, Ne{65537, 1, 3, 1}, Ne{200001, 1, 1, 1}, Ne{33, 7000, 1, 1}}) {
        for (const DType type : support::float_types) {
            Builder build;
            build.draw = [](Random &r) { return support::any_value(r) * 0.1f + 100; };
            check(build, GetParam(), build.leaf(ne, type, random));
            const core::Attr axes[] = {core::Attr::of_ints("axes", Ne{1, 0, 2, 3})};
            if (type == DType::f32)
                check(build, GetParam(), build.node(Op::permute, {build.leaf({ne[1], ne[0], ne[2], ne[3]}, type, random)}, {axes[0]}));
            if (HasFailure()) return;
        }
    }
}

TEST_P(Sums, of_nothing) {
    Builder build;
    const auto of = [&](const Ne &ne) {
        return support::computed(build, build.node(GetParam(), {build.leaf(ne)}, attrs_of(GetParam())), "of nothing");
    };
    const std::vector<float> nothing, zero{0}, zeros{0, 0, 0}, nans{NAN, NAN, NAN};
    EXPECT_TRUE(support::same_values(of({5, 0, 1, 1}), GetParam() == Op::sum ? zero : nothing));
    // No time is spent per row: at a nanosecond each the rows would take an hour. For sum_rows and mean the rows are the result.
    const Ne many{0, std::int64_t{1} << 42, 1, 1};
    if (GetParam() == Op::sum || GetParam() == Op::cumsum) {
        EXPECT_TRUE(support::same_values(of(many), GetParam() == Op::sum ? zero : nothing));
    }
    const std::map<Op, std::vector<float>> rows_of_0{{Op::sum, zero}, {Op::sum_rows, zeros}, {Op::mean, nans}, {Op::cumsum, nothing}};
    EXPECT_TRUE(support::same_values(of({0, 3, 1, 1}), rows_of_0.at(GetParam())));
}

TEST_P(Sums, refuse_other_types) {
    Builder build;
    support::expect_error(tl::Status::type_mismatch,
                          {core::op_name(GetParam()) + std::string(": a is [32, 2] q4_0"), "a float, an integer or bool"},
                          [&] { build.node(GetParam(), {build.leaf({32, 2, 1, 1}, DType::q4_0)}); });
    Tensor *a = build.leaf({4, 1, 1, 1});
    support::expect_error(tl::Status::invalid_argument, {"operands"}, [&] { build.node(GetParam(), {a, a}); });
    support::expect_error(tl::Status::invalid_argument, {"operands"}, [&] { build.node(GetParam(), {}); });
}

// 2^25 ones: a running float would stop at 2^24.
TEST(LongSums, do_not_stop_growing) {
    Builder build;
    Tensor *ones = build.leaf({1024, 1, 1, 1}, DType::f32, std::vector<float>(1024, 1.0f));
    Tensor *many = build.node(
        Op::view, {ones},
        {core::Attr::of_ints("ne", std::array<std::int64_t, 2>{1024, 1 << 15}), core::Attr::of_ints("nb", std::array<std::int64_t, 1>{0})});
    const auto graph = build.graph({build.node(Op::sum, {many})});
    core::compute(*graph, *support::all_backends()[0].all[1]);
    EXPECT_EQ(support::values_of(graph->outputs()[0]), std::vector<float>{0x1p25f});
}

// Strides of 0 make shapes of any size: what no memory holds is refused before any is asked for. Their segments' states take 16 TiB.
TEST_P(Sums, that_no_memory_holds_are_refused) {
    void *volatile given = std::malloc(std::size_t{1} << 44);  // volatile: or the compiler may leave out both calls
    std::free(given);
    if (given != nullptr) GTEST_SKIP() << "this machine gives out more address space than it has memory";
    Builder build;
    const std::array<std::int64_t, 3> ne{1, std::int64_t{1} << 40, 1 << 17}, nb{0, 0, 0};
    Tensor *a = build.node(Op::view, {build.leaf({1, 1, 1, 1})},
                           {core::Attr::of_ints("ne", ne), core::Attr::of_ints("nb", std::span(nb).first(2))});
    const auto graph = build.graph({build.node(GetParam(), {a}, attrs_of(GetParam()))});
    support::expect_error(tl::Status::out_of_memory, {}, [&] { core::compute(*graph, *support::all_backends()[0].all[0]); });
}

// ---- cross_entropy_loss

// The loss of a's and b's rows, in double. Rounding an exponent d costs d 2^-24 of its power, the function costs 2 units in the last
// place, and sums of powers have the bound of any sum.
Wanted wanted_loss(const std::vector<float> &a, const std::vector<float> &b, const Ne &ne) {
    const std::size_t n = static_cast<std::size_t>(ne[0]), rows = static_cast<std::size_t>(ne[1] * ne[2] * ne[3]);
    double loss = 0, bound = 0;
    for (std::size_t r = 0; r < rows; r++) {
        const float *x = a.data() + r * n, *w = b.data() + r * n;
        double most = -HUGE_VAL, powers = 0, off = 0, labels = 0, magnitude = 0, weighted = 0, weighted_magnitude = 0;
        for (std::size_t i = 0; i < n; i++) most = x[i] > most ? double{x[i]} : most;
        for (std::size_t i = 0; i < n; i++) {
            const double d = double{x[i]} - most, power = std::exp(d);
            powers += power;
            if (power > 0) off += power * (std::fabs(d) * 0x1p-24 + 0x1p-22) + 0x1p-150;
            labels += double{w[i]};
            magnitude += std::fabs(double{w[i]});
            if (w[i] == 0) continue;
            weighted += double{w[i]} * d;
            weighted_magnitude += std::fabs(double{w[i]} * d);
        }
        if (n == 0) continue;
        const double log_sum = std::log(powers);
        loss += (magnitude == 0 && !std::isnan(powers) ? 0 : labels * log_sum) - weighted;
        // For a logarithm near 0 the error of its argument is the whole error.
        const double log_off = gamma(roundings_of_a_sum) + 1.01 * off / powers;
        bound += magnitude * log_off + gamma(roundings_of_a_sum) * (magnitude * std::fabs(log_sum) + 2 * weighted_magnitude);
    }
    const double mean = loss / static_cast<double>(rows);
    return {mean, bound / static_cast<double>(rows) + 0x1p-24 * std::fabs(mean) + 0x1p-149};
}

void check_loss(Builder &build, Tensor *a, Tensor *b) {
    const std::string what = text_of(Op::cross_entropy_loss, a);
    Tensor *c = build.node(Op::cross_entropy_loss, {a, b});
    ASSERT_EQ(c->layout.type, DType::f32);
    ASSERT_EQ(c->layout.ne, (Ne{1, 1, 1, 1}));
    const Wanted want = wanted_loss(support::values_of(a), support::values_of(b), a->layout.ne);
    for (const std::vector<float> &got : support::computed_on_isas(build, c, what)) expect_right(got, {want}, what);
}

// Labels, as probabilities are, and some that are none; logits of all sizes.
float some_label(Random &random) { return random() % 4 == 0 ? static_cast<float>(random() % 1024) / 1024 : random() % 16 == 0 ? -0.5f : 0; }
float some_logit(Random &random) { return support::any_value(random) * (random() % 4 == 0 ? 30.0f : 1.0f); }

TEST(Losses, agree_with_double) {
    Random random(3);
    for (int draw = 0; draw < support::repeats(200, 4000) && !testing::Test::HasFailure(); draw++) {
        Builder build;
        const Ne ne = support::some_shape(random);
        build.draw = some_logit;
        Tensor *a = build.operand(ne, support::one_of(random, support::float_types), random);
        build.draw = some_label;
        check_loss(build, a, build.operand(ne, support::one_of(random, support::float_types), random));
    }
}

// Labels of one element a row, of logits that single floats' exponentials do not reach, and of some that are left out by -infinity.
TEST(Losses, of_extreme_logits) {
    Random random(5);
    for (const float offset : {0.0f, 1e4f, -1e4f, 1e30f, -1e30f}) {
        for (const bool masked : {false, true}) {
            Builder build;
            const Ne ne{150, 7, 1, 1};
            std::vector<float> logits(150 * 7), labels(150 * 7);
            for (std::size_t i = 0; i < logits.size(); i++) {
                logits[i] = offset + support::any_value(random);
                if (masked && i % 3 == 1) logits[i] = -support::inf;
            }
            for (std::size_t row = 0; row < 7; row++) labels[row * 150 + 3 * (row + 1)] = 1;
            check_loss(build, build.leaf(ne, DType::f32, logits), build.leaf(ne, DType::f32, labels));
        }
    }
}

// The largest element comes in any block and any segment, or nothing but -infinity before it.
TEST(Losses, of_long_rows) {
    Random random(7);
    for (const std::int64_t n : {1025, 65537, 200001}) {
        for (const float rising : {0.0f, 1e-3f, -1e-3f}) {
            Builder build;
            std::vector<float> logits(static_cast<std::size_t>(2 * n)), labels(logits.size());
            for (std::size_t i = 0; i < logits.size(); i++) {
                logits[i] = support::any_value(random) + rising * static_cast<float>(i);
                if (i < 1000) logits[i] = -support::inf;
                labels[i] = i % 1000 == 999 && i > 1000 ? 0.25f : 0;
            }
            const Ne ne{n, 2, 1, 1};
            check_loss(build, build.leaf(ne, DType::f32, logits), build.leaf(ne, DType::f32, labels));
        }
    }
}

TEST(Losses, of_special_rows) {
    constexpr float inf = support::inf;
    struct Row {
        std::vector<float> a, b;
        float loss;
    };
    const Row rows[] = {
        {{1, 2, NAN}, {0, 1, 0}, NAN},   {{1, 2, NAN}, {0, 0, 0}, NAN},        {{1, 2, 3}, {0, NAN, 0}, NAN},
        {{1, inf, 3}, {1, 0, 0}, NAN},   {{-inf, -inf, -inf}, {1, 0, 0}, NAN}, {{-inf, -inf, -inf}, {0, 0, 0}, 0},
        {{-inf, 2, -inf}, {0, 1, 0}, 0}, {{-inf, 2, -inf}, {1, 0, 0}, inf},    {{5, 5, 5}, {0, 0, 0}, 0},
    };
    for (const Row &row : rows) {
        Builder build;
        Tensor *a = build.leaf({3, 1, 1, 1}, DType::f32, row.a), *b = build.leaf({3, 1, 1, 1}, DType::f32, row.b);
        const std::vector<float> got = support::computed(build, build.node(Op::cross_entropy_loss, {a, b}), "a special row");
        EXPECT_TRUE(support::same_values(got, {row.loss})) << got[0] << ", expected " << row.loss;
    }
    Builder build;
    const auto of = [&](const Ne &ne) {
        return support::computed(build, build.node(Op::cross_entropy_loss, {build.leaf(ne), build.leaf(ne)}), "nothing");
    };
    EXPECT_TRUE(support::same_values(of({5, 0, 1, 1}), {NAN}));
    EXPECT_TRUE(support::same_values(of({0, 3, 1, 1}), {0}));
    EXPECT_TRUE(support::same_values(of({0, std::int64_t{1} << 42, 1, 1}), {0}));
}

TEST(Losses, are_refused) {
    using S = tl::Status;
    Builder build;
    Tensor *a = build.leaf({4, 3, 1, 1});
    const auto refused = [&](S status, std::vector<std::string> words, std::vector<Tensor *> src) {
        words.push_back("cross_entropy_loss");
        support::expect_error(status, words, [&] { build.node(Op::cross_entropy_loss, src); });
    };
    for (const DType type : {DType::i32, DType::f64}) {
        refused(S::type_mismatch, {"b is [4, 3] ", core::traits(type).name, "f32, f16 or bf16"}, {a, build.leaf({4, 3, 1, 1}, type)});
        refused(S::type_mismatch, {"a is [4, 3] ", core::traits(type).name, "f32, f16 or bf16"}, {build.leaf({4, 3, 1, 1}, type), a});
    }
    refused(S::shape_mismatch, {"a is [4, 3] f32, b is [4] f32", "one shape"}, {a, build.leaf({4, 1, 1, 1})});
    refused(S::invalid_argument, {"operands"}, {a});
}

}  // namespace
