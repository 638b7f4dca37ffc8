// mul_mat for few columns, F32: limited by reading a once.
//
// A warp takes R rows of a and all N <= 8 columns of b; each of its lanes takes 16 bytes of a row at a time. That gives
// R x N sums per lane, which are then added over the lanes. b comes from the L1 cache: (R + N) / R bytes of it for each
// byte of a. R = 2 for N <= 2, and otherwise 4, keeps that below 3. Registers: R * N + 4 R + 4, at most 52 in addition
// to addresses.
//
// If there are too few rows to fill the device, the 8 warps of a block share the rows and add up through shared memory,
// R * N * 8 floats, in the order of warps. The shape alone decides, so every device gives identical bits.
#include "cuda/kernels/alignment.hpp"
#include "cuda/kernels/mul_mat.hpp"
#include "cuda/kernels/product.cuh"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

constexpr std::int64_t most_columns = 8;
constexpr int warps_per_block = 8;

// Below this many rows, a block's warps share them: 8 warps per block, 2 rows per warp, and 132 multiprocessors that
// need 4 blocks each to hide memory latency.
constexpr std::int64_t rows_that_fill = 8 * 2 * 132 * 4;

// One row's part of the sums: width floats of a and of each column of b.
template <class V, int R, int N>
__device__ void multiply_add(float (&sum)[R][N], const char *const (&a)[R], const char *b, std::int64_t b_stride, std::int64_t offset) {
    V from_a[R];
#pragma unroll
    for (int r = 0; r < R; r++) from_a[r] = device::load_vector<V>(a[r] + offset);
#pragma unroll
    for (int n = 0; n < N; n++) {
        const V from_b = device::load_vector<V>(b + n * b_stride + offset);
#pragma unroll
        for (int r = 0; r < R; r++) {
            if constexpr (sizeof(V) == sizeof(float4)) {
                sum[r][n] = fmaf(from_a[r].x, from_b.x, sum[r][n]);
                sum[r][n] = fmaf(from_a[r].y, from_b.y, sum[r][n]);
                sum[r][n] = fmaf(from_a[r].z, from_b.z, sum[r][n]);
                sum[r][n] = fmaf(from_a[r].w, from_b.w, sum[r][n]);
            } else {
                sum[r][n] = fmaf(from_a[r], from_b, sum[r][n]);
            }
        }
    }
}

// Shares: the warps that work on one group of rows, 1 or all of a block. V: float4 if rows are aligned to it, and float
// for the rest of a row, or for all of it.
template <class V, int N, int Shares>
__global__ void __launch_bounds__(warps_per_block * 32, N <= 2 ? 4 : 2) mul_mat_vec(Product p) {
    constexpr int R = N <= 2 ? 2 : 4;
    constexpr std::int64_t width = sizeof(V) / sizeof(float);
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const std::int64_t group = Shares == 1 ? std::int64_t{blockIdx.x} * warps_per_block + warp : std::int64_t{blockIdx.x};
    const std::int64_t first = group * R;
    const std::int64_t step = std::int64_t{Shares} * 32, start = Shares == 1 ? lane : warp * 32 + lane;
    const std::int64_t vectors = p.K / width;
    for (std::int64_t batch = blockIdx.z; batch < p.n_batches; batch += gridDim.z) {
        const char *a_slice = p.a_slice(batch), *b = p.b_slice(batch), *a[R];
        // Beyond the last row, the last one is repeated, and its sums are not stored.
#pragma unroll
        for (int r = 0; r < R; r++) a[r] = a_slice + min(first + r, p.M - 1) * p.a.nb[1];
        float sum[R][N] = {};
        if (first < p.M) {
#pragma unroll(N <= 2 ? 2 : 1)
            for (std::int64_t i = start; i < vectors; i += step) {
                multiply_add<V, R, N>(sum, a, b, p.b.nb[1], i * static_cast<std::int64_t>(sizeof(V)));
            }
            const std::int64_t k = vectors * width + start;
            if (k < p.K) multiply_add<float, R, N>(sum, a, b, p.b.nb[1], k * 4);
        }
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
            for (int n = 0; n < N; n++) sum[r][n] = device::warp_sum(sum[r][n]);
        }
        float *c = p.c_slice(batch) + first;
        if constexpr (Shares == 1) {
            if (lane == 0) {
#pragma unroll
                for (int r = 0; r < R; r++) {
#pragma unroll
                    for (int n = 0; n < N; n++) {
                        if (first + r < p.M) c[n * p.M + r] = sum[r][n];
                    }
                }
            }
        } else {
            auto *shared = device::shared_memory<float>();
            if (lane == 0) {
#pragma unroll
                for (int r = 0; r < R; r++) {
#pragma unroll
                    for (int n = 0; n < N; n++) shared[warp * R * N + r * N + n] = sum[r][n];
                }
            }
            __syncthreads();
            const int t = warp * 32 + lane;
            if (t < R * N && first + t / N < p.M) {
                float total = 0;
                for (int w = 0; w < warps_per_block; w++) total += shared[w * R * N + t];
                c[t % N * p.M + t / N] = total;
            }
            __syncthreads();
        }
    }
}

template <class V, int N>
cudaError_t launch_columns(const char *name, const Product &p, const CudaStream &stream) noexcept {
    constexpr int R = N <= 2 ? 2 : 4;
    const std::int64_t groups = (p.M + R - 1) / R;
    const dim3 block(32, warps_per_block);
    if (p.M * p.n_batches >= rows_that_fill) {
        const auto blocks = static_cast<unsigned>((groups + warps_per_block - 1) / warps_per_block);
        return launch(stream, {name, dim3(blocks, 1, grid_z(p.n_batches)), block}, mul_mat_vec<V, N, 1>, p);
    }
    const std::size_t shared = std::size_t{warps_per_block} * R * N * sizeof(float);
    return launch(stream, {name, dim3(static_cast<unsigned>(groups), 1, grid_z(p.n_batches)), block, shared},
                  mul_mat_vec<V, N, warps_per_block>, p);
}

template <class V>
cudaError_t launch_vectors(const char *name, const Product &p, const CudaStream &stream) noexcept {
    switch (p.N) {
        case 1: return launch_columns<V, 1>(name, p, stream);
        case 2: return launch_columns<V, 2>(name, p, stream);
        case 3: return launch_columns<V, 3>(name, p, stream);
        case 4: return launch_columns<V, 4>(name, p, stream);
        case 5: return launch_columns<V, 5>(name, p, stream);
        case 6: return launch_columns<V, 6>(name, p, stream);
        case 7: return launch_columns<V, 7>(name, p, stream);
        default: return launch_columns<V, 8>(name, p, stream);
    }
}

}  // namespace

const char *mul_mat::refuse_vec(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout;
    if (a.type != DType::f32 || b.type != DType::f32) return "not f32";
    if (!a.rows_contiguous() || !b.rows_contiguous()) return "rows are not contiguous";
    return b.ne[1] <= most_columns ? nullptr : "more than 8 columns";
}

cudaError_t mul_mat::launch_vec(const Step &step, const CudaStream &stream) noexcept {
    const Product p = product_of(step);
    const bool vectors = rows_aligned(step.src[0], 16) && rows_aligned(step.src[1], 16);
    return vectors ? launch_vectors<float4>(step.kernel->name, p, stream) : launch_vectors<float>(step.kernel->name, p, stream);
}

}  // namespace tensorlib::core
