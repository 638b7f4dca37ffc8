// Elementwise operations in I32, I64 and F64: every bit, over random shapes, views and whole ranges of values, on every ISA and with 1 to
// 8 threads. Integers are compared with arithmetic in 128 bits.
#include "number_tensors.hpp"

#include "ops/numbers.hpp"

#include <functional>

namespace {

using namespace tensorlib;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::elements_of;
using support::Ne;
using support::Random;
using support::same;
using support::type_of;

__extension__ using Wide = __int128;

// An operation, its attributes, and what it makes of elements; `wanted` of a comparison gives 0 or 1.
template <class T>
struct Number {
    Op op;
    std::vector<Attr> attrs;
    std::function<T(T, T)> wanted;
    bool divides = false;
    bool raises = false;
};

template <class T>
T wrapped(Wide value) {
    return static_cast<T>(static_cast<std::uint64_t>(value));
}

// From the highest bit of the exponent to the lowest; the engine takes them in the opposite order.
template <class T>
T power_of(T a, T b) {
    std::uint64_t power = 1;
    for (int bit = 62; bit >= 0; bit--) {
        power *= power;
        if (static_cast<std::uint64_t>(b) >> bit & 1) power *= static_cast<std::uint64_t>(a);
    }
    return static_cast<T>(power);
}

template <class T>
std::vector<Number<T>> integers() {
    const auto wide = [](auto f) { return [f](T a, T b) { return wrapped<T>(f(static_cast<Wide>(a), static_cast<Wide>(b))); }; };
    return {
        {Op::add, {}, wide([](Wide a, Wide b) { return a + b; })},
        {Op::sub, {}, wide([](Wide a, Wide b) { return a - b; })},
        {Op::mul, {}, wide([](Wide a, Wide b) { return a * b; })},
        {Op::div, {}, wide([](Wide a, Wide b) { return a / b; }), true},
        {Op::pow, {}, power_of<T>, false, true},
        {Op::abs, {}, wide([](Wide a, Wide) { return a < 0 ? -a : a; })},
        {Op::neg, {}, wide([](Wide a, Wide) { return -a; })},
        {Op::sqr, {}, wide([](Wide a, Wide) { return a * a; })},
        {Op::bitwise_and, {}, wide([](Wide a, Wide b) { return a & b; })},
        {Op::bitwise_or, {}, wide([](Wide a, Wide b) { return a | b; })},
        {Op::bitwise_xor, {}, wide([](Wide a, Wide b) { return a ^ b; })},
        {Op::bitwise_not, {}, wide([](Wide a, Wide) { return ~a; })},
        {Op::shift_left, {}, wide([](Wide a, Wide b) { return b < 0 || b >= 64 ? Wide{0} : a * (Wide{1} << b); })},
        {Op::shift_right, {}, wide([](Wide a, Wide b) { return b < 0 || b >= 64 ? Wide{a < 0 ? -1 : 0} : a >> b; })},
        {Op::scale, {Attr::of_number("scale", -3), Attr::of_number("bias", 1 << 30)}, wide([](Wide a, Wide) {
             return -3 * a + (1 << 30);
         })},
    };
}

std::vector<Number<double>> doubles() {
    const auto larger = [](double a, double b) {
        if (std::isnan(a) || std::isnan(b)) return static_cast<double>(NAN);
        if (a == b) return std::signbit(a) ? b : a;
        return a > b ? a : b;
    };
    return {
        {Op::add, {}, [](double a, double b) { return a + b; }},
        {Op::sub, {}, [](double a, double b) { return a - b; }},
        {Op::mul, {}, [](double a, double b) { return a * b; }},
        {Op::div, {}, [](double a, double b) { return a / b; }},
        {Op::pow, {}, [](double a, double b) { return std::pow(a, b); }},
        {Op::maximum, {}, larger},
        {Op::minimum, {}, [larger](double a, double b) { return -larger(-a, -b); }},
        {Op::abs, {}, [](double a, double) { return std::fabs(a); }},
        {Op::neg, {}, [](double a, double) { return -a; }},
        {Op::sqr, {}, [](double a, double) { return a * a; }},
        {Op::sqrt, {}, [](double a, double) { return std::sqrt(a); }},
        {Op::floor, {}, [](double a, double) { return std::floor(a); }},
        {Op::ceil, {}, [](double a, double) { return std::ceil(a); }},
        {Op::round, {}, [](double a, double) { return std::round(a); }},
        {Op::trunc, {}, [](double a, double) { return std::trunc(a); }},
        {Op::scale,
         {Attr::of_number("scale", 0.1), Attr::of_number("bias", 0.3)},
         [](double a, double) {
             volatile double product = a * 0.1;
             return product + 0.3;
         }},
    };
}

template <class T>
std::vector<Number<T>> of_all_types() {
    std::vector<Number<T>> all = {
        {Op::sgn, {}, [](T a, T) { return a > 0   ? T{1}
                                          : a < 0 ? static_cast<T>(-1)
                                                  : a; }},
        {Op::clamp, {Attr::of_number("min", -5), Attr::of_number("max", 9)}, [](T a, T) { return a < -5  ? T(-5)
                                                                                                 : a > 9 ? T{9}
                                                                                                         : a; }},
        {Op::fill, {Attr::of_number("value", 77)}, [](T, T) { return T{77}; }},
    };
    if constexpr (std::is_integral_v<T>) {
        all.push_back({Op::maximum, {}, [](T a, T b) { return std::max(a, b); }});
        all.push_back({Op::minimum, {}, [](T a, T b) { return std::min(a, b); }});
        for (const Number<T> &more : integers<T>()) all.push_back(more);
    } else {
        for (const Number<T> &more : doubles()) all.push_back(more);
    }
    return all;
}

template <class T>
class Numbers : public testing::Test, protected support::NumberTensors<T> {
protected:
    // Each extent, or 1.
    Ne broadcast(const Ne &ne) {
        Ne to = ne;
        for (std::int64_t &n : to) n = this->random() % 3 == 0 ? 1 : n;
        return to;
    }
    static std::size_t place(const Ne &of, const Ne &index) {
        std::int64_t at = 0, stride = 1;
        for (std::size_t d = 0; d < 4; d++) at += index[d] % std::max<std::int64_t>(of[d], 1) * stride, stride *= of[d];
        return static_cast<std::size_t>(at);
    }
};

using Types = testing::Types<std::int32_t, std::int64_t, double>;
TYPED_TEST_SUITE(Numbers, Types);

template <class F>
void for_each_index(const Ne &ne, F f) {
    for (std::int64_t i3 = 0; i3 < ne[3]; i3++)
        for (std::int64_t i2 = 0; i2 < ne[2]; i2++)
            for (std::int64_t i1 = 0; i1 < ne[1]; i1++)
                for (std::int64_t i0 = 0; i0 < ne[0]; i0++) f(Ne{i0, i1, i2, i3});
}

TYPED_TEST(Numbers, have_every_bit) {
    using T = TypeParam;
    for (const Number<T> &number : of_all_types<T>()) {
        for (int round = 0; round < support::repeats(6, 60); round++) {
            const Ne ne = support::some_shape(this->random);
            const bool two = core::operands_of(static_cast<core::NumberOp>(core::ops::number_op(number.op))) == 2;
            const Ne a_ne = two ? this->broadcast(ne) : ne, b_ne = two ? this->broadcast(ne) : ne;
            Tensor *a = this->operand(a_ne, false), *b = two ? this->operand(b_ne, number.divides, number.raises) : a;
            Tensor *c = two ? this->build.node(number.op, {a, b}, number.attrs) : this->build.node(number.op, {a}, number.attrs);
            ASSERT_EQ(c->layout.type, type_of<T>);
            const std::vector<T> av = elements_of<T>(*a), bv = elements_of<T>(*b), got = this->template computed<T>(c);
            const Ne out = c->layout.ne;
            std::size_t at = 0;
            for_each_index(out, [&](const Ne &index) {
                const T x = av[this->place(a_ne, index)], y = bv[this->place(b_ne, index)], want = number.wanted(x, y);
                EXPECT_TRUE(same(got[at], want))
                    << core::op_name(number.op) << " of " << x << " and " << y << ": " << got[at] << ", not " << want;
                at++;
            });
            if (this->HasFailure()) return;
        }
    }
}

TYPED_TEST(Numbers, compare_and_select) {
    using T = TypeParam;
    const std::pair<Op, std::function<bool(T, T)>> comparisons[] = {{Op::eq, std::equal_to<T>()}, {Op::ne, std::not_equal_to<T>()},
                                                                    {Op::lt, std::less<T>()},     {Op::le, std::less_equal<T>()},
                                                                    {Op::gt, std::greater<T>()},  {Op::ge, std::greater_equal<T>()}};
    for (const auto &[op, wanted] : comparisons) {
        for (int round = 0; round < support::repeats(6, 60); round++) {
            const Ne ne = support::some_shape(this->random), a_ne = this->broadcast(ne), b_ne = this->broadcast(ne);
            Tensor *a = this->operand(a_ne, false), *b = this->operand(b_ne, false), *c = this->build.node(op, {a, b});
            ASSERT_EQ(c->layout.type, DType::f32);
            // Where the comparison holds, a; elsewhere b.
            Tensor *selected = this->build.node(Op::where, {c, a, b});
            const std::vector<T> av = elements_of<T>(*a), bv = elements_of<T>(*b), chosen = this->template computed<T>(selected);
            const std::vector<float> got = this->template computed<float>(c);
            std::size_t at = 0;
            for_each_index(c->layout.ne, [&](const Ne &index) {
                const T x = av[this->place(a_ne, index)], y = bv[this->place(b_ne, index)];
                EXPECT_EQ(got[at], wanted(x, y) ? 1.0f : 0.0f) << core::op_name(op) << " of " << x << " and " << y;
                EXPECT_TRUE(same(chosen[at], wanted(x, y) ? x : y)) << core::op_name(op) << " of " << x << " and " << y;
                at++;
            });
            if (this->HasFailure()) return;
        }
    }
}

TEST(Exponents, below_0_are_named) {
    const tl::Context ctx;
    const tl::Backend cpu;
    const std::vector<std::int32_t> ones(600 * 3, 1);
    for (const std::int64_t at : {0, 599, 1100}) {
        std::vector<std::int32_t> exponents(600 * 3, 0);
        exponents[static_cast<std::size_t>(at)] = -2;
        const tl::Tensor c = pow(ctx.tensor({600, 3}, ones), ctx.tensor({600, 3}, exponents));
        support::expect_error(tl::Status::invalid_argument, {"pow", "element " + std::to_string(at) + " of b is -2", "0 and more"},
                              [&] { cpu.compute({c}); });
    }
}

// The first divisor of 0, whatever repeats; nothing else is written elsewhere.
TEST(Divisors, of_0_are_named) {
    const tl::Context ctx;
    const tl::Backend cpu;
    const std::vector<std::int64_t> ones(600 * 3, 1);
    for (const std::int64_t at : {0, 1, 599, 1100, 1799}) {
        std::vector<std::int64_t> divisors = ones;
        divisors[static_cast<std::size_t>(at)] = 0;
        const tl::Tensor a = ctx.tensor({600, 3}, ones), b = ctx.tensor({600, 3}, divisors), c = div(a, b);
        support::expect_error(tl::Status::invalid_argument, {"element " + std::to_string(at) + " of b is 0", "other than 0"},
                              [&] { cpu.compute({c}); });
    }
    const tl::Tensor column = ctx.tensor({1, 3}, std::vector<std::int64_t>{5, 1, 0});
    support::expect_error(tl::Status::invalid_argument, {"element 2 of b is 0"},
                          [&] { cpu.compute({div(ctx.tensor({600, 3}, ones), column)}); });
}

}  // namespace
