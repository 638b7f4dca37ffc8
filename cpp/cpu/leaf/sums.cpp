// Sums of floats, and running sums, in an order that follows from the floats' places alone: the same bits at every level.
//
//   sum       part 0 | part 1 | .. | part 31     32 floats a step, each added to its part; 32 / W registers, a chain each
//
// A step of 128 bytes waits 4 cycles for the one before, which is 100 GB/s at 3 GHz: memory is the bound. At the end of a block of 1024
// floats the parts are added pairwise, 36 additions in all that a float goes through; blocks are added in F64, where nothing is lost.
//
//   running   run 0 : x0 x1 .. x15       W runs at a time, turned in registers so that a run is a lane: 16 additions make the running sums
//             run 1 : x16 ..             of all. What lies before each run is added up in F64, the only chain, 4 cycles a run; then it is
//             ..                         added to the lane, and all is turned back.
#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;
constexpr int registers = sum_parts / W;
static_assert(sum_parts % W == 0 && sum_block % sum_parts == 0);

// The parts of at most sum_block floats, added up.
float block_sum(int64_t n, const float *x) {
    Vec::Reg parts[registers];
#pragma GCC unroll 8
    for (int r = 0; r < registers; r++) parts[r] = Vec::zero();
    for (; n >= sum_parts; n -= sum_parts, x += sum_parts) {
#pragma GCC unroll 8
        for (int r = 0; r < registers; r++) parts[r] = Vec::add(parts[r], Vec::load(x + r * W));
    }
    // (Zeros for what is missing: no part is -0, so they change none.)
#pragma GCC unroll 8
    for (int r = 0; r < registers; r++) {
        const int64_t left = n - r * W;
        if (left > 0) parts[r] = Vec::add(parts[r], left >= W ? Vec::load(x + r * W) : Vec::load_part(x + r * W, static_cast<int>(left)));
    }
#pragma GCC unroll 3
    for (int half = registers / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (int r = 0; r < half; r++) parts[r] = Vec::add(parts[r], parts[r + half]);
    }
    return Vec::sum(parts[0]);
}

double sum(int64_t n, const float *x) {
    double blocks = 0;
    for (; n > sum_block; n -= sum_block, x += sum_block) blocks += static_cast<double>(block_sum(sum_block, x));
    return blocks + static_cast<double>(block_sum(n, x));
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
