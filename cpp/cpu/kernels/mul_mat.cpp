// mul_mat for few columns, and for empty operands. mul_mat_packed.cpp has the packed product, and mul_mat_integer.cpp
// the integer product. All except the integer product multiply in F32: operands of other types are decoded on the way,
// a row or a panel at a time.
#include "cpu/kernels/mul_mat.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/programs.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// ---- Nothing to add: k = 0 gives zeros, and an empty result nothing.

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[0] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

void run_empty(const Step &step, const Slice &) noexcept { std::memset(step.dst.data, 0, step.node->layout.nbytes()); }

// ---- Few columns: tiles of dot products over rows in place, or decoded. Reads a once.

constexpr std::int64_t most_widened_columns = 32;
bool as_it_lies(const Layout &b) noexcept { return b.type == DType::f32 && b.rows_contiguous(); }

const char *refuse_dot(const Problem &p) noexcept {
    if (p.batch_invariant) return not_batch_invariant;
    for (const Tensor *t : p.node.sources()) {
        if (t->layout.type == DType::f32 && !t->layout.rows_contiguous()) return "rows are not contiguous";
    }
    // Packing F16 writes twice what it reads: 97 G/s at 32 columns. Tiles that widen on the way reach 145
    // (docs/performance/products.md).
    const bool widened = p.node.src[0]->layout.type == DType::f16 &&
                         tiles_as_it_lies(p.node.src[0]->layout, static_cast<const CpuBackend &>(p.backend).simd());
    const std::int64_t columns = p.node.src[1]->layout.ne[1];
    if (widened) return columns <= most_widened_columns ? nullptr : "more than 32 columns";
    return columns <= most_dot_columns ? nullptr : "more than 8 columns";
}

// Rows of one unit of work: whole tiles, few enough that a chunk's rows stay in the L2 cache between groups of columns.
constexpr std::int64_t dot_block_rows = 16;

std::int64_t dot_units(const Layout &c) noexcept { return ceil_div(c.ne[0], dot_block_rows) * c.ne[2] * c.ne[3]; }

// A thread's decoded rows, each starting on its own cache line: a tile of a, and all of b's slice.
struct DotScratch {
    std::size_t a_rows, b_rows, row_floats;

    DotScratch(const Layout &a, const Layout &b, const simd::SimdTable &simd) noexcept
        : a_rows(tiles_as_it_lies(a, simd) ? 0 : simd::max_dot_rows),
          b_rows(as_it_lies(b) ? 0 : static_cast<std::size_t>(b.ne[1])),
          row_floats(decoded_floats(a.ne[0])) {}
    std::size_t floats() const noexcept { return (a_rows + b_rows) * row_floats; }
};

void plan_dot(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout;
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    // Decoding takes as much time as reading floats would.
    const auto bytes = a.n_elements() * static_cast<std::int64_t>(sizeof(float));
    plan.chunks(Stage::compute) = chunks_for(dot_units(p.node.layout), bytes, p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * DotScratch(a, b, simd).floats() * sizeof(float);
}

void run_dot(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t K = a.ne[0], M = c.ne[0], N = c.ne[1], blocks = ceil_div(M, dot_block_rows);
    const Layout &layout = step.node->src[0]->layout;
    const DotScratch scratch(layout, step.node->src[1]->layout, slice.simd);
    const DotTiles as_they_lie = tiles_as_it_lies(layout, slice.simd), tiles = as_they_lie ? as_they_lie : slice.simd.dot.f32;
    auto *decoded_a = reinterpret_cast<float *>(step.workspace) + static_cast<std::size_t>(slice.thread) * scratch.floats();
    float *decoded_b = decoded_a + scratch.a_rows * scratch.row_floats;
    const Range units = part_of(dot_units(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute));
    std::int64_t decoded_batch = -1;
    RowsAsFloats columns{};
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const Batch batch = batch_at(step, unit / blocks);
        if (unit / blocks != decoded_batch) {
            columns = float_rows(b, batch.b, N, scratch.row_floats, scratch.b_rows != 0, decoded_b, slice.simd);
            decoded_batch = unit / blocks;
        }
        const std::int64_t first = unit % blocks * dot_block_rows, last = std::min(first + dot_block_rows, M);
        for (std::int64_t m = first; m < last;) {
            const std::int64_t R = std::min<std::int64_t>(slice.simd.dot.rows, last - m);
            const char *row = batch.a + m * static_cast<std::ptrdiff_t>(a.nb[1]);
            const RowsAsFloats rows = float_rows(a, row, R, scratch.row_floats, scratch.a_rows != 0, decoded_a, slice.simd);
            for (std::int64_t n = 0; n < N;) {
                const std::int64_t width = std::min<std::int64_t>(slice.simd.dot.columns, N - n);
                tiles[R - 1][width - 1](K, rows.first, rows.stride, columns.first + n * columns.stride, columns.stride, batch.c + m + n * M,
                                        M);
                n += width;
            }
            m += R;
        }
        finish_tile(step, slice, unit / blocks, first, last - first, 0, N);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::mul_mat, .name = "mul_mat_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::mul_mat, .name = "mul_mat_integer", .plan = plan_unless<integer::refuse, integer::plan>, .fuses = true}, integer::run},
    {{.op = Op::mul_mat, .name = "mul_mat_constant", .plan = plan_unless<packed::refuse_constant, packed::plan_constant>, .fuses = true},
     packed::run},
    {{.op = Op::mul_mat, .name = "mul_mat_f32_dot", .plan = plan_unless<refuse_dot, plan_dot>, .fuses = true}, run_dot},
    {{.op = Op::mul_mat, .name = "mul_mat_bf16_packed", .plan = plan_unless<packed::refuse_pairs, packed::plan_pairs>, .fuses = true},
     packed::run},
    {{.op = Op::mul_mat, .name = "mul_mat_f32_packed", .plan = plan_always<packed::plan>, .fuses = true}, packed::run},
};

}  // namespace

DotTiles tiles_as_it_lies(const Layout &a, const simd::SimdTable &simd) noexcept {
    if (!a.rows_contiguous()) return nullptr;
    if (a.type == DType::f32) return simd.dot.f32;
    if (a.type == DType::f16 && simd.dot.f16[0][0]) return simd.dot.f16;
    if (a.type == DType::bf16 && simd.dot.bf16[0][0]) return simd.dot.bf16;
    return nullptr;
}

RowsAsFloats float_rows(const TensorRef &t, const char *first, std::int64_t n, std::size_t row_floats, bool decode, float *to,
                        const simd::SimdTable &simd) noexcept {
    if (!decode) return {first, static_cast<std::ptrdiff_t>(t.nb[1])};
    for (std::int64_t i = 0; i < n; i++) {
        const auto row = static_cast<std::size_t>(i);
        load_row(t, reinterpret_cast<const std::byte *>(first) + row * t.nb[1], 0, t.ne[0], to + row * row_floats, simd);
    }
    return {reinterpret_cast<const char *>(to), static_cast<std::ptrdiff_t>(row_floats * sizeof(float))};
}

const std::span<const CpuKernel> kernels::mul_mat = table;

}  // namespace tensorlib::core
