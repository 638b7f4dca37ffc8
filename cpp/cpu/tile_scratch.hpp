// What a thread's programs compute with between memory and the processor's registers. It is the backend's: a thread may have a stack of
// 128 KiB, as is musl's default, and this is 70.
#pragma once

#include "cpu/simd/simd_table.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>

namespace tensorlib::core {

// What a program takes at a time: decoded inputs of 4 KiB stay in the first-level cache until they are read.
constexpr std::int64_t tile_floats = 1024;

struct TileScratch {
    // Of inputs whose elements are all one: blocks of it.
    alignas(64) float blocks[max_program_inputs][simd::max_block];
    // Of registers whole tiles if a program has several chains, else blocks.
    alignas(64) float registers[max_program_registers][tile_floats];
    alignas(64) float buffers[max_program_inputs][tile_floats], result[tile_floats];
};

// A thread's: of the program that follows an operation, and of the one before it.
struct ThreadScratch {
    TileScratch program, prologue;
};

}  // namespace tensorlib::core
