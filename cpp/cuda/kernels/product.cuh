// What the mul_mat kernels share on the device.
#pragma once

#include "cuda/device/device.cuh"

#include <algorithm>

namespace tensorlib::core {

// The operands of c[m, n, i2, i3] = sum over k of a[k, m, i2 / r2, i3 / r3] * b[k, n, i2, i3] as a kernel's argument. A
// block's z selects the products of the batch, i2 + i3 * X.
struct Product {
    device::View a, b;
    float *c;  // contiguous
    std::int64_t M, N, K;
    std::int64_t r2, r3;  // consecutive slices of b that share one of a
    std::int64_t n_batches;

    __device__ const char *a_slice(std::int64_t batch) const { return a.at(0, batch % b.ne[2] / r2, batch / b.ne[2] / r3); }
    __device__ const char *b_slice(std::int64_t batch) const { return b.at(0, batch % b.ne[2], batch / b.ne[2]); }
    __device__ float *c_slice(std::int64_t batch) const { return c + batch * M * N; }
};

inline Product product_of(const Step &step) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    // An empty result has no slices to share.
    const std::int64_t r2 = b.ne[2] / std::max<std::int64_t>(a.ne[2], 1), r3 = b.ne[3] / std::max<std::int64_t>(a.ne[3], 1);
    return {device::view_of(a), device::view_of(b), reinterpret_cast<float *>(c.data), c.ne[0], c.ne[1], a.ne[0], r2, r3,
            c.ne[2] * c.ne[3]};
}

// A block's z runs over the batch, in steps of the grid.
inline unsigned grid_z(std::int64_t n_batches) noexcept { return static_cast<unsigned>(std::min<std::int64_t>(n_batches, 65535)); }

}  // namespace tensorlib::core
