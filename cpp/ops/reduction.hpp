// How an operation reduces its operand: which elements become which element of the result. Kernels of every device use
// it, so that they combine elements in the same order.
#pragma once

#include "graph/tensor.hpp"
#include "ops/reduced_state.hpp"

namespace tensorlib::core::ops {

// Some of a tensor's dimensions, in order. The first varies fastest.
struct DimList {
    int n = 0;
    std::int64_t ne[max_dims] = {1, 1, 1, 1};
    std::size_t nb[max_dims] = {};

    std::int64_t count() const noexcept { return ne[0] * ne[1] * ne[2] * ne[3]; }
    // The offset in bytes of an index that counts all elements.
    TL_HOST_DEVICE std::size_t offset(std::int64_t index) const noexcept {
        std::size_t bytes = 0;
        for (int d = 0; d < n; d++) {
            if (d == n - 1) return bytes + static_cast<std::size_t>(index) * nb[d];
            bytes += static_cast<std::size_t>(index % ne[d]) * nb[d];
            index /= ne[d];
        }
        return bytes;
    }
    // Whether consecutive elements are one `stride` apart.
    bool in_steps_of(std::size_t stride) const noexcept { return n == 0 || (n == 1 && nb[0] == stride); }

    // Joins the dimension to the last one if an index that counts the elements of both has one stride.
    void append(std::int64_t extent, std::size_t stride) noexcept;
};

// The elements of `a` that become one element of the result are a group. Dimensions of one element are in neither list.
struct Reduction {
    DimList kept, reduced;
    std::int64_t count, length;  // groups, and the elements of each
    // The elements of the dimensions before the first reduced one; 1 if that is the first.
    std::int64_t columns = 1;

    // `set` has a bit for each reduced dimension.
    Reduction(const Layout &a, unsigned set) noexcept;

    // Whether the elements of a group lie along the first dimension, otherwise groups do.
    bool along() const noexcept { return columns == 1; }

    // The elements of a group that are combined before their state joins those of others. The order of the elements
    // depends on it, so it follows from the shape alone.
    std::int64_t segment() const noexcept;
    std::int64_t segments() const noexcept;
};

constexpr unsigned all_dims = (1u << max_dims) - 1;

// What a reduction's attributes say.
struct ReducedDims {
    unsigned set;
    bool keep;
};
template <class A>
ReducedDims dims_in(const A &attrs) noexcept {
    unsigned set = 0;
    for (const std::int64_t d : attrs.dims.span()) set |= 1u << d;
    return {set == 0 ? all_dims : set, attrs.keep};
}
// For a node of an operation that has `dims`, and for sum_rows.
ReducedDims reduced_dims(const Tensor &node) noexcept;

inline Reduction reduction_of(const Tensor &node) noexcept { return {node.src[0]->layout, reduced_dims(node).set}; }

// The type in which elements of a type are reduced: F32, I32, I64 or F64. F32 is for F16 and BF16 too, I32 for smaller
// integers. Means, deviations and exponentials of integers are computed in F64.
DType computed_type(const ReducedResult &result, DType type) noexcept;

// cumsum in I64 and F64 adds this many elements one after another, and then these sums, so that kernels of all devices
// have the same bits.
constexpr int running_together = 16;

// The type of the result.
DType reduced_type(Op op, DType type) noexcept;

// What the operation is made of.
ReducedResult reduced_result(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
