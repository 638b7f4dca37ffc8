// Sums of floats (parts.hpp), and running sums, whose order does not depend on the level either.
//
//   run 0 : x0 x1 .. x15       W runs at a time, turned in registers so that a run is a lane: 16 additions make the running sums
//   run 1 : x16 ..             of all. What lies before each run is added up in F64, the only chain, 4 cycles a run; then it is
//   ..                         added to the lane, and all is turned back.
#include "cpu/leaf/parts.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;

double sum(int64_t n, const float *x) {
    return sum_of(
        n, [x](int64_t i, int left) __attribute__((always_inline)) { return left == W ? Vec::load(x + i) : Vec::load_part(x + i, left); });
}

// W runs: of each W x W floats, turned, register j has the j-th float of every run.
constexpr int groups = sum_run / W, square = W * sum_run;
static_assert(sum_run % W == 0);

inline double run_square(const float *x, double before, double so_far, float *to) {
    Vec::Reg column[sum_run];
#pragma GCC unroll 4
    for (int g = 0; g < groups; g++) {
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) column[g * W + i] = Vec::load(x + i * sum_run + g * W);
        Vec::transpose(column + g * W);
    }
#pragma GCC unroll 16
    for (int j = 1; j < sum_run; j++) column[j] = Vec::add(column[j - 1], column[j]);
    float runs[W], bases[W];
    Vec::store(runs, column[sum_run - 1]);
#pragma GCC unroll 16
    for (int i = 0; i < W; i++) {
        bases[i] = static_cast<float>(before + so_far);
        so_far += static_cast<double>(runs[i]);
    }
    if (!to) return so_far;
    const Vec::Reg base = Vec::load(bases);
#pragma GCC unroll 4
    for (int g = 0; g < groups; g++) {
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) column[g * W + i] = Vec::add(base, column[g * W + i]);
        Vec::transpose(column + g * W);
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) Vec::store(to + i * sum_run + g * W, column[g * W + i]);
    }
    return so_far;
}

double running(int64_t n, const float *x, double before, float *to) {
    double so_far = 0;
    for (; n >= square; n -= square, x += square) {
        so_far = run_square(x, before, so_far, to);
        if (to) to += square;
    }
    if (n > 0) {
        float padded[square] = {};
        __builtin_memcpy(padded, x, static_cast<size_t>(n) * sizeof(float));
        so_far = run_square(padded, before, so_far, to ? padded : nullptr);
        if (to) __builtin_memcpy(to, padded, static_cast<size_t>(n) * sizeof(float));
    }
    return so_far;
}

}  // namespace

void fill_sums(LeafTable::Sums &table) { table = {.sum = sum, .running = running}; }

}  // namespace tensorlib::core::leaf::TL_LEVEL
