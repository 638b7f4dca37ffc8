// The loops of norms and soft_max over contiguous rows of floats: sums and elementwise passes.
//
// After the first pass, a row lies in the L1 or L2 cache. The first pass is limited by memory, the others by loading
// one register a cycle; e ^ x takes some 20 operations. Sums are those of parts.hpp.
#include "cpu/simd/parts.hpp"
#include "cpu/simd/streams.hpp"

#include "math/exponential.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Number = math::Real<Vec>;

double squares(int64_t n, const float *x, float center) {
    return sum_of(
        n, [=](int64_t i, int count) __attribute__((always_inline)) {
            const Vec::Reg d = Vec::sub(count == W ? Vec::load(x + i) : load_rest(x + i, count, center), Vec::broadcast(center));
            return Vec::mul(d, d);
        });
}

template <bool stream>
void normalise_row(int64_t n, const float *x, float center, float factor, float *y) {
    const Vec::Reg c = Vec::broadcast(center), f = Vec::broadcast(factor);
    int64_t i = 0;
    for (; i + W <= n; i += W) store<stream>(y + i, Vec::mul(Vec::sub(Vec::load(x + i), c), f));
    if (const int left = static_cast<int>(n - i)) Vec::store_part(y + i, Vec::mul(Vec::sub(Vec::load_part(x + i, left), c), f), left);
}

void normalise(int64_t n, const float *x, float center, float factor, float *y, bool stream) {
    if (stream && can_stream(y)) {
        normalise_row<true>(n, x, center, factor, y);
    } else {
        normalise_row<false>(n, x, center, factor, y);
    }
}

// The largest of at(i) over all registers; unspecified if there is a NaN.
template <class At>
[[gnu::always_inline]] inline float largest_of(int64_t n, At at) {
    constexpr float least = -math::infinity;
    Vec::Reg part[4];
    for (Vec::Reg &p : part) p = Vec::broadcast(least);
    int64_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        for (int k = 0; k < 4; k++) part[k] = Vec::max(part[k], at(i + k * W, W));
    }
    for (; i < n; i += W) part[0] = Vec::max(part[0], at(i, n - i < W ? static_cast<int>(n - i) : W));
    float lanes[W], most = least;
    Vec::store(lanes, Vec::max(Vec::max(part[0], part[1]), Vec::max(part[2], part[3])));
    for (const float lane : lanes) most = lane > most ? lane : most;
    return most;
}

template <bool masked>
float scale_mask(int64_t n, const float *x, float scale, const float *mask, float slope, float *y) {
    const Vec::Reg s = Vec::broadcast(scale), m = Vec::broadcast(slope);
    return largest_of(
        n, [=](int64_t i, int count) __attribute__((always_inline)) {
            if (count == W) {
                Vec::Reg v = Vec::mul(Vec::load(x + i), s);
                if constexpr (masked) v = Vec::fma(Vec::load(mask + i), m, v);
                Vec::store(y + i, v);
                return v;
            }
            Vec::Reg v = Vec::mul(Vec::load_part(x + i, count), s);
            if constexpr (masked) v = Vec::fma(Vec::load_part(mask + i, count), m, v);
            Vec::store_part(y + i, v, count);
            return load_rest(y + i, count, -math::infinity);
        });
}

float logits(int64_t n, const float *x, float scale, const float *mask, float slope, float *y) {
    return mask ? scale_mask<true>(n, x, scale, mask, slope, y) : scale_mask<false>(n, x, scale, nullptr, 0, y);
}

double exponentials(int64_t n, const float *x, float most, float *y) {
    const Number m(most);
    return sum_of(
        n, [=](int64_t i, int count) __attribute__((always_inline)) {
            if (count == W) {
                const Vec::Reg e = exp(Number::of(Vec::load(x + i)) - m).reg;
                Vec::store(y + i, e);
                return e;
            }
            Vec::store_part(y + i, exp(Number::of(Vec::load_part(x + i, count)) - m).reg, count);
            return Vec::load_part(y + i, count);
        });
}

}  // namespace

void fill_norms(SimdTable::Norms &table) { table = {squares, normalise, logits, exponentials}; }

}  // namespace tensorlib::core::simd::TL_ISA
