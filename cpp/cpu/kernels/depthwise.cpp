// conv_1d_dw, conv_2d_dw: computes pieces of some rows of the result at a time, and multiplies each tap's elements by
// its weight. Limited by memory, or, for kernels with many taps, by loads from the L1 cache.
//
//   stride 1      the part of the image that a piece's windows span is copied to a stage, as floats and surrounded by
//                 the padding's zeros (if it has both already, it stays in place): then each tap's elements are
//                 contiguous for a whole row
//   otherwise     each tap's elements of a row are gathered
//
// A sum is taken in the order of rows and columns of taps.
#include "base/checked.hpp"
#include "cpu/kernels/image_tiles.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Gathering takes 16 taps of 256 positions: 16 KiB. A stage for rows has at most that many floats and 8 rows.
constexpr std::int64_t piece = 256, taps_at_a_time = 16, stage_floats = piece * taps_at_a_time, most_rows = 8;

// The number of elements that a row's windows at n positions span.
std::int64_t spanned(const Sliding &windows, std::int64_t n) noexcept {
    return (n - 1) * windows.stride + (windows.taps - 1) * windows.dilation + 1;
}

// The rows of the result that a stage suffices for; 0 if there is no stage.
std::int64_t rows_per_stage(const ops::Convolution &c) noexcept {
    if (c.x.stride != 1) return 0;
    const std::int64_t width = spanned(c.x, std::min(piece, c.x.positions));
    std::int64_t rows = std::min(most_rows, c.y.positions);
    while (rows > 0 && spanned(c.y, rows) > stage_floats / width) rows--;
    return rows;
}

// The pieces that chunks divide among themselves.
struct Pieces {
    std::int64_t rows, per_row, per_plane, count;
    explicit Pieces(const ops::Convolution &c) noexcept
        : rows(std::max<std::int64_t>(1, rows_per_stage(c))),
          per_row(ceil_div(c.x.positions, piece)),
          per_plane(ceil_div(c.y.positions, rows) * per_row),
          count(per_plane * c.outputs * c.images) {}
};

// A thread's part of the workspace: a kernel, and a stage.
std::size_t kernel_bytes(const ops::Convolution &c) noexcept { return round_up(static_cast<std::size_t>(c.taps()) * sizeof(float), 64); }
std::size_t thread_bytes(const ops::Convolution &c) noexcept { return kernel_bytes(c) + stage_floats * sizeof(float); }

void plan_depthwise(const Problem &p, KernelPlan &plan) noexcept {
    const ops::Convolution c = ops::convolution_of(p.node);
    const auto bytes = static_cast<std::int64_t>(p.node.layout.nbytes() + p.node.src[1]->layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(Pieces(c).count, bytes, p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * thread_bytes(c);
}

// Sums taps times their weights, up to taps_at_a_time, for one piece.
class TapSums {
public:
    // stage: room for stage_floats floats if the caller uses stage().
    TapSums(std::int64_t n, float *to, float *stage, const simd::SimdTable &simd) noexcept : n_(n), to_(to), stage_(stage), simd_(simd) {}
    ~TapSums() {
        if (n_taps_ > 0 || !accumulate_) flush();
    }

    // n elements, which must stay valid until the last tap is added.
    void add(const float *from, float weight) noexcept {
        weights_[n_taps_] = weight;
        from_[n_taps_++] = from;
        if (n_taps_ == taps_at_a_time) flush();
    }
    // Room for n elements, which the caller adds next.
    float *stage() noexcept { return stage_ + n_taps_ * piece; }

private:
    void flush() noexcept {
        simd_.windows.sum(n_, n_taps_, from_, weights_, to_, accumulate_);
        n_taps_ = 0;
        accumulate_ = true;
    }

    std::int64_t n_;
    float *to_, *stage_;
    const simd::SimdTable &simd_;
    int n_taps_ = 0;
    bool accumulate_ = false;
    const float *from_[taps_at_a_time];
    float weights_[taps_at_a_time];
};

// Adds a row of taps over positions [first, first + n). `row` is the image row that they read.
void add_row(const ops::Convolution &c, const TensorRef &b, const std::byte *row, const float *weights, std::int64_t first, std::int64_t n,
             TapSums &sums, const simd::SimdTable &simd) noexcept {
    for (std::int64_t tap = 0; tap < c.x.taps; tap++) {
        Sliding::Range there = c.x.positions_of(tap);
        there.begin = std::clamp(there.begin, first, first + n) - first;
        there.end = std::clamp(there.end, first, first + n) - first;
        if (there.begin >= there.end) continue;
        const std::byte *from = row + c.x.element(first + there.begin, tap) * c.image.x;
        float *stage = sums.stage();
        std::fill(stage, stage + there.begin, 0.0f);
        std::fill(stage + there.end, stage + n, 0.0f);
        // The stride of a dimension of one element may be arbitrarily large.
        load_runs(b.type, 1, from, 0, there.size() > 1 ? c.image.x * c.x.stride : 0, there.size(), stage + there.begin, 0, simd);
        sums.add(stage, weights[tap]);
    }
}

// Floats of an image as windows read them: contiguous elements, starting with `first`, in rows that are row_floats
// apart.
struct Stage2d {
    const float *first;
    std::int64_t row_floats;
};

// The elements that windows at positions [x, x + n) and [y, y + rows) span, with zeros outside the image.
Stage2d staged(const ops::Convolution &c, const TensorRef &b, const std::byte *image, std::int64_t x, std::int64_t n, std::int64_t y,
               std::int64_t rows, float *stage, const simd::SimdTable &simd) noexcept {
    const std::int64_t width = spanned(c.x, n), height = spanned(c.y, rows), left = c.x.element(x, 0), top = c.y.element(y, 0);
    const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, width), end = std::clamp(c.x.elements - left, begin, width);
    const std::byte *from = image + (left + begin) * c.image.x;
    const bool inside = end - begin == width && top >= 0 && top + height <= c.y.elements;
    constexpr std::int64_t size = sizeof(float);
    if (inside && b.type == DType::f32 && c.image.x == size && c.image.y % size == 0)
        return {reinterpret_cast<const float *>(from + top * c.image.y), c.image.y / size};
    const std::int64_t first = std::clamp<std::int64_t>(-top, 0, height), last = std::clamp(c.y.elements - top, first, height);
    std::fill(stage, stage + first * width, 0.0f);
    for (std::int64_t row = first; row < last; row++) {
        std::fill(stage + row * width, stage + row * width + begin, 0.0f);
        std::fill(stage + row * width + end, stage + (row + 1) * width, 0.0f);
    }
    if (begin < end && first < last)
        load_runs(b.type, last - first, from + (top + first) * c.image.y, c.image.y, c.image.x, end - begin, stage + first * width + begin,
                  width, simd);
    std::fill(stage + last * width, stage + height * width, 0.0f);
    return {stage, width};
}

// The positions of one tile of the result.
struct Tile {
    std::int64_t x, n, y, rows;
    float *to;  // of the first row
    float *stage;
};

void sum_staged(const ops::Convolution &c, const TensorRef &b, const std::byte *image, const float *kernel, const Tile &tile,
                const simd::SimdTable &simd) noexcept {
    const Stage2d from = staged(c, b, image, tile.x, tile.n, tile.y, tile.rows, tile.stage, simd);
    for (std::int64_t row = 0; row < tile.rows; row++) {
        TapSums sums(tile.n, tile.to + row * c.x.positions, tile.stage, simd);
        for (std::int64_t ty = 0; ty < c.y.taps; ty++) {
            const float *elements = from.first + (row * c.y.stride + ty * c.y.dilation) * from.row_floats;
            for (std::int64_t tx = 0; tx < c.x.taps; tx++) sums.add(elements + tx * c.x.dilation, kernel[ty * c.x.taps + tx]);
        }
    }
}

void sum_gathered(const ops::Convolution &c, const TensorRef &b, const std::byte *image, const float *kernel, const Tile &tile,
                  const simd::SimdTable &simd) noexcept {
    for (std::int64_t row = 0; row < tile.rows; row++) {
        TapSums sums(tile.n, tile.to + row * c.x.positions, tile.stage, simd);
        const Sliding::Range taps = c.y.taps_at(tile.y + row);
        for (std::int64_t tap = taps.begin; tap < taps.end; tap++)
            add_row(c, b, image + c.y.element(tile.y + row, tap) * c.image.y, kernel + tap * c.x.taps, tile.x, tile.n, sums, simd);
    }
}

void run_depthwise(const Step &step, const Slice &slice) noexcept {
    const ops::Convolution c = ops::convolution_of(*step.node);
    const TensorRef &a = step.src[0], &b = step.src[1];
    std::byte *own = step.workspace + static_cast<std::size_t>(slice.thread) * thread_bytes(c);
    auto *kernel = reinterpret_cast<float *>(own), *stage = reinterpret_cast<float *>(own + kernel_bytes(c));
    std::int64_t loaded = -1;
    const bool stages = rows_per_stage(c) > 0;
    const Pieces pieces(c);
    const Range part = part_of(pieces.count, slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const std::int64_t plane = at / pieces.per_plane, in_plane = at % pieces.per_plane, channel = plane % c.outputs;
        if (channel != loaded) {
            load_runs(a.type, c.y.taps, a.data + channel * c.kernel.output, c.kernel.y, c.kernel.x, c.x.taps, kernel, c.x.taps, slice.simd);
            loaded = channel;
        }
        const std::int64_t x = in_plane % pieces.per_row * piece, y = in_plane / pieces.per_row * pieces.rows;
        const std::byte *image = b.data + channel * c.image.channel + plane / c.outputs * c.image.image;
        float *to = reinterpret_cast<float *>(step.dst.data) + (plane * c.y.positions + y) * c.x.positions + x;
        const Tile of{x, std::min(piece, c.x.positions - x), y, std::min(pieces.rows, c.y.positions - y), to, stage};
        (stages ? sum_staged : sum_gathered)(c, b, image, kernel, of, slice.simd);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::conv_1d_dw, .name = "depthwise", .plan = plan_always<plan_depthwise>}, run_depthwise},
    {{.op = Op::conv_2d_dw, .name = "depthwise", .plan = plan_always<plan_depthwise>}, run_depthwise},
};

}  // namespace

const std::span<const CpuKernel> kernels::depthwise = table;

}  // namespace tensorlib::core
