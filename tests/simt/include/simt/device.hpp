// The simulator's functions for device code: positions, shared memory, barriers, exchange within a warp,
// asynchronous copies. Each is a call into code that is not instrumented, so none of it counts as a memory access
// of the kernel. Outside a kernel each ends the process with a message.
#pragma once

#include "simt/vector_types.hpp"

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace simt {

// A thread's position never changes during its kernel call; `const` lets the compiler ask once.
[[gnu::const]] uint3 thread_index() noexcept;
[[gnu::const]] uint3 block_index() noexcept;
[[gnu::const]] dim3 block_dimensions() noexcept;
[[gnu::const]] dim3 grid_dimensions() noexcept;

// The block's dynamic shared memory, aligned to 128 bytes; of the size given at the launch.
[[gnu::const]] void *shared_memory() noexcept;

// A fault if p is not a multiple of size.
void check_aligned(const void *p, std::size_t size);

// Copies 4, 8 or 16 bytes to shared memory, of which the first src_size are read and the rest zero. The source is
// checked now and read at the wait; until then the destination counts as not written.
void copy_async(void *shared_dst, const void *global_src, int size, int src_size);
void copy_async_commit();
// Returns when at most this many of the thread's youngest groups are under way.
void copy_async_wait(int groups_left_pending);

// All threads of the block, at one place of the source.
void block_barrier(std::source_location where = std::source_location::current());

// The lanes of one warp's exchange. Lane i takes part if bit i of mask is set; in[i] and out[i] are what it passed.
struct WarpExchange {
    unsigned mask;
    const void *in[32];
    void *out[32];
    // Ends the kernel with a report on behalf of a lane.
    [[noreturn]] void fail(int lane, const char *text) const;
};

// Gathers the lanes named in mask, which must all arrive with the same function and mask; calls the function once,
// unchecked and on one of the lanes' stacks; then all go on. `name` is for reports.
using WarpFunction = void (*)(const WarpExchange &);
void warp_collective(WarpFunction function, const char *name, unsigned mask, const void *in, void *out);

void warp_barrier(unsigned mask);
enum class Shuffle { index, up, down, exclusive_or };
std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t value, int operand, int width);
unsigned ballot(unsigned mask, bool predicate);

// Read-modify-write of one word, with the access checked as an atomic one. Returns the old value.
int atomic_add(int *p, int value);
unsigned atomic_add(unsigned *p, unsigned value);
unsigned long long atomic_add(unsigned long long *p, unsigned long long value);
float atomic_add(float *p, float value);
unsigned long long atomic_min(unsigned long long *p, unsigned long long value);

}  // namespace simt
