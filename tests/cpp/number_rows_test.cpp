// argsort, top_k, cumsum and scatter_add of integers, bool and F64: against comparisons and plain sums, over random shapes and views, on
// every ISA and with 1 to 8 threads; special values and long rows.
#include "number_tensors.hpp"

#include <numeric>

namespace {

using namespace tensorlib;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::elements_of;
using support::Ne;
using support::same;

__extension__ using Wide = __int128;

template <class E>
class NumberRows : public testing::Test, protected support::NumberTensors<typename E::Type> {
protected:
    using T = typename E::Type;

    NumberRows() : support::NumberTensors<T>(E::type) {}

    // The indices of a row's elements in order, NaN after everything; among equal elements the first comes first.
    static std::vector<std::int32_t> sorted(std::span<const T> row, bool descends) {
        std::vector<std::int32_t> places(row.size());
        std::iota(places.begin(), places.end(), 0);
        std::ranges::stable_sort(places, [&](std::int32_t i, std::int32_t j) {
            const T x = row[static_cast<std::size_t>(i)], y = row[static_cast<std::size_t>(j)];
            if (x != x || y != y) return x == x;
            return descends ? x > y : x < y;
        });
        return places;
    }
    void check_order(Tensor *node, Tensor *a, bool descends, std::int64_t kept) {
        ASSERT_EQ(node->layout.type, DType::i32);
        const std::vector<T> x = elements_of<T>(*a);
        std::vector<std::int32_t> want;
        const auto n = static_cast<std::size_t>(a->layout.ne[0]);
        for (std::size_t row = 0; n > 0 && row < x.size() / n; row++) {
            const auto places = sorted({x.data() + row * n, n}, descends);
            want.insert(want.end(), places.begin(), places.begin() + kept);
        }
        EXPECT_TRUE(this->template computed<std::int32_t>(node) == want)
            << core::op_name(node->op) << " of " << core::tensor_text(*a) << ", " << kept << (descends ? " descending" : " ascending");
    }
    void check_orders(Tensor *a) {
        for (const bool descends : {false, true}) {
            Tensor *node = this->build.node(Op::argsort, {a}, {Attr::of_text("order", descends ? "desc" : "asc")});
            check_order(node, a, descends, a->layout.ne[0]);
        }
        for (const std::int64_t k : {std::int64_t{0}, std::min<std::int64_t>(a->layout.ne[0], 5), a->layout.ne[0] / 2, a->layout.ne[0]})
            check_order(this->build.node(Op::top_k, {a}, {Attr::of_int("k", k)}), a, true, k);
    }
    void check_cumsum(Tensor *a) {
        Tensor *node = this->build.node(Op::cumsum, {a});
        const std::vector<T> x = elements_of<T>(*a);
        const auto n = static_cast<std::size_t>(a->layout.ne[0]);
        const auto what = [&](std::size_t i) { return "cumsum of " + core::tensor_text(*a) + ", element " + std::to_string(i); };
        if constexpr (std::is_integral_v<T>) {
            ASSERT_EQ(node->layout.type, DType::i64);
            const std::vector<std::int64_t> got = this->template computed<std::int64_t>(node);
            Wide sum = 0;
            for (std::size_t i = 0; i < x.size(); i++) {
                sum = (i % n == 0 ? 0 : sum) + x[i];
                ASSERT_EQ(got[i], static_cast<std::int64_t>(static_cast<std::uint64_t>(sum))) << what(i);
            }
        } else {
            ASSERT_EQ(node->layout.type, DType::f64);
            const std::vector<double> got = this->template computed<double>(node);
            long double sum = 0, size = 0;  // the latter of what is finite
            for (std::size_t i = 0; i < x.size(); i++) {
                if (i % n == 0) sum = size = 0;
                sum += x[i];
                if (std::isfinite(x[i])) size += std::fabs(x[i]);
                // A part that overflows is infinite, whatever comes after it.
                if (size > std::numeric_limits<double>::max()) continue;
                // Each element is added in at most 16 roundings, and each run of 16 in one more.
                const auto roundings = static_cast<long double>(20 + i % n / 16);
                if (std::isfinite(sum)) {
                    ASSERT_LE(std::fabs(got[i] - sum), 0x1p-53L * roundings * size) << what(i);
                } else {
                    ASSERT_TRUE(same(got[i], static_cast<double>(sum))) << what(i) << " is " << got[i];
                }
            }
        }
    }
};

TYPED_TEST_SUITE(NumberRows, support::NumberTypes);

TYPED_TEST(NumberRows, agree) {
    for (int round = 0; round < support::repeats(20, 300) && !this->HasFailure(); round++) {
        Ne ne = support::some_shape(this->random);
        // Around what is sorted by comparisons alone.
        if (this->random() % 8 == 0) ne = {254 + support::below(this->random, 5), 2, 1, 1};
        this->check_orders(this->operand(ne));
        this->check_cumsum(this->operand(ne));
    }
}

// Rows that threads share, around their segments.
TYPED_TEST(NumberRows, are_long) {
    for (const Ne &ne : {Ne{65537, 2, 1, 1}, Ne{200001, 1, 1, 1}}) {
        if (this->HasFailure()) return;
        this->check_orders(this->operand(ne));
        this->check_cumsum(this->operand(ne));
    }
}

// Neighbours that F32 does not tell apart.
TEST(NumberOrder, has_all_digits) {
    const tl::Context ctx;
    const tl::Backend cpu;
    const std::int64_t large = std::int64_t{1} << 62;
    const tl::Tensor a = ctx.tensor({4}, std::vector<std::int64_t>{large + 1, large, -large - 1, -large});
    const tl::Tensor b = ctx.tensor({4}, std::vector<double>{1, 1 + 0x1p-52, -1, -1 - 0x1p-52});
    const tl::Tensor c = ctx.tensor({4}, std::vector<std::int32_t>{16777217, 16777216, -16777217, -16777216});
    const tl::Tensor of_a = argsort(a), of_b = argsort(b), of_c = argsort(c);
    cpu.compute({of_a, of_b, of_c});
    EXPECT_EQ(of_a.read<std::int32_t>(), (std::vector<std::int32_t>{2, 3, 1, 0}));
    EXPECT_EQ(of_b.read<std::int32_t>(), (std::vector<std::int32_t>{3, 2, 0, 1}));
    EXPECT_EQ(of_c.read<std::int32_t>(), (std::vector<std::int32_t>{2, 3, 1, 0}));
}

template <class T>
class NumberScatter : public testing::Test, protected support::NumberTensors<T> {};
using Added = testing::Types<std::int32_t, std::int64_t, double>;
TYPED_TEST_SUITE(NumberScatter, Added);

// One addition after the other gives the bits.
TYPED_TEST(NumberScatter, adds_in_order) {
    using T = TypeParam;
    for (int round = 0; round < support::repeats(60, 1000) && !this->HasFailure(); round++) {
        Ne ne = support::some_shape(this->random), nb = ne;
        const std::size_t dim = this->random() % 4;
        nb[dim] = ne[dim] == 0 ? 0 : support::below(this->random, 3 * ne[dim] + 2);
        Ne ni{1, 1, 1, 1};
        for (std::size_t d = 0; d < 4; d++) {
            if (d == dim || this->random() % 2 == 0) ni[d] = nb[d];
        }
        Tensor *a = this->operand(ne), *b = this->operand(nb), *indices = this->build.leaf(ni, DType::i64);
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(support::count_of(ni)));
        for (std::int64_t &number : numbers) number = support::below(this->random, std::max<std::int64_t>(ne[dim], 1));
        core::write_bytes(*indices, numbers.data(), 0, numbers.size() * sizeof(std::int64_t));
        Tensor *node = this->build.node(Op::scatter_add, {a, b, indices}, {Attr::of_int("dim", static_cast<std::int64_t>(dim))});
        ASSERT_EQ(node->layout.type, support::type_of<T>);
        ASSERT_EQ(node->layout.ne, ne);
        const auto place = [](const Ne &i, const Ne &n) {
            return static_cast<std::size_t>(i[0] % n[0] + n[0] * (i[1] % n[1] + n[1] * (i[2] % n[2] + n[2] * (i[3] % n[3]))));
        };
        std::vector<T> want = elements_of<T>(*a);
        const std::vector<T> added = elements_of<T>(*b);
        for (std::size_t flat = 0; flat < added.size(); flat++) {
            Ne i;
            auto rest = static_cast<std::int64_t>(flat);
            for (std::size_t d = 0; d < 4; d++) i[d] = rest % nb[d], rest /= nb[d];
            i[dim] = numbers[place(i, ni)];
            T &sum = want[place(i, ne)];
            if constexpr (std::is_integral_v<T>) {
                sum = static_cast<T>(static_cast<std::make_unsigned_t<T>>(sum) + static_cast<std::make_unsigned_t<T>>(added[flat]));
            } else {
                sum += added[flat];
            }
        }
        const std::vector<T> got = this->template computed<T>(node);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); i++)
            ASSERT_TRUE(same(got[i], want[i])) << core::tensor_text(*a) << " in dimension " << dim << ": " << got[i] << ", not " << want[i];
    }
}

}  // namespace
