// sum, sum_rows, mean and cumsum: rows are cut into segments of fixed length, whose sums are merged in their order, so that results do not
// depend on how many threads there are. sum takes all elements in ne order as one row.
//
// A segment is of 64 blocks of the leaf kernel: 256 KiB of floats, the least that is worth a second thread, and no more than the
// second-level cache. In it and between segments F64 is added up. Rows of F32 that lie side by side are read where they are, others by way
// of a block of floats.
#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr std::int64_t block = leaf::sum_block, segment = 64 * block;

// What is summed: rows, or all elements as one.
struct Lines {
    std::int64_t count, length, segments;

    Lines(const Layout &a, bool all) noexcept
        : count(all ? 1 : a.n_rows()),
          length(all ? a.n_elements() : a.ne[0]),
          segments(std::max<std::int64_t>(ceil_div(length, segment), 1)) {}
    std::int64_t units() const noexcept { return count * segments; }
    Range part(std::int64_t number) const noexcept { return {number * segment, std::min((number + 1) * segment, length)}; }
};

// Their elements as floats.
class LineReader {
public:
    LineReader(const Step &step, bool all, const leaf::LeafTable &leaf) noexcept
        : a_(step.src[0]), leaf_(leaf), one_row_(!all || step.node->src[0]->layout.contiguous()) {
        const std::size_t size = traits(a_.type).size;
        in_place_ = one_row_ && a_.type == DType::f32 && step.node->src[0]->layout.rows_contiguous();
        // One long row, of which a dimension may have any stride where it has one element.
        if (all && one_row_) a_ = {a_.type, {a_.ne[0] * a_.ne[1] * a_.ne[2] * a_.ne[3], 1, 1, 1}, {size, 0, 0, 0}, a_.data};
    }

    bool in_place() const noexcept { return in_place_; }

    // n elements of a line from one on: where they lie, or in `buffer`.
    const float *read(std::int64_t line, std::int64_t from, std::int64_t n, float *buffer) const noexcept {
        if (in_place_) return reinterpret_cast<const float *>(row(line)) + from;
        if (one_row_) {
            load_row(a_, row(line), from, n, buffer, leaf_);
            return buffer;
        }
        // Rows one after the other.
        for (std::int64_t done = 0, count; done < n; done += count) {
            const std::int64_t at = (from + done) % a_.ne[0];
            count = std::min(n - done, a_.ne[0] - at);
            load_row(a_, row((from + done) / a_.ne[0]), at, count, buffer + done, leaf_);
        }
        return buffer;
    }

private:
    const std::byte *row(std::int64_t number) const noexcept { return row_address(a_, row_index(a_.ne, number)); }

    TensorRef a_;
    const leaf::LeafTable &leaf_;
    bool one_row_, in_place_;
};

// ---- sum, sum_rows, mean: a chunk is some segments. Where rows have several, their sums lie in the workspace, and come together at the
// end.

bool is_of_all(const Tensor &node) noexcept { return node.op == Op::sum; }

void plan_sums(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const Lines lines(a, is_of_all(p.node));
    plan.chunks(Stage::compute) = chunks_for(lines.units(), static_cast<std::int64_t>(a.nbytes()), p.n_threads);
    if (lines.segments == 1) return;
    plan.workspace = static_cast<std::size_t>(lines.units()) * sizeof(double);
    plan.chunks(Stage::combine) = chunks_for(lines.count, static_cast<std::int64_t>(plan.workspace), p.n_threads);
}

double segment_sum(const LineReader &reader, std::int64_t line, Range part, const leaf::LeafTable &leaf) noexcept {
    alignas(64) float buffer[block];
    if (reader.in_place()) return leaf.sums.sum(part.end - part.begin, reader.read(line, part.begin, part.end - part.begin, buffer));
    double sum = 0;
    for (std::int64_t from = part.begin; from < part.end; from += block) {
        const std::int64_t n = std::min(block, part.end - from);
        sum += leaf.sums.sum(n, reader.read(line, from, n, buffer));
    }
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
    const LineReader reader(step, all, slice.leaf);
    const Range units = part_of(lines.units(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const double sum = segment_sum(reader, unit / lines.segments, lines.part(unit % lines.segments), slice.leaf);
        if (lines.segments > 1) {
            sums[unit] = sum;
        } else {
            store_sum(step, lines, unit, sum);
        }
    }
}

// ---- cumsum: a chunk is some rows; where there are few and long ones, some segments, for which the sums of all segments are taken first.

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

// Block by block; returns the segment's sum. No `to`: that alone.
double run_segment(const LineReader &reader, std::int64_t line, Range part, double before, float *to, bool stream,
                   const leaf::LeafTable &leaf) noexcept {
    alignas(64) float given[block], made[block];
    double sum = 0;
    for (std::int64_t from = part.begin; from < part.end; from += block) {
        const std::int64_t n = std::min(block, part.end - from);
        const float *x = reader.read(line, from, n, given);
        float *result = !to ? nullptr : stream ? made : to + from;
        sum += leaf.sums.running(n, x, before + sum, result);
        if (stream) leaf.copies.stream(n * static_cast<std::int64_t>(sizeof(float)), made, to + from);
    }
    return sum;
}

void run_running(const Step &step, const Slice &slice) noexcept {
    const Lines lines(step.node->src[0]->layout, false);
    const LineReader reader(step, false, slice.leaf);
    auto *sums = reinterpret_cast<double *>(step.workspace);
    const std::int64_t S = lines.segments;
    const bool cut = step.plan.chunks(Stage::prepare) > 0;
    const Range part = part_of(cut ? lines.units() : lines.count, slice.chunk, step.plan.chunks(Stage::compute));
    const Range units = cut ? part : Range{part.begin * S, part.end * S};
    if (slice.stage == Stage::prepare) {
        for (std::int64_t unit = units.begin; unit < units.end; unit++)
            sums[unit] = run_segment(reader, unit / S, lines.part(unit % S), 0, nullptr, false, slice.leaf);
        return;
    }
    const bool stream = streams(*step.node) && lines.length * static_cast<std::int64_t>(sizeof(float)) >= std::int64_t{shortest_stream};
    double before = 0;
    for (std::int64_t unit = units.begin - units.begin % S; unit < units.begin; unit++) before += sums[unit];
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        if (unit % S == 0) before = 0;
        float *to = reinterpret_cast<float *>(step.dst.data) + unit / S * lines.length;
        before += run_segment(reader, unit / S, lines.part(unit % S), before, to, stream, slice.leaf);
    }
    if (stream) slice.leaf.copies.stream_end();
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
