// Parts of a loss: exponentials of a row, and a row by its weights, added up in the order of parts.hpp. Products and sums are not fused, so
// that the second has the same bits on every ISA; exp (cpp/math) has them where there are fused multiply-adds.
//
// An exponential is some 20 operations a register, beside which adding it is nothing.
#include "cpu/simd/parts.hpp"

#include "math/exponential.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Number = math::Real<Vec>;

Number load(const float *p, int n) { return Number::of(n == W ? Vec::load(p) : Vec::load_part(p, n)); }

double exp_sum(int64_t n, const float *x, float base) {
    float ones[W];
    Vec::store(ones, Vec::broadcast(1));
    return sum_of(
        n, [&](int64_t i, int left) __attribute__((always_inline)) {
            const Number e = exp(load(x + i, left) - Number(base));
            return left == W ? e.reg : Number::select(load(ones, left) == 0.0f, 0.0f, e).reg;
        });
}

double weighted_sum(int64_t n, const float *w, const float *x, float base) {
    return sum_of(
        n, [&](int64_t i, int left) __attribute__((always_inline)) {
            const Number weight = load(w + i, left);
            return Number::select(weight == 0.0f, 0.0f, weight * (load(x + i, left) - Number(base))).reg;
        });
}

}  // namespace

void fill_losses(SimdTable::Losses &table) { table = {.exp_sum = exp_sum, .weighted_sum = weighted_sum}; }

}  // namespace tensorlib::core::simd::TL_ISA
