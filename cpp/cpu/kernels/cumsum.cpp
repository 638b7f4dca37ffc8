// cumsum: a chunk is some rows; for a few long rows, some segments, for which the sums of all segments are taken first.
// The sum before a block is its row's sum up to there, as sum_rows has it. To get it, a segment need only be read.
// Contiguous rows of F32 are read in place, others by way of a block of floats.
//
// Integers are summed in I64 and F64 in F64, both in the order of ops::running_together.
#include "cpu/kernels/lines.hpp"

#include "math/numbers.hpp"

namespace tensorlib::core {

namespace {

// What plan_running() decides: whether a chunk is some segments.
bool is_cut(const Lines &lines, int n_threads) noexcept { return n_threads > 1 && lines.segments > 1 && lines.count < 2 * n_threads; }

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
    const bool cut = is_cut(lines, p.n_threads);
    const std::int64_t chunks = chunks_for(cut ? lines.units() : lines.count, bytes, p.n_threads);
    plan.chunks(Stage::compute) = chunks;
    if (!cut) return;
    plan.chunks(Stage::prepare) = chunks;
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(std::int64_t);
    static_assert(sizeof(double) == sizeof(std::int64_t));
}

// A chunk's segments.
Range units_of(const Step &step, const Slice &slice, const Lines &lines) noexcept {
    const std::int64_t S = lines.segments;
    const bool cut = step.plan.chunks(Stage::prepare) > 0;
    const Range part = part_of(cut ? lines.units() : lines.count, slice.chunk, step.plan.chunks(Stage::compute));
    return cut ? part : Range{part.begin * S, part.end * S};
}

void run_floats(const Step &step, const Slice &slice) noexcept {
    const ops::Reduction rows = rows_of(step.node->src[0]->layout);
    const Lines lines(rows);
    const LineReader reader(step, rows, slice.simd);
    auto *sums = reinterpret_cast<double *>(step.workspace);
    const std::int64_t S = lines.segments;
    const Range units = units_of(step, slice, lines);
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

// The sum of n numbers and of those before, which lie in the same segment. Stores before + each running sum unless `to`
// is null.
template <class N>
N run_of_numbers(std::int64_t n, const N *x, N before, N in_segment, N *to) noexcept {
    for (std::int64_t from = 0; from < n; from += ops::running_together) {
        const std::int64_t end = std::min<std::int64_t>(from + ops::running_together, n);
        const N base = math::Numbers<N>::add(before, in_segment);
        N sum = 0;
        for (std::int64_t i = from; i < end; i++) {
            sum = math::Numbers<N>::add(sum, x[i]);
            if (to) to[i] = math::Numbers<N>::add(base, sum);
        }
        in_segment = math::Numbers<N>::add(in_segment, sum);
    }
    return in_segment;
}

static_assert(line_block % ops::running_together == 0, "a block must not end within a run");

template <class N>
void run_numbers(const Step &step, const Slice &slice) noexcept {
    const ops::Reduction rows = rows_of(step.node->src[0]->layout);
    const Lines lines(rows);
    const ElementReader<N> reader(step, rows, slice.simd);
    auto *sums = reinterpret_cast<N *>(step.workspace);
    const std::int64_t S = lines.segments;
    const Range units = units_of(step, slice, lines);
    N before = 0;
    if (slice.stage == Stage::compute) {
        for (std::int64_t unit = units.begin - units.begin % S; unit < units.begin; unit++)
            before = math::Numbers<N>::add(before, sums[unit]);
    }
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        if (unit % S == 0) before = 0;
        N *to = reinterpret_cast<N *>(step.dst.data) + unit / S * lines.length;
        N in_segment = 0;
        reader.for_each_block(unit / S, lines.part_of_unit(unit), [&](std::int64_t from, std::int64_t n, const N *x) {
            in_segment = run_of_numbers<N>(n, x, before, in_segment, slice.stage == Stage::compute ? to + from : nullptr);
        });
        if (slice.stage == Stage::prepare) {
            sums[unit] = in_segment;
        } else {
            before = math::Numbers<N>::add(before, in_segment);
        }
    }
}

void run_running(const Step &step, const Slice &slice) noexcept {
    // There may be any number of empty rows.
    if (step.node->src[0]->layout.ne[0] == 0) return;
    switch (step.node->layout.type) {
        case DType::i64: return run_numbers<std::int64_t>(step, slice);
        case DType::f64: return run_numbers<double>(step, slice);
        default: return run_floats(step, slice);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::cumsum, .name = "cumsum", .plan = plan_always<plan_running>}, run_running},
};

}  // namespace

const std::span<const CpuKernel> kernels::running_sums = table;

}  // namespace tensorlib::core
