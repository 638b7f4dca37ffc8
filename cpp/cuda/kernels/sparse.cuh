// What the kernels of sparse products share: which neurons are active, their list, and the sums of their rows.
//
//   list_active  one block of 256 threads: each takes a row of the weights, and the block's votes give the active ones
//                their positions
//   sum_slices   a thread owns an output of a column (or a run of 8 if weights are quantised): it adds the rows of a
//                slice of 128 of the list, each times its activation, in order. With few columns, slices are separate
//                blocks, whose partial sums add_slices adds up; with many, a thread goes through all of them
//
// Shared memory: 8 counts of warps. list_active is limited by reading scores in one block, some 2 us for 10,000 of one
// column. sum_slices is limited by reading the rows; neighbours read neighbouring elements.
#pragma once

#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/sparse.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core::sparse {

constexpr int list_threads = 256, list_warps = list_threads / static_cast<int>(device::warp_size);
constexpr std::int64_t slice = 128, few_columns = 8;

// Whether there is nothing to compute, and no index to check.
inline bool is_nothing(const Tensor &node) noexcept {
    return node.layout.n_elements() == 0 && !node.src[static_cast<std::size_t>(ops::sparse_operands_of(node.op).rows)];
}

// The neurons to which the weights' rows belong.
struct Neurons {
    device::Numbers numbers;
    bool numbered;
    std::int64_t count;

    // The neuron of a row, or -1 if its index is not above the previous one, or is no neuron's. Threads for which
    // `notes` is set record a fault.
    __device__ std::int64_t of(std::int64_t row, bool notes) const {
        if (!numbered) return row;
        const std::int64_t number = numbers.at(row, 0, 0, count, notes);
        if (row == 0 || number < 0) return number;
        const char *before = numbers.view.data + (row - 1) * numbers.view.nb[0];
        if (number > device::load_index(numbers.type, before)) return number;
        if (notes) device::note_fault(numbers.fault, numbers.operand, row);
        return -1;
    }
};

// Values {N, T}, of any float type.
struct Matrix {
    device::View view;
    DType type;
    __device__ float at(std::int64_t i, std::int64_t t) const { return device::load_element(type, view.at(t, 0, 0) + i * view.nb[0]); }
};
inline Matrix matrix_of(const TensorRef &t) noexcept { return {device::view_of(t), t.type}; }

// What decides which neurons are active, and their factors if those with factor 0 are left out.
struct Mask {
    Matrix tested, weights;
    bool tests, leaves_out_zeros;
    ops::SparseRule rule;

    __device__ bool active(std::int64_t neuron, std::int64_t t) const {
        if (tests && !rule.active(tested.at(neuron, t))) return false;
        return !leaves_out_zeros || weights.at(neuron, t) != 0;
    }
};

// The list, in a workspace: the count, then the rows.
struct List {
    std::int64_t *count, *rows;
    std::int64_t all;  // all rows
};
inline std::size_t list_bytes(std::int64_t rows) noexcept {
    return round_up(static_cast<std::size_t>(rows + 1) * sizeof(std::int64_t), 256);
}
inline List list_at(std::byte *workspace, std::int64_t rows) noexcept {
    auto *at = reinterpret_cast<std::int64_t *>(workspace);
    return {at, at + 1, rows};
}

cudaError_t launch_list(const Step &step, const CudaStream &stream, const Neurons &neurons, const Mask &mask, const List &list,
                        std::int64_t columns) noexcept;

// Sums into c [columns][K]; with few columns, partial sums in `partial`.
struct Sums {
    TensorRef a_t;
    Neurons neurons;
    Mask mask;  // which also has the factors
    List list;
    float *c, *partial;
    std::int64_t columns;
};
inline std::size_t partial_bytes(std::int64_t rows, std::int64_t columns, std::int64_t K) noexcept {
    return columns > few_columns ? 0 : static_cast<std::size_t>(ceil_div(rows, slice) * columns * K) * sizeof(float);
}
cudaError_t launch_sums(const Step &step, const CudaStream &stream, const Sums &sums) noexcept;

}  // namespace tensorlib::core::sparse
