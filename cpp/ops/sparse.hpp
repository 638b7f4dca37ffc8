// The rule that decides when a neuron is active. All backends share it.
#pragma once

#include "dtype/host_device.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core::ops {

struct SparseRule {
    enum class By : std::int32_t { score, magnitude, positive } by;
    float threshold;
    // Whether the tested value is itself a factor. A NaN is active then, because it must not be lost.
    bool of_itself;

    TL_HOST_DEVICE bool active(float s) const noexcept {
        if (s != s) return of_itself;
        switch (by) {
            case By::score: return s >= threshold;
            case By::magnitude: return (s < 0 ? -s : s) >= threshold;
            case By::positive: return s > 0;
        }
        return false;
    }
};

// The positions of a node's operands, and what its rule tests. `scores` and `rows` may be left out.
struct SparseOperands {
    int scores, rows;
};
// For mul_mat_sparse and axpy, and for sparse_ffn.
constexpr SparseOperands sparse_operands{2, 3}, ffn_operands{4, 5};
SparseOperands sparse_operands_of(Op op) noexcept;

SparseRule sparse_rule(const Tensor &node) noexcept;
// The number of neurons, of which `rows` selects some.
std::int64_t sparse_neurons(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
