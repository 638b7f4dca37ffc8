// scatter_add: copies a, then adds the elements of b to the elements that indices select. Limited by memory.
//
//   scatter_add  a thread owns an element of b's shape without the dimension, and adds all elements along that
//                dimension in order. No two threads add to one element, so the sums' bits are always equal; neighbours
//                read neighbouring elements of b (for dimension 0, each its own row)
//
// I32, I64 and F64 are added as they are, other types in F32. An index outside a is recorded as a fault, and nothing is
// added for it.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/layout.hpp"
#include "cuda/launch.hpp"
#include "math/numbers.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

namespace tensorlib::core {

namespace {

using device::Numbers;
using device::View;

// b has the shape of the threads' elements; the dimension's extent and stride are separate.
struct Along {
    std::int64_t n, b_stride, c_stride, extent, index_stride, n_indices;
};

template <class E>
__global__ void scatter_add(View b, DType b_type, Along along, Numbers indices, std::int64_t dim, View c, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = b.index(row);
        const std::int64_t *ne = indices.view.ne, *nb = indices.view.nb;
        const RowIndex repeated{index.i1 % ne[1], index.i2 % ne[2], index.i3 % ne[3]};
        device::for_each_unit(b.ne[0], [&](std::int64_t i) {
            const char *from = b.at(index) + i * b.nb[0], *numbers = indices.view.at(repeated) + i % ne[0] * nb[0];
            char *to = c.at(index) + i * c.nb[0];
            for (std::int64_t j = 0; j < along.n; j++) {
                const std::int64_t at = j % along.n_indices, number = device::load_index(indices.type, numbers + at * along.index_stride);
                if (number >= 0 && number < along.extent) {
                    E &sum = *reinterpret_cast<E *>(to + number * along.c_stride);
                    sum = math::Numbers<E>::add(sum, device::load_as_number<E>(b_type, from + j * along.b_stride));
                } else {
                    std::int64_t places[4] = {i % ne[0], repeated.i1, repeated.i2, repeated.i3};
                    std::int64_t extents[4] = {ne[0], ne[1], ne[2], ne[3]};
                    places[dim] = at;
                    extents[dim] = along.n_indices;
                    device::note_fault(indices.fault, indices.operand,
                                       places[0] + extents[0] * (places[1] + extents[1] * (places[2] + extents[2] * places[3])));
                }
            }
        });
    });
}

cudaError_t launch_scatter(const Step &step, const CudaStream &stream) noexcept {
    const cudaError_t copied = launch_move(step, stream);
    if (copied != cudaSuccess || step.node->src[1]->layout.n_elements() == 0) return copied;
    const std::int64_t dim = attrs_of<ops::ScatterAddAttrs>(*step.node).dim;
    View b = device::view_of(step.src[1]), sums = device::view_of(step.dst);
    Numbers indices = device::numbers_of(step, 2);
    const Along along{b.ne[dim], b.nb[dim], sums.nb[dim], sums.ne[dim], indices.view.nb[dim], indices.view.ne[dim]};
    b.ne[dim] = 1;
    indices.view.ne[dim] = 1;
    const std::int64_t rows = b.ne[1] * b.ne[2] * b.ne[3];
    const device::RowGrid grid = device::row_grid(b.ne[0], rows);
    return ops::visit_number(step.dst.type, [&]<class E>(E) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, scatter_add<E>, b, step.src[1].type, along, indices, dim, sums,
                      rows);
    });
}

constexpr CudaKernel table[] = {{{.op = Op::scatter_add, .name = "scatter_add", .plan = plan_always<>}, launch_scatter}};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::scatter = table;

}  // namespace tensorlib::core
