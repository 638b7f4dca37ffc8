// The product of the fake cuBLASLt, as a kernel of the simulated GPU: each thread computes an element of c. The
// kernel also writes to its workspace, which reveals a workspace that is too small or shared.
#include "fake_cublaslt.hpp"

#include <cuda_runtime.h>

namespace {

__global__ void multiply(FakeProduct p) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < 128) static_cast<float *>(p.workspace)[i] = 0;
    if (i >= p.M * p.N * p.batch) return;
    const std::int64_t m = i % p.M, n = i / p.M % p.N, batch = i / p.M / p.N;
    const float *a = p.a + batch * p.a_batch_stride + m * p.a_stride, *b = p.b + batch * p.b_batch_stride + n * p.b_stride;
    float sum = 0;
    for (std::int64_t k = 0; k < p.K; k++) sum += a[k] * b[k];
    p.c[batch * p.c_batch_stride + n * p.c_stride + m] = sum;
}

}  // namespace

int fake_multiply(const FakeProduct &p) {
    const auto blocks = static_cast<unsigned>((p.M * p.N * p.batch + 255) / 256);
    return simt::launch("fake_cublaslt", multiply, dim3(blocks), dim3(256), 0, static_cast<cudaStream_t>(p.stream), p) == cudaSuccess ? 0
                                                                                                                                      : 14;
}
