// The gradients of the mask and the sinks of soft_max_ext and flash_attn_ext.
#pragma once

#include "gradients/value.hpp"

namespace tensorlib::core::gradients {

// From the gradient of scores {columns, rows, heads, batch}. The mask has the shape `ne`, and may have rows that were
// not read.
Value mask_gradient(const Value &scores, const Extents &ne, double max_bias);

// {heads}: a sink is a score without a value, whose weight is what the others leave. g: the gradient of the weights.
Value sinks_gradient(const Value &g, const Value &weights);

}  // namespace tensorlib::core::gradients
