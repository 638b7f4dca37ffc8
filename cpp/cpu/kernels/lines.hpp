// Rows that are read whole are cut into segments of fixed length. Segments are merged in order, so the result does not
// depend on the number of threads.
//
// A segment has 65536 elements: 256 KiB of floats, the least that is worth a second thread, and no more than fits in
// the L2 cache.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

constexpr std::int64_t line_block = simd::sum_block, line_segment = 64 * line_block;

// A tensor's rows, or all its elements in ne order as one row.
struct Lines {
    std::int64_t count, length, segments;

    Lines(const Layout &a, bool all) noexcept
        : count(all ? 1 : a.n_rows()),
          length(all ? a.n_elements() : a.ne[0]),
          segments(std::max<std::int64_t>(ceil_div(length, line_segment), 1)) {}
    // Segment s of row r is unit s + segments * r.
    std::int64_t units() const noexcept { return count * segments; }
    Range part_of_unit(std::int64_t unit) const noexcept {
        const std::int64_t begin = unit % segments * line_segment;
        return {begin, std::min(begin + line_segment, length)};
    }
};

// Reads their elements as floats.
class LineReader {
public:
    LineReader(const Step &step, bool all, const simd::SimdTable &simd, std::size_t operand = 0) noexcept
        : a_(step.src[operand]), simd_(simd), whole_rows_(!all || step.node->src[operand]->layout.contiguous()) {
        const Layout &a = step.node->src[operand]->layout;
        in_place_ = whole_rows_ && a_.type == DType::f32 && a.rows_contiguous();
        if (all && whole_rows_) a_ = {a_.type, {a.n_elements(), 1, 1, 1}, {traits(a_.type).size, 0, 0, 0}, a_.data};
    }

    // Whether read() returns a whole line in place.
    bool in_place() const noexcept { return in_place_; }

    // n elements of a line, starting with `from`; at most line_block unless they are in place. Returns them in
    // `buffer`, or in place.
    const float *read(std::int64_t line, std::int64_t from, std::int64_t n, float *buffer) const noexcept {
        if (in_place_) return reinterpret_cast<const float *>(row(line)) + from;
        if (whole_rows_) {
            load_row(a_, row(line), from, n, buffer, simd_);
            return buffer;
        }
        for (std::int64_t done = 0, count; done < n; done += count) {
            const std::int64_t at = (from + done) % a_.ne[0];
            count = std::min(n - done, a_.ne[0] - at);
            load_row(a_, row((from + done) / a_.ne[0]), at, count, buffer + done, simd_);
        }
        return buffer;
    }

    // Calls f(from, n, floats) for consecutive blocks of a part of a line.
    template <class F>
    void for_each_block(std::int64_t line, Range part, F f) const noexcept {
        alignas(64) float buffer[line_block];
        for (std::int64_t from = part.begin; from < part.end; from += line_block) {
            const std::int64_t n = std::min(line_block, part.end - from);
            f(from, n, read(line, from, n, buffer));
        }
    }

private:
    const std::byte *row(std::int64_t number) const noexcept { return row_address(a_, row_index(a_.ne, number)); }

    TensorRef a_;
    const simd::SimdTable &simd_;
    bool whole_rows_, in_place_;
};

}  // namespace tensorlib::core
