// count_equal: a SIMD loop per type compares contiguous elements. F16 and BF16 are compared as floats, which are exact.
// Other elements are first gathered, some at a time. Counts are integers, so the result does not depend on how the work
// is divided.
#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// Elements that are gathered at a time.
constexpr std::int64_t stage = 512;

simd::SimdTable::Comparisons::CountEqual equal_of(DType type, const simd::SimdTable &simd) noexcept {
    switch (type) {
        case DType::i8:
        case DType::u8:
        case DType::boolean: return simd.comparisons.equal_i8;
        case DType::i16: return simd.comparisons.equal_i16;
        case DType::i32: return simd.comparisons.equal_i32;
        case DType::i64: return simd.comparisons.equal_i64;
        case DType::f64: return simd.comparisons.equal_f64;
        default: return simd.comparisons.equal_f32;
    }
}

// How elements are traversed: all as one row if both operands are contiguous, otherwise row by row. A unit is a piece
// of a row.
struct Pieces {
    static constexpr std::int64_t longest = 1 << 16;
    bool flat;
    std::int64_t length, per_row, count;

    Pieces(const Layout &a, const Layout &b) noexcept
        : flat(a.contiguous() && b.contiguous()),
          length(flat ? a.n_elements() : a.ne[0]),
          per_row(ceil_div(length, longest)),
          count(flat ? per_row : per_row * a.n_rows()) {}
};

void plan_count(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Pieces pieces(a, p.node.src[1]->layout);
    plan.chunks(Stage::compute) = chunks_for(pieces.count, 2 * static_cast<std::int64_t>(a.nbytes()), p.n_threads);
    plan.chunks(Stage::combine) = 1;
    plan.workspace = static_cast<std::size_t>(plan.chunks(Stage::compute)) * sizeof(std::int64_t);
}

// n contiguous elements of a row, starting with `from`: in place, or gathered into `room`, as floats for F16 and BF16.
const std::byte *side_by_side(const TensorRef &t, const std::byte *row, std::int64_t from, std::int64_t n, std::byte *room,
                              const simd::SimdTable &simd) noexcept {
    const std::size_t size = traits(t.type).size;
    const std::byte *first = row + static_cast<std::size_t>(from) * t.nb[0];
    if (t.type == DType::f16 || t.type == DType::bf16) {
        load_row(t, row, from, n, reinterpret_cast<float *>(room), simd);
        return room;
    }
    if (t.nb[0] == size) return first;
    for (std::int64_t i = 0; i < n; i++)
        std::memcpy(room + static_cast<std::size_t>(i) * size, first + static_cast<std::size_t>(i) * t.nb[0], size);
    return room;
}

std::int64_t count_piece(const TensorRef &a, const std::byte *a_row, const TensorRef &b, const std::byte *b_row, Range part,
                         const simd::SimdTable &simd) noexcept {
    alignas(64) std::byte rooms[2][stage * sizeof(double)];
    const auto equal = equal_of(a.type, simd);
    std::int64_t count = 0;
    for (std::int64_t from = part.begin; from < part.end; from += stage) {
        const std::int64_t n = std::min(stage, part.end - from);
        count += equal(n, side_by_side(a, a_row, from, n, rooms[0], simd), side_by_side(b, b_row, from, n, rooms[1], simd));
    }
    return count;
}

void run_count(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n_chunks = step.plan.chunks(Stage::compute);
    auto *counts = reinterpret_cast<std::int64_t *>(step.workspace);
    if (slice.stage == Stage::combine) {
        std::int64_t count = 0;
        for (std::int64_t chunk = 0; chunk < n_chunks; chunk++) count += counts[chunk];
        std::memcpy(step.dst.data, &count, sizeof count);
        return;
    }
    const Pieces pieces(step.node->src[0]->layout, step.node->src[1]->layout);
    TensorRef a = step.src[0], b = step.src[1];
    // As one row. A dimension 0 of one element may have had any stride.
    if (pieces.flat) a.nb[0] = b.nb[0] = traits(a.type).size;
    const Range units = part_of(pieces.count, slice.chunk, n_chunks);
    std::int64_t count = 0;
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const RowIndex row = pieces.flat ? RowIndex{} : row_index(a.ne, unit / pieces.per_row);
        const std::int64_t from = unit % pieces.per_row * Pieces::longest;
        count += count_piece(a, row_address(a, row), b, row_address(b, row), {from, std::min(from + Pieces::longest, pieces.length)},
                             slice.simd);
    }
    counts[slice.chunk] = count;
}

constexpr CpuKernel table[] = {
    {{.op = Op::count_equal, .name = "count_equal", .plan = plan_always<plan_count>}, run_count},
};

}  // namespace

const std::span<const CpuKernel> kernels::counts = table;

}  // namespace tensorlib::core
