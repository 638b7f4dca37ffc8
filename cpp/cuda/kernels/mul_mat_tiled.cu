// mul_mat for many columns, F32, through tiles in shared memory: used where cuBLASLt is not, and for any strides.
//
// A block of 16 x 16 threads makes a tile of BM x BN of c, each thread BM/16 x BN/16 of it: rows x + 16 i of a, columns
// y + 16 j of b. Tiles of a and b, 16 deep in k, lie in shared memory as they do in memory, along k, in rows of 16 +
// 4 floats. There are two stages of them: one is used while the other is copied (cp.async).
//
//   shared    2 stages x (BM + BN) x 20 floats = 40,960 bytes for 128 x 128, 20,480 for 64 x 64: no opt-in needed
//   banks     8 lanes read 16 bytes each of rows x, x + 1, ...: 20 x mod 32 = 0, 20, 8, 28, 16, 4, 24, 12, all
//             different
//   registers 64 sums, 4 float4 of a and one of b: 84 and addresses; two blocks a multiprocessor have 128
//   per 4 k   24 loads of 16 bytes feed 256 multiply-adds a thread: a third of what shared memory could deliver
//
// Zeros are loaded beyond the edges, so the inner loop needs no bounds. k is summed in order, which gives identical
// bits everywhere.
#include "cuda/kernels/alignment.hpp"
#include "cuda/kernels/mul_mat.hpp"
#include "cuda/kernels/product.cuh"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

constexpr int depth = 16, row_floats = depth + 4, side = 16;
constexpr int threads = side * side;

// How an operand is loaded into shared memory: 16 bytes along k at a time, or single floats of any strides, with
// neighbouring lanes along k, or along the rows if these are contiguous.
enum class Load { vectors, along_k, along_rows };

// Loads the operand's rows that start with `rows`, of which n_rows are left, and k in [k0, k0 + 16), into a stage.
template <int Rows, bool Vectors>
__device__ void load_tile(float *tile, [[maybe_unused]] Load how, const char *rows, const device::View &v, int n_rows, std::int64_t k0,
                          std::int64_t K, int thread) {
    if constexpr (Vectors) {
        // K is a multiple of 4, so a vector is either inside or outside. Outside, nothing is read, but the address is
        // valid.
        const int row = thread / (depth / 4), k = thread % (depth / 4) * 4;
        const char *from = rows + row * v.nb[1] + (k0 + k) * 4;
#pragma unroll
        for (int i = 0; i < Rows; i += threads / (depth / 4)) {
            const bool valid = row + i < n_rows && k0 + k < K;
            device::copy_async<16>(tile + (row + i) * row_floats + k, valid ? from + i * v.nb[1] : rows, valid);
        }
    } else {
        for (int part = thread; part < Rows * depth; part += threads) {
            const int row = how == Load::along_rows ? part % Rows : part / depth, k = how == Load::along_rows ? part / Rows : part % depth;
            const bool valid = row < n_rows && k0 + k < K;
            device::copy_async<4>(tile + row * row_floats + k, valid ? rows + row * v.nb[1] + (k0 + k) * v.nb[0] : rows, valid);
        }
    }
}

// Vectors: both operands are read as vectors. Three versions are used: 128 x 128 and 64 x 64 with vectors, 64 x 64
// without.
template <int BM, int BN, bool Vectors>
__global__ void __launch_bounds__(threads, 2) mul_mat_tiled(Product p, Load load_a, Load load_b) {
    constexpr int TM = BM / side, TN = BN / side;
    constexpr int stage_floats = (BM + BN) * row_floats;
    auto *stages = device::shared_memory<float>();
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), thread = y * side + x;
    const std::int64_t m0 = std::int64_t{blockIdx.x} * BM;
    const std::int64_t n_tiles = (p.K + depth - 1) / depth;
    for (std::int64_t batch = blockIdx.z; batch < p.n_batches; batch += gridDim.z) {
        for (std::int64_t n0 = std::int64_t{blockIdx.y} * BN; n0 < p.N; n0 += std::int64_t{gridDim.y} * BN) {
            const char *a = p.a_slice(batch) + m0 * p.a.nb[1], *b = p.b_slice(batch) + n0 * p.b.nb[1];
            const int rows_left = static_cast<int>(min(p.M - m0, std::int64_t{BM}));
            const int columns_left = static_cast<int>(min(p.N - n0, std::int64_t{BN}));
            float sum[TM][TN] = {};
            const auto load = [&](std::int64_t t) {
                float *stage = stages + t % 2 * stage_floats;
                load_tile<BM, Vectors>(stage, load_a, a, p.a, rows_left, t * depth, p.K, thread);
                load_tile<BN, Vectors>(stage + BM * row_floats, load_b, b, p.b, columns_left, t * depth, p.K, thread);
            };
            load(0);
            device::copy_async_commit();
            for (std::int64_t t = 0; t < n_tiles; t++) {
                if (t + 1 < n_tiles) load(t + 1);
                // A group for each tile, even an empty one: then all groups but the newest are needed now.
                device::copy_async_commit();
                device::copy_async_wait<1>();
                __syncthreads();
                const float *stage = stages + t % 2 * stage_floats;
                const float *rows = stage + x * row_floats, *columns = stage + (BM + y) * row_floats;
#pragma unroll 1
                for (int k = 0; k < depth; k += 4) {
                    // Half of a's rows at a time: all of them would take 32 registers too many.
#pragma unroll
                    for (int half = 0; half < TM; half += TM / 2) {
                        float4 from_a[TM / 2];
#pragma unroll
                        for (int i = 0; i < TM / 2; i++) {
                            from_a[i] = device::load_vector<float4>(rows + (half + i) * side * row_floats + k);
                        }
#pragma unroll
                        for (int j = 0; j < TN; j++) {
                            const auto from_b = device::load_vector<float4>(columns + j * side * row_floats + k);
#pragma unroll
                            for (int i = 0; i < TM / 2; i++) {
                                float &s = sum[half + i][j];
                                s = fmaf(from_a[i].x, from_b.x, s);
                                s = fmaf(from_a[i].y, from_b.y, s);
                                s = fmaf(from_a[i].z, from_b.z, s);
                                s = fmaf(from_a[i].w, from_b.w, s);
                            }
                        }
                    }
                }
                // The next iteration's load overwrites the stage.
                __syncthreads();
            }
            float *c = p.c_slice(batch) + n0 * p.M + m0;
#pragma unroll
            for (int j = 0; j < TN; j++) {
                const int n = y + j * side;
#pragma unroll
                for (int i = 0; i < TM; i++) {
                    const int m = x + i * side;
                    if (m < rows_left && n < columns_left) c[n * p.M + m] = sum[i][j];
                }
            }
        }
    }
}

Load load_of(const TensorRef &t) noexcept {
    if (t.nb[0] == sizeof(float)) return t.ne[0] % 4 == 0 && rows_aligned(t, 16) ? Load::vectors : Load::along_k;
    return t.nb[1] < t.nb[0] ? Load::along_rows : Load::along_k;
}

template <int BM, int BN, bool Vectors>
cudaError_t launch_tiles(const Step &step, const Product &p, const CudaStream &stream) noexcept {
    const auto tiles = [](std::int64_t n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
    const dim3 grid(tiles(p.M, BM), std::min(tiles(p.N, BN), 65535u), grid_z(p.n_batches));
    const std::size_t shared = std::size_t{2} * (BM + BN) * row_floats * sizeof(float);
    return launch(stream, {step.kernel->name, grid, dim3(side, side), shared}, mul_mat_tiled<BM, BN, Vectors>, p, load_of(step.src[0]),
                  load_of(step.src[1]));
}

// Large tiles read less (128 x 128: a and b once for every 128 columns and rows); small ones fill the device sooner.
// Large tiles are used from as many as a large device has multiprocessors. The shape alone decides, so every device
// gives identical bits.
constexpr std::int64_t large_tiles_that_fill = 132;

}  // namespace

const char *mul_mat::refuse_tiled(const Problem &p) noexcept {
    for (const Tensor *t : p.node.sources()) {
        if (t->layout.type != DType::f32) return "not f32";
    }
    return nullptr;
}

cudaError_t mul_mat::launch_tiled(const Step &step, const CudaStream &stream) noexcept {
    const Product p = product_of(step);
    const auto tiles = [](std::int64_t n) { return (n + 127) / 128; };
    const bool vectors = load_of(step.src[0]) == Load::vectors && load_of(step.src[1]) == Load::vectors;
    if (!vectors) return launch_tiles<64, 64, false>(step, p, stream);
    if (tiles(p.M) * tiles(p.N) * p.n_batches >= large_tiles_that_fill) return launch_tiles<128, 128, true>(step, p, stream);
    return launch_tiles<64, 64, true>(step, p, stream);
}

}  // namespace tensorlib::core
