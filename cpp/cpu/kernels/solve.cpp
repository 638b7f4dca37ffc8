// solve_tri: rows of unknowns one after the other, each minus the weighted sum of those before it. A chunk is some columns of some
// matrices: columns are systems of their own. Limited by the L1 and L2 caches, which hold the rows of a chunk.
#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Columns of a unit: 64 floats of 128 rows are 32 KiB.
constexpr std::int64_t columns_of_unit = 64;

std::int64_t units_of(const Layout &c) noexcept { return ceil_div(c.ne[0], columns_of_unit) * c.ne[2] * c.ne[3]; }

// Negated coefficients of a row of a, for each thread.
std::size_t row_bytes(std::int64_t n) noexcept { return round_up(static_cast<std::size_t>(n) * sizeof(float), 64); }

void plan_solve(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.chunks(Stage::compute) = 0;
    if (c.n_elements() == 0) return;
    // Columns alone do not say how much work there is.
    const double work = static_cast<double>(c.n_elements()) * static_cast<double>(c.ne[1]);
    plan.chunks(Stage::compute) = chunks_for(units_of(c), static_cast<std::int64_t>(std::min(work, 0x1p62)), p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * row_bytes(c.ne[1]);
}

// Columns [first, first + count) of a matrix.
void solve(const Step &step, const Slice &slice, const ops::SolveTriAttrs &attrs, std::int64_t first, std::int64_t count, std::int64_t i2,
           std::int64_t i3) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t n = c.ne[1];
    auto *row = reinterpret_cast<float *>(step.workspace + static_cast<std::size_t>(slice.thread) * row_bytes(n));
    const auto unknowns = [&](std::int64_t r) { return reinterpret_cast<float *>(row_address(c, {r, i2, i3})) + first; };
    for (std::int64_t at = 0; at < n; at++) {
        const std::int64_t r = attrs.lower ? at : n - 1 - at, begin = attrs.lower ? 0 : r + 1, known = at;
        load_row(a, row_address(a, {r, i2, i3}), 0, n, row, slice.simd);
        const float diagonal = row[r];
        for (std::int64_t k = begin; k < begin + known; k++) row[k] = -row[k];
        float *x = unknowns(r);
        load_row(b, row_address(b, {r, i2, i3}), first, count, x, slice.simd);
        if (known > 0) {
            slice.simd.attention.f32[0](known, count, reinterpret_cast<const char *>(unknowns(begin)), static_cast<std::ptrdiff_t>(c.nb[1]),
                                        row + begin, n, x, count);
        }
        if (attrs.unit) continue;
        for (std::int64_t i = 0; i < count; i++) x[i] /= diagonal;
    }
}

void run_solve(const Step &step, const Slice &slice) noexcept {
    const auto &attrs = attrs_of<ops::SolveTriAttrs>(*step.node);
    const TensorRef &c = step.dst;
    const std::int64_t per_matrix = ceil_div(c.ne[0], columns_of_unit);
    const Range units = part_of(units_of(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const std::int64_t matrix = unit / per_matrix, first = unit % per_matrix * columns_of_unit;
        solve(step, slice, attrs, first, std::min(columns_of_unit, c.ne[0] - first), matrix % c.ne[2], matrix / c.ne[2]);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::solve_tri, .name = "solve_tri", .plan = plan_always<plan_solve>}, run_solve},
};

}  // namespace

const std::span<const CpuKernel> kernels::solve = table;

}  // namespace tensorlib::core
