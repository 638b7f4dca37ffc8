// im2col: positions, which are the rows of the result, are gathered in tiles of 32, tap by tap as in convolutions, then
// transposed in registers. Limited by writing the result, which bypasses the caches if it is large.
#include "base/checked.hpp"
#include "cpu/kernels/image_tiles.hpp"
#include "cpu/kernels/mul_mat.hpp"
#include "cpu/kernels/sink.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr std::int64_t tile_positions = 32;
// Elements (taps of channels) of a tile at a time: 16 KiB before and after they are transposed.
constexpr std::int64_t largest_kc = 128;

std::int64_t tiles_of(const ops::Convolution &c) noexcept { return ceil_div(c.x.positions * c.y.positions, tile_positions) * c.images; }

struct Scratch {
    WorkspaceParts parts;
    std::size_t panel = parts.add<float>(tile_positions * largest_kc), turned = parts.add<float>(tile_positions * largest_kc);
};

void plan_im2col(const Problem &p, KernelPlan &plan) noexcept {
    const auto bytes = static_cast<std::int64_t>(p.node.layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(tiles_of(ops::convolution_of(p.node)), bytes, p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * Scratch{}.parts.size;
}

void run_im2col(const Step &step, const Slice &slice) noexcept {
    if (step.node->layout.n_elements() == 0) return;
    const ops::Convolution c = ops::convolution_of(*step.node);
    const std::int64_t K = c.products(), positions = c.x.positions * c.y.positions, per_image = ceil_div(positions, tile_positions);
    const auto unit = static_cast<std::int64_t>(traits(step.dst.type).size);
    const auto encode = slice.simd.formats[dtype_index(step.dst.type)].encode;
    const Scratch scratch;
    std::byte *own = step.workspace + static_cast<std::size_t>(slice.thread) * scratch.parts.size;
    auto *panel = reinterpret_cast<float *>(own + scratch.panel), *turned = reinterpret_cast<float *>(own + scratch.turned);
    const bool stream = streams(*step.node) && K <= largest_kc && step.dst.type == DType::f32;
    const Range part = part_of(tiles_of(c), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const ImageTiles tiles(c, 0, step.src[1], at / per_image, slice.simd);
        const std::int64_t first = at % per_image * tile_positions, n = std::min(tile_positions, positions - first);
        std::byte *to = step.dst.data + (at / per_image * positions + first) * K * unit;
        for (std::int64_t k = 0; k < K; k += largest_kc) {
            const std::int64_t kc = std::min(largest_kc, K - k);
            tiles.gather(first, n, k, kc, tile_positions, panel);
            // turned[i][k] = panel[k][i]: the pack function reads a panel's elements as its rows, and writes panels of
            // positions.
            constexpr std::ptrdiff_t word = sizeof(float);
            slice.simd.pack.f32(n, reinterpret_cast<const char *>(panel), word, tile_positions * word, static_cast<int>(kc),
                                static_cast<int>(kc), turned);
            if (stream) {
                slice.simd.copies.stream(n * kc * unit, turned, to);
                continue;
            }
            for (std::int64_t i = 0; i < n; i++) encode(turned + i * kc, nullptr, to + (i * K + k) * unit, kc);
        }
    }
    if (stream) slice.simd.copies.stream_end();
}

constexpr CpuKernel table[] = {
    {{.op = Op::im2col, .name = "im2col", .plan = plan_always<plan_im2col>}, run_im2col},
};

}  // namespace

const std::span<const CpuKernel> kernels::im2col = table;

}  // namespace tensorlib::core
