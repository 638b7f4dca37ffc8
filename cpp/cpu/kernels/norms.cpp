// norm, rms_norm, l2_norm, group_norm, soft_max, log_soft_max, soft_max_ext: one thread computes each row, or each
// group of rows. One or two passes take sums, and the last pass writes the result while the row is in the cache. The
// epilogue runs on a row as soon as it is complete.
//
// Limited by memory: a row is read from it once and written once.
#include "cpu/float_rows.hpp"
#include "math/alibi.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cmath>

namespace tensorlib::core {

namespace {

using ops::GroupNormAttrs;
using ops::L2NormAttrs;
using ops::NormAttrs;
using ops::RmsNormAttrs;
using ops::SoftMaxExtAttrs;

// Bytes that memory moves while an element is computed: in and out. e ^ x takes as long as 12.
constexpr std::int64_t norm_work = 8, soft_max_work = 12;

template <std::int64_t work>
void plan_rows(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.may_overwrite = FloatRows::may_overwrite(p.node);
    plan.workspace = FloatRows::workspace(p.node, p.n_threads);
    plan.chunks(Stage::compute) = chunks_for(c.n_rows(), c.n_elements() * work, p.n_threads);
}

// Calls row(rows, at), which returns the row of the result, for each row of the slice.
template <class Row>
void for_each_row(const Step &step, const Slice &slice, Row row, bool may_stream = true) noexcept {
    if (step.dst.ne[0] == 0) return;
    const Range part = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    FloatRows rows(step, slice, may_stream);
    for (std::int64_t r = part.begin; r < part.end; r++) {
        const RowIndex at = row_index(step.dst.ne, r);
        row(rows, at);
    }
}

// ---- Norms

struct Scaling {
    float center, factor;
};

// For n elements with this sum; squares(center) gives the sum of (x - center)^2.
template <class Squares>
Scaling standard(double sum, std::int64_t n, double eps, Squares squares) noexcept {
    const auto center = static_cast<float>(sum / static_cast<double>(n));
    return {center, static_cast<float>(1 / std::sqrt(squares(center) / static_cast<double>(n) + eps))};
}

Scaling scaling_of(const Tensor &node, std::int64_t n, const float *x, const simd::SimdTable &table) noexcept {
    const simd::SimdTable::Norms &simd = table.norms;
    switch (node.op) {
        case Op::norm:
            return standard(table.sums.sum(n, x), n, attrs_of<NormAttrs>(node).eps, [&](float c) { return simd.squares(n, x, c); });
        case Op::rms_norm:
            return {0,
                    static_cast<float>(1 / std::sqrt(simd.squares(n, x, 0) / static_cast<double>(n) + attrs_of<RmsNormAttrs>(node).eps))};
        default: {
            const double length = std::sqrt(simd.squares(n, x, 0)), eps = attrs_of<L2NormAttrs>(node).eps;
            return {0, static_cast<float>(1 / (length < eps ? eps : length))};  // NaN stays
        }
    }
}

void run_norm(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n = step.dst.ne[0];
    for_each_row(step, slice, [&](FloatRows &rows, const RowIndex &at) {
        const float *x = rows.read(at);
        const Scaling s = scaling_of(*step.node, n, x, slice.simd);
        rows.normalised(x, s.center, s.factor, at);
    });
}

// ---- group_norm. A chunk is some groups.

std::int64_t group_channels(const Tensor &node) noexcept {
    const std::int64_t groups = attrs_of<GroupNormAttrs>(node).groups;
    return ceil_div(node.layout.ne[2], groups);
}
// The number of groups that have channels, over all batches.
std::int64_t n_groups(const Tensor &node) noexcept {
    const std::int64_t channels = group_channels(node);
    return channels == 0 ? 0 : ceil_div(node.layout.ne[2], channels) * node.layout.ne[3];
}

void plan_groups(const Problem &p, KernelPlan &plan) noexcept {
    plan_rows<norm_work>(p, plan);
    plan.chunks(Stage::compute) = chunks_for(n_groups(p.node), p.node.layout.n_elements() * norm_work, p.n_threads);
}

void run_groups(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    if (step.node->layout.n_elements() == 0) return;
    const simd::SimdTable::Norms &simd = slice.simd.norms;
    const Layout &of_a = step.node->src[0]->layout;
    const std::int64_t channels = group_channels(*step.node), per_batch = ceil_div(c.ne[2], channels);
    const Range part = part_of(n_groups(*step.node), slice.chunk, step.plan.chunks(Stage::compute));
    FloatRows rows(step, slice);
    for (std::int64_t group = part.begin; group < part.end; group++) {
        const std::int64_t i3 = group / per_batch, first = group % per_batch * channels, last = std::min(first + channels, c.ne[2]);
        // A group whose floats are contiguous is one long row.
        const bool whole = is_row_of_floats(a) && of_a.contiguous();
        const std::int64_t count = c.ne[0] * c.ne[1] * (last - first), n = whole ? count : c.ne[0];
        const auto for_each = [&](auto row) {
            for (std::int64_t i2 = first; i2 < last; i2++) {
                for (std::int64_t i1 = 0; i1 < c.ne[1]; i1++) row(RowIndex{i1, i2, i3});
            }
        };
        const auto sum_of = [&](auto of_row) {
            double sum = 0;
            if (whole) return of_row(rows.read({0, first, i3}));
            for_each([&](const RowIndex &at) { sum += of_row(rows.read(at)); });
            return sum;
        };
        const double sum = sum_of([&](const float *x) { return slice.simd.sums.sum(n, x); });
        const Scaling s = standard(sum, count, attrs_of<GroupNormAttrs>(*step.node).eps,
                                   [&](float center) { return sum_of([&](const float *x) { return simd.squares(n, x, center); }); });
        if (whole && step.program.empty() && rows.in_place()) {
            simd.normalise(n, rows.read({0, first, i3}), s.center, s.factor, rows.to({0, first, i3}), false);
            continue;
        }
        for_each([&](const RowIndex &at) { rows.normalised(rows.read(at), s.center, s.factor, at); });
    }
}

// ---- soft_max

void run_soft_max(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n = step.dst.ne[0];
    const simd::SimdTable::Norms &simd = slice.simd.norms;
    const auto row = [&](FloatRows &rows, const RowIndex &at) {
        const float *x = rows.read(at);
        float *y = rows.to(at);
        const double sum = simd.exponentials(n, x, slice.simd.comparisons.largest(n, x), y);
        rows.normalised(y, 0, static_cast<float>(1 / sum), at);
    };
    // Bypassing the caches takes 12 % longer: e ^ x leaves memory the time to load the lines that are written.
    for_each_row(step, slice, row, false);
}

void run_log_soft_max(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n = step.dst.ne[0];
    const simd::SimdTable::Norms &simd = slice.simd.norms;
    for_each_row(step, slice, [&](FloatRows &rows, const RowIndex &at) {
        const float *x = rows.read(at);
        float *y = rows.to(at);
        // Subtracts the largest first: the result may overwrite x, and m + log would be too large to subtract from x.
        simd.normalise(n, x, slice.simd.comparisons.largest(n, x), 1, y, false);
        rows.normalised(y, static_cast<float>(std::log(slice.simd.losses.exp_sum(n, y, 0))), 1, at);
    });
}

void run_soft_max_ext(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n = step.dst.ne[0];
    const simd::SimdTable::Norms &simd = slice.simd.norms;
    const auto &attrs = attrs_of<SoftMaxExtAttrs>(*step.node);
    const TensorRef &mask = step.src[1], &sinks = step.src[2];
    for_each_row(step, slice, [&](FloatRows &rows, const RowIndex &at) {
        const float *x = rows.read(at), *m = nullptr;
        float *y = rows.to(at), slope = 0;
        if (mask.data) {
            m = rows.read_other(mask, {at.i1, at.i2 % mask.ne[2], at.i3 % mask.ne[3]});
            slope = alibi_slope(at.i2, step.dst.ne[2], attrs.max_bias);
        }
        float most = simd.logits(n, x, static_cast<float>(attrs.scale), m, slope, y);
        const float *sink =
            sinks.data ? reinterpret_cast<const float *>(sinks.data + static_cast<std::size_t>(at.i2) * sinks.nb[0]) : nullptr;
        if (sink) most = std::max(most, *sink);
        double sum = simd.exponentials(n, y, most, y);
        if (sink) sum += std::exp(static_cast<double>(*sink) - static_cast<double>(most));
        rows.normalised(y, 0, static_cast<float>(1 / sum), at);
    });
}

constexpr CpuKernel table[] = {
    {{.op = Op::norm, .name = "norm", .plan = plan_always<plan_rows<norm_work>>, .fuses = true, .takes_prologue = true}, run_norm},
    {{.op = Op::rms_norm, .name = "rms_norm", .plan = plan_always<plan_rows<norm_work>>, .fuses = true, .takes_prologue = true}, run_norm},
    {{.op = Op::l2_norm, .name = "l2_norm", .plan = plan_always<plan_rows<norm_work>>, .fuses = true, .takes_prologue = true}, run_norm},
    {{.op = Op::group_norm, .name = "group_norm", .plan = plan_always<plan_groups>, .fuses = true}, run_groups},
    {{.op = Op::soft_max, .name = "soft_max", .plan = plan_always<plan_rows<soft_max_work>>, .fuses = true, .takes_prologue = true},
     run_soft_max},
    {{.op = Op::log_soft_max, .name = "log_soft_max", .plan = plan_always<plan_rows<soft_max_work>>, .fuses = true, .takes_prologue = true},
     run_log_soft_max},
    {{.op = Op::soft_max_ext, .name = "soft_max_ext", .plan = plan_always<plan_rows<soft_max_work>>, .fuses = true, .takes_prologue = true},
     run_soft_max_ext},
};

}  // namespace

const std::span<const CpuKernel> kernels::norms = table;

}  // namespace tensorlib::core
