// out_prod_id: sums of outer products, for each expert over its own columns.
//
// A block of 256 threads makes a tile of 64 x 64 of an expert's matrix, each thread 4 x 4 of it: rows x + 16 i, columns
// y + 16 j. It reads all indices, 256 at a time, lists the columns of its expert in their order (a vote per warp), and
// loads these into shared memory, 8 at a time. Sums therefore have one order, and an expert's columns reach no other
// expert's. Indices are read once for each tile, from the L2 cache. The list holds addresses, so their divisions are
// done once per index, not once per element.
//
//   shared      2 x 8 x 64 floats, 2 x 256 addresses and 8 counts: 8,224 bytes
//   registers   16 sums, 4 and 4 factors
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/launch.hpp"
#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr int threads = 256, warps = threads / static_cast<int>(device::warp_size);
constexpr int side = 16, tile = 64, per_thread = tile / side, depth = 8;

struct Operand {
    device::View view;
    DType type;

    __device__ const char *column(std::int64_t u, std::int64_t t) const { return view.at(u % view.ne[1], t, 0); }

    template <bool f32>
    __device__ float at(const char *column, std::int64_t i) const {
        const char *p = column + i * view.nb[0];
        if constexpr (f32) return *reinterpret_cast<const float *>(p);
        return device::load_element(type, p);
    }
};

struct Shared {
    float a[depth][tile], b[depth][tile];
    const char *a_columns[threads], *b_columns[threads];  // of this expert's columns among 256 indices
    int counts[warps];
};

// Lists this expert's columns among the 256 indices starting with `first`; returns their number.
__device__ int list_columns(Shared &shared, const Operand &a, const Operand &b, const device::Numbers &ids, std::int64_t first,
                            std::int64_t n_slots, std::int64_t expert, std::int64_t experts, bool notes) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const std::int64_t slot = first + thread, t = slot / ids.view.ne[0], u = slot - t * ids.view.ne[0];
    const bool mine = slot < n_slots && ids.at(u, t, 0, experts, notes, ops::no_expert) == expert;
    const unsigned votes = __ballot_sync(device::all_lanes, mine);
    if (lane == 0) shared.counts[warp] = __popc(votes);
    __syncthreads();
    int place = __popc(votes & ((1u << lane) - 1)), count = 0;
    for (int w = 0; w < warps; w++) {
        if (w < warp) place += shared.counts[w];
        count += shared.counts[w];
    }
    if (mine) {
        shared.a_columns[place] = a.column(u, t);
        shared.b_columns[place] = b.column(u, t);
    }
    __syncthreads();
    return count;
}

template <bool f32>
__global__ void __launch_bounds__(threads) out_prod_id(Operand a, Operand b, device::Numbers ids, float *c, std::int64_t N, std::int64_t M,
                                                       std::int64_t experts, std::int64_t n_slots) {
    Shared &shared = *device::shared_memory<Shared>();
    const int thread = static_cast<int>(threadIdx.x), x = thread % side, y = thread / side;
    const std::int64_t n0 = std::int64_t{blockIdx.x} * tile;
    // Indices are checked even if there are no experts or elements.
    for (std::int64_t expert = blockIdx.z; expert < max(experts, std::int64_t{1}); expert += gridDim.z) {
        for (std::int64_t m0 = std::int64_t{blockIdx.y} * tile; m0 < max(M, std::int64_t{1}); m0 += std::int64_t{gridDim.y} * tile) {
            const bool notes = n0 == 0 && m0 == 0 && expert == 0;
            float sum[per_thread][per_thread] = {};
            for (std::int64_t first = 0; first < n_slots; first += threads) {
                const int count = list_columns(shared, a, b, ids, first, n_slots, expert, experts, notes);
                for (int k0 = 0; k0 < count; k0 += depth) {
                    for (int part = thread; part < depth * tile; part += threads) {
                        const int k = part / tile, i = part % tile;
                        const bool valid = k0 + k < count;
                        shared.a[k][i] = valid && n0 + i < N ? a.at<f32>(shared.a_columns[k0 + k], n0 + i) : 0.0f;
                        shared.b[k][i] = valid && m0 + i < M ? b.at<f32>(shared.b_columns[k0 + k], m0 + i) : 0.0f;
                    }
                    __syncthreads();
#pragma unroll
                    for (int k = 0; k < depth; k++) {
                        float from_a[per_thread], from_b[per_thread];
#pragma unroll
                        for (int i = 0; i < per_thread; i++) {
                            from_a[i] = shared.a[k][x + i * side];
                            from_b[i] = shared.b[k][y + i * side];
                        }
#pragma unroll
                        for (int j = 0; j < per_thread; j++) {
#pragma unroll
                            for (int i = 0; i < per_thread; i++) sum[i][j] = fmaf(from_a[i], from_b[j], sum[i][j]);
                        }
                    }
                    // The next iteration overwrites the tiles and, after the last of them, the list.
                    __syncthreads();
                }
            }
            if (expert >= experts) continue;
            for (int j = 0; j < per_thread; j++) {
                const std::int64_t m = m0 + y + j * side;
                for (int i = 0; i < per_thread; i++) {
                    const std::int64_t n = n0 + x + i * side;
                    if (n < N && m < M) c[n + N * (m + M * expert)] = sum[i][j];
                }
            }
        }
    }
}

const char *refuse_unless_f32(const Problem &p) noexcept {
    const bool f32 = p.node.src[0]->layout.type == DType::f32 && p.node.src[1]->layout.type == DType::f32;
    return f32 ? nullptr : "not f32";
}

template <bool f32>
cudaError_t launch_tiles(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t n_slots = step.node->src[2]->layout.n_elements();
    if (step.node->layout.n_elements() == 0 && n_slots == 0) return cudaSuccess;
    const auto tiles = [](std::int64_t n) { return std::max<std::int64_t>((n + tile - 1) / tile, 1); };
    const dim3 grid(static_cast<unsigned>(tiles(c.ne[0])), static_cast<unsigned>(std::min<std::int64_t>(tiles(c.ne[1]), 65535)),
                    static_cast<unsigned>(std::clamp<std::int64_t>(c.ne[2], 1, 65535)));
    return launch(stream, {step.kernel->name, grid, dim3(threads), sizeof(Shared)}, out_prod_id<f32>, Operand{device::view_of(a), a.type},
                  Operand{device::view_of(b), b.type}, device::numbers_of(step, 2), reinterpret_cast<float *>(c.data), c.ne[0], c.ne[1],
                  c.ne[2], n_slots);
}

constexpr CudaKernel table[] = {
    {{.op = Op::out_prod_id, .name = "out_prod_id_f32", .plan = plan_unless<refuse_unless_f32>}, launch_tiles<true>},
    {{.op = Op::out_prod_id, .name = "out_prod_id_any", .plan = plan_always<>}, launch_tiles<false>},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::outer_products_by_expert = table;

}  // namespace tensorlib::core
