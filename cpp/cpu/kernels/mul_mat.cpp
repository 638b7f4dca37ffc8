// mul_mat for few columns, for no columns at all, and the reference; the packed product is in mul_mat_packed.cpp.
#include "cpu/kernels/mul_mat.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

const char *take_all(const Problem &) noexcept { return nullptr; }

// ---- Nothing to add up: k = 0 gives zeros, an empty result nothing.

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[0] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

void plan_empty(const Problem &, KernelPlan &) noexcept {}

void run_empty(const Step &step, const Slice &) noexcept { std::memset(step.dst.data, 0, step.node->layout.nbytes()); }

// ---- Few columns: tiles of dot products over rows as they lie. Reads a once; no more columns than this, as each group
// of columns reads a's rows again from the second-level cache.

constexpr std::int64_t most_dot_columns = 8;

const char *refuse_dot(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout;
    if (a.type != DType::f32 || b.type != DType::f32) return "not f32";
    if (!a.rows_contiguous() || !b.rows_contiguous()) return "rows are not contiguous";
    return b.ne[1] <= most_dot_columns ? nullptr : "more than 8 columns";
}

// Rows that one unit of work covers: whole tiles, few enough that a chunk's rows stay in the second-level cache
// between groups of columns.
constexpr std::int64_t dot_block_rows = 16;

std::int64_t dot_units(const Layout &c) noexcept { return ceil_div(c.ne[0], dot_block_rows) * c.ne[2] * c.ne[3]; }

void plan_dot(const Problem &p, KernelPlan &plan) noexcept {
    const auto bytes = static_cast<std::int64_t>(p.node.src[0]->layout.nbytes());
    plan.n_chunks[0] = chunks_for(dot_units(p.node.layout), bytes, p.n_threads);
}

void run_dot(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t K = a.ne[0], M = c.ne[0], N = c.ne[1], blocks = ceil_div(M, dot_block_rows);
    const auto a_stride = static_cast<std::ptrdiff_t>(a.nb[1]), b_stride = static_cast<std::ptrdiff_t>(b.nb[1]);
    const Range units = part_of(dot_units(step.node->layout), slice.chunk, step.plan.n_chunks[0]);
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const Batch batch = batch_at(step, unit / blocks);
        const std::int64_t first = unit % blocks * dot_block_rows, last = std::min(first + dot_block_rows, M);
        for (std::int64_t m = first; m < last;) {
            const std::int64_t R = std::min<std::int64_t>(slice.leaf.dot_rows, last - m);
            for (std::int64_t n = 0; n < N;) {
                const std::int64_t columns = std::min<std::int64_t>(slice.leaf.dot_columns, N - n);
                slice.leaf.dot_f32[R - 1][columns - 1](K, batch.a + m * a_stride, a_stride, batch.b + n * b_stride, b_stride,
                                                       batch.c + m + n * M, M);
                n += columns;
            }
            m += R;
        }
    }
}

// ---- The reference: any types, any strides, sums in double. One row of a at a time, K floats of workspace for it
// and for a row of b, a thread.

std::size_t reference_floats(const Layout &a) noexcept { return 2 * static_cast<std::size_t>(ceil_div(a.ne[0], 16) * 16); }

void plan_reference(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.n_chunks[0] = chunks_for(c.n_elements() / std::max<std::int64_t>(c.ne[1], 1), INT64_MAX, p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * reference_floats(p.node.src[0]->layout) * sizeof(float);
}

void run_reference(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t K = a.ne[0], M = c.ne[0], N = c.ne[1];
    const std::size_t floats = reference_floats(step.node->src[0]->layout);
    auto *row_a = reinterpret_cast<float *>(step.workspace) + static_cast<std::size_t>(slice.thread) * floats;
    float *row_b = row_a + floats / 2;
    const Range rows = part_of(M * c.ne[2] * c.ne[3], slice.chunk, step.plan.n_chunks[0]);
    for (std::int64_t row = rows.begin; row < rows.end; row++) {
        const Batch batch = batch_at(step, row / M);
        const std::int64_t m = row % M;
        load_row(a, reinterpret_cast<const std::byte *>(batch.a) + static_cast<std::size_t>(m) * a.nb[1], 0, K, row_a);
        for (std::int64_t n = 0; n < N; n++) {
            load_row(b, reinterpret_cast<const std::byte *>(batch.b) + static_cast<std::size_t>(n) * b.nb[1], 0, K, row_b);
            double sum = 0;
            for (std::int64_t k = 0; k < K; k++) sum += static_cast<double>(row_a[k]) * static_cast<double>(row_b[k]);
            batch.c[m + n * M] = static_cast<float>(sum);
        }
    }
}

constexpr CpuKernel table[] = {
    {{Op::mul_mat, "mul_mat_empty", refuse_unless_empty, plan_empty}, run_empty},
    {{Op::mul_mat, "mul_mat_f32_dot", refuse_dot, plan_dot}, run_dot},
    {{Op::mul_mat, "mul_mat_f32_packed", packed::refuse, packed::plan}, packed::run},
    {{Op::mul_mat, "mul_mat_reference", take_all, plan_reference}, run_reference},
};

}  // namespace

const std::span<const CpuKernel> kernels::mul_mat = table;

}  // namespace tensorlib::core
