// Rows of an operand as floats and rows of the result as they are made, for operations that take a row at a time. The step's head makes a
// row of the first operand just before it is read; what follows the operation runs on each row as soon as it is there.
#pragma once

#include "base/checked.hpp"
#include "cpu/programs.hpp"

#include <optional>

namespace tensorlib::core {

// One thread's. Rows that are not floats side by side are decoded into its part of the workspace, and results that are none are made there.
class FloatRows {
public:
    // Bytes of all threads' parts.
    static std::size_t workspace(const Tensor &node, int n_threads) noexcept {
        return static_cast<std::size_t>(n_threads) * 2 * row_bytes(node);
    }
    // The result may lie on the first operand, where the two are alike.
    static unsigned overlaid(const Tensor &node) noexcept {
        const Layout &a = node.src[0]->layout, &c = node.layout;
        return a.type == c.type && a.nb == c.nb ? 1 : 0;
    }

    FloatRows(const Step &step, const Slice &slice) noexcept
        : leaf_(slice.leaf), a_(step.src[0]), c_(step.dst), in_place_(is_row_of_floats(c_)) {
        const std::size_t row = row_bytes(*step.node);
        std::byte *own = step.workspace + static_cast<std::size_t>(slice.thread) * 2 * row;
        row_ = reinterpret_cast<float *>(own);
        other_ = reinterpret_cast<float *>(own + row);
        if (!step.program.empty()) program_.emplace(step.program, c_, slice.leaf, ProgramRun::How{});
        // Every row to where to() says.
        const TensorRef one{DType::f32, c_.ne, {sizeof(float), 0, 0, 0}, own};
        if (!step.head.empty()) head_.emplace(step.head, in_place_ ? c_ : one, slice.leaf, ProgramRun::How{});
    }

    // Row `at` of the first operand, which is of the result's shape. To be called once for each row.
    const float *read(const RowIndex &at) noexcept {
        if (!head_) return read(a_, at, to(at));
        head_->row(at, 0, c_.ne[0]);
        return to(at);
    }
    // Row `at` of another one, as long; until the next one is read.
    const float *read_other(const TensorRef &t, const RowIndex &at) const noexcept { return read(t, at, other_); }
    // Where the row of the result is to be made, which may be where read() put that of the first operand.
    float *to(const RowIndex &at) const noexcept { return in_place_ ? reinterpret_cast<float *>(row_address(c_, at)) : row_; }
    // It is made.
    void done(const RowIndex &at) noexcept {
        if (!in_place_) store_row(c_, row_address(c_, at), 0, c_.ne[0], row_, leaf_);
        if (program_) program_->row(at, 0, c_.ne[0]);
    }

private:
    static std::size_t row_bytes(const Tensor &node) noexcept {
        return round_up(static_cast<std::size_t>(node.layout.ne[0]) * sizeof(float), 64);
    }
    const float *read(const TensorRef &t, const RowIndex &at, float *buffer) const noexcept {
        const std::byte *row = row_address(t, at);
        if (is_row_of_floats(t)) return reinterpret_cast<const float *>(row);
        load_row(t, row, 0, t.ne[0], buffer, leaf_);
        return buffer;
    }

    const leaf::LeafTable &leaf_;
    const TensorRef &a_, &c_;
    const bool in_place_;
    float *row_, *other_;
    std::optional<ProgramRun> head_, program_;
};

}  // namespace tensorlib::core
