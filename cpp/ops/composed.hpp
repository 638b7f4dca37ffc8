// What composed operations are made of: nodes that change shapes.
#pragma once

#include "ops/node_batch.hpp"

namespace tensorlib::core::ops {

// A tensor with another shape: a view if strides can express it, and of a contiguous copy otherwise. ne has 1 to 4
// extents and as many elements as t.
Tensor *shaped(NodeBatch &nodes, Tensor *t, std::span<const std::int64_t> ne);

// A tensor whose dimension i is dimension axes[i] of the result.
Tensor *permuted(NodeBatch &nodes, Tensor *t, const std::array<std::int64_t, max_dims> &axes);

// start, start + step, ..: n numbers.
Tensor *numbers(NodeBatch &nodes, double start, double step, std::int64_t n);

// Concatenates tensors, as many at a time as a node has operands.
Tensor *joined(NodeBatch &nodes, std::vector<Tensor *> parts, std::int64_t dim);

// Whether strides can express a's elements in the shape ne, which has as many (views.cpp).
bool can_reshape(const Layout &a, const Extents &ne) noexcept;

}  // namespace tensorlib::core::ops
