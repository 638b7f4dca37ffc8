// The block's shared memory: one buffer, used by one block after the other, and the known state of each byte.
//
// A word of 4 bytes, or each byte of one that is accessed in parts, has a tag for its last writer and one for its last
// readers:
//   bits 63..30 interval between __syncthreads, 29..16 the warp's count of __syncwarp, 15..14 readers: one lane,
//   several of one warp, several warps; 13..4 the lane
// Two accesses of different lanes are ordered if their intervals differ, or if the lanes are of one warp and its
// counts differ. Interval numbers continue from block to block, so nothing need be cleared.
#pragma once

#include "access.hpp"

#include <cstddef>
#include <cstdint>

namespace simt {

class SharedMemory {
public:
    static constexpr std::size_t capacity = 228 << 10;
    static constexpr std::size_t guard = 256 << 10;  // inaccessible, on both sides

    static void reserve();
    static void start_block(std::size_t size);
    static bool near(std::uintptr_t p) noexcept { return p - (running.shared - guard) < capacity + 2 * guard; }

    static constexpr std::uint64_t tag(std::uint64_t interval, std::uint32_t epoch, std::uint32_t lane) {
        return interval << 30 | std::uint64_t{epoch & 0x3fff} << 16 | std::uint64_t{lane} << 4;
    }
};

void check_shared(std::uintptr_t p, std::size_t n, Access access);

}  // namespace simt
