// get_rows, set_rows: rows selected by index. Limited by memory.
//
//   get_plain, get_blocks   a thread owns an element, or a run of 8 of a quantised type
//   set_plain, set_units    a thread owns an element of each slice, or a unit of 1 to 16 bytes if nothing is converted,
//                           and takes b's rows in their order: of two rows with one index, the later one stays
//
// An invalid index is recorded as a fault, and nothing is read or written for it: the result has zeros there.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

using device::Numbers;
using device::numbers_of;
using device::View;

// c has a's type, or is F32.
__global__ void get_plain(View a, DType a_type, Numbers numbers, View c, DType c_type, std::int64_t n_rows, int size) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const std::int64_t number = numbers.at(index.i1, index.i2, index.i3, a.ne[1], i == 0);
            if (number < 0) {
                for (int k = 0; k < size; k++) to[i * size + k] = 0;
                return;
            }
            device::convert(a_type, a.at(number, index.i2, index.i3) + i * a.nb[0], c_type, to + i * size);
        });
    });
}

__global__ void get_blocks(View a, DType a_type, Numbers numbers, View c, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        auto *to = reinterpret_cast<float *>(c.at(index));
        device::for_each_unit(c.ne[0] / run_length, [&](std::int64_t run) {
            const std::int64_t number = numbers.at(index.i1, index.i2, index.i3, a.ne[1], run == 0);
            float values[run_length] = {};
            if (number >= 0) device::decode_run(a_type, a.at(number, index.i2, index.i3), run, values);
#pragma unroll
            for (int i = 0; i < run_length; i++) to[run * run_length + i] = values[i];
        });
    });
}

// Calls set(to, from, row of b) for the rows that exist, slice by slice.
template <class Set>
__device__ void for_each_pair(const View &a, const View &b, const Numbers &numbers, std::int64_t n_slices, bool notes, Set set) {
    device::for_each_row(n_slices, [&](std::int64_t slice) {
        const std::int64_t i2 = slice % b.ne[2], i3 = slice / b.ne[2];
        for (std::int64_t r = 0; r < b.ne[1]; r++) {
            const std::int64_t number = numbers.at(r, i2 % numbers.view.ne[1], i3 % numbers.view.ne[2], a.ne[1], notes);
            if (number >= 0) set(a.at(number, i2, i3), b.at(r, i2, i3), r + b.ne[1] * slice);
        }
    });
}

__global__ void set_plain(View a, DType a_type, View b, DType b_type, Numbers numbers, std::int64_t n_slices) {
    device::for_each_unit(b.ne[0], [&](std::int64_t i) {
        for_each_pair(a, b, numbers, n_slices, i == 0, [&](char *to, const char *from, std::int64_t row) {
            if (!device::convert(b_type, from + i * b.nb[0], a_type, to + i * a.nb[0])) {
                device::note_fault(numbers.fault, 1, row * b.ne[0] + i);
            }
        });
    });
}

// T: what a thread moves of each row. A row has `units` of them, contiguous on both sides.
template <class T>
__global__ void set_units(View a, View b, Numbers numbers, std::int64_t units, std::int64_t n_slices) {
    device::for_each_unit(units, [&](std::int64_t i) {
        for_each_pair(a, b, numbers, n_slices, i == 0, [&](char *to, const char *from, std::int64_t) {
            reinterpret_cast<T *>(to)[i] = reinterpret_cast<const T *>(from)[i];
        });
    });
}

const char *refuse_blocks(const Problem &p) noexcept { return device::is_plain(p.node.src[0]->layout.type) ? nullptr : "a has blocks"; }

cudaError_t launch_get_plain(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, get_plain, device::view_of(step.src[0]), step.src[0].type,
                  numbers_of(step, 1), device::view_of(step.dst), step.dst.type, n_rows, static_cast<int>(traits(step.dst.type).size));
}

cudaError_t launch_get_blocks(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(step.dst.ne[0] / run_length, n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, get_blocks, device::view_of(step.src[0]), step.src[0].type,
                  numbers_of(step, 1), device::view_of(step.dst), n_rows);
}

const char *refuse_unless_units(const Problem &p) noexcept {
    const Layout &a = p.node.layout, &b = p.node.src[1]->layout;
    if (a.type != b.type) return "types differ";
    return a.rows_contiguous() && b.rows_contiguous() ? nullptr : "rows are not contiguous";
}

const char *refuse_conversion_to_blocks(const Problem &p) noexcept {
    const bool plain = device::is_plain(p.node.layout.type) && device::is_plain(p.node.src[1]->layout.type);
    return plain ? nullptr : "a conversion from or to a format with blocks";
}

cudaError_t launch_set_plain(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &b = step.src[1];
    const std::int64_t n_slices = b.ne[2] * b.ne[3];
    if (n_slices == 0 || b.ne[0] == 0 || b.ne[1] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(b.ne[0], n_slices);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, set_plain, device::view_of(step.dst), step.dst.type,
                  device::view_of(b), b.type, numbers_of(step, 2), n_slices);
}

cudaError_t launch_set_units(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &b = step.src[1];
    const std::int64_t n_slices = b.ne[2] * b.ne[3];
    const std::size_t row_bytes = step.node->layout.row_bytes();
    if (n_slices == 0 || row_bytes == 0 || b.ne[1] == 0) return cudaSuccess;
    return with_word(widest_word(step.dst, b, row_bytes), [&](auto word) {
        const auto units = static_cast<std::int64_t>(row_bytes / sizeof word);
        const device::RowGrid grid = device::row_grid(units, n_slices);
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, set_units<decltype(word)>, device::view_of(step.dst),
                      device::view_of(b), numbers_of(step, 2), units, n_slices);
    });
}

constexpr CudaKernel table[] = {
    {{.op = Op::get_rows, .name = "get_rows_plain", .plan = plan_unless<refuse_blocks>}, launch_get_plain},
    {{.op = Op::get_rows, .name = "get_rows_blocks", .plan = plan_always<>}, launch_get_blocks},
    {{.op = Op::set_rows, .name = "set_rows_units", .plan = plan_unless<refuse_unless_units>}, launch_set_units},
    {{.op = Op::set_rows, .name = "set_rows_plain", .plan = plan_unless<refuse_conversion_to_blocks>}, launch_set_plain},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::rows = table;

}  // namespace tensorlib::core
