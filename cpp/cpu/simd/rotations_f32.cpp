// Rotary positions: angles and their sines, and rotations of rows by them.
//
// All heads share a position's angles, so the rotation dominates: two loads of x and of the angles' values and a store
// per register, compared with 8 bytes of memory traffic per float.
#include "cpu/simd/isa.hpp"

#include "math/trigonometric.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Number = math::Real<Vec>;

// position rate[i] minus whole turns, in [-pi, pi]. 2 pi is the nearest double and its remainder: an angle of 2^20 is
// off by 2^-33.
void turned(int64_t n, double position, const double *rate, float *angle) {
    constexpr double per_turn = 0x1.45f306dc9c883p-3, turn = 0x1.921fb54442d18p2, turn_low = 0x1.1a62633145c07p-52;
    constexpr double whole_in_bits = 0x1.8p52;
    for (int64_t i = 0; i < n; i++) {
        const double x = position * rate[i], turns = (x * per_turn + whole_in_bits) - whole_in_bits;
        angle[i] = static_cast<float>((x - turns * turn) - turns * turn_low);
    }
}

void angles(int64_t n, double position, const double *rate, float size, float *cosines, float *sines) {
    turned(n, position, rate, sines);
    const Number by(size);
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        const Number angle = Number::of(Vec::load(sines + i));
        Vec::store(cosines + i, (cos(angle) * by).reg);
        Vec::store(sines + i, (sin(angle) * by).reg);
    }
    if (const int left = static_cast<int>(n - i)) {
        const Number angle = Number::of(Vec::load_part(sines + i, left));
        Vec::store_part(cosines + i, (cos(angle) * by).reg, left);
        Vec::store_part(sines + i, (sin(angle) * by).reg, left);
    }
}

Vec::Reg turn(Vec::Reg x, Vec::Reg other, Vec::Reg c, Vec::Reg s) { return Vec::fma(other, s, Vec::mul(x, c)); }

void neighbours(int64_t n, const float *x, const float *c, const float *s, float *y) {
    int64_t i = 0;
    for (; i + W <= 2 * n; i += W) {
        const Vec::Reg v = Vec::load(x + i);
        Vec::store(y + i, turn(v, Vec::swap_pairs(v), Vec::load(c + i), Vec::load(s + i)));
    }
    if (const int left = static_cast<int>(2 * n - i)) {
        const Vec::Reg v = Vec::load_part(x + i, left);
        Vec::store_part(y + i, turn(v, Vec::swap_pairs(v), Vec::load_part(c + i, left), Vec::load_part(s + i, left)), left);
    }
}

void halves(int64_t n, const float *x, const float *c, const float *s, float *y) {
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        const Vec::Reg low = Vec::load(x + i), high = Vec::load(x + n + i), cosine = Vec::load(c + i), sine = Vec::load(s + i);
        Vec::store(y + i, turn(low, Vec::sub(Vec::zero(), high), cosine, sine));
        Vec::store(y + n + i, turn(high, low, cosine, sine));
    }
    if (const int left = static_cast<int>(n - i)) {
        const Vec::Reg low = Vec::load_part(x + i, left), high = Vec::load_part(x + n + i, left);
        const Vec::Reg cosine = Vec::load_part(c + i, left), sine = Vec::load_part(s + i, left);
        Vec::store_part(y + i, turn(low, Vec::sub(Vec::zero(), high), cosine, sine), left);
        Vec::store_part(y + n + i, turn(high, low, cosine, sine), left);
    }
}

}  // namespace

void fill_rotations(SimdTable::Rotations &table) { table = {angles, neighbours, halves}; }

}  // namespace tensorlib::core::simd::TL_ISA
