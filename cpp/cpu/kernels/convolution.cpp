// conv_1d, conv_2d, conv_transpose_1d, conv_transpose_2d: the packed product (mul_mat_packed.cpp) of the kernel and
// what im2col would give. Only one tile of the latter exists at a time. Positions of the result are adjacent, so they
// are the micro-kernel's rows.
//
//   for each phase (one but for transposed convolutions), and each block of NC outputs: a round
//     prepare:  B panels of the kernel  [K / KC][NC / NR][KC][NR]    shared workspace, all threads pack
//     compute:  for each image and block of MC positions (a chunk):
//       for each block of KC of K, the channels' taps (its B panels stay in the L2 cache):
//         for each tile of MR positions:
//           A panel                     [KC][MR]                     gathered from the image, in the L1 cache
//           for each B panel: micro-kernel, sums into a tile         [MC / MR][NC][MR]: the thread's workspace
//       the last block of k goes on to the result
//
// A transposed convolution with a stride is split into phases. Each phase is a convolution of stride 1, for one
// remainder of the result's indices that a tap reaches, with the taps that reach it (image_tiles.hpp). Nothing is added
// in memory, and no zeros are multiplied. If no tap reaches some remainders, as with a stride larger than the kernel,
// the result is first set to zeros.
//
// Limited by multiply-adds. Gathering a line of MR floats for a tile costs some 4 cycles, compared with the MR / W * NC
// of its multiply-adds. An element's sum is taken in blocks of KC, in the order of channels, rows and columns of taps,
// regardless of threads and chunks.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/image_tiles.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

using ops::Convolution;

// As in the packed product: B panels of a block of outputs and of KC stay in the L2 cache.
constexpr std::int64_t largest_nc = 516, panels_per_chunk = 4;

// What plan() decides: the sizes of a block of positions, of products and of outputs.
struct Decisions {
    std::int64_t MC, KC, NC;
};

// Sizes that the node and the decisions determine, and the parts of a thread's workspace.
struct Blocking {
    Convolution c;
    std::int64_t phases, K, MC, KC, NC;  // K: the largest of all phases
    std::int64_t blocks, chunks_per_image, panels;
    std::int64_t MR, NR;
    WorkspaceParts thread;
    std::size_t panel, row, tiles;

    Blocking(const Tensor &node, const Decisions &decided, const simd::SimdTable &simd) noexcept
        : c(ops::convolution_of(node)),
          phases(phases_of(c)),
          K(most_products(c)),
          MC(decided.MC),
          KC(decided.KC),
          NC(decided.NC),
          blocks(ceil_div(c.outputs, NC)),
          chunks_per_image(ceil_div(most_positions(c), MC)),
          panels(ceil_div(NC, simd.gemm.columns)),
          MR(simd.gemm.rows),
          NR(simd.gemm.columns) {
        panel = thread.add<float>(MR * KC);
        row = thread.add<float>(NR * KC);
        tiles = thread.add<float>(MC * NC);
    }

    // The largest number of products of a phase; phases differ by one in each dimension.
    static std::int64_t most_products(const Convolution &c) noexcept {
        if (!c.transposed) return c.products();
        const auto most = [](const Sliding &s) { return ceil_div(s.taps, TileAxis(s, 0).kernel_step); };
        return c.channels * most(c.x) * most(c.y);
    }
    static std::int64_t most_positions(const Convolution &c) noexcept {
        if (!c.transposed) return c.x.positions * c.y.positions;
        const auto most = [](const Sliding &s) { return (s.elements - 1) / s.stride + 1; };
        return most(c.x) * most(c.y);
    }

    std::int64_t workspace_floats() const noexcept { return ceil_div(std::min(NC, c.outputs) * K, 16) * 16; }
    std::size_t workspace(int n_threads) const noexcept {
        return static_cast<std::size_t>(workspace_floats()) * sizeof(float) + static_cast<std::size_t>(n_threads) * thread.size;
    }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        std::byte *threads = step.workspace + static_cast<std::size_t>(workspace_floats()) * sizeof(float);
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

// The outputs and the phase of a round.
struct Round {
    std::int64_t phase, first, outputs;
    Round(const Blocking &b, std::int64_t round) noexcept
        : phase(round / b.blocks), first(round % b.blocks * b.NC), outputs(std::min(b.NC, b.c.outputs - first)) {}
    // The B panel that starts with output n of the round, for kc numbers starting with k.
    float *panel(const Step &step, std::int64_t n, std::int64_t k, std::int64_t kc) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + k * outputs + n * kc;
    }
};

const char *refuse_unless_empty(const Problem &p) noexcept { return p.node.layout.n_elements() == 0 ? nullptr : "not empty"; }

void plan_convolution(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Convolution c = ops::convolution_of(p.node);
    const std::int64_t MR = simd.gemm.rows, T = p.n_threads, positions = Blocking::most_positions(c);
    Decisions decided{};
    decided.NC = even_block(c.outputs, largest_nc, simd.gemm.columns);
    decided.KC = even_block(std::max<std::int64_t>(1, Blocking::most_products(c)), packed::largest_kc, 16);
    // Small enough that each thread gets some four chunks, so that one that starts late delays the end by a quarter.
    std::int64_t mc = packed::largest_mc / MR * MR;
    if (T > 1) mc = std::min(mc, std::max<std::int64_t>(1, ceil_div(positions, MR) * c.images / (4 * T)) * MR);
    decided.MC = even_block(positions, mc, MR);
    plan.keep(decided);
    const Blocking blocking(p.node, decided, simd);
    if (leaves_zeros(c)) {
        const Layout &result = p.node.layout;
        plan.chunks(Stage::set_up) = chunks_for(result.n_elements(), static_cast<std::int64_t>(result.nbytes()), T);
    }
    plan.n_rounds = blocking.phases * blocking.blocks;
    plan.chunks(Stage::prepare) = ceil_div(blocking.panels, panels_per_chunk);
    plan.chunks(Stage::compute) = blocking.chunks_per_image * c.images;
    plan.workspace = blocking.workspace(p.n_threads);
}

// Whether the elements of an output's kernel are contiguous.
bool lies_side_by_side(const Convolution &c, DType type) noexcept {
    const auto size = static_cast<std::int64_t>(traits(type).size);
    if (c.transposed || c.kernel.x != size || c.kernel.channel != size * c.taps()) return false;
    return c.y.taps == 1 || c.kernel.y == size * c.x.taps;
}

// kc consecutive elements of an output's kernel, starting with k.
void load_kernel(const Convolution &c, const ImageTiles &tiles, DType type, const std::byte *kernel, std::int64_t k, std::int64_t kc,
                 float *to, const simd::SimdTable &simd) noexcept {
    const std::int64_t taps = tiles.taps();
    for (std::int64_t end = k + kc; k < end;) {
        const std::int64_t x = k % tiles.x.taps, y = k % taps / tiles.x.taps, n = std::min(tiles.x.taps - x, end - k);
        const std::byte *from = kernel + k / taps * c.kernel.channel + (tiles.y.kernel_first + y * tiles.y.kernel_step) * c.kernel.y +
                                (tiles.x.kernel_first + x * tiles.x.kernel_step) * c.kernel.x;
        // The stride of a dimension of one element may be arbitrarily large.
        load_runs(type, 1, from, 0, n > 1 ? c.kernel.x * tiles.x.kernel_step : 0, n, to, 0, simd);
        to += n, k += n;
    }
}

void pack_kernel(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const Round round(b, slice.round);
    const TensorRef &a = step.src[0];
    const ImageTiles tiles(b.c, round.phase, step.src[1], 0, slice.simd);
    const std::int64_t K = tiles.products();
    float *rows = b.of_thread(step, slice, b.row);
    const bool side_by_side = lies_side_by_side(b.c, a.type);
    // As rows of a matrix, or as loaded.
    const TensorRef matrix{
        a.type, {K, b.c.outputs, 1, 1}, {traits(a.type).size, static_cast<std::size_t>(b.c.kernel.output), 0, 0}, a.data};
    const std::int64_t first = slice.chunk * panels_per_chunk * b.NR, end = std::min(first + panels_per_chunk * b.NR, round.outputs);
    for (std::int64_t n = first; n < end; n += b.NR) {
        // The last panel is as wide as the remaining outputs, so its micro-kernel computes no more.
        const auto width = static_cast<int>(std::min(b.NR, round.outputs - n));
        const std::byte *kernel = a.data + (round.first + n) * b.c.kernel.output;
        for (std::int64_t k = 0; k < K; k += b.KC) {
            const std::int64_t kc = std::min(b.KC, K - k);
            float *panel = round.panel(step, n, k, kc);
            if (side_by_side) {
                packed::pack_floats(matrix, reinterpret_cast<const char *>(kernel), k, kc, width, width, panel, rows, slice.simd);
                continue;
            }
            for (int i = 0; i < width; i++)
                load_kernel(b.c, tiles, a.type, kernel + i * b.c.kernel.output, k, kc, rows + i * kc, slice.simd);
            constexpr std::ptrdiff_t word = sizeof(float);
            slice.simd.pack.f32(kc, reinterpret_cast<const char *>(rows), word, kc * word, width, width, panel);
        }
    }
}

// Stores sums of `n` positions of one output. `to`: the output's plane of the result.
void store(const Convolution &c, const ImageTiles &tiles, const float *sums, std::int64_t position, std::int64_t n, float *to) noexcept {
    if (!c.transposed) {
        std::memcpy(to + position, sums, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    for (std::int64_t i = 0; i < n;) {
        const std::int64_t x = (position + i) % tiles.x.positions, y = (position + i) / tiles.x.positions;
        const std::int64_t count = std::min(tiles.x.positions - x, n - i);
        float *row = to + (tiles.y.out_first + y * tiles.y.out_step) * c.x.elements + tiles.x.out_first;
        for (std::int64_t j = 0; j < count; j++) row[(x + j) * tiles.x.out_step] = sums[i + j];
        i += count;
    }
}

void compute_positions(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const Round round(b, slice.round);
    const std::int64_t image = slice.chunk / b.chunks_per_image;
    const ImageTiles tiles(b.c, round.phase, step.src[1], image, slice.simd);
    const std::int64_t first = slice.chunk % b.chunks_per_image * b.MC, end = std::min(first + b.MC, tiles.positions()),
                       K = tiles.products();
    float *panel = b.of_thread(step, slice, b.panel), *sums = b.of_thread(step, slice, b.tiles);
    const std::int64_t plane = step.node->layout.n_elements() / (b.c.outputs * b.c.images);
    float *to = reinterpret_cast<float *>(step.dst.data) + (image * b.c.outputs + round.first) * plane;
    // Without channels.
    if (K == 0) std::fill_n(sums, std::max<std::int64_t>(0, ceil_div(end - first, b.MR)) * b.MR * round.outputs, 0.0f);
    for (std::int64_t k = 0; k == 0 || k < K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, K - k);
        for (std::int64_t m = first; m < end; m += b.MR) {
            const std::int64_t rows = std::min(b.MR, end - m);
            float *tile = sums + (m - first) * round.outputs;
            if (kc > 0) tiles.gather(m, rows, k, kc, b.MR, panel);
            for (std::int64_t n = 0; n < round.outputs; n += b.NR) {
                const std::int64_t width = std::min(b.NR, round.outputs - n);
                if (kc > 0) {
                    slice.simd.gemm.f32.from_cache[width - 1](kc, panel, round.panel(step, n, k, kc), tile + n * b.MR, b.MR,
                                                              static_cast<int>(b.MR), k > 0);
                }
                if (k + kc < K) continue;
                for (std::int64_t i = n; i < n + width; i++) store(b.c, tiles, tile + i * b.MR, m, rows, to + i * plane);
            }
        }
    }
}

void clear_result(const Step &step, const Slice &slice) noexcept {
    const Range part = part_of(step.node->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::set_up));
    std::fill_n(reinterpret_cast<float *>(step.dst.data) + part.begin, part.end - part.begin, 0.0f);
}

void run_convolution(const Step &step, const Slice &slice) noexcept {
    if (slice.stage == Stage::set_up) return clear_result(step, slice);
    const Blocking blocking(*step.node, step.plan.kept<Decisions>(), slice.simd);
    if (slice.stage == Stage::prepare) {
        pack_kernel(blocking, step, slice);
    } else {
        compute_positions(blocking, step, slice);
    }
}

void run_empty(const Step &, const Slice &) noexcept {}

constexpr CpuKernel table[] = {
    {{.op = Op::conv_1d, .name = "convolution_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::conv_1d, .name = "convolution", .plan = plan_always<plan_convolution>}, run_convolution},
    {{.op = Op::conv_2d, .name = "convolution_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::conv_2d, .name = "convolution", .plan = plan_always<plan_convolution>}, run_convolution},
    {{.op = Op::conv_transpose_1d, .name = "convolution_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::conv_transpose_1d, .name = "convolution", .plan = plan_always<plan_convolution>}, run_convolution},
    {{.op = Op::conv_transpose_2d, .name = "convolution_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::conv_transpose_2d, .name = "convolution", .plan = plan_always<plan_convolution>}, run_convolution},
};

}  // namespace

const std::span<const CpuKernel> kernels::convolution = table;

}  // namespace tensorlib::core
