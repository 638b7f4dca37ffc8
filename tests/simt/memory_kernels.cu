// Accesses to memory: p has 128 floats, q is described by the test. Unless noted otherwise, thread i of the grid
// owns p[i].
#include "kernel_table.hpp"

#include <cstdint>
#include <cstring>

namespace {

constexpr float table[4] = {1, 2, 3, 4};
float counter = 0;

struct Big {
    float values[64];
};

__device__ inline unsigned own_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void write_past_end(float *p, float *, int bad) {
    const unsigned i = own_index();
    p[i] = 1;
    if (bad && i == 67) p[128] = 1;
}
__global__ void write_before_start(float *p, float *, int bad) {
    const unsigned i = own_index();
    p[i] = 1;
    if (bad && i == 67) p[-1] = 1;
}
__global__ void write_far_away(float *p, float *, int bad) {
    const unsigned i = own_index();
    p[bad && i == 67 ? 1 << 20 : i] = 1;
}
// q[i] for all threads; the test leaves bytes of it unwritten.
__global__ void read_all(float *p, float *q, int) { p[own_index()] = q[own_index()]; }
__global__ void read_one_byte(float *p, float *q, int bad) {
    p[own_index()] = reinterpret_cast<unsigned char *>(q)[own_index() == 67 ? bad : 0];
}
__global__ void read_q(float *p, float *q, int bad) { p[own_index()] = bad && own_index() == 67 ? *q : 0; }
__global__ void write_q(float *p, float *q, int bad) {
    p[own_index()] = 0;
    if (bad && own_index() == 67) *q = 1;
}
__global__ void use_global_variable(float *p, float *, int bad) {
    p[own_index()] = table[threadIdx.x % 4];
    if (bad && own_index() == 67) counter += p[own_index()];
}
// Thread 0 shows where its local array is.
__global__ void pass_local_array(float *p, float *, int bad) {
    auto **shown = static_cast<volatile float **>(simt::shared_memory());
    volatile float local[2] = {1, 2};
    if (threadIdx.x == 0) *shown = local;
    __syncthreads();
    if (threadIdx.x == (bad ? 3 : 0)) local[1] = **shown;
    __syncthreads();
    p[own_index()] = local[1];
}
__global__ void misaligned_float4(float *p, float *q, int bad) {
    auto *vectors = reinterpret_cast<float4 *>(q + (bad && own_index() == 67 ? 1 : 0));
    p[own_index()] = vectors->w;
}
__global__ void misaligned_by_helper(float *p, float *q, int bad) {
    simt::check_aligned(q + (bad && own_index() == 67 ? 2 : 0), 16);
    p[own_index()] = q[0];
}
__global__ void misaligned_float(float *p, float *q, int bad) {
    const auto *bytes = reinterpret_cast<unsigned char *>(q) + (bad && own_index() == 67 ? 2 : 0);
    p[own_index()] = *reinterpret_cast<const float *>(bytes);
}
// Four bytes from any address, byte by byte as far as the language goes: no fault.
__global__ void unaligned_memcpy(float *p, float *q, int) {
    std::uint32_t word;
    std::memcpy(&word, reinterpret_cast<unsigned char *>(q) + 1, 4);
    p[own_index()] = static_cast<float>(word);
}
__global__ void copy_struct(float *p, float *q, int bad) {
    if (threadIdx.x == 0) reinterpret_cast<Big *>(p)[blockIdx.x] = reinterpret_cast<Big *>(q)[blockIdx.x + (bad ? 1u : 0u)];
}
__global__ void memcpy_of_any_length(float *p, float *q, int bad) {
    if (own_index() == 0) std::memcpy(p, q, 512 + static_cast<std::size_t>(bad));
}
__global__ void memset_of_any_length(float *p, float *, int bad) {
    if (own_index() == 0) std::memset(p, 0, 512 + static_cast<std::size_t>(bad));
}

__global__ void two_blocks_write(float *p, float *, int bad) {
    if (threadIdx.x == 5) p[bad ? 0 : blockIdx.x] = 1;
}
__global__ void block_reads_other(float *p, float *q, int bad) {
    if (threadIdx.x == 5) {
        p[blockIdx.x] = 1;
        q[blockIdx.x] = p[bad ? 0 : blockIdx.x];
    }
}
// All blocks read q[0], and one of them writes it.
__global__ void all_read_one_writes(float *p, float *q, int bad) {
    if (threadIdx.x == 5) {
        p[blockIdx.x] = q[0];
        if (bad && blockIdx.x == 1) q[0] = 2;
    }
}
// Blocks share words, not bytes.
__global__ void blocks_write_bytes(float *p, float *, int bad) {
    const unsigned i = bad ? 0 : blockIdx.x;
    if (threadIdx.x == 0) {
        auto *byte = reinterpret_cast<unsigned char *>(p) + i;
        *byte = 1;
        *byte = static_cast<unsigned char>(*byte + 1);
    }
}
__global__ void blocks_add_atomically(float *p, float *, int bad) {
    if (bad && blockIdx.x == 1 && threadIdx.x == 5) {
        p[0] += 1;
    } else {
        atomicAdd(p, 1.0f);
    }
}
__global__ void builtin_atomics(float *p, float *, int) {
    __atomic_fetch_add(reinterpret_cast<int *>(p), 1, __ATOMIC_RELAXED);
    atomicAdd(reinterpret_cast<int *>(p) + 1, 2);
    atomicAdd(reinterpret_cast<unsigned *>(p) + 2, 3u);
    atomicAdd(reinterpret_cast<unsigned long long *>(p) + 2, 4ull);
}

constexpr Kernel kernels[] = {
    KERNEL(write_past_end),
    KERNEL(write_before_start),
    KERNEL(write_far_away),
    KERNEL(read_all),
    KERNEL(read_one_byte),
    KERNEL(read_q),
    KERNEL(write_q),
    KERNEL(use_global_variable),
    KERNEL(pass_local_array),
    KERNEL(misaligned_float4),
    KERNEL(misaligned_by_helper),
    KERNEL(misaligned_float),
    KERNEL(unaligned_memcpy),
    KERNEL(copy_struct),
    KERNEL(memcpy_of_any_length),
    KERNEL(memset_of_any_length),
    KERNEL(two_blocks_write),
    KERNEL(block_reads_other),
    KERNEL(all_read_one_writes),
    KERNEL(blocks_write_bytes),
    KERNEL(blocks_add_atomically),
    KERNEL(builtin_atomics),
};

}  // namespace

std::span<const Kernel> memory_kernels() { return kernels; }
