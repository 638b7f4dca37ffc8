// Finds the first node whose result is not finite, step by step, while a graph is computed (tl_graph_set_check_finite).
//
// A NaN is always reported. An infinity is reported where it first appears: in a result none of whose operands has one.
// A result that is computed from an infinity may well be infinite, and masks are -inf. Infinities of leafs, of
// diag_mask_inf and of an infinite fill therefore count as intended.
#pragma once

#include "graph/graph.hpp"
#include "graph/tensor_set.hpp"
#include "runtime/backend.hpp"

#include <vector>

namespace tensorlib::core {

class FiniteCheck {
public:
    // For plans that run each node by itself.
    FiniteCheck(const Graph &graph, const Backend &backend);

    // Checks the leafs that are read. Throws Error(invalid_argument), naming leaf, element and value, for the first
    // NaN.
    void check_leafs();
    // Checks what a completed step has written. Throws Error(invalid_argument), naming operation, result, element,
    // value and operands.
    void check(const Step &step);

private:
    // A non-finite value and its position; a negative position means there is none.
    struct Found {
        std::int64_t position = -1;
        double value = 0;
    };
    struct Looked {
        Found nan, infinity;
    };
    Looked look(const TensorRef &t, DeviceMemory &memory);
    void look_at_row(const TensorRef &t, const std::byte *row, std::int64_t first, DeviceMemory &memory, Looked &looked);
    bool may_be_infinite(const Tensor &node, std::size_t index) const;
    void check_written(const Step &step, std::size_t index, const Tensor &t, const TensorRef &where);

    const Graph &graph_;
    const Backend &backend_;
    TensorSet indices_;
    std::vector<bool> infinite_nodes_, infinite_leafs_;  // by the memory's root: whether an infinity was seen there
    std::vector<std::byte> stage_;
    std::vector<float> values_;
};

}  // namespace tensorlib::core
