// When a neuron is active: the rule of sparse products, one for all backends.
#pragma once

#include "dtype/host_device.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core::ops {

struct SparseRule {
    enum class By : std::int32_t { score, magnitude, positive } by;
    float threshold;
    // Whether what is tested is itself multiplied by: then a NaN is active, as it must not be lost.
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

// Where the operands of a node are, and what its rule tests. `scores` and `rows` may be left out.
struct SparseOperands {
    int scores, rows;
};
// Of mul_mat_sparse and axpy, and of a block.
constexpr SparseOperands sparse_operands{2, 3}, ffn_operands{4, 5};
SparseOperands sparse_operands_of(Op op) noexcept;

SparseRule sparse_rule(const Tensor &node) noexcept;
// How many neurons there are, of which `rows` are some.
std::int64_t sparse_neurons(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
