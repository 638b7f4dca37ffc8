// A row of the CPU's kernel table: what every kernel says of itself, and how one runs.
#pragma once

#include "cpu/simd/simd_table.hpp"
#include "cpu/tile_scratch.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>
#include <span>

namespace tensorlib::core {

// One chunk of one stage of a step.
struct Slice {
    Stage stage;
    std::int64_t round;  // of its prepare or compute
    std::int64_t chunk;
    int thread;
    const simd::SimdTable &simd;
    ThreadScratch &scratch;  // the thread's
};

struct CpuKernel : Kernel {
    // Called once for each chunk of each stage, from any of the pool's threads; `thread` tells them apart.
    void (*run)(const Step &step, const Slice &slice) noexcept;
    // Whether steps of it may run at the same time as others of it that touch other memory: it has the stage compute alone, of one round,
    // and no workspace.
    bool batchable = false;
};

// The table of kernels, a family of operations per part, in cpu/kernels/; for each operation in order of preference, the
// last one taking every legal input.
namespace kernels {
extern const std::span<const CpuKernel> arange, attention, axpy, bands, convolution, copies, counts, depthwise, gather, im2col, layout,
    losses, mul_mat, mul_mat_id, norms, optimisers, ordering, outer_products, pooling, random, rope, rows, scatter, sparse, sparse_blocks,
    sums, tiles, upscale, windows;
}

// Rows below this many bytes of work are not worth a second thread: waking one takes a few microseconds, in which one
// core moves about this much.
constexpr std::int64_t bytes_per_chunk = 128 << 10;

// Whether a result goes past the caches: from this size on it is gone from them before anyone reads it, as it is more than the third-level
// cache that a core has to itself on most machines.
constexpr std::size_t streamed_bytes = std::size_t{64} << 20;
inline bool streams(const Tensor &node) noexcept { return node.layout.nbytes() >= streamed_bytes; }
// Runs shorter than this are not worth their partial lines.
constexpr std::size_t shortest_stream = 1024;

// Chunks for work over `units` that can be cut anywhere: one for small work, else enough for threads that are late.
std::int64_t chunks_for(std::int64_t units, std::int64_t bytes, int n_threads) noexcept;

// The part of `units` that a chunk does.
struct Range {
    std::int64_t begin, end;
};
inline Range part_of(std::int64_t units, std::int64_t chunk, std::int64_t n_chunks) noexcept {
    return {units * chunk / n_chunks, units * (chunk + 1) / n_chunks};
}

inline bool is_row_of_floats(const TensorRef &t) noexcept { return t.type == DType::f32 && t.nb[0] == sizeof(float); }

// n elements of a row from element i0 on as floats, whatever their type and stride. For types with blocks i0 and n are
// whole blocks. And back; an element that the type cannot hold is left as it was (arithmetic never meets one: it
// writes float types only).
void load_row(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *values,
              const simd::SimdTable &simd) noexcept;
void store_row(const TensorRef &t, std::byte *row, std::int64_t i0, std::int64_t n, const float *values,
               const simd::SimdTable &simd) noexcept;

// n floats of a row from i0 on: where they lie, or decoded into `stage`.
const float *floats_of(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *stage,
                       const simd::SimdTable &simd) noexcept;

}  // namespace tensorlib::core
