// Gradients as graphs.
#pragma once

#include "graph/context.hpp"

#include <span>

namespace tensorlib::core::gradients {

// Appends to `context` the nodes that compute the gradients of ys, summed, with respect to each of wrt: grads[j] has wrt[j]'s shape, is
// F32 and contiguous, and zeros where nothing depends on wrt[j]. seeds: what the gradient of each y is, F32 of its shape; null, or empty
// for all, for 1 of a y of one element. Gradients flow along operands, not through memory that something else writes.
//
// Throws Error, and nothing is appended: invalid_argument (nothing to differentiate, a y without seed), type_mismatch, shape_mismatch,
// context_mismatch, unsupported (nodes without a rule, all of them named), out_of_memory.
void append(Context &context, std::span<Tensor *const> ys, std::span<Tensor *const> seeds, std::span<Tensor *const> wrt,
            std::span<Tensor *> grads);

// Whether gradients of y flow to t, along operands: where not, append() gives zeros.
bool reach(Tensor &y, const Tensor &t);

}  // namespace tensorlib::core::gradients
