// The sizes of a recurrent operation, for its kernels. ops/recurrent.toml has the formulas.
#pragma once

#include "dtype/host_device.hpp"
#include "graph/tensor.hpp"

namespace tensorlib::core::ops {

struct Recurrent {
    // Each sequence has `tokens` tokens. A state has `rows` rows of `columns` elements for each head. The row is that of an element of the
    // result, except in rwkv_wkv6 and gated_linear_attn, whose columns are.
    std::int64_t tokens, sequences, heads, rows, columns;
    std::int64_t n_states = 1;
    bool results_are_rows = true;

    TL_HOST_DEVICE std::int64_t result_elements() const { return results_are_rows ? rows : columns; }
    TL_HOST_DEVICE std::int64_t results() const { return result_elements() * heads * tokens * sequences; }
    // Where elements are in the node: of the result of a token, and of a state, of which `slot` is the number.
    TL_HOST_DEVICE std::int64_t result_at(std::int64_t head, std::int64_t token, std::int64_t sequence) const {
        return result_elements() * (head + heads * (token + tokens * sequence));
    }
    TL_HOST_DEVICE std::int64_t state_at(std::int64_t head, std::int64_t sequence, std::int64_t slot) const {
        return results() + rows * columns * (head + heads * (sequence + sequences * slot));
    }
};
Recurrent recurrent(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
