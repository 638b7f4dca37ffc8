// Parts of a loss: sums of exponentials of a row, and of a row times its weights, in the order of parts.hpp. Products
// and sums are not fused, so the weighted sum has identical bits on every ISA. exp (cpp/math) has identical bits on
// ISAs with fused multiply-adds.
//
// An exponential takes some 20 operations per register, so the addition costs almost nothing.
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
