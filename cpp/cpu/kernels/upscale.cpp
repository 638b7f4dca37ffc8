// upscale: computes a piece of a row of the result at a time, or a row. Limited by memory.
//
//   nearest    each element is repeated; rows of the result that are equal, and short, are made once
//   bilinear   two rows of a are mixed into one, then its neighbours, for each of the `factor` positions between two
//              pixels in turn
//   resample   any size and weights: the taps of all columns are found once. For a row of the result, rows of a are mixed into one,
//              then its columns
#include "base/checked.hpp"
#include "cpu/kernels/units.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/pooling.hpp"
#include "ops/resampling.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using ops::Between;

std::int64_t factor_of(const Tensor &node) noexcept { return ops::upscale_factor(node); }

// ---- nearest. A chunk is some rows of the result, or parts of a few long rows.

// Elements of a piece: 4 KiB of 32 bits.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Layout &c) noexcept { return ceil_div(c.ne[0], piece) * c.n_rows(); }

const char *refuse_unless_nearest(const Problem &p) noexcept {
    if (attrs_of<ops::UpscaleAttrs>(p.node).mode != ops::UpscaleMode::nearest) return "the mode is not nearest";
    return factor_of(p.node) > 0 ? nullptr : "no whole factor of width and height";
}
const char *refuse_without_factor(const Problem &p) noexcept {
    return factor_of(p.node) > 0 ? nullptr : "no whole factor of width and height, or other weights";
}

void plan_upscale(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.chunks(Stage::compute) = chunks_for(pieces_of(c), 2 * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

// n elements of a row of the result, starting with i0.
template <class Word>
void repeat_elements(const std::byte *row, std::int64_t nb, std::int64_t factor, std::int64_t i0, std::int64_t n,
                     std::byte *made) noexcept {
    auto *to = reinterpret_cast<Word *>(made);
    const auto take = [&](std::int64_t i) {
        Word word;
        std::memcpy(&word, row + i * nb, sizeof word);
        return word;
    };
    std::int64_t from = i0 / factor, left = std::min(n, (factor - i0 % factor) % factor);
    if (left > 0) {
        std::fill_n(to, left, take(from++));
        to += left, n -= left;
    }
    if (factor == 2) {
        for (; n >= 2; n -= 2, to += 2) to[0] = to[1] = take(from++);
    } else {
        for (; n >= factor; n -= factor, to += factor) std::fill_n(to, factor, take(from++));
    }
    if (n > 0) std::fill_n(to, n, take(from));
}

void run_nearest(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    const std::int64_t factor = factor_of(*step.node), per_row = ceil_div(c.ne[0], piece);
    const auto unit = static_cast<std::int64_t>(traits(c.type).size);
    const Range part = part_of(pieces_of(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute));
    if (part.begin == part.end) return;
    const auto first_of = [&](std::int64_t at) { return at / per_row * c.ne[0] + at % per_row * piece; };
    Sink sink(c.data + first_of(part.begin) * unit, slice.simd, streams(*step.node));
    // Rows of one piece are kept for equal rows.
    alignas(64) std::byte kept[piece * static_cast<std::int64_t>(sizeof(float))];
    const std::byte *kept_row = nullptr;
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const RowIndex row = row_index(c.ne, at / per_row);
        const std::byte *from = row_address(a, {row.i1 / factor, row.i2, row.i3});
        const std::int64_t i0 = at % per_row * piece, n = std::min(piece, c.ne[0] - i0);
        const auto make = [&](std::byte *to) {
            with_unit(unit,
                      [&](auto word) { repeat_elements<decltype(word)>(from, static_cast<std::int64_t>(a.nb[0]), factor, i0, n, to); });
        };
        if (per_row > 1) {
            make(sink.room(n * unit));
            continue;
        }
        if (kept_row != from) make(kept);
        kept_row = from;
        sink.copy(kept, n * unit);
    }
}

// ---- bilinear. A chunk is some pieces of rows of the result.

float mixed(float a, float b, float part) noexcept { return a * (1 - part) + b * part; }

// n columns of a, starting with `first`, from two rows mixed into one.
const float *mix_rows(const TensorRef &a, const RowIndex &row, const Between &y, std::int64_t first, std::int64_t n, float *one, float *two,
                      const simd::SimdTable &simd) noexcept {
    const float *above = floats_of(a, row_address(a, {y.first, row.i2, row.i3}), first, n, one, simd);
    if (y.part == 0) return above;
    const float *below = floats_of(a, row_address(a, {y.second, row.i2, row.i3}), first, n, two, simd);
    for (std::int64_t i = 0; i < n; i++) one[i] = mixed(above[i], below[i], y.part);
    return one;
}

// Pixels [i0, i0 + n) of a row, from the columns of a that start with `first`.
void mix_columns(const float *columns, std::int64_t first, std::int64_t extent, std::int64_t factor, std::int64_t i0, std::int64_t n,
                 float *to) noexcept {
    const auto pixel = [&](std::int64_t i) {
        const Between x = ops::between(i0 + i, factor, extent);
        to[i] = x.part == 0 ? columns[x.first - first] : mixed(columns[x.first - first], columns[x.second - first], x.part);
    };
    // Pixels at the edges have one neighbour. Between the edges, each `factor`-th pixel has the same fraction of the
    // two neighbours.
    const std::int64_t begin = std::clamp(factor - i0, std::int64_t{0}, n), end = std::clamp((extent - 1) * factor - i0, begin, n);
    for (std::int64_t i = 0; i < begin; i++) pixel(i);
    for (std::int64_t phase = begin; phase < std::min(begin + factor, end); phase++) {
        const Between x = ops::between(i0 + phase, factor, extent);
        const float *from = columns + (x.first - first);
        float *out = to + phase;
        const std::int64_t count = ceil_div(end - phase, factor);
        if (x.part == 0) {
            for (std::int64_t i = 0; i < count; i++) out[i * factor] = from[i];
        } else {
            for (std::int64_t i = 0; i < count; i++) out[i * factor] = mixed(from[i], from[i + 1], x.part);
        }
    }
    for (std::int64_t i = end; i < n; i++) pixel(i);
}

void run_bilinear(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    const std::int64_t factor = factor_of(*step.node), per_row = ceil_div(c.ne[0], piece);
    const Range part = part_of(pieces_of(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const RowIndex row = row_index(c.ne, at / per_row);
        const std::int64_t i0 = at % per_row * piece, n = std::min(piece, c.ne[0] - i0);
        const std::int64_t first = ops::between(i0, factor, a.ne[0]).first, last = ops::between(i0 + n - 1, factor, a.ne[0]).second;
        alignas(64) float one[piece + 2], two[piece + 2], made[piece];
        const float *columns = mix_rows(a, row, ops::between(row.i1, factor, a.ne[1]), first, last - first + 1, one, two, slice.simd);
        float *to = c.type == DType::f32 ? reinterpret_cast<float *>(row_address(c, row)) + i0 : made;
        mix_columns(columns, first, a.ne[0], factor, i0, n, to);
        if (to == made) store_row(c, row_address(c, row), i0, n, made, slice.simd);
    }
}

// ---- resample. A chunk is some rows of the result.

// The taps of a column: the first one and their weights, as many as each column has room for.
struct Columns {
    std::int64_t width, from, room;

    explicit Columns(const ops::Resampling &x) noexcept : width(x.to), from(x.from), room(x.most_taps()) {}

    std::size_t taps_bytes() const noexcept {
        return round_up(static_cast<std::size_t>(width) * (sizeof(ops::Resampling::Taps) + static_cast<std::size_t>(room) * sizeof(float)),
                        64);
    }
    // For each thread a row of a, as it is mixed and as it is read, and a row of the result.
    std::size_t row_bytes() const noexcept { return round_up(static_cast<std::size_t>(2 * from + width) * sizeof(float), 64); }
    ops::Resampling::Taps *taps(const Step &step) const noexcept { return reinterpret_cast<ops::Resampling::Taps *>(step.workspace); }
    float *weights(const Step &step) const noexcept { return reinterpret_cast<float *>(taps(step) + width); }
    float *rows(const Step &step, int thread) const noexcept {
        return reinterpret_cast<float *>(step.workspace + taps_bytes() + static_cast<std::size_t>(thread) * row_bytes());
    }
};

void plan_resample(const Problem &p, KernelPlan &plan) noexcept {
    plan.chunks(Stage::compute) = 0;
    const Layout &c = p.node.layout;
    if (c.n_elements() == 0) return;
    const ops::Resized all = ops::resized(p.node);
    const Columns columns(all.dims[0]);
    const std::int64_t read = p.node.src[0]->layout.ne[0] * all.dims[1].most_taps(), made = c.ne[0] * columns.room;
    plan.chunks(Stage::prepare) = chunks_for(c.ne[0], c.ne[0] * columns.room * 16, p.n_threads);
    plan.chunks(Stage::compute) =
        chunks_for(c.n_rows(), c.n_rows() * (read + made) * static_cast<std::int64_t>(sizeof(float)), p.n_threads);
    plan.workspace = columns.taps_bytes() + static_cast<std::size_t>(p.n_threads) * columns.row_bytes();
}

// Sets the weights of a pixel.
void find_weights(const ops::Resampling &dim, const ops::Resampling::Taps &taps, float *weights) noexcept {
    const double total = dim.total_of(taps);
    for (std::int64_t i = 0; i < taps.n; i++) weights[i] = static_cast<float>(dim.weight(taps, i) / total);
}

void find_columns(const ops::Resampling &x, const Columns &columns, const Step &step, Range part) noexcept {
    for (std::int64_t i = part.begin; i < part.end; i++) {
        const ops::Resampling::Taps taps = columns.taps(step)[i] = x.taps_of(i);
        find_weights(x, taps, columns.weights(step) + i * columns.room);
    }
}

// Mixes the rows of a that make a row of the result. A weight of 0 leaves its row out: it may have infinities.
const float *mix_taps(const Step &step, const ops::Resampling &y, const RowIndex &row, float *mixed_row, float *read,
                      const simd::SimdTable &simd) noexcept {
    const TensorRef &a = step.src[0];
    const std::int64_t n = a.ne[0];
    const ops::Resampling::Taps taps = y.taps_of(row.i1);
    const double total = y.total_of(taps);
    bool begun = false;
    for (std::int64_t i = 0; i < taps.n; i++) {
        const auto weight = static_cast<float>(y.weight(taps, i) / total);
        if (weight == 0) continue;
        const float *from = floats_of(a, row_address(a, {y.pixel_of(taps, i), row.i2, row.i3}), 0, n, read, simd);
        if (begun) {
            for (std::int64_t j = 0; j < n; j++) mixed_row[j] += weight * from[j];
        } else if (weight == 1) {
            std::copy_n(from, n, mixed_row);
        } else {
            for (std::int64_t j = 0; j < n; j++) mixed_row[j] = weight * from[j];
        }
        begun = true;
    }
    return mixed_row;
}

void run_resample(const Step &step, const Slice &slice) noexcept {
    const ops::Resized all = ops::resized(*step.node);
    const ops::Resampling &x = all.dims[0], &y = all.dims[1];
    const Columns columns(x);
    if (slice.stage == Stage::prepare) return find_columns(x, columns, step, part_of(x.to, slice.chunk, step.plan.chunks(Stage::prepare)));
    const TensorRef &c = step.dst;
    float *mixed_row = columns.rows(step, slice.thread), *read = mixed_row + x.from, *made = read + x.from;
    const Range part = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const RowIndex row = row_index(c.ne, at);
        const RowIndex source{row.i1, all.dims[2].taps_of(row.i2).first, all.dims[3].taps_of(row.i3).first};
        const float *from = mix_taps(step, y, source, mixed_row, read, slice.simd);
        float *to = c.type == DType::f32 ? reinterpret_cast<float *>(row_address(c, row)) : made;
        for (std::int64_t i = 0; i < x.to; i++) {
            const ops::Resampling::Taps &taps = columns.taps(step)[i];
            const float *weights = columns.weights(step) + i * columns.room;
            float sum = 0;
            for (std::int64_t tap = 0; tap < taps.n; tap++) {
                if (weights[tap] != 0) sum += weights[tap] * from[x.pixel_of(taps, tap)];
            }
            to[i] = sum;
        }
        if (to == made) store_row(c, row_address(c, row), 0, c.ne[0], made, slice.simd);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::upscale, .name = "upscale_nearest", .plan = plan_unless<refuse_unless_nearest, plan_upscale>}, run_nearest},
    {{.op = Op::upscale, .name = "upscale_bilinear", .plan = plan_unless<refuse_without_factor, plan_upscale>}, run_bilinear},
    {{.op = Op::upscale, .name = "upscale_resample", .plan = plan_always<plan_resample>}, run_resample},
};

}  // namespace

const std::span<const CpuKernel> kernels::upscale = table;

}  // namespace tensorlib::core
