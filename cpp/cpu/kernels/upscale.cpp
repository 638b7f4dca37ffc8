// upscale: computes a piece of a row of the result at a time. Limited by memory.
//
//   nearest    each element is repeated; rows of the result that are equal, and short, are made once
//   bilinear   two rows of a are mixed into one, then its neighbours, for each of the `factor` positions between two
//              pixels in turn
#include "base/checked.hpp"
#include "cpu/kernels/units.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/pooling.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using ops::Between;

std::int64_t factor_of(const Tensor &node) noexcept { return attrs_of<ops::UpscaleAttrs>(node).factor; }

// ---- nearest. A chunk is some rows of the result, or parts of a few long rows.

// Elements of a piece: 4 KiB of 32 bits.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Layout &c) noexcept { return ceil_div(c.ne[0], piece) * c.n_rows(); }

const char *refuse_unless_nearest(const Problem &p) noexcept {
    return attrs_of<ops::UpscaleAttrs>(p.node).mode == ops::UpscaleMode::nearest ? nullptr : "the mode is not nearest";
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

constexpr CpuKernel table[] = {
    {{.op = Op::upscale, .name = "upscale_nearest", .plan = plan_unless<refuse_unless_nearest, plan_upscale>}, run_nearest},
    {{.op = Op::upscale, .name = "upscale_bilinear", .plan = plan_always<plan_upscale>}, run_bilinear},
};

}  // namespace

const std::span<const CpuKernel> kernels::upscale = table;

}  // namespace tensorlib::core
