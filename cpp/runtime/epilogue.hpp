// Epilogues: what a product's kernel may do to its result while that is in the cache, so that the next node needs no pass of its own.
//
// The plan fuses a product with the node that takes it where nobody else does: the product then runs at that node's place and writes its
// result. A row of the table is an operation; each backend has a function for it, and its kernels say whether they call that
// (Kernel::fuses). Results have the same bits as without: a product is rounded to F32 before the epilogue takes it.
#pragma once

#include "graph/graph.hpp"

#include <cstdint>
#include <vector>

namespace tensorlib::core {

struct EpilogueDef {
    Op op;
    // Which of node's operands is the other one, where the product can be computed into node's result; -1 where it cannot.
    int (*other_operand)(const Tensor &node, const Tensor &product) noexcept;
};

// Of the node, or nullptr.
const EpilogueDef *find_epilogue(Op op) noexcept;

// The products of a graph that their one reader may take over: for each node the index of the node that it runs in (its own where it is
// not fused), and for each node the index of the product that runs in it (its own where none does). Empty where there are none.
struct Fusions {
    std::vector<std::uint32_t> runs_in, product;

    bool any() const noexcept { return !runs_in.empty(); }
    bool is_fused(std::size_t i) const noexcept { return any() && runs_in[i] != i; }
    std::size_t product_of(std::size_t i) const noexcept { return any() ? product[i] : i; }
};

}  // namespace tensorlib::core
