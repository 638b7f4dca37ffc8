// The formulas over a tile in the first-level cache, compared with a copy of the same tile by such a chain: nanoseconds an element, and
// GB/s of all that is read and written. Each formula is a chain of its own, from the tile and back to a tile.
#include "sections.hpp"
#include "support.hpp"

#include "math/tile_op.hpp"

#include <cmath>
#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::TileOp;
using core::simd::TileArgs;

// 8 KiB: with two operands and the result 24 KiB of at least 32.
constexpr std::int64_t n_values = 2048;
// Some 100 us a turn of the fastest formulas.
constexpr int tiles_a_run = 1000;

// Parameters that every formula can take: alphas, slopes and scales near 1, bounds in order.
constexpr float params[] = {0.5f, 0.75f, 1.0f, -1e-6f};

}  // namespace

void report_tiles(const Bench &bench) {
    std::printf("\nformulas over a tile of %lld floats, one thread; copy: of the same tile\n  %-14s %9s %9s %7s %8s %8s\n",
                static_cast<long long>(n_values), "", "ns/elem", "median", "spread", "GB/s", "x copy");
    const auto &loops = bench.isa.kernels.tiles.loops;
    std::vector<float> x[3];
    for (std::uint32_t k = 0; k < 3; k++) {
        x[k].resize(n_values);
        // The size of activations: a standard deviation of 1.5.
        fill_normal(x[k], k + 1, 0.01f);
    }
    std::vector<float> to(n_values);
    for (std::size_t op = 0; op < core::n_tile_ops; op++) {
        const auto &traits = core::tile_op_traits[op];
        std::vector<float> positive = x[0];
        if (static_cast<TileOp>(op) == TileOp::pow) {
            for (float &v : positive) v = std::fabs(v);
        }
        const TileArgs args{n_values, {positive.data(), x[1].data(), x[2].data()}, 0, to.data(), params};
        const auto times = [&](TileOp which) {
            return [&loops, args, which] {
                for (int i = 0; i < tiles_a_run; i++) loops[static_cast<std::size_t>(which)](args);
            };
        };
        const Others others;
        std::vector<Contender> contenders = {{traits.name, times(static_cast<TileOp>(op))}, {"copy", times(TileOp::copy)}};
        in_turn(contenders, bench.budget / 4, 0);
        const Times ours = contenders[0].times();
        const double elements = static_cast<double>(n_values) * tiles_a_run;
        const auto bytes = static_cast<double>(sizeof(float) * static_cast<std::size_t>(traits.operands + 1));
        std::printf("%c %-14s %9.4f %9.4f %5.1f %% %8.1f %8.2f\n", others.cores() > 0.05 ? '*' : ' ', traits.name,
                    ours.best / elements * 1e9, ours.median / elements * 1e9, 100 * ours.spread, elements * bytes / ours.best * 1e-9,
                    ours.best / contenders[1].times().best);
        std::fflush(stdout);
    }
}

}  // namespace tensorlib::bench
