// The largest element of some floats, and where it is. With `negated`, x stands for -x everywhere: the smallest element.
#pragma once

#include "cpu/simd/isa.hpp"

#include "math/lanes.hpp"

namespace tensorlib::core::simd::TL_ISA {

template <bool negated>
[[gnu::always_inline]] inline Vec::Reg signed_load(const float *x) {
    const Vec::Reg v = Vec::load(x);
    return negated ? math::Real<Vec>::of(v).negated().reg : v;
}

struct Largest {
    float number;     // NaN is ignored; -infinity if there is nothing else
    bool all_finite;  // whether there was neither NaN nor an infinity; only if asked for
};

// Four maxima, so that one need not wait for the previous one. max(x, so far) returns the value so far if x is NaN.
template <bool negated, bool test_finite = false>
Largest largest_number(int64_t n, const float *x) {
    constexpr int W = Vec::width;
    const Vec::Reg least = Vec::broadcast(-__builtin_inff()), zero = Vec::zero();
    Vec::Reg most[4] = {least, least, least, least}, zeros[4] = {zero, zero, zero, zero};  // x * 0 is NaN if x is not finite
    const auto take = [&](int r, const float *from) __attribute__((always_inline)) {
        most[r] = Vec::max(signed_load<negated>(from), most[r]);
        if constexpr (test_finite) zeros[r] = Vec::add(zeros[r], Vec::mul(Vec::load(from), zero));
    };
    for (; n >= 4 * W; n -= 4 * W, x += 4 * W) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) take(r, x + r * W);
    }
    for (; n >= W; n -= W, x += W) take(0, x);
    float lanes[W];
    Vec::store(lanes, Vec::max(Vec::max(most[0], most[1]), Vec::max(most[2], most[3])));
#pragma GCC unroll 4
    for (int half = W / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
    }
    float all = lanes[0];
    float zeros_of_all = test_finite ? Vec::sum(Vec::add(Vec::add(zeros[0], zeros[1]), Vec::add(zeros[2], zeros[3]))) : 0;
    for (int64_t i = 0; i < n; i++) {
        const float here = negated ? -x[i] : x[i];
        all = here > all ? here : all;
        if constexpr (test_finite) zeros_of_all += here * 0;
    }
    return {all, zeros_of_all == 0};
}

// The first i with x[i] >= limit; n if there is none. Skips registers whose floats are all less; examines one with a
// NaN float by float.
template <bool negated>
int64_t first_at_least(int64_t n, const float *x, float limit) {
    constexpr int W = Vec::width;
    const Vec::Reg limits = Vec::broadcast(limit);
    const auto less = [&](int64_t i) __attribute__((always_inline)) { return Vec::less(signed_load<negated>(x + i), limits); };
    int64_t i = 0;
    while (i < n) {
        for (; i + 4 * W <= n; i += 4 * W) {
            if (!Vec::all(Vec::both(Vec::both(less(i), less(i + W)), Vec::both(less(i + 2 * W), less(i + 3 * W))))) break;
        }
        while (i + W <= n && Vec::all(less(i))) i += W;
        const int64_t end = i + W < n ? i + W : n;
        for (; i < end; i++) {
            if ((negated ? -x[i] : x[i]) >= limit) return i;
        }
    }
    return n;
}

}  // namespace tensorlib::core::simd::TL_ISA
