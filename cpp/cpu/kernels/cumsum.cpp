// cumsum: a chunk is some rows; for a few long rows, some segments, for which the sums of all segments are taken first.
// The sum before a block is its row's sum up to there, as sum_rows has it. To get it, a segment need only be read.
// Contiguous rows of F32 are read in place, others by way of a block of floats.
#include "cpu/kernels/lines.hpp"

namespace tensorlib::core {

namespace {

double segment_sum(const LineReader &reader, std::int64_t line, Range part, const simd::SimdTable &simd) noexcept {
    if (reader.in_place()) return simd.sums.sum(part.end - part.begin, reader.read(line, part.begin, 0, nullptr));
    double sum = 0;
    reader.for_each_block(line, part, [&](std::int64_t, std::int64_t n, const float *x) { sum += simd.sums.sum(n, x); });
    return sum;
}

void plan_running(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Lines lines(rows_of(a));
    const auto bytes = static_cast<std::int64_t>(a.nbytes() + p.node.layout.nbytes());
    const bool cut = p.n_threads > 1 && lines.segments > 1 && lines.count < 2 * p.n_threads;
    const std::int64_t chunks = chunks_for(cut ? lines.units() : lines.count, bytes, p.n_threads);
    plan.chunks(Stage::compute) = chunks;
    if (!cut) return;
    plan.chunks(Stage::prepare) = chunks;
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(double);
}

void run_running(const Step &step, const Slice &slice) noexcept {
    const ops::Reduction rows = rows_of(step.node->src[0]->layout);
    const Lines lines(rows);
    // There may be any number of empty rows.
    if (lines.length == 0) return;
    const LineReader reader(step, rows, slice.simd);
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
    {{.op = Op::cumsum, .name = "cumsum", .plan = plan_always<plan_running>}, run_running},
};

}  // namespace

const std::span<const CpuKernel> kernels::running_sums = table;

}  // namespace tensorlib::core
