// Finds the largest float, or the first one that is large enough, and counts equal elements. All read their operands
// once, which limits them: a register takes one or two instructions.
#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;

// Four maxima, so that one need not wait for the previous one. max(x, so far) returns the value so far if x is NaN.
float largest(int64_t n, const float *x) {
    const Vec::Reg least = Vec::broadcast(-__builtin_inff());
    Vec::Reg most[4] = {least, least, least, least};
    for (; n >= 4 * W; n -= 4 * W, x += 4 * W) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) most[r] = Vec::max(Vec::load(x + r * W), most[r]);
    }
    for (; n >= W; n -= W, x += W) most[0] = Vec::max(Vec::load(x), most[0]);
    float lanes[W];
    Vec::store(lanes, Vec::max(Vec::max(most[0], most[1]), Vec::max(most[2], most[3])));
#pragma GCC unroll 4
    for (int half = W / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
    }
    float all = lanes[0];
    for (int64_t i = 0; i < n; i++) all = x[i] > all ? x[i] : all;
    return all;
}

// Skips registers whose floats are all less; examines one with a NaN float by float.
int64_t first_at_least(int64_t n, const float *x, float limit) {
    const Vec::Reg limits = Vec::broadcast(limit);
    int64_t i = 0;
    while (i < n) {
        for (; i + 4 * W <= n; i += 4 * W) {
            const Vec::Mask front = Vec::both(Vec::less(Vec::load(x + i), limits), Vec::less(Vec::load(x + i + W), limits));
            const Vec::Mask back = Vec::both(Vec::less(Vec::load(x + i + 2 * W), limits), Vec::less(Vec::load(x + i + 3 * W), limits));
            if (!Vec::all(Vec::both(front, back))) break;
        }
        while (i + W <= n && Vec::all(Vec::less(Vec::load(x + i), limits))) i += W;
        const int64_t end = i + W < n ? i + W : n;
        for (; i < end; i++) {
            if (x[i] >= limit) return i;
        }
    }
    return n;
}

// Counts in 32 bits as far as these reach: compilers turn that into vectors of the type's width or twice it.
template <class T>
int64_t equal(int64_t n, const void *a, const void *b) {
    const auto *x = static_cast<const T *>(a), *y = static_cast<const T *>(b);
    constexpr int64_t most = 1 << 20;
    int64_t all = 0;
    for (; n > 0; n -= most, x += most, y += most) {
        const int64_t here = n < most ? n : most;
        uint32_t count = 0;
        for (int64_t i = 0; i < here; i++) count += x[i] == y[i] ? 1 : 0;
        all += count;
    }
    return all;
}

}  // namespace

void fill_comparisons(SimdTable::Comparisons &table) {
    table = {.largest = largest,
             .first_at_least = first_at_least,
             .equal_i8 = equal<int8_t>,
             .equal_i16 = equal<int16_t>,
             .equal_i32 = equal<int32_t>,
             .equal_i64 = equal<int64_t>,
             .equal_f32 = equal<float>,
             .equal_f64 = equal<double>};
}

}  // namespace tensorlib::core::simd::TL_ISA
