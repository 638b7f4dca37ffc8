// gather, add_id: elements, or rows to add, selected by index.
//
// An index outside a is recorded as a fault, and zeros replace its elements. Limited by memory; gather is limited by
// the latency of a's lines unless neighbours are taken together.
#include "cpu/kernels/convert.hpp"
#include "cpu/kernels/units.hpp"
#include "ops/gen/op_facts.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// ---- gather. A chunk is a range of the result's elements, regardless of rows.

void plan_gather(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    const auto bytes = static_cast<std::int64_t>(2 * c.nbytes() + p.node.src[1]->layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(c.n_elements(), bytes, p.n_threads);
}

// A part of a row of the result.
struct Gathered {
    const std::byte *indices;
    std::int64_t index_stride;
    const std::byte *from;        // of the first element, with an index of 0 in the gathered dimension
    std::int64_t from_step;       // bytes to that of the next one
    std::int64_t stride, extent;  // of the gathered dimension
    std::byte *to;
    std::int64_t n;
};

// Word has an element's size. Returns the first element whose index is invalid, or -1.
template <class Index, class Word>
std::int64_t gather_row(const Gathered &g) noexcept {
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < g.n; i++) {
        Index index;
        std::memcpy(&index, g.indices + i * g.index_stride, sizeof index);
        Word word{};
        if (index >= 0 && index < g.extent) {
            std::memcpy(&word, g.from + i * g.from_step + std::int64_t{index} * g.stride, sizeof word);
        } else if (bad < 0) {
            bad = i;
        }
        std::memcpy(g.to + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
    }
    return bad;
}

void run_gather(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &indices = step.src[1], &c = step.dst;
    const auto dim = static_cast<std::size_t>(attrs_of<ops::GatherAttrs>(*step.node).dim);
    const auto unit = static_cast<std::int64_t>(traits(c.type).size);
    // The addresses of elements with index 0 in the dimension.
    TensorRef from = a;
    from.nb[dim] = 0;
    const Range part = part_of(step.node->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end;) {
        const RowIndex row = row_index(c.ne, at / c.ne[0]);
        const std::int64_t i0 = at % c.ne[0], n = std::min(c.ne[0] - i0, part.end - at);
        const auto first = static_cast<std::size_t>(i0);
        const Gathered gathered{row_address(indices, row) + first * indices.nb[0],
                                static_cast<std::int64_t>(indices.nb[0]),
                                row_address(from, row) + first * from.nb[0],
                                static_cast<std::int64_t>(from.nb[0]),
                                static_cast<std::int64_t>(a.nb[dim]),
                                a.ne[dim],
                                c.data + at * unit,
                                n};
        std::int64_t bad = -1;
        with_unit(unit, [&](auto word) {
            using Word = decltype(word);
            bad = indices.type == DType::i32 ? gather_row<std::int32_t, Word>(gathered) : gather_row<std::int64_t, Word>(gathered);
        });
        if (bad >= 0) note_fault(step, 1, at + bad);
        at += n;
    }
}

// ---- add_id. A chunk is some pieces of a's rows.

// Elements that are added at a time.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Layout &a) noexcept { return ceil_div(a.ne[0], piece) * a.n_rows(); }

void plan_add_id(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &c = p.node.layout;
    if (a.ne == c.ne && a.nb == c.nb) plan.may_overwrite = 1;
    plan.chunks(Stage::compute) = chunks_for(pieces_of(c), 3 * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

void run_add_id(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &ids = step.src[2], &c = step.dst;
    const simd::SimdTable::TileLoop add = slice.simd.tiles.loops[static_cast<std::size_t>(TileOp::add)];
    const std::int64_t per_row = ceil_div(c.ne[0], piece);
    const Range part = part_of(pieces_of(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const std::int64_t row = at / per_row, i0 = at % per_row * piece, n = std::min(piece, c.ne[0] - i0);
        const RowIndex index = row_index(c.ne, row);
        const std::byte *id = ids.data + static_cast<std::size_t>(index.i1) * ids.nb[0] + static_cast<std::size_t>(index.i2) * ids.nb[1];
        const std::int64_t number = integer_value(ids.type, id);
        alignas(64) float mine[piece], more[piece], sums[piece];
        float *to = c.type == DType::f32 ? reinterpret_cast<float *>(row_address(c, index)) + i0 : sums;
        if (number < 0 || number >= b.ne[1]) {
            note_fault(step, 2, row);
            std::fill_n(to, n, 0.0f);
        } else {
            const float *x = floats_of(a, row_address(a, index), i0, n, mine, slice.simd);
            const float *y = floats_of(b, row_address(b, {number, 0, 0}), i0, n, more, slice.simd);
            add({.n = n, .src = {x, y}, .repeated = 0, .dst = to, .params = nullptr});
        }
        if (to == sums) store_row(c, row_address(c, index), i0, n, sums, slice.simd);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::gather, .name = "gather", .plan = plan_always<plan_gather>}, run_gather},
    {{.op = Op::add_id, .name = "add_rows", .plan = plan_always<plan_add_id>}, run_add_id},
};

}  // namespace

const std::span<const CpuKernel> kernels::gather = table;

}  // namespace tensorlib::core
