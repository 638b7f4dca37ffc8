// Finds the largest float, or the first one that is large enough, and counts equal elements. All read their operands
// once, which limits them: a register takes one or two instructions.
#include "cpu/simd/extremes.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

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

float largest(int64_t n, const float *x) { return largest_number<false>(n, x).number; }

}  // namespace

void fill_comparisons(SimdTable::Comparisons &table) {
    table = {.largest = largest,
             .first_at_least = first_at_least<false>,
             .equal_i8 = equal<int8_t>,
             .equal_i16 = equal<int16_t>,
             .equal_i32 = equal<int32_t>,
             .equal_i64 = equal<int64_t>,
             .equal_f32 = equal<float>,
             .equal_f64 = equal<double>};
}

}  // namespace tensorlib::core::simd::TL_ISA
