// mul_mat with quantised weights, decoded on the way and multiplied in F32. Correct for every type and any strides of
// b, but fast for few columns only.
//
// A warp takes a row of a and up to N = 8 columns of b. Its lanes take runs of 8 elements, lane, lane + 32, ..., decode
// each once, and multiply it by the corresponding elements of each column. That gives N sums per lane, which are added
// over the lanes. More columns are taken 8 at a time, and a is decoded again each time.
#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/kernels/mul_mat.hpp"
#include "cuda/kernels/product.cuh"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

constexpr int warps_per_block = 8;
constexpr int columns = 8;

// Four blocks per multiprocessor: 64 registers. Without that number, ptxas uses 48 for sm_120 and spills.
__global__ void __launch_bounds__(warps_per_block * 32, 4) mul_mat_blocks(Product p, DType a_type, DType b_type) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t m = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y;
    if (m >= p.M) return;
    for (std::int64_t batch = blockIdx.z; batch < p.n_batches; batch += gridDim.z) {
        const char *row = p.a_slice(batch) + m * p.a.nb[1];
        for (std::int64_t n0 = std::int64_t{blockIdx.y} * columns; n0 < p.N; n0 += std::int64_t{gridDim.y} * columns) {
            const char *b = p.b_slice(batch) + n0 * p.b.nb[1];
            const int width = static_cast<int>(min(p.N - n0, std::int64_t{columns}));
            float sum[columns] = {};
            for (std::int64_t run = lane; run < p.K / run_length; run += 32) {
                float weights[run_length];
                device::decode_run(a_type, row, run, weights);
#pragma unroll
                for (int n = 0; n < columns; n++) {
                    if (n >= width) continue;
                    const char *from = b + n * p.b.nb[1] + run * run_length * p.b.nb[0];
#pragma unroll
                    for (int i = 0; i < run_length; i++) {
                        sum[n] = fmaf(weights[i], device::load_element(b_type, from + i * p.b.nb[0]), sum[n]);
                    }
                }
            }
            float *c = p.c_slice(batch) + n0 * p.M + m;
#pragma unroll
            for (int n = 0; n < columns; n++) {
                const float total = device::warp_sum(sum[n]);
                if (lane == 0 && n < width) c[n * p.M] = total;
            }
        }
    }
}

}  // namespace

const char *mul_mat::refuse_blocks(const Problem &p) noexcept {
    return device::is_plain(p.node.src[0]->layout.type) ? "a has no blocks" : nullptr;
}

cudaError_t mul_mat::launch_blocks(const Step &step, const CudaStream &stream) noexcept {
    const Product p = product_of(step);
    const auto rows = static_cast<unsigned>((p.M + warps_per_block - 1) / warps_per_block);
    const auto groups = static_cast<unsigned>(std::min<std::int64_t>((p.N + columns - 1) / columns, 65535));
    return launch(stream, {step.kernel->name, dim3(rows, groups, grid_z(p.n_batches)), dim3(32, warps_per_block)}, mul_mat_blocks, p,
                  step.src[0].type, step.src[1].type);
}

}  // namespace tensorlib::core
