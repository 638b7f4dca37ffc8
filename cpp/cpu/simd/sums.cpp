// Sums of floats (parts.hpp), and running sums, whose order does not depend on the ISA either.
//
//   x0 | x0 + x1 | (x0 + x1) + x2 | (x0 + x1) + (x2 + x3) | ..     a run of 16: four steps over its lanes, a
//                                                                  permutation and an addition each
//
// The sum before a run is a chain of additions of 4 cycles for 64 bytes. The permutations are the limit, one for 2 to
// 3 floats.
#include "cpu/simd/parts.hpp"
#include "cpu/simd/streams.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;

double sum(int64_t n, const float *x) {
    return sum_of(
        n, [x](int64_t i, int left) __attribute__((always_inline)) { return left == W ? Vec::load(x + i) : Vec::load_part(x + i, left); });
}

// A run with `left` floats.
constexpr int registers = sum_run / W;
static_assert(sum_run % W == 0 && running_block % sum_run == 0);
struct Run {
    Vec::Reg part[registers];

    Run(const float *x, int64_t left) {
#pragma GCC unroll 4
        for (int r = 0; r < registers; r++) {
            const int64_t here = left - r * W;
            part[r] = Vec::running(here >= W ? Vec::load(x + r * W) : Vec::load_part(x + r * W, here > 0 ? static_cast<int>(here) : 0));
        }
        // Adds the lower half of 2, then 4 registers to the upper half.
#pragma GCC unroll 2
        for (int half = 1; half < registers; half *= 2) {
#pragma GCC unroll 4
            for (int r = 0; r < registers; r++) {
                if (r & half) part[r] = Vec::add(part[r], Vec::last(part[(r & ~(2 * half - 1)) + half - 1]));
            }
        }
    }
    Vec::Reg last() const { return Vec::last(part[registers - 1]); }
};

template <bool stream>
void run_blocks(int64_t n, const float *x, double before, float *to) {
    for (int64_t block = 0; block < n; block += running_block) {
        const int64_t end = n - block < running_block ? n : block + running_block;
        const Vec::Reg base = Vec::broadcast(static_cast<float>(before));
        Vec::Reg runs = Vec::zero();
        int64_t i = block;
        for (; i + sum_run <= end; i += sum_run) {
            const Run run(x + i, sum_run);
#pragma GCC unroll 4
            for (int r = 0; r < registers; r++) store<stream>(to + i + r * W, Vec::add(base, Vec::add(runs, run.part[r])));
            runs = Vec::add(runs, run.last());
        }
        if (i < end) {
            const Run run(x + i, end - i);
            for (int r = 0; r < registers && i + r * W < end; r++) {
                const int64_t left = end - i - r * W;
                Vec::store_part(to + i + r * W, Vec::add(base, Vec::add(runs, run.part[r])), left < W ? static_cast<int>(left) : W);
            }
        }
        float sum[W];
        Vec::store(sum, runs);
        before += static_cast<double>(sum[0]);
    }
}

void running(int64_t n, const float *x, double before, float *to, bool stream) {
    if (stream && can_stream(to)) {
        run_blocks<true>(n, x, before, to);
    } else {
        run_blocks<false>(n, x, before, to);
    }
}

}  // namespace

void fill_sums(SimdTable::Sums &table) { table = {.sum = sum, .running = running}; }

}  // namespace tensorlib::core::simd::TL_ISA
