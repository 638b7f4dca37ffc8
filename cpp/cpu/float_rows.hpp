// Reads rows of operands as floats and writes rows of the result, for operations that take a row at a time. The step's
// prologue computes a row of the first operand just before it is read. The epilogue runs on each row as soon as it is
// complete.
#pragma once

#include "base/checked.hpp"
#include "cpu/programs.hpp"

#include <algorithm>
#include <optional>

namespace tensorlib::core {

// One thread's rows. Rows that are not contiguous floats are decoded into the thread's part of the workspace, and
// results of other types are made there. Rows of a large result are made there too, and then bypass the caches.
class FloatRows {
public:
    // Bytes for all threads.
    static std::size_t workspace(const Tensor &node, int n_threads) noexcept {
        return static_cast<std::size_t>(n_threads) * 2 * row_bytes(node);
    }
    // KernelPlan::may_overwrite: the first operand, if its rows lie as the result's do.
    static unsigned may_overwrite(const Tensor &node) noexcept {
        const Layout &a = node.src[0]->layout, &c = node.layout;
        return a.type == c.type && a.nb == c.nb ? 1 : 0;
    }

    // may_stream: false if making a row takes longer than loading its lines into the cache.
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
        // Rows that are not made in the result are made here.
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

    // Row `at` of the first operand, which has the result's shape. With a prologue, call it once for each row.
    const float *read(const RowIndex &at) noexcept {
        if (!prologue_) return read(a_, at, to(at));
        prologue_->row(at, 0, c_.ne[0]);
        return to(at);
    }
    // Row `at` of another operand of this length; valid until the next one is read.
    const float *read_other(const TensorRef &t, const RowIndex &at) const noexcept { return read(t, at, other_); }
    // Where the row of the result is made, which may be where read() put the row of the first operand.
    float *to(const RowIndex &at) const noexcept { return in_place_ ? reinterpret_cast<float *>(row_address(c_, at)) : row_; }
    // Writes row `at` of the result: (x - center) times factor. The row is then complete.
    void normalised(const float *x, float center, float factor, const RowIndex &at) noexcept {
        const auto normalise = simd_.norms.normalise;
        if (program_) {
            // The new values are still in the L1 cache.
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
    // Whether rows are always made in the result.
    bool in_place() const noexcept { return in_place_; }
    // Called when the row is complete.
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
    // Rows bypass the caches if they are whole lines, or long compared with a line, and short enough to stay in the L2
    // cache until they are complete. They do not if the result lies where an operand does, whose lines are in the
    // cache.
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
