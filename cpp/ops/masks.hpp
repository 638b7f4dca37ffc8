// The mask and the sinks of soft_max_ext and flash_attn_ext.
#pragma once

#include "ops/op_def.hpp"

#include <span>

namespace tensorlib::core::ops {

// What is masked: rows of `columns`, `rows` of them for each head of each batch. Null where an operand is left out.
struct Masked {
    const Tensor *mask, *sinks;
    std::int64_t columns, rows, heads, batches;
};

// Fails unless the mask's shape fits, is there where max_bias is above 0, and sinks are one for each head.
void check_mask(const OpFacts &def, std::span<Tensor *const> src, const Masked &masked, double max_bias);

}  // namespace tensorlib::core::ops
