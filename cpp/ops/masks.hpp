// The mask and the sinks of soft_max_ext and flash_attn_ext.
#pragma once

#include "ops/op_def.hpp"

#include <span>

namespace tensorlib::core::ops {

// The values that are masked: `rows` rows of `columns` elements for each head of each batch. The pointers are null if
// the operand is left out.
struct Masked {
    const Tensor *mask, *sinks;
    std::int64_t columns, rows, heads, batches;
};

// Whether n heads or batches serve `of` others evenly; none serve none.
bool divides(std::int64_t n, std::int64_t of) noexcept;

// Fails if the mask does not fit, if max_bias is above 0 without a mask, or if there is not one sink for each head.
void check_mask(const OpFacts &def, std::span<Tensor *const> src, const Masked &masked, double max_bias);

}  // namespace tensorlib::core::ops
