// repeat, concat, pad, pad_reflect_1d, roll, flip: moves elements as their Movement says (runtime/movement.hpp).
//
// A chunk is a range of the result's units, regardless of rows, so a few long rows are work for all threads. Limited by
// memory.
#include "cpu/kernels/layout.hpp"

#include "cpu/kernels/units.hpp"
#include "runtime/movement.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

using Source = Movement::Source;

// A part of a row of the result, which is the same for all rows with the same sources: units of one source starting
// with `first`, or zeros.
struct Segment {
    int source;  // -1: none
    std::int64_t first, n;
    std::int64_t index;  // of its first unit in the source
};

class Mover {
public:
    Mover(const Movement &movement, Sink &sink) noexcept : m_(movement), sink_(sink) {}

    // n units of the result, starting with flat position `at`.
    void run(std::int64_t at, std::int64_t n) noexcept {
        const Extents ne{m_.ne[0], m_.ne[1], m_.ne[2], m_.ne[3]};
        RowIndex row = row_index(ne, at / ne[0]);
        for (std::int64_t i0 = at % ne[0]; n > 0; i0 = 0) {
            const std::int64_t count = std::min(n, ne[0] - i0);
            find(row);
            if (count == ne[0]) {
                for (int s = 0; s < n_segments_; s++) put(segments_[s], segments_[s].index, segments_[s].n);
            } else {
                put_part(i0, i0 + count);
            }
            n -= count;
            if (++row.i1 < ne[1]) continue;
            row.i1 = 0;
            if (++row.i2 < ne[2]) continue;
            row.i2 = 0;
            row.i3++;
        }
    }

private:
    // Finds the sources' rows and the row's segments.
    void find(const RowIndex &row) noexcept {
        unsigned there = 0;
        for (int p = 0; p < m_.n_sources; p++) {
            from_[p] = m_.sources[p].row(row.i1, row.i2, row.i3);
            there |= from_[p] ? 1u << p : 0;
        }
        if (there == there_) return;
        there_ = there;
        n_segments_ = 0;
        for (std::int64_t i = 0; i < m_.ne[0]; i += segments_[n_segments_++].n) segments_[n_segments_] = segment_at(i);
    }
    Segment segment_at(std::int64_t i) const noexcept {
        std::int64_t zeros = m_.ne[0] - i;
        for (int p = 0; p < m_.n_sources; p++) {
            const Source &source = m_.sources[p];
            if (!from_[p]) continue;
            const std::int64_t j = source.index(0, i);
            if (repeats(source)) return {p, i, m_.ne[0] - i, j};
            if (j < source.extent[0]) return {p, i, std::min(m_.ne[0] - i, source.extent[0] - j), j};
            zeros = std::min(zeros, source.period[0] - j);  // until this one begins
        }
        return {-1, i, zeros, 0};
    }
    bool repeats(const Source &source) const noexcept { return source.period[0] < m_.ne[0]; }

    // Writes units [begin, end) of the row.
    void put_part(std::int64_t begin, std::int64_t end) noexcept {
        for (int s = 0; s < n_segments_; s++) {
            const Segment &segment = segments_[s];
            const std::int64_t from = std::max(begin, segment.first), to = std::min(end, segment.first + segment.n);
            if (from < to) put(segment, segment.index + from - segment.first, to - from);
        }
    }
    void put(const Segment &segment, std::int64_t index, std::int64_t n) noexcept {
        if (segment.source < 0) {
            sink_.zero(n * m_.unit);
            return;
        }
        const Source &source = m_.sources[segment.source];
        if (repeats(source)) {
            repeat(source, from_[segment.source], index % source.period[0], n);
        } else {
            copy(source, from_[segment.source] + index * source.nb[0], n);
        }
    }

    void copy(const Source &source, const std::byte *from, std::int64_t n) noexcept {
        if (source.nb[0] == m_.unit) fetch_row(sink_, from + source.nb[1], n * m_.unit);
        copy_units(sink_, from, source.nb[0], n, m_.unit);
    }

    // n units from index j of a source that has fewer, cyclically.
    void repeat(const Source &source, const std::byte *from, std::int64_t j, std::int64_t n) noexcept {
        const std::int64_t period = source.period[0];
        if (period == 1 && m_.unit <= 8) {
            fill_units(sink_, from, n, m_.unit);
            return;
        }
        if (period * m_.unit >= static_cast<std::int64_t>(shortest_stream)) {
            for (; n > 0; j = 0) {
                const std::int64_t count = std::min(n, period - j);
                copy(source, from + j * source.nb[0], count);
                n -= count;
            }
            return;
        }
        // A short source is first repeated into a pattern of some KiB, so that copies are long.
        const std::int64_t pattern = std::min(n, Sink::most / (period * m_.unit) * period), bytes = pattern * m_.unit;
        alignas(64) std::byte stage[Sink::most];
        std::byte *made = pattern < n ? stage : sink_.room(bytes);
        const std::int64_t whole = std::min(n, period), behind = std::min(whole, period - j);
        take_units(made, from + j * source.nb[0], source.nb[0], behind, m_.unit);
        take_units(made + behind * m_.unit, from, source.nb[0], whole - behind, m_.unit);
        for (std::int64_t has = period * m_.unit; has < bytes; has *= 2)
            std::memcpy(made + has, made, static_cast<std::size_t>(std::min(has, bytes - has)));
        if (pattern == n) return;
        for (; n > 0; n -= pattern) sink_.copy(made, std::min(pattern, n) * m_.unit);
    }

    const Movement &m_;
    Sink &sink_;
    const std::byte *from_[max_sources];
    unsigned there_ = ~0u;  // the sources that have the row that segments_ describes
    // Each source occurs at most twice, if it wraps around its end, and zeros once before each source and after the
    // last one.
    Segment segments_[4 * max_sources + 1];
    int n_segments_ = 0;
};

std::int64_t units_of(const Layout &l) noexcept { return l.n_elements() / traits(l.type).block_size; }

void plan_move(const Problem &p, KernelPlan &plan) noexcept { plan.chunks(Stage::compute) = move_chunks(p); }

void run_move(const Step &step, const Slice &slice) noexcept { run_move_stage(step, slice, Stage::compute); }

constexpr CpuKernel table[] = {
    {{.op = Op::repeat, .name = "move", .plan = plan_always<plan_move>}, run_move},
    {{.op = Op::concat, .name = "move", .plan = plan_always<plan_move>}, run_move},
    {{.op = Op::flip, .name = "move", .plan = plan_always<plan_move>}, run_move},
    {{.op = Op::pad, .name = "move", .plan = plan_always<plan_move>}, run_move},
    {{.op = Op::pad_reflect_1d, .name = "move", .plan = plan_always<plan_move>}, run_move},
    {{.op = Op::roll, .name = "move", .plan = plan_always<plan_move>}, run_move},
};

}  // namespace

std::int64_t move_chunks(const Problem &p) noexcept {
    const Layout &c = p.node.layout;
    return chunks_for(units_of(c), 2 * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

void run_move_stage(const Step &step, const Slice &slice, Stage stage) noexcept {
    const Range range = part_of(units_of(step.node->layout), slice.chunk, step.plan.chunks(stage));
    if (range.begin == range.end) return;
    const Movement movement = movement_of(step);
    Sink sink(step.dst.data + range.begin * movement.unit, slice.simd, streams(*step.node));
    Mover(movement, sink).run(range.begin, range.end - range.begin);
}

const std::span<const CpuKernel> kernels::layout = table;

}  // namespace tensorlib::core
