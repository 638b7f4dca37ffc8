// Looks for the first node whose result is not finite, step after step, while a graph is computed (tl_graph_set_check_finite).
//
// A NaN is reported wherever it is. An infinity is reported where it appears, in a result none of whose operands has one: what is made of
// an infinity may well be infinite, and masks are -inf. So those of leafs, of diag_mask_inf and of an infinite fill are taken for meant.
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

    // Of leafs that are read. Throws Error(invalid_argument), naming leaf, element and value, for the first NaN.
    void check_leafs();
    // Of what a step that is done has written. Throws Error(invalid_argument), naming operation, result, element, value and operands.
    void check(const Step &step);

private:
    // A value that is not finite and where it stands; position below 0: there is none.
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
