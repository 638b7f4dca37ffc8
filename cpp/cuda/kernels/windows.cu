// acc, set: copies a, then adds or stores b into a window of the copy. Limited by memory.
//
//   set_window   a thread owns a word of b: of 16 to 1 bytes if rows are contiguous and aligned to it, otherwise an
//                element
//   add_window   a thread owns an element of b
//
// No two of the window's elements share memory, so their order does not matter.
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/kernels/layout.hpp"
#include "cuda/launch.hpp"
#include "ops/window.hpp"

namespace tensorlib::core {

namespace {

using device::View;

// T: what a thread moves. A row has `units` of them, b.nb[0] bytes apart in b.
template <class T>
__global__ void set_window(View b, View window, std::int64_t units, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const char *from = b.row(row);
        auto *to = reinterpret_cast<T *>(window.row(row));
        device::for_each_unit(units, [&](std::int64_t i) { to[i] = *reinterpret_cast<const T *>(from + i * b.nb[0]); });
    });
}

__global__ void add_window(View b, DType b_type, View window, DType window_type, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const char *from = b.row(row);
        char *to = window.row(row);
        device::for_each_unit(b.ne[0], [&](std::int64_t i) {
            char *at = to + i * window.nb[0];
            const float sum = device::Lane::add(device::load_element(window_type, at), device::load_element(b_type, from + i * b.nb[0]));
            device::store_element(window_type, at, sum);
        });
    });
}

// The window as an operand.
TensorRef window_ref(const Step &step) noexcept {
    const ops::Window window = ops::window_of(*step.node);
    return {step.dst.type, window.layout.ne, window.layout.nb, step.dst.data + window.offset};
}

cudaError_t launch_set(const Step &step, const CudaStream &stream) noexcept {
    const cudaError_t copied = launch_move(step, stream);
    const Layout &b = step.node->src[1]->layout;
    const std::int64_t n_rows = b.n_rows();
    if (copied != cudaSuccess || n_rows == 0 || b.ne[0] == 0) return copied;
    const TensorRef window = window_ref(step);
    View from = device::view_of(step.src[1]);
    const std::size_t row_bytes = b.row_bytes();
    const bool words = b.rows_contiguous();
    const std::size_t size = words ? widest_word(step.src[1], window, row_bytes) : traits(b.type).size;
    if (words) from.nb[0] = static_cast<std::int64_t>(size);
    const auto units = static_cast<std::int64_t>(row_bytes / size);
    const device::RowGrid grid = device::row_grid(units, n_rows);
    return with_word(size, [&](auto word) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, set_window<decltype(word)>, from, device::view_of(window), units,
                      n_rows);
    });
}

cudaError_t launch_acc(const Step &step, const CudaStream &stream) noexcept {
    const cudaError_t copied = launch_move(step, stream);
    const Layout &b = step.node->src[1]->layout;
    const std::int64_t n_rows = b.n_rows();
    if (copied != cudaSuccess || n_rows == 0 || b.ne[0] == 0) return copied;
    const TensorRef window = window_ref(step);
    const device::RowGrid grid = device::row_grid(b.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_window, device::view_of(step.src[1]), b.type,
                  device::view_of(window), window.type, n_rows);
}

constexpr CudaKernel table[] = {
    {{.op = Op::acc, .name = "add_window", .plan = plan_always<>}, launch_acc},
    {{.op = Op::set, .name = "set_window", .plan = plan_always<>}, launch_set},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::windows = table;

}  // namespace tensorlib::core
