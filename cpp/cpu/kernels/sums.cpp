// sum, sum_rows, mean and cumsum. Sums are taken in F64, within a segment and across segments, in order. Contiguous
// rows of F32 are read in place, others by way of a block of floats.
#include "cpu/kernels/lines.hpp"

namespace tensorlib::core {

namespace {

// ---- sum, sum_rows, mean: a chunk is some segments. If rows have several, their sums go to the workspace and are
// added at the end.

bool is_of_all(const Tensor &node) noexcept { return node.op == Op::sum; }

void plan_sums(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Lines lines(a, is_of_all(p.node));
    plan.chunks(Stage::compute) = chunks_for(lines.units(), static_cast<std::int64_t>(a.nbytes()), p.n_threads);
    if (lines.segments == 1) return;
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(double);
    plan.chunks(Stage::combine) = chunks_for(lines.count, static_cast<std::int64_t>(plan.workspace), p.n_threads);
}

double segment_sum(const LineReader &reader, std::int64_t line, Range part, const simd::SimdTable &simd) noexcept {
    if (reader.in_place()) return simd.sums.sum(part.end - part.begin, reader.read(line, part.begin, 0, nullptr));
    double sum = 0;
    reader.for_each_block(line, part, [&](std::int64_t, std::int64_t n, const float *x) { sum += simd.sums.sum(n, x); });
    return sum;
}

void store_sum(const Step &step, const Lines &lines, std::int64_t line, double sum) noexcept {
    const double value = step.node->op == Op::mean ? sum / static_cast<double>(lines.length) : sum;
    reinterpret_cast<float *>(step.dst.data)[line] = static_cast<float>(value);
}

void run_sums(const Step &step, const Slice &slice) noexcept {
    const bool all = is_of_all(*step.node);
    const Lines lines(step.node->src[0]->layout, all);
    auto *sums = reinterpret_cast<double *>(step.workspace);
    if (slice.stage == Stage::combine) {
        const Range part = part_of(lines.count, slice.chunk, step.plan.chunks(Stage::combine));
        for (std::int64_t line = part.begin; line < part.end; line++) {
            double sum = 0;
            for (std::int64_t s = 0; s < lines.segments; s++) sum += sums[line * lines.segments + s];
            store_sum(step, lines, line, sum);
        }
        return;
    }
    const LineReader reader(step, all, slice.simd);
    const Range units = part_of(lines.units(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const double sum = segment_sum(reader, unit / lines.segments, lines.part_of_unit(unit), slice.simd);
        if (lines.segments > 1) {
            sums[unit] = sum;
        } else {
            store_sum(step, lines, unit, sum);
        }
    }
}

// ---- cumsum: a chunk is some rows; for a few long rows, some segments, for which the sums of all segments are taken
// first. The sum before a block is its row's sum up to there, as sum_rows has it. To get it, a segment need only be
// read.

void plan_running(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Lines lines(a, false);
    const auto bytes = static_cast<std::int64_t>(a.nbytes() + p.node.layout.nbytes());
    const bool cut = p.n_threads > 1 && lines.segments > 1 && lines.count < 2 * p.n_threads;
    const std::int64_t chunks = chunks_for(cut ? lines.units() : lines.count, bytes, p.n_threads);
    plan.chunks(Stage::compute) = chunks;
    if (!cut) return;
    plan.chunks(Stage::prepare) = chunks;
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(double);
}

void run_running(const Step &step, const Slice &slice) noexcept {
    const Lines lines(step.node->src[0]->layout, false);
    // There may be any number of empty rows.
    if (lines.length == 0) return;
    const LineReader reader(step, false, slice.simd);
    auto *sums = reinterpret_cast<double *>(step.workspace);
    const std::int64_t S = lines.segments;
    const bool cut = step.plan.chunks(Stage::prepare) > 0;
    const Range part = part_of(cut ? lines.units() : lines.count, slice.chunk, step.plan.chunks(Stage::compute));
    const Range units = cut ? part : Range{part.begin * S, part.end * S};
    if (slice.stage == Stage::prepare) {
        for (std::int64_t unit = units.begin; unit < units.end; unit++)
            sums[unit] = segment_sum(reader, unit / S, lines.part_of_unit(unit), slice.simd);
        return;
    }
    const bool stream = streams(*step.node) && lines.length * static_cast<std::int64_t>(sizeof(float)) >= std::int64_t{shortest_stream};
    double before = 0;
    for (std::int64_t unit = units.begin - units.begin % S; unit < units.begin; unit++) before += sums[unit];
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        if (unit % S == 0) before = 0;
        float *to = reinterpret_cast<float *>(step.dst.data) + unit / S * lines.length;
        double sum = 0;
        reader.for_each_block(unit / S, lines.part_of_unit(unit), [&](std::int64_t from, std::int64_t n, const float *x) {
            slice.simd.sums.running(n, x, before + sum, to + from, stream);
            if (from + n < lines.length) sum += slice.simd.sums.sum(n, x);
        });
        before += sum;
    }
    if (stream) slice.simd.copies.stream_end();
}

constexpr CpuKernel table[] = {
    {{.op = Op::sum, .name = "sum", .plan = plan_always<plan_sums>}, run_sums},
    {{.op = Op::sum_rows, .name = "sum_rows", .plan = plan_always<plan_sums>}, run_sums},
    {{.op = Op::mean, .name = "mean", .plan = plan_always<plan_sums>}, run_sums},
    {{.op = Op::cumsum, .name = "cumsum", .plan = plan_always<plan_running>}, run_running},
};

}  // namespace

const std::span<const CpuKernel> kernels::sums = table;

}  // namespace tensorlib::core
