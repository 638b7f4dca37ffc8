// Built-ins: each thread writes the value that it got.
#include "kernel_table.hpp"

namespace {

__device__ unsigned own_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void positions(float *p, float *, int) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    p[i] = static_cast<float>(i) + 0.5f;
}
// One warp; which exchange, by number.
__global__ void exchange(float *p, float *, int which) {
    const int lane = static_cast<int>(threadIdx.x);
    const float x = static_cast<float>(lane);
    constexpr unsigned all = 0xffffffffu;
    float got = -1;
    switch (which) {
        case 0: got = __shfl_sync(all, x, (lane + 5) % 32); break;
        case 1: got = __shfl_sync(all, x, 3, 8); break;
        case 2: got = __shfl_up_sync(all, x, 3); break;
        case 3: got = __shfl_down_sync(all, x, 3, 16); break;
        case 4: got = __shfl_xor_sync(all, x, 5); break;
        case 5: got = static_cast<float>(__shfl_xor_sync(all, static_cast<double>(lane), 1)); break;
        case 6: got = static_cast<float>(__shfl_down_sync(all, static_cast<long long>(lane), 1)); break;
        case 7: got = static_cast<float>(__ballot_sync(all, lane < 5)); break;
        case 8:
            got = static_cast<float>(__any_sync(all, lane == 9) + 2 * __all_sync(all, lane >= 0) + 4 * __all_sync(all, lane != 9));
            break;
        case 9: got = lane % 2 ? __shfl_sync(0xaaaaaaaau, x, 1) : __shfl_sync(0x55555555u, x, 2); break;
        case 10: got = __shfl_sync(all, x, 35); break;
    }
    p[lane] = got;
}
__global__ void arithmetic(float *p, float *q, int) {
    if (own_index() != 0) return;
    p[0] = static_cast<float>(__dp4a(0x01ff7f80, 0x02030405, 10));
    p[1] = __fmaf_rn(__ldg(q), 3.0f, 1.0f);
    p[2] = __uint_as_float(__float_as_uint(1.5f));
    p[3] = static_cast<float>(__float2int_rn(2.5f));
    p[4] = rsqrtf(4.0f);
    p[5] = static_cast<float>(min(3, 4) + max(3, 4) * 10);
    p[6] = min(1.0f, __uint_as_float(0x7fc00000u));
    p[7] = static_cast<float>(warpSize);
}

constexpr Kernel kernels[] = {KERNEL(positions), KERNEL(exchange), KERNEL(arithmetic)};

}  // namespace

std::span<const Kernel> builtin_kernels() { return kernels; }
