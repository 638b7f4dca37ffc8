// argmax, argsort, top_k and count_equal: against plain comparisons, over random views and types, on every ISA and at several thread
// counts; and the calls that must be refused.
#include "random_tensors.hpp"

#include <numeric>

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::Ne;
using support::Random;

namespace {

constexpr float inf = support::inf;

// ---- What is to come out

// Whether x comes before y: NaN after everything.
bool before(float x, float y, bool descends) { return std::isnan(y) ? !std::isnan(x) : descends ? x > y : x < y; }

// The places of a row's elements in order; of equal ones the first comes first.
std::vector<std::int64_t> sorted_places(const float *row, std::size_t n, bool descends) {
    std::vector<std::int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    const auto at = [row](std::int64_t place) { return row[static_cast<std::size_t>(place)]; };
    std::ranges::stable_sort(places, [&](std::int64_t i, std::int64_t j) { return before(at(i), at(j), descends); });
    return places;
}

// The first `kept` places of each row.
std::vector<float> wanted_places(const std::vector<float> &x, const Ne &ne, bool descends, std::int64_t kept) {
    std::vector<float> all;
    for (std::int64_t row = 0; row < ne[1] * ne[2] * ne[3]; row++) {
        const auto places = sorted_places(x.data() + row * ne[0], static_cast<std::size_t>(ne[0]), descends);
        for (std::int64_t i = 0; i < kept; i++) all.push_back(static_cast<float>(places[static_cast<std::size_t>(i)]));
    }
    return all;
}

std::vector<float> wanted_largest(const std::vector<float> &x, const Ne &ne) {
    std::vector<float> all;
    for (std::int64_t row = 0; row < ne[1] * ne[2] * ne[3]; row++) {
        const float *at = x.data() + row * ne[0];
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < ne[0]; i++) best = before(at[i], at[best], true) ? i : best;
        all.push_back(static_cast<float>(best));
    }
    return all;
}

// ---- Places

constexpr const char *orders[] = {"asc", "desc"};

void check_argmax(Builder &build, Tensor *a) {
    const Ne &ne = a->layout.ne;
    Tensor *c = build.node(Op::argmax, {a}, {Attr::of_int("dims", 0)});
    ASSERT_EQ(c->layout.type, DType::i32);
    ASSERT_EQ(c->layout.ne, (Ne{ne[1], ne[2], ne[3], 1}));
    const std::string what = "argmax of " + core::tensor_text(*a);
    EXPECT_EQ(support::computed(build, c, what), wanted_largest(support::values_of(a), ne)) << what;
}

void check_argsort(Builder &build, Tensor *a, const char *order) {
    Tensor *c = build.node(Op::argsort, {a}, {Attr::of_text("order", order)});
    ASSERT_EQ(c->layout.type, DType::i32);
    ASSERT_EQ(c->layout.ne, a->layout.ne);
    const std::string what = std::string("argsort of ") + core::tensor_text(*a) + ", " + order;
    const bool descends = order == std::string("desc");
    EXPECT_TRUE(support::computed(build, c, what) == wanted_places(support::values_of(a), a->layout.ne, descends, a->layout.ne[0])) << what;
}

void check_top_k(Builder &build, Tensor *a, std::int64_t k) {
    Ne ne = a->layout.ne;
    Tensor *c = build.node(Op::top_k, {a}, {Attr::of_int("k", k)});
    const std::vector<float> want = wanted_places(support::values_of(a), ne, true, k);
    ne[0] = k;
    ASSERT_EQ(c->layout.type, DType::i32);
    ASSERT_EQ(c->layout.ne, ne);
    const std::string what = "top_k of " + core::tensor_text(*a) + ", k " + std::to_string(k);
    EXPECT_TRUE(support::computed(build, c, what) == want) << what;
}

TEST(Places, are_those_of_comparisons) {
    Random random(3);
    for (int draw = 0; draw < support::repeats(200, 4000) && !testing::Test::HasFailure(); draw++) {
        Builder build;
        Ne ne = support::some_shape(random);
        // Around what is sorted by comparisons alone.
        if (random() % 8 == 0) ne = {254 + support::below(random, 5), 2, 1, 1};
        Tensor *a = build.operand(ne, support::one_of(random, support::float_types), random);
        if (ne[0] > 0) check_argmax(build, a);
        check_argsort(build, a, support::one_of(random, orders));
        check_top_k(build, a, support::below(random, ne[0] + 1));
    }
}

// What the largest is found by, block by block; and none but NaN.
TEST(Places, of_special_rows) {
    const auto row = [](std::size_t n, float all, std::vector<std::pair<std::size_t, float>> but) {
        std::vector<float> values(n, all);
        for (const auto &[i, value] : but) values[i] = value;
        return values;
    };
    const std::vector<std::vector<float>> rows{
        row(3000, NAN, {}),
        row(3000, NAN, {{2900, -inf}}),
        row(3000, -inf, {{0, NAN}, {1, NAN}}),
        row(3000, -inf, {{2999, -3e38f}}),
        row(3000, inf, {{0, 1}, {1, NAN}}),
        row(3000, -0.0f, {{1500, 0}, {20, -1}}),
        row(3000, 0, {{2047, 0x1p-149f}, {2048, 0x1p-149f}, {2049, -0x1p-149f}}),
        row(3000, 7, {}),
    };
    for (const std::vector<float> &values : rows) {
        Builder build;
        Tensor *a = build.leaf({3000, 1, 1, 1}, DType::f32, values);
        check_argmax(build, a);
        for (const char *order : orders) check_argsort(build, a, order);
        for (const std::int64_t k : {1, 40, 2999}) check_top_k(build, a, k);
    }
}

// Rows that ascend and descend: all of one are better than what was found before, none of the other.
TEST(Places, of_rows_in_order) {
    std::vector<float> values(5000);
    std::iota(values.begin(), values.end(), -2500.0f);
    for (int turn = 0; turn < 2; turn++) {
        Builder build;
        Tensor *a = build.leaf({5000, 1, 1, 1}, DType::f32, values);
        check_argmax(build, a);
        for (const char *order : orders) check_argsort(build, a, order);
        for (const std::int64_t k : {1, 100, 2500, 5000}) check_top_k(build, a, k);
        std::ranges::reverse(values);
    }
}

// Rows that several threads share.
TEST(Places, of_long_rows) {
    Random random(7);
    for (const Ne &ne : {Ne{65536, 1, 1, 1}, Ne{65537, 2, 1, 1}, Ne{200001, 1, 1, 1}, Ne{131072, 3, 1, 1}}) {
        for (const DType type : {DType::f32, DType::bf16}) {
            Builder build;
            // Typical values, of which few are equal.
            if (type == DType::f32) build.draw = [](Random &r) { return static_cast<float>(r() >> 8) * 0x1p-20f - 8; };
            Tensor *a = build.leaf(ne, type, random);
            check_argmax(build, a);
            check_argsort(build, a, support::one_of(random, orders));
            for (const std::int64_t k : {1, 50, 20000}) check_top_k(build, a, k);
        }
    }
}

TEST(Places, of_nothing) {
    Builder build;
    Tensor *no_rows = build.leaf({5, 0, 1, 1}), *empty_rows = build.leaf({0, 3, 1, 1});
    check_argmax(build, no_rows);
    for (Tensor *a : {no_rows, empty_rows}) {
        for (const char *order : orders) check_argsort(build, a, order);
        check_top_k(build, a, 0);
    }
    check_top_k(build, no_rows, 5);
    // However many rows there are of it: at a nanosecond each they would take an hour.
    const auto graph = build.graph({build.node(Op::argsort, {build.leaf({0, std::int64_t{1} << 42, 1, 1})})});
    core::compute(*graph, *support::all_backends()[0].all[0]);
    check_top_k(build, build.leaf({5, 3, 1, 1}), 0);
}

TEST(Places, are_in_ascending_order_where_none_is_given) {
    Builder build;
    Tensor *a = build.leaf({3, 1, 1, 1}, DType::f32, {2, 3, 1});
    EXPECT_EQ(support::computed(build, build.node(Op::argsort, {a}), "argsort"), (std::vector<float>{2, 0, 1}));
}

TEST(Places, are_refused) {
    using S = tl::Status;
    Builder build;
    const Attr k = Attr::of_int("k", 2);
    const auto made = [&](Op op, Tensor *a) { return build.node(op, {a}, op == Op::top_k ? std::vector<Attr>{k} : std::vector<Attr>{}); };
    // As long as no I32 reaches: by a stride of 0.
    const auto repeated = [&](std::int64_t n) {
        const std::array<std::int64_t, 2> ne{1, n}, axes{1, 0};
        Tensor *column = build.node(Op::view, {build.leaf({1, 1, 1, 1})},
                                    {Attr::of_ints("ne", ne), Attr::of_ints("nb", std::array<std::int64_t, 1>{0})});
        return build.node(Op::permute, {column}, {Attr::of_ints("axes", Ne{axes[0], axes[1], 2, 3})});
    };
    for (const Op op : {Op::argmax, Op::argsort, Op::top_k}) {
        const std::string name = core::op_name(op);
        support::expect_error(S::type_mismatch, {name + ": a is [32, 2] q4_0", "a float, an integer or bool"},
                              [&] { made(op, build.leaf({32, 2, 1, 1}, DType::q4_0)); });
        support::expect_error(S::shape_mismatch, {name + ": a is [2147483648]", "2147483647"},
                              [&] { made(op, repeated(std::int64_t{1} << 31)); });
        EXPECT_NO_THROW(made(op, repeated((std::int64_t{1} << 31) - 1)));
        support::expect_error(S::invalid_argument, {"operands"},
                              [&] { build.node(op, {build.leaf({4, 1, 1, 1}), build.leaf({4, 1, 1, 1})}); });
    }
    support::expect_error(S::shape_mismatch, {"argmax: a is [0, 3] f32", "at least one element"},
                          [&] { build.node(Op::argmax, {build.leaf({0, 3, 1, 1})}, {Attr::of_int("dims", 0)}); });
    Tensor *a = build.leaf({4, 3, 1, 1});
    support::expect_error(S::invalid_argument, {"top_k: a is [4, 3] f32, k is 5: 0 to 4"},
                          [&] { build.node(Op::top_k, {a}, {Attr::of_int("k", 5)}); });
    support::expect_error(S::invalid_argument, {"top_k", "k is -1"}, [&] { build.node(Op::top_k, {a}, {Attr::of_int("k", -1)}); });
    support::expect_error(S::invalid_argument, {"top_k", "k is missing"}, [&] { build.node(Op::top_k, {a}); });
    support::expect_error(S::invalid_argument, {"argsort", "order is 'up'", "asc, desc"},
                          [&] { build.node(Op::argsort, {a}, {Attr::of_text("order", "up")}); });
}

// ---- Counts

constexpr DType counted[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8, DType::i16, DType::i32, DType::i64};

class Counts : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(types, Counts, testing::ValuesIn(counted), [](const auto &info) { return core::traits(info.param).name; });

float few_values(Random &random) { return static_cast<float>(random() % 4) - 1; }
float few_or_special_values(Random &random) {
    constexpr float special[] = {0, -0.0f, inf, -inf, NAN, 1};
    return support::one_of(random, special);
}

float count_of(const std::vector<float> &x, const std::vector<float> &y) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < x.size(); i++) count += x[i] == y[i];
    return static_cast<float>(count);
}

void check_count(Builder &build, Tensor *a, Tensor *b) {
    Tensor *c = build.node(Op::count_equal, {a, b});
    ASSERT_EQ(c->layout.type, DType::i64);
    ASSERT_EQ(c->layout.ne, (Ne{1, 1, 1, 1}));
    const std::string what = "count_equal of " + core::tensor_text(*a);
    EXPECT_EQ(support::computed(build, c, what), std::vector<float>{count_of(support::values_of(a), support::values_of(b))}) << what;
}

TEST_P(Counts, are_those_of_comparisons) {
    Random random(5);
    const bool whole = core::traits(GetParam()).kind == core::Kind::integer;
    for (int draw = 0; draw < support::repeats(60, 1000) && !HasFailure(); draw++) {
        Builder build;
        build.draw = whole ? few_values : few_or_special_values;
        const Ne ne = support::some_shape(random);
        Tensor *a = build.operand(ne, GetParam(), random);
        check_count(build, a, build.operand(ne, GetParam(), random));
    }
}

// More than a thread's share, and than 16 bits count to.
TEST_P(Counts, of_many) {
    Random random(9);
    Builder build;
    build.draw = few_values;
    const Ne ne{70001, 9, 1, 1};
    Tensor *a = build.leaf(ne, GetParam(), random);
    check_count(build, a, build.leaf(ne, GetParam(), random));
    check_count(build, a, a);
}

// All bytes of an element count, where floats could not tell them apart.
TEST(Count, tells_large_numbers_apart) {
    Builder build;
    for (const DType type : {DType::i64, DType::f64}) {
        std::array<std::int64_t, 3> x{std::int64_t{1} << 52, 5, -1}, y{(std::int64_t{1} << 52) + 1, 5, -1};
        Tensor *a = build.leaf({3, 1, 1, 1}, type), *b = build.leaf({3, 1, 1, 1}, type);
        core::write_bytes(*a, x.data(), 0, sizeof x);
        core::write_bytes(*b, y.data(), 0, sizeof y);
        // As F64 the last element is NaN.
        EXPECT_EQ(support::computed(build, build.node(Op::count_equal, {a, b}), "count_equal"),
                  std::vector<float>{type == DType::i64 ? 2.0f : 1.0f});
    }
}

TEST(Count, is_refused) {
    using S = tl::Status;
    Builder build;
    const auto leaf = [&](const Ne &ne, DType type) { return build.leaf(ne, type); };
    const auto refused = [&](S status, std::vector<std::string> words, Tensor *a, Tensor *b) {
        words.push_back("count_equal: a is ");
        support::expect_error(status, words, [&] { build.node(Op::count_equal, {a, b}); });
    };
    const Ne ne{32, 2, 1, 1};
    refused(S::type_mismatch, {"b is [32, 2] i64", "one type"}, leaf(ne, DType::i32), leaf(ne, DType::i64));
    refused(S::type_mismatch, {"b is [32, 2] q4_0", "without blocks"}, leaf(ne, DType::q4_0), leaf(ne, DType::q4_0));
    refused(S::shape_mismatch, {"b is [32] i32", "one shape"}, leaf(ne, DType::i32), leaf({32, 1, 1, 1}, DType::i32));
    support::expect_error(S::invalid_argument, {"operands"}, [&] { build.node(Op::count_equal, {leaf(ne, DType::i32)}); });
}

}  // namespace
