// Rows of an operand as floats and rows of the result as they are made, for operations that take a row at a time. The step's prologue makes
// a row of the first operand just before it is read; what follows the operation runs on each row as soon as it is there.
#pragma once

#include "base/checked.hpp"
#include "cpu/programs.hpp"

#include <algorithm>
#include <optional>

namespace tensorlib::core {

// One thread's. Rows that are not floats side by side are decoded into its part of the workspace, and results that are none are made there;
// so are those of a large result, which go past the caches from there.
class FloatRows {
public:
    // Bytes of all threads' parts.
    static std::size_t workspace(const Tensor &node, int n_threads) noexcept {
        return static_cast<std::size_t>(n_threads) * 2 * row_bytes(node);
    }
    // KernelPlan::may_overwrite: the first operand, if its rows lie as the result's do.
    static unsigned may_overwrite(const Tensor &node) noexcept {
        const Layout &a = node.src[0]->layout, &c = node.layout;
        return a.type == c.type && a.nb == c.nb ? 1 : 0;
    }

    // may_stream: not where making a row takes longer than its lines take to come into the cache.
    FloatRows(const Step &step, const Slice &slice, bool may_stream = true) noexcept
        : simd_(slice.simd),
          a_(step.src[0]),
          c_(step.dst),
          streams_(may_stream && streams_rows(step)),
          in_place_(is_row_of_floats(c_) && !streams_) {
        const std::size_t row = row_bytes(*step.node);
        std::byte *own = step.workspace + static_cast<std::size_t>(slice.thread) * 2 * row;
        row_ = reinterpret_cast<float *>(own);
        other_ = reinterpret_cast<float *>(own + row);
        // Where every row is made that is not made in the result.
        const TensorRef one{DType::f32, c_.ne, {sizeof(float), 0, 0, 0}, own};
        if (!step.prologue.empty())
            prologue_.emplace(step.prologue, in_place_ ? c_ : one, slice.simd, slice.scratch.prologue, ProgramRun::How{});
        if (step.program.empty()) return;
        program_.emplace(step.program, c_, slice.simd, slice.scratch.program, ProgramRun::How{.stream = streams_});
        if (streams_) program_->read_instead(c_.data, one);
    }
    ~FloatRows() {
        if (streams_) simd_.copies.stream_end();
    }
    FloatRows(const FloatRows &) = delete;
    FloatRows &operator=(const FloatRows &) = delete;

    // Row `at` of the first operand, which is of the result's shape. With a prologue to be called once for each row.
    const float *read(const RowIndex &at) noexcept {
        if (!prologue_) return read(a_, at, to(at));
        prologue_->row(at, 0, c_.ne[0]);
        return to(at);
    }
    // Row `at` of another one, as long; until the next one is read.
    const float *read_other(const TensorRef &t, const RowIndex &at) const noexcept { return read(t, at, other_); }
    // Where the row of the result is to be made, which may be where read() put that of the first operand.
    float *to(const RowIndex &at) const noexcept { return in_place_ ? reinterpret_cast<float *>(row_address(c_, at)) : row_; }
    // Row `at` of the result is x, less center, times factor; and it is done.
    void normalised(const float *x, float center, float factor, const RowIndex &at) noexcept {
        const auto normalise = simd_.norms.normalise;
        if (program_) {
            // What is made is still in the first-level cache.
            for (std::int64_t i = 0, n = c_.ne[0]; i < n; i += tile_floats) {
                const std::int64_t count = std::min(tile_floats, n - i);
                normalise(count, x + i, center, factor, to(at) + i, false);
                program_->row(at, i, count);
            }
        } else if (streams_) {
            normalise(c_.ne[0], x, center, factor, reinterpret_cast<float *>(row_address(c_, at)), true);
        } else {
            normalise(c_.ne[0], x, center, factor, to(at), false);
            done(at);
        }
    }
    // Whether that is in the result, always.
    bool in_place() const noexcept { return in_place_; }
    // It is made.
    void done(const RowIndex &at) noexcept {
        if (program_) {
            program_->row(at, 0, c_.ne[0]);
        } else if (streams_) {
            simd_.copies.stream(c_.ne[0] * static_cast<std::int64_t>(sizeof(float)), row_, row_address(c_, at));
        } else if (!in_place_) {
            store_row(c_, row_address(c_, at), 0, c_.ne[0], row_, simd_);
        }
    }

private:
    static std::size_t row_bytes(const Tensor &node) noexcept {
        return round_up(static_cast<std::size_t>(node.layout.ne[0]) * sizeof(float), 64);
    }
    // Rows that are whole lines, or long beside a line, and short enough to stay in the second-level cache until they are done; unless the
    // result lies where an operand does, whose lines are in the cache.
    static bool streams_rows(const Step &step) noexcept {
        const std::size_t row = step.dst.nb[1], line = 64;
        const auto is_result = [&](const TensorRef &t) { return t.data == step.dst.data; };
        return is_row_of_floats(step.dst) && streams(*step.result) && (row >= shortest_stream || row % line == 0) && row <= longest_row &&
               !std::ranges::any_of(step.src, is_result) && !std::ranges::any_of(step.prologue.inputs, is_result);
    }
    static constexpr std::size_t longest_row = std::size_t{256} << 10;

    const float *read(const TensorRef &t, const RowIndex &at, float *buffer) const noexcept {
        const std::byte *row = row_address(t, at);
        if (is_row_of_floats(t)) return reinterpret_cast<const float *>(row);
        load_row(t, row, 0, t.ne[0], buffer, simd_);
        return buffer;
    }

    const simd::SimdTable &simd_;
    const TensorRef &a_, &c_;
    const bool streams_, in_place_;
    float *row_, *other_;
    std::optional<ProgramRun> prologue_, program_;
};

}  // namespace tensorlib::core
