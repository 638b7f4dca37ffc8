// cross_entropy_loss. A row's loss is -sum of b (a - e) + sum of b log(sum of e^(a - e)), where e is its largest
// element. So no exponential exceeds 1, and both terms have one sign if no label is below 0. A row is read once: e is
// the largest element so far, and earlier sums are rescaled to a new e in F64.
//
// Rows are cut into segments of fixed length (kernels/lines.hpp). Their sums are computed first, then merged row by
// row, and finally the rows' losses are added in their order.
#include "cpu/kernels/lines.hpp"

#include <cmath>
#include <limits>

namespace tensorlib::core {

namespace {

// The sums of a part of a row, relative to `base`.
struct Sums {
    double base = -std::numeric_limits<double>::infinity();  // the largest element of a, ignoring NaN
    double exponentials = 0;                                 // of e^(a - e)
    double labels = 0;                                       // of b
    double weighted = 0;                                     // of b (a - e)

    // The value that elements are relative to: base, if there is an element that is not -infinity.
    double e() const noexcept { return base == -std::numeric_limits<double>::infinity() ? 0 : base; }

    void move_to(double new_base) noexcept {
        if (!(new_base > base)) return;
        const double old = e();
        base = new_base;
        // Zeros are skipped: 0 times an exponential that overflows would be NaN, and so would 0 times an infinity.
        if (exponentials != 0) exponentials *= std::exp(old - e());
        if (labels != 0) weighted += labels * (old - e());
    }
    void add(Sums later) noexcept {
        move_to(later.base);
        later.move_to(base);
        exponentials += later.exponentials;
        labels += later.labels;
        weighted += later.weighted;
    }
    double loss() const noexcept {
        const double log_sum = std::log(exponentials);
        return (labels == 0 && log_sum == log_sum ? 0 : labels * log_sum) - weighted;
    }
};

void plan_loss(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Lines lines(rows_of(a));
    // An exponential takes as long as moving some ten bytes, a row's logarithm as some hundred.
    plan.chunks(Stage::combine) = 1;
    // There may be any number of empty rows, none of which has a loss.
    plan.chunks(Stage::compute) = 0;
    if (lines.length == 0) return;
    plan.chunks(Stage::prepare) = chunks_for(lines.units(), 10 * a.n_elements(), p.n_threads);
    plan.chunks(Stage::compute) = chunks_for(lines.count, 100 * lines.count, p.n_threads);
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(Sums) + static_cast<std::size_t>(lines.count) * sizeof(double);
}

Sums sums_of(const LineReader &a, const LineReader &b, std::int64_t line, Range part, const simd::SimdTable &simd) noexcept {
    alignas(64) float buffer[line_block];
    Sums sums;
    a.for_each_block(line, part, [&](std::int64_t from, std::int64_t n, const float *x) {
        const float *w = b.read(line, from, n, buffer);
        sums.move_to(static_cast<double>(simd.comparisons.largest(n, x)));
        const auto e = static_cast<float>(sums.e());
        sums.exponentials += simd.losses.exp_sum(n, x, e);
        sums.labels += simd.sums.sum(n, w);
        sums.weighted += simd.losses.weighted_sum(n, w, x, e);
    });
    return sums;
}

void run_loss(const Step &step, const Slice &slice) noexcept {
    const Lines lines(rows_of(step.node->src[0]->layout));
    if (lines.length == 0) {
        *reinterpret_cast<float *>(step.dst.data) = lines.count == 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
        return;
    }
    auto *sums = reinterpret_cast<Sums *>(step.workspace);
    auto *losses = reinterpret_cast<double *>(sums + lines.units());
    const auto part = [&](std::int64_t units) { return part_of(units, slice.chunk, step.plan.chunks(slice.stage)); };
    if (slice.stage == Stage::prepare) {
        const LineReader a(step, rows_of(step.node->src[0]->layout), slice.simd),
            b(step, rows_of(step.node->src[1]->layout), slice.simd, 1);
        const Range units = part(lines.units());
        for (std::int64_t unit = units.begin; unit < units.end; unit++)
            sums[unit] = sums_of(a, b, unit / lines.segments, lines.part_of_unit(unit), slice.simd);
    } else if (slice.stage == Stage::compute) {
        const Range rows = part(lines.count);
        for (std::int64_t row = rows.begin; row < rows.end; row++) {
            Sums all;
            for (std::int64_t s = 0; s < lines.segments; s++) all.add(sums[row * lines.segments + s]);
            losses[row] = all.loss();
        }
    } else {
        double loss = 0;
        for (std::int64_t row = 0; row < lines.count; row++) loss += losses[row];
        *reinterpret_cast<float *>(step.dst.data) = static_cast<float>(loss / static_cast<double>(lines.count));
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::cross_entropy_loss, .name = "cross_entropy_loss", .plan = plan_always<plan_loss>}, run_loss},
};

}  // namespace

const std::span<const CpuKernel> kernels::losses = table;

}  // namespace tensorlib::core
