// Gradients as graphs.
#pragma once

#include "graph/context.hpp"

#include <span>

namespace tensorlib::core::gradients {

// Appends to `context` the nodes that compute the gradients of the sum of ys with respect to each of wrt. grads[j] is
// contiguous F32 with wrt[j]'s shape, and zeros if nothing depends on wrt[j]. seeds: the gradient of each y, F32 of its
// shape; null, or an empty list for all, means 1 for a y of one element. Gradients flow along operands, not through
// memory that other nodes write.
//
// Throws Error, and appends nothing: invalid_argument (nothing to differentiate, a y without seed), type_mismatch,
// shape_mismatch, context_mismatch, unsupported (nodes without a rule, all of them named), out_of_memory.
void append(Context &context, std::span<Tensor *const> ys, std::span<Tensor *const> seeds, std::span<Tensor *const> wrt,
            std::span<Tensor *> grads);

// Whether gradients of y flow to t, along operands. If not, append() gives zeros.
bool reach(Tensor &y, const Tensor &t);

}  // namespace tensorlib::core::gradients
