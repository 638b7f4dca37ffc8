// gather, add_id: elements, or rows to add, selected by index. Limited by memory.
//
//   gather     a thread owns an element of the result; neighbours read neighbouring indices, and a's elements where
//              these say
//   add_rows   a thread owns an element of the result
//
// An index outside a is recorded as a fault, and zeros replace its elements.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core {

namespace {

using device::Numbers;
using device::View;

// a has stride 0 in the gathered dimension, whose own stride and extent are `stride` and `extent`. T has an element's
// size.
template <class T>
__global__ void gather_elements(View a, std::int64_t stride, std::int64_t extent, Numbers indices, View c, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const char *from = a.at(index), *numbers = indices.view.at(index);
        auto *to = reinterpret_cast<T *>(c.at(index));
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const std::int64_t number = device::load_index(indices.type, numbers + i * indices.view.nb[0]);
            T value{};
            if (number >= 0 && number < extent) {
                value = *reinterpret_cast<const T *>(from + i * a.nb[0] + number * stride);
            } else {
                device::note_fault(indices.fault, indices.operand, row * c.ne[0] + i);
            }
            to[i] = value;
        });
    });
}

__global__ void add_rows(View a, DType a_type, View b, DType b_type, Numbers ids, View c, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const char *from = a.at(index);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const std::int64_t number = ids.at(index.i1, index.i2, 0, b.ne[1], i == 0);
            float sum = 0;
            if (number >= 0) {
                sum = device::Lane::add(device::load_element(a_type, from + i * a.nb[0]),
                                        device::load_element(b_type, b.at(number, 0, 0) + i * b.nb[0]));
            }
            device::store_element(a_type, to + i * c.nb[0], sum);
        });
    });
}

cudaError_t launch_gather(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const auto dim = static_cast<std::size_t>(attrs_of<ops::GatherAttrs>(*step.node).dim);
    View a = device::view_of(step.src[0]);
    const std::int64_t stride = a.nb[dim];
    a.nb[dim] = 0;
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    return with_word(traits(step.dst.type).size, [&](auto word) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, gather_elements<decltype(word)>, a, stride, a.ne[dim],
                      device::numbers_of(step, 1), device::view_of(step.dst), n_rows);
    });
}

cudaError_t launch_add_id(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const TensorRef &a = step.src[0], &b = step.src[1];
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_rows, device::view_of(a), a.type, device::view_of(b), b.type,
                  device::numbers_of(step, 2), device::view_of(step.dst), n_rows);
}

constexpr CudaKernel table[] = {
    {{.op = Op::gather, .name = "gather", .plan = plan_always<>}, launch_gather},
    {{.op = Op::add_id, .name = "add_rows", .plan = plan_always<>}, launch_add_id},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::gather = table;

}  // namespace tensorlib::core
