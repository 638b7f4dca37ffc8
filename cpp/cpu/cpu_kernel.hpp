// A row of the CPU's kernel table: how every kernel describes itself, and how it runs.
#pragma once

#include "base/step_watch.hpp"
#include "cpu/simd/simd_table.hpp"
#include "cpu/tile_scratch.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>
#include <span>

namespace tensorlib::core {

// One chunk of one stage of a step.
struct Slice {
    Stage stage;
    std::int64_t round;  // of prepare or compute
    std::int64_t chunk;
    int thread;
    const simd::SimdTable &simd;
    ThreadScratch &scratch;  // the thread's
};

struct CpuKernel : Kernel {
    // Called once for each chunk of each stage, from any of the pool's threads; `thread` tells them apart.
    void (*run)(const Step &step, const Slice &slice) noexcept;
    // Whether its steps may run at the same time as others of this kernel that touch other memory. Such a kernel has
    // only the stage compute, one round, and no workspace.
    bool batchable = false;
    // Computes the whole step on the calling thread, in place of run(). May wait, and throw.
    void (*run_alone)(const Step &step, StepWatch *watch) = nullptr;
};

// The table of kernels, a family of operations per part, in cpu/kernels/. Kernels of an operation are in order of
// preference; the last one takes every legal input.
namespace kernels {
extern const std::span<const CpuKernel> arange, attention, axpy, bands, collectives, convolution, copies, counts, custom, depthwise, gather,
    im2col, layout, losses, mul_mat, mul_mat_id, norms, numbers, optimisers, ordering, outer_products, pooling, random, recurrent, rope,
    rows, scatter, solve, sparse, sparse_blocks, reductions, running_sums, tiles, upscale, windows;
}

// Rows with fewer bytes of work are not worth a second thread: waking one takes a few microseconds, in which a core
// moves about this much.
constexpr std::int64_t bytes_per_chunk = 128 << 10;

// Whether a result bypasses the caches. From this size on, it would be evicted before it is read, because it exceeds
// the share of the L3 cache that a core has on most machines.
constexpr std::size_t streamed_bytes = std::size_t{64} << 20;
inline bool streams(const Tensor &node) noexcept { return node.layout.nbytes() >= streamed_bytes; }
// Runs shorter than this are not worth their partial lines.
constexpr std::size_t shortest_stream = 1024;

// Chunks for work over `units` that can be divided anywhere: one for small work, otherwise enough to balance threads
// that start late.
std::int64_t chunks_for(std::int64_t units, std::int64_t bytes, int n_threads) noexcept;

// The part of `units` that a chunk computes.
struct Range {
    std::int64_t begin, end;
};
inline Range part_of(std::int64_t units, std::int64_t chunk, std::int64_t n_chunks) noexcept {
    return {units * chunk / n_chunks, units * (chunk + 1) / n_chunks};
}

inline bool is_row_of_floats(const TensorRef &t) noexcept { return t.type == DType::f32 && t.nb[0] == sizeof(float); }

// Converts n elements of a row, starting with element i0, to floats and back, for any type and stride. For quantised
// types, i0 and n are whole blocks. An element that the type cannot hold keeps its value; arithmetic writes only float
// types, so it never meets one.
void load_row(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *values,
              const simd::SimdTable &simd) noexcept;
void store_row(const TensorRef &t, std::byte *row, std::int64_t i0, std::int64_t n, const float *values,
               const simd::SimdTable &simd) noexcept;

// n floats of a row, starting with i0: in place, or decoded into `stage`.
const float *floats_of(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *stage,
                       const simd::SimdTable &simd) noexcept;

}  // namespace tensorlib::core
