// What kernels use beyond plain C++: shared memory, vector loads, asynchronous copies, sums over a warp. Only this file
// has inline assembly, so that everything has a host version for the simulated GPU.
#pragma once

#include "runtime/kernel.hpp"

#include <cuda_runtime.h>
#include <cstdint>

namespace tensorlib::core::device {

constexpr unsigned warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

// An operand as a kernel's argument.
struct View {
    char *data;
    std::int64_t ne[max_dims];
    std::int64_t nb[max_dims];

    // The indices of row number i1 + ne[1] * (i2 + ne[2] * i3), and its address.
    __device__ RowIndex index(std::int64_t row) const {
        const std::int64_t rest = row / ne[1];
        return {row % ne[1], rest % ne[2], rest / ne[2]};
    }
    __device__ char *row(std::int64_t number) const { return at(index(number)); }
    __device__ char *at(const RowIndex &r) const { return at(r.i1, r.i2, r.i3); }
    // The address for indices of a tensor that this one repeats into.
    __device__ char *repeated_at(const RowIndex &r) const { return at(r.i1 % ne[1], r.i2 % ne[2], r.i3 % ne[3]); }
    __device__ char *at(std::int64_t i1, std::int64_t i2, std::int64_t i3) const { return data + i1 * nb[1] + i2 * nb[2] + i3 * nb[3]; }
};

inline View view_of(const TensorRef &t) noexcept {
    View v{reinterpret_cast<char *>(t.data), {}, {}};
    for (std::size_t d = 0; d < max_dims; d++) {
        v.ne[d] = t.ne[d];
        v.nb[d] = static_cast<std::int64_t>(t.nb[d]);
    }
    return v;
}

// The block's shared memory, of the size that the launch requested.
template <class T>
__device__ T *shared_memory() {
#if defined(TENSORLIB_SIMT)
    return static_cast<T *>(simt::shared_memory());
#else
    extern __shared__ __align__(128) unsigned char dynamic_shared[];
    return reinterpret_cast<T *>(dynamic_shared);
#endif
}

__device__ inline void check_aligned([[maybe_unused]] const void *p, [[maybe_unused]] std::size_t size) {
#if defined(TENSORLIB_SIMT)
    simt::check_aligned(p, size);
#endif
}

// Vectors of a type that CUDA moves in one instruction: float4, uint4. p is aligned to its size.
template <class V, class T>
__device__ V load_vector(const T *p) {
    check_aligned(p, sizeof(V));
    return *reinterpret_cast<const V *>(p);
}
template <class V, class T>
__device__ void store_vector(T *p, const V &v) {
    check_aligned(p, sizeof(V));
    *reinterpret_cast<V *>(p) = v;
}

// Begins a copy of Size bytes (4 or 16, both sides aligned to it) into shared memory. If not `valid`, it writes zeros
// and reads nothing. The data are there after copy_async_wait() and a barrier. Before Ampere, this is a plain copy.
template <int Size>
__device__ void copy_async(void *shared, const void *global, bool valid) {
    static_assert(Size == 4 || Size == 16);
#if defined(TENSORLIB_SIMT)
    simt::copy_async(shared, global, Size, valid ? Size : 0);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const int bytes = valid ? Size : 0;
    if constexpr (Size == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
    }
#else
    if constexpr (Size == 16) {
        *static_cast<uint4 *>(shared) = valid ? *static_cast<const uint4 *>(global) : make_uint4(0, 0, 0, 0);
    } else {
        *static_cast<unsigned *>(shared) = valid ? *static_cast<const unsigned *>(global) : 0u;
    }
#endif
}

// Ends a group of the copies that were begun since the last group.
__device__ inline void copy_async_commit() {
#if defined(TENSORLIB_SIMT)
    simt::copy_async_commit();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until no more than Pending of this thread's groups are in flight.
template <int Pending>
__device__ void copy_async_wait() {
#if defined(TENSORLIB_SIMT)
    simt::copy_async_wait(Pending);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

// *p becomes the smaller of both.
__device__ inline void atomic_min(std::uint64_t *p, std::uint64_t value) {
    static_assert(sizeof(unsigned long long) == sizeof *p);
    atomicMin(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(value));
}

// Adds to *p. Only for integers, whose sums do not depend on the order.
__device__ inline void atomic_add(std::uint64_t *p, std::uint64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(value));
}

// The sum over the warp's lanes, in every lane, always added in one order.
template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
    return value;
}

}  // namespace tensorlib::core::device
