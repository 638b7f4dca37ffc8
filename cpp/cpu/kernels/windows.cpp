// acc, set: copies a, then adds or stores b into a window of the copy.
//
// First, all of a is copied, unless the result overwrites a. Then b's rows go into the window, in pieces that threads
// share. No two of the window's elements share memory, so their order does not matter.
#include "cpu/kernels/layout.hpp"
#include "cpu/kernels/units.hpp"
#include "ops/window.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Elements of a row of b that are added at a time, a multiple of every block.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Extents &ne) noexcept { return ceil_div(ne[0], piece) * ne[1] * ne[2] * ne[3]; }

// b's extents, and the strides of b and of its window. Dimensions that are consecutive in both are joined, so that rows
// are as long as possible.
struct Rows {
    Extents ne{1, 1, 1, 1};
    Strides of_b{}, of_window{};

    Rows(const Tensor &node) noexcept {
        const Layout &b = node.src[1]->layout, window = ops::window_of(node).layout;
        const bool blocks = traits(b.type).block_size > 1;
        ne[0] = b.ne[0], of_b[0] = b.nb[0], of_window[0] = window.nb[0];
        std::size_t last = 0;
        for (std::size_t d = 1; d < max_dims; d++) {
            const auto n = static_cast<std::size_t>(ne[last]);
            const bool follows = b.nb[d] == n * of_b[last] && window.nb[d] == n * of_window[last] && !blocks;
            if (b.ne[d] != 1 && !follows) {
                last++;
                ne[last] = b.ne[d], of_b[last] = b.nb[d], of_window[last] = window.nb[d];
            } else {
                ne[last] *= b.ne[d];
            }
        }
    }
};

void plan_window(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout, &c = p.node.layout;
    if (a.ne == c.ne && a.nb == c.nb) plan.may_overwrite = 1;
    plan.chunks(Stage::prepare) = move_chunks(p);
    plan.chunks(Stage::compute) = chunks_for(pieces_of(Rows(p.node).ne), 3 * static_cast<std::int64_t>(b.nbytes()), p.n_threads);
}

// The window as an operand, and b, in these rows.
TensorRef window_ref(const Step &step, const Rows &rows) noexcept {
    return {step.dst.type, rows.ne, rows.of_window, step.dst.data + ops::window_of(*step.node).offset};
}
TensorRef b_ref(const Step &step, const Rows &rows) noexcept { return {step.src[1].type, rows.ne, rows.of_b, step.src[1].data}; }

// Calls put(row of b, row of the window, i0, n) for the chunk's pieces.
template <class Put>
void for_each_piece(const Step &step, const Slice &slice, const TensorRef &b, const TensorRef &window, Put put) noexcept {
    const std::int64_t per_row = ceil_div(b.ne[0], piece);
    const Range part = part_of(pieces_of(b.ne), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const RowIndex row = row_index(b.ne, at / per_row);
        const std::int64_t i0 = at % per_row * piece;
        put(row_address(b, row), row_address(window, row), i0, std::min(piece, b.ne[0] - i0));
    }
}

void copy_all(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0];
    if (a.data != step.dst.data) run_move_stage(step, slice, Stage::prepare);
}

void run_set(const Step &step, const Slice &slice) noexcept {
    if (slice.stage == Stage::prepare) return copy_all(step, slice);
    const DTypeTraits &type = traits(step.dst.type);
    const Rows rows(*step.node);
    const TensorRef b = b_ref(step, rows);
    const auto unit = static_cast<std::int64_t>(type.size);
    const std::int64_t nb = b.ne[0] == type.block_size ? unit : static_cast<std::int64_t>(b.nb[0]);
    for_each_piece(step, slice, b, window_ref(step, rows), [&](const std::byte *from, std::byte *to, std::int64_t i0, std::int64_t n) {
        const std::int64_t first = i0 / type.block_size;
        take_units(to + first * unit, from + first * nb, nb, n / type.block_size, unit);
    });
}

void run_acc(const Step &step, const Slice &slice) noexcept {
    if (slice.stage == Stage::prepare) return copy_all(step, slice);
    const Rows rows(*step.node);
    const TensorRef b = b_ref(step, rows), window = window_ref(step, rows);
    const simd::SimdTable::TileLoop add = slice.simd.tiles.loops[static_cast<std::size_t>(TileOp::add)];
    const bool floats = window.type == DType::f32, floats_side_by_side = b.type == DType::f32 && b.nb[0] == sizeof(float);
    for_each_piece(step, slice, b, window, [&](const std::byte *from, std::byte *to, std::int64_t i0, std::int64_t n) {
        alignas(64) float mine[piece], more[piece];
        float *at = reinterpret_cast<float *>(to) + i0;
        const float *added = reinterpret_cast<const float *>(from) + i0;
        if (!floats_side_by_side) {
            load_row(b, from, i0, n, more, slice.simd);
            added = more;
        }
        if (!floats) {
            load_row(window, to, i0, n, mine, slice.simd);
            at = mine;
        }
        add({.n = n, .src = {at, added}, .repeated = 0, .dst = at, .params = nullptr});
        if (!floats) store_row(window, to, i0, n, mine, slice.simd);
    });
}

constexpr CpuKernel table[] = {
    {{.op = Op::acc, .name = "add_window", .plan = plan_always<plan_window>}, run_acc},
    {{.op = Op::set, .name = "set_window", .plan = plan_always<plan_window>}, run_set},
};

}  // namespace

const std::span<const CpuKernel> kernels::windows = table;

}  // namespace tensorlib::core
