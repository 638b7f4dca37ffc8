// Reductions of integers, bool and F64: against 128-bit integers and long double, over random shapes, views and sets of dimensions, on
// every ISA and with 1 to 8 threads; special values and long groups.
#include "number_tensors.hpp"

#include "ops/reduction.hpp"

#include <functional>

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

constexpr unsigned all_dims = 15;

template <class T>
using Group = std::vector<T>;

// The elements of each group, in order.
template <class T>
std::vector<Group<T>> groups_of(const std::vector<T> &x, const Ne &ne, unsigned set) {
    Ne kept = ne;
    for (std::size_t d = 0; d < 4; d++) kept[d] = set >> d & 1 ? 1 : ne[d];
    std::vector<Group<T>> groups(static_cast<std::size_t>(support::count_of(kept)));
    std::size_t at = 0;
    for (std::int64_t i3 = 0; i3 < ne[3]; i3++)
        for (std::int64_t i2 = 0; i2 < ne[2]; i2++)
            for (std::int64_t i1 = 0; i1 < ne[1]; i1++)
                for (std::int64_t i0 = 0; i0 < ne[0]; i0++) {
                    const std::int64_t index[4] = {i0, i1, i2, i3};
                    std::int64_t group = 0;
                    for (std::size_t d = 4; d-- > 0;) group = group * kept[d] + (set >> d & 1 ? 0 : index[d]);
                    groups[static_cast<std::size_t>(group)].push_back(x[at++]);
                }
    return groups;
}

bool is_empty(const Ne &ne, unsigned set) {
    bool has_group = true, has_element = true;
    for (std::size_t d = 0; d < 4; d++) (set >> d & 1 ? has_element : has_group) &= ne[d] > 0;
    return has_group && !has_element;
}

std::int64_t wrapped(Wide value) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(value)); }

// The first index of the best element; NaN is none.
template <class T>
std::int32_t place_of(const Group<T> &x, bool least) {
    std::size_t best = x.size();
    for (std::size_t i = 0; i < x.size(); i++) {
        if (x[i] != x[i]) continue;
        if (best == x.size() || (least ? x[i] < x[best] : x[i] > x[best])) best = i;
    }
    return best == x.size() ? 0 : static_cast<std::int32_t>(best);
}

// NaN if there is one; 0 is larger than -0.
template <class T>
T extreme_of(const Group<T> &x, bool least) {
    T best = x[0];
    for (const T v : x) {
        if (v != v) return v;
        if (least ? v < best : v > best) best = v;
        if constexpr (std::is_same_v<T, double>) {
            if (v == 0 && best == 0 && std::signbit(v) == least) best = v;
        }
    }
    return best;
}

// A value in F64, and how far off it may be.
struct Near {
    double value, bound;
    bool holds(double got) const {
        if (std::isnan(value)) return std::isnan(got);
        return std::isinf(value) || std::isinf(got) ? value == got : std::fabs(got - value) <= bound;
    }
};

// The bounds of sums are those of n roundings; few elements go through as many.
template <class T>
Near sum_of(const Group<T> &x) {
    long double sum = 0, size = 0;
    for (const T v : x) sum += static_cast<long double>(v), size += std::fabs(static_cast<long double>(v));
    return {static_cast<double>(sum), 0x1p-53 * static_cast<double>(size) * static_cast<double>(x.size() + 2)};
}

template <class T>
Near mean_of(const Group<T> &x) {
    const Near sum = sum_of(x);
    const auto n = static_cast<double>(x.size());
    return {sum.value / n, sum.bound / n + 0x1p-52 * std::fabs(sum.value / n)};
}

template <class T>
Near variance_of(const Group<T> &x, double correction) {
    long double sum = 0, squares = 0, largest = 0;
    for (const T v : x) sum += static_cast<long double>(v);
    const long double mean = sum / static_cast<long double>(x.size());
    for (const T v : x) {
        const long double d = static_cast<long double>(v) - mean;
        squares += d * d;
        largest = std::max(largest, std::fabs(static_cast<long double>(v)));
    }
    const double n = static_cast<double>(x.size()), divisor = std::max(n - correction, 0.0), value = static_cast<double>(squares) / divisor;
    // A mean is off by n roundings of the largest element, and its square counts for each element.
    const double off = n * 0x1p-53 * static_cast<double>(largest);
    return {value,
            0x1p-52 * n * std::fabs(value) + (n * off * off + 2 * off * std::sqrt(n * static_cast<double>(squares)) * 0x1p-20) / divisor};
}

template <class T>
Near log_sum_exp_of(const Group<T> &x) {
    long double largest = -HUGE_VALL, sum = 0;
    for (const T v : x) {
        if (v != v) return {NAN, 0};
        largest = std::max(largest, static_cast<long double>(v));
    }
    if (std::isinf(largest)) return {static_cast<double>(largest), 0};
    for (const T v : x) sum += std::exp(static_cast<long double>(v) - largest);
    const auto value = static_cast<double>(largest + std::log(sum));
    return {value, 0x1p-50 * (std::fabs(value) + std::fabs(static_cast<double>(largest)) + static_cast<double>(x.size()))};
}

template <class E>
class ReducedNumbers : public testing::Test, protected support::NumberTensors<typename E::Type> {
protected:
    using T = typename E::Type;

    ReducedNumbers() : support::NumberTensors<T>(E::type) {}

    Tensor *reduced(Op op, Tensor *a, unsigned set, int correction) {
        std::vector<Attr> attrs{Attr::of_dims("dims", set), Attr::of_int("keep", this->random() % 2)};
        if (correction >= 0) attrs.push_back(Attr::of_int("correction", correction));
        return this->build.node(op, {a}, attrs);
    }
    // Computes a reduction, whose elements are R, and calls right(got, group) for each.
    template <class R, class F>
    void check(Op op, DType type, Tensor *a, unsigned set, F right, int correction = -1) {
        Tensor *node = reduced(op, a, set, correction);
        ASSERT_EQ(node->layout.type, type) << core::op_name(op);
        const std::vector<Group<T>> groups = groups_of(elements_of<T>(*a), a->layout.ne, set);
        const std::vector<R> got = this->template computed<R>(node);
        ASSERT_EQ(got.size(), groups.size());
        for (std::size_t i = 0; i < got.size(); i++) {
            ASSERT_TRUE(right(got[i], groups[i]))
                << core::op_name(op) << " of " << core::tensor_text(*a) << ", dims " << set << ": element " << i << " is " << +got[i];
        }
    }
    void check_all(Tensor *a, unsigned set) {
        const bool is_bool = E::type == DType::boolean;
        const auto extreme = [](bool least) { return [least](T got, const Group<T> &x) { return same(got, extreme_of(x, least)); }; };
        const auto place = [](bool least) { return [least](std::int32_t got, const Group<T> &x) { return got == place_of(x, least); }; };
        const auto tests = [](bool any) {
            return [any](auto got, const Group<T> &x) {
                return got == (std::ranges::any_of(x, [any](T v) { return (v != 0) == any; }) == any ? 1 : 0);
            };
        };
        if (!is_empty(a->layout.ne, set)) {
            check<T>(Op::max, E::type, a, set, extreme(false));
            check<T>(Op::min, E::type, a, set, extreme(true));
            check<std::int32_t>(Op::argmax, DType::i32, a, set, place(false));
            check<std::int32_t>(Op::argmin, DType::i32, a, set, place(true));
        }
        if (is_bool) {
            check<std::uint8_t>(Op::any, DType::boolean, a, set, tests(true));
            check<std::uint8_t>(Op::all, DType::boolean, a, set, tests(false));
        } else {
            check<float>(Op::any, DType::f32, a, set, tests(true));
            check<float>(Op::all, DType::f32, a, set, tests(false));
        }
        if constexpr (std::is_integral_v<T>) {
            check<std::int64_t>(Op::sum, DType::i64, a, set, [](std::int64_t got, const Group<T> &x) {
                Wide sum = 0;
                for (const T v : x) sum += v;
                return got == wrapped(sum);
            });
            check<std::int64_t>(Op::prod, DType::i64, a, set, [](std::int64_t got, const Group<T> &x) {
                std::int64_t product = 1;
                for (const T v : x) product = wrapped(static_cast<Wide>(product) * v);
                return got == product;
            });
        }
    }
    // What is computed in F64, of elements whose sums are finite.
    void check_doubles(Tensor *a, unsigned set) {
        const auto near = [](auto of) { return [of](double got, const Group<T> &x) { return of(x).holds(got); }; };
        check<double>(Op::mean, DType::f64, a, set, near(mean_of<T>));
        check<double>(Op::log_sum_exp, DType::f64, a, set, near(log_sum_exp_of<T>));
        for (const int correction : {0, 1}) {
            check<double>(Op::var, DType::f64, a, set, near([=](const Group<T> &x) { return variance_of(x, correction); }), correction);
            check<double>(
                Op::std, DType::f64, a, set,
                [=](double got, const Group<T> &x) {
                    const Near variance = variance_of(x, correction);
                    if (!std::isfinite(variance.value)) return same(got, std::sqrt(variance.value)) || std::isnan(got);
                    return std::sqrt(std::max(variance.value - variance.bound, 0.0)) * (1 - 0x1p-50) <= got &&
                           got <= std::sqrt(variance.value + variance.bound) * (1 + 0x1p-50);
                },
                correction);
        }
        if constexpr (std::is_same_v<T, double>) check<double>(Op::sum, DType::f64, a, set, near(sum_of<T>));
    }
    // Small numbers, whose variances have digits.
    Tensor *small(const Ne &ne) {
        Tensor *a = this->build.leaf(ne, E::type);
        std::vector<T> values(static_cast<std::size_t>(support::count_of(ne)));
        for (T &v : values) {
            v = static_cast<T>(this->random() % (E::type == DType::boolean ? 2 : 100));
            if constexpr (std::is_same_v<T, double>) v = v / 7 - 6;
        }
        core::write_bytes(*a, values.data(), 0, values.size() * sizeof(T));
        return a;
    }
};

TYPED_TEST_SUITE(ReducedNumbers, support::NumberTypes);

TYPED_TEST(ReducedNumbers, agree) {
    for (int round = 0; round < support::repeats(20, 300) && !this->HasFailure(); round++) {
        const Ne ne = support::some_shape(this->random);
        const unsigned set = 1 + this->random() % all_dims;
        this->check_all(this->operand(ne), set);
        this->check_doubles(this->small(ne), set);
    }
}

// Around blocks of 32 rows and 1024 elements, tiles of columns, and segments.
TYPED_TEST(ReducedNumbers, of_long_groups) {
    struct Long {
        Ne ne;
        unsigned set;
    };
    const Long longs[] = {{{65537, 2, 1, 1}, 1}, {{3, 2500, 1, 1}, 2},  {{1030, 300, 1, 1}, 2},
                          {{70, 33, 40, 1}, 5},  {{4101, 38, 1, 1}, 2}, {{140000, 1, 1, 1}, all_dims}};
    for (const Long &one : longs) {
        if (this->HasFailure()) return;
        this->check_all(this->operand(one.ne), one.set);
        this->check_doubles(this->small(one.ne), one.set);
    }
}

// Products of doubles near 1, and zeros, infinities and NaN.
TEST(ReducedDoubles, products_and_special_values) {
    const tl::Context ctx;
    const tl::Backend cpu;
    std::vector<double> values(70 * 40);
    for (std::size_t i = 0; i < values.size(); i++) values[i] = 1 + (static_cast<double>(i * 7 % 11) - 5) / 64 * (i % 3 == 0 ? -1 : 1);
    const tl::Tensor a = ctx.tensor({70, 40}, values);
    for (const int dim : {0, 1}) {
        const tl::Tensor product = prod(a, {.dims = {dim}});
        cpu.compute({product});
        const std::vector<double> got = product.read<double>();
        const std::vector<Group<double>> groups = groups_of(values, {70, 40, 1, 1}, 1u << dim);
        for (std::size_t i = 0; i < groups.size(); i++) {
            long double want = 1;
            for (const double v : groups[i]) want *= v;
            EXPECT_NEAR(got[i], static_cast<double>(want), std::fabs(static_cast<double>(want)) * 1e-14) << dim << ", " << i;
        }
    }
    const tl::Tensor special =
        ctx.tensor({4, 4}, std::vector<double>{INFINITY, 1, 2, 3, NAN, 1, 2, 3, -INFINITY, INFINITY, 1, 2, -0.0, -0.0, -0.0, -0.0});
    const tl::Tensor total = sum(special, {.dims = {0}}), mean_of_rows = mean(special, {.dims = {0}});
    cpu.compute({total, mean_of_rows});
    const std::vector<double> sums = total.read<double>();
    EXPECT_EQ(sums[0], INFINITY);
    EXPECT_TRUE(std::isnan(sums[1]));
    EXPECT_TRUE(std::isnan(sums[2]));
    EXPECT_EQ(sums[3], 0);
    EXPECT_TRUE(std::isnan(mean_of_rows.read<double>()[1]));
}

}  // namespace
