// Interaction of the threads of a block: shared memory, barriers, warps.
#include "kernel_table.hpp"

namespace {

__device__ float *shared_floats() { return static_cast<float *>(simt::shared_memory()); }
__device__ unsigned own_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Each thread's value goes to the next one.
__global__ void pass_on(float *p, float *, int bad) {
    float *s = shared_floats();
    s[threadIdx.x] = static_cast<float>(threadIdx.x);
    if (!bad) __syncthreads();
    p[own_index()] = s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void reuse_without_barrier(float *p, float *, int bad) {
    float *s = shared_floats();
    s[threadIdx.x] = 1;
    __syncthreads();
    const float x = s[(threadIdx.x + 40) % blockDim.x];
    if (!bad) __syncthreads();
    s[threadIdx.x] = x;
    p[own_index()] = x;
}
__global__ void all_write_one(float *p, float *, int bad) {
    float *s = shared_floats();
    if (bad || threadIdx.x == 0) s[0] = 1;
    __syncthreads();
    p[own_index()] = s[0];
}
// Within a warp: __syncwarp orders, a shuffle does not.
__global__ void warp_passes_on(float *p, float *, int bad) {
    float *s = shared_floats() + threadIdx.x / 32 * 32;
    s[threadIdx.x % 32] = 1;
    if (bad) {
        (void)__shfl_sync(0xffffffffu, 1, 0);
    } else {
        __syncwarp();
    }
    p[own_index()] = s[(threadIdx.x + 1) % 32];
    __syncwarp();
    s[threadIdx.x % 32] = 2;
}
// __syncwarp does not order two warps.
__global__ void warps_pass_on(float *p, float *, int bad) {
    float *s = shared_floats();
    s[threadIdx.x] = 1;
    if (bad) {
        __syncwarp();
    } else {
        __syncthreads();
    }
    p[own_index()] = s[(threadIdx.x + 32) % blockDim.x];
}
__global__ void own_bytes(float *p, float *, int bad) {
    auto *s = static_cast<unsigned char *>(simt::shared_memory());
    s[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
    s[threadIdx.x] = static_cast<unsigned char>(s[threadIdx.x] + 1);
    const unsigned char x = s[bad && threadIdx.x == 5 ? 6 : threadIdx.x];
    s[threadIdx.x] = x;
    p[own_index()] = x;
}
__global__ void shared_atomics(float *p, float *, int bad) {
    auto *s = static_cast<int *>(simt::shared_memory());
    if (threadIdx.x == 0) s[0] = 0;
    __syncthreads();
    if (bad && threadIdx.x == 5) {
        s[0] = s[0] + 1;
    } else {
        atomicAdd(s, 1);
    }
    __syncthreads();
    p[own_index()] = static_cast<float>(s[0]);
}
__global__ void shared_unwritten(float *p, float *, int bad) {
    float *s = shared_floats();
    if (!bad || blockIdx.x == 0) s[threadIdx.x] = 1;
    __syncthreads();
    p[own_index()] = s[threadIdx.x];
}
__global__ void shared_past_end(float *p, float *, int bad) {
    float *s = shared_floats();
    s[threadIdx.x + (bad && threadIdx.x == 63 ? 1u : 0u)] = 1;
    p[own_index()] = 0;
}
__global__ void shared_before_start(float *p, float *, int bad) {
    float *s = shared_floats();
    if (threadIdx.x == 7) s[bad ? -1 : 0] = 1;
    p[own_index()] = 0;
}

// q[i] to shared memory; thread i waits for its own and reads its neighbour's after a barrier.
__global__ void copy_async(float *p, float *q, int bad) {
    float *s = shared_floats();
    simt::copy_async(s + threadIdx.x, q + own_index(), 4, 4);
    simt::copy_async_commit();
    simt::copy_async_wait(bad == 1 ? 1 : 0);
    if (bad != 2) __syncthreads();
    p[own_index()] = s[(threadIdx.x + 1) % blockDim.x];
}
// Two groups in flight; the older one has arrived when one is left. Of the last vector half is zero-filled.
__global__ void copy_async_groups(float *p, float *q, int bad) {
    float *s = shared_floats() + 8 * threadIdx.x;
    simt::copy_async(s, q, 16, 16);
    simt::copy_async_commit();
    simt::copy_async(s + 4, q, 16, 8);
    simt::copy_async_commit();
    simt::copy_async_wait(1);
    const float first = bad ? s[4] : s[0];
    simt::copy_async_wait(0);
    p[own_index()] = first + s[5] + s[6] + s[7];
}
__global__ void copy_async_misaligned(float *p, float *q, int bad) {
    simt::copy_async(shared_floats() + 4 * threadIdx.x, q + (bad ? 1 : 0), 16, 16);
    simt::copy_async_commit();
    simt::copy_async_wait(0);
    p[own_index()] = shared_floats()[4 * threadIdx.x];
}
__global__ void copy_async_past_end(float *p, float *q, int bad) {
    simt::copy_async(shared_floats() + 4 * threadIdx.x, q + 124, 16, 16);
    if (bad) simt::copy_async(shared_floats() + 4 * threadIdx.x, q + 128, 16, 4);
    simt::copy_async_commit();
    simt::copy_async_wait(0);
    p[own_index()] = shared_floats()[4 * threadIdx.x];
}

__global__ void barrier_after_exit(float *p, float *, int bad) {
    p[own_index()] = 0;
    if (bad && threadIdx.x == 40) return;
    __syncthreads();
}
__global__ void two_barriers(float *p, float *, int bad) {
    p[own_index()] = 0;
    if (bad && threadIdx.x == 40) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
__global__ void barrier_and_shuffle(float *p, float *, int bad) {
    p[own_index()] = 0;
    if (!(bad && threadIdx.x == 40)) (void)__shfl_sync(0xffffffffu, 1, 0);
    __syncthreads();
}
__global__ void shuffle_in_a_branch(float *p, float *, int bad) {
    int x = 0;
    if (threadIdx.x % 32 < 16) x = __shfl_sync(bad ? 0xffffffffu : 0x0000ffffu, 1, 0);
    p[own_index()] = static_cast<float>(x);
}
__global__ void masks_of_two_kinds(float *p, float *, int bad) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned mask = bad && lane == 3 ? 0x0000000fu : 0x0000ffffu;
    int x = 0;
    if (lane < 16) x = __any_sync(mask, 1);
    p[own_index()] = static_cast<float>(x);
}
__global__ void own_lane_missing(float *p, float *, int bad) {
    p[own_index()] = __all_sync(bad && threadIdx.x % 32 == 3 ? 0xfffffff7u : 0xffffffffu, 1) ? 1.0f : 0.0f;
}
__global__ void source_not_in_mask(float *p, float *, int bad) {
    int x = 0;
    if (threadIdx.x % 32 < 16) x = __shfl_sync(0x0000ffffu, 1, bad && threadIdx.x == 3 ? 20 : 2);
    p[own_index()] = static_cast<float>(x);
}
__global__ void wrong_width(float *p, float *, int bad) {
    p[own_index()] = __shfl_sync(0xffffffffu, 1.0f, 0, bad && threadIdx.x == 3 ? 12 : 16);
}
__global__ void two_collectives(float *p, float *, int bad) {
    int x = 0;
    if (bad && threadIdx.x == 3) {
        x = __any_sync(0xffffffffu, 1);
    } else {
        x = __shfl_sync(0xffffffffu, 1, 0);
    }
    p[own_index()] = static_cast<float>(x);
    if (bad && threadIdx.x == 3) (void)__shfl_sync(0xffffffffu, 1, 0);
}
__global__ void two_shuffles(float *p, float *, int bad) {
    p[own_index()] = bad && threadIdx.x == 3 ? __shfl_up_sync(0xffffffffu, 1.0f, 1) : __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}
__global__ void full_mask(float *p, float *, int) { p[own_index()] = __shfl_sync(0xffffffffu, 1.0f, 0); }
__global__ void overflow_stack(float *p, float *, int bad) {
    volatile float local[64];
    for (int i = 0; i < 64; i++) local[i] = static_cast<float>(bad);
    if (bad > 0) overflow_stack(p, nullptr, bad - 1);
    p[own_index()] = local[5];
}

constexpr Kernel kernels[] = {
    KERNEL(pass_on),
    KERNEL(reuse_without_barrier),
    KERNEL(all_write_one),
    KERNEL(warp_passes_on),
    KERNEL(warps_pass_on),
    KERNEL(own_bytes),
    KERNEL(shared_atomics),
    KERNEL(shared_unwritten),
    KERNEL(shared_past_end),
    KERNEL(shared_before_start),
    KERNEL(copy_async),
    KERNEL(copy_async_groups),
    KERNEL(copy_async_misaligned),
    KERNEL(copy_async_past_end),
    KERNEL(barrier_after_exit),
    KERNEL(two_barriers),
    KERNEL(barrier_and_shuffle),
    KERNEL(shuffle_in_a_branch),
    KERNEL(masks_of_two_kinds),
    KERNEL(own_lane_missing),
    KERNEL(source_not_in_mask),
    KERNEL(wrong_width),
    KERNEL(two_collectives),
    KERNEL(two_shuffles),
    KERNEL(full_mask),
    KERNEL(overflow_stack),
};

}  // namespace

std::span<const Kernel> block_kernels() { return kernels; }
