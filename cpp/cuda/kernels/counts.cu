// count_equal: a thread compares elements in steps of the grid, and a warp adds up its threads' counts and adds them to
// the result. Integer sums do not depend on the order. Limited by memory.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

template <class Format>
__device__ bool equal_as(const char *a, const char *b) {
    if constexpr (device::is_plain_v<Format>) {
        const auto &x = *reinterpret_cast<const typename Format::Block *>(a), &y = *reinterpret_cast<const typename Format::Block *>(b);
        if constexpr (Format::kind == Kind::floating && sizeof x < sizeof(double)) {
            float left, right;
            Format::decode(x, &left);
            Format::decode(y, &right);
            return left == right;
        } else {
            return x == y;
        }
    }
    return false;
}

__device__ bool equal(DType type, const char *a, const char *b) {
    switch (type) {
#define TL_DTYPE(name, id, Format) \
    case DType::name: return equal_as<Format>(a, b);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return false;
}

__global__ void count_equal(device::View a, device::View b, DType type, std::uint64_t *count, std::int64_t n) {
    long long mine = 0;
    device::for_each_unit(n, [&](std::int64_t i) {
        const RowIndex row = a.index(i / a.ne[0]);
        const std::int64_t at = i % a.ne[0];
        mine += equal(type, a.at(row) + at * a.nb[0], b.at(row) + at * b.nb[0]) ? 1 : 0;
    });
    mine = device::warp_sum(mine);
    if (threadIdx.x % device::warp_size == 0 && mine > 0) device::atomic_add(count, static_cast<std::uint64_t>(mine));
}

// Enough blocks to fill any device; each adds to the sum only once.
constexpr std::int64_t most_blocks = 4096;

cudaError_t launch_count(const Step &step, const CudaStream &stream) noexcept {
    const cudaError_t error = cudaMemsetAsync(step.dst.data, 0, sizeof(std::uint64_t), stream.stream);
    const std::int64_t n = step.node->src[0]->layout.n_elements();
    if (error != cudaSuccess || n == 0) return error;
    const auto blocks = static_cast<unsigned>(std::min(ceil_div(n, device::threads_per_block), most_blocks));
    return launch(stream, {step.kernel->name, dim3(blocks), dim3(device::threads_per_block)}, count_equal, device::view_of(step.src[0]),
                  device::view_of(step.src[1]), step.src[0].type, reinterpret_cast<std::uint64_t *>(step.dst.data), n);
}

constexpr CudaKernel table[] = {
    {{.op = Op::count_equal, .name = "count_equal", .plan = plan_always<>}, launch_count},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::counts = table;

}  // namespace tensorlib::core
