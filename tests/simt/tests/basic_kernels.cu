#include "basic_kernels.hpp"

namespace {

__device__ __forceinline__ float square(float x) { return x * x; }

__global__ void add_rows(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ to, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) to[i] = square(a[i]) + b[i];
}

__global__ void block_sum(const float *from, float *to, int n) {
    auto *partial = static_cast<float *>(simt::shared_memory());
    float sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) sum += from[static_cast<int>(blockIdx.x) * n + i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (unsigned w = 0; w < blockDim.x / 32; w++) total += partial[w];
        to[blockIdx.x] = total;
    }
}

__global__ void many_barriers(int *to, int rounds) {
    for (int i = 0; i < rounds; i++) __syncthreads();
    to[threadIdx.x] = rounds;
}

__global__ void many_reads(const float *from, float *to, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += from[i];
    to[threadIdx.x] = sum;
}

}  // namespace

cudaError_t launch_add_rows(const float *a, const float *b, float *to, int n, cudaStream_t stream) {
    return simt::launch("add_rows", add_rows, dim3((static_cast<unsigned>(n) + 127) / 128), dim3(128), 0, stream, a, b, to, n);
}
cudaError_t launch_block_sum(const float *from, float *to, int n, int rows, cudaStream_t stream) {
    return simt::launch("block_sum", block_sum, dim3(static_cast<unsigned>(rows)), dim3(128), 16, stream, from, to, n);
}
cudaError_t launch_many_barriers(int *to, int rounds, cudaStream_t stream) {
    return simt::launch("many_barriers", many_barriers, 1, 256, 0, stream, to, rounds);
}
cudaError_t launch_many_reads(const float *from, float *to, int n, cudaStream_t stream) {
    return simt::launch("many_reads", many_reads, 1, 256, 0, stream, from, to, n);
}
