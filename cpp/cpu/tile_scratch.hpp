// The buffers of a thread's programs between memory and the processor's registers. The backend owns them: a thread's
// stack may have only 128 KiB, which is musl's default, and those of one program take 70 KiB.
#pragma once

#include "cpu/simd/simd_table.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>

namespace tensorlib::core {

// Floats that a program takes at a time: decoded inputs of 4 KiB stay in the L1 cache until they are read.
constexpr std::int64_t tile_floats = 1024;

struct TileScratch {
    // For inputs whose elements all have one value: blocks of it.
    alignas(64) float blocks[max_program_inputs][simd::max_block];
    // For registers: whole tiles if a program has several chains, otherwise blocks.
    alignas(64) float registers[max_program_registers][tile_floats];
    alignas(64) float buffers[max_program_inputs][tile_floats], result[tile_floats];
};

// A thread's scratch memory: for an epilogue and for a prologue.
struct ThreadScratch {
    TileScratch program, prologue;
};

}  // namespace tensorlib::core
