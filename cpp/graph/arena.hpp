// An arena over one device's memory: blocks are appended to chunks and freed together.
//
//   chunk   | block | block | released | block | ........ unused ........ |
//           ^ begin                            ^ top      ^ clean        ^ end
//
// Invariants for each chunk: begin <= top <= clean <= end. Bytes from clean on were never handed out and read as zeros;
// clean = end if the memory does not come as zeros. Blocks lie below top. The free list holds released blocks, sorted
// by address. Neighbours are merged, and no released block touches its chunk's top.
//
// Growth: the first chunk has 64 KiB, and sizes double up to 16 MiB. A block of 1 MiB or more gets its own chunk (its
// own pages), so large leafs waste nothing and start on a page. A caller's buffer is the only chunk and never grows.
// Before a large block gets a new chunk, chunks of 1 MiB or more without any block left go back to the device, because
// they were too small. A block that need not be zeros (a plan's) then gets a quarter more. Plans that grow a little
// each time, such as those of a growing cache, therefore hold one or two chunks.
//
// Release is for graphs and plans, which come and go while the tensors stay: building an identical graph in a loop
// reuses its blocks.
//
// Bookkeeping lies outside the chunks, so the same code serves memory that the host cannot access. Not thread-safe: the
// context's build lock guards it.
#pragma once

#include "graph/device_memory.hpp"

#include <cstddef>
#include <vector>

namespace tensorlib::core {

// What a context may use and has used. Its arenas share it.
struct MemoryBudget {
    std::size_t limit = 0;  // bytes; 0 = none
    std::size_t used = 0;
    std::size_t peak = 0;
};

class Arena {
public:
    // Takes chunks from the memory, or uses a caller's buffer, which stays the caller's.
    Arena(DeviceMemory &memory, MemoryBudget &budget, void *buffer = nullptr, std::size_t size = 0);
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    // A block of at least size bytes with the memory's alignment; the address is unique even for size 0. Throws
    // Error(out_of_memory) with the bytes asked for, the bytes used and the limit, and changes nothing then. The caller
    // adds what the block was for. The contents are undefined unless zeroed is set.
    void *allocate(std::size_t size, bool zeroed = false);

    // Takes back a block of allocate(size).
    void release(void *block, std::size_t size) noexcept;

    // As release(), for a block whose zeroing or first contents may still be in flight on the device: waits until they
    // have arrived.
    void release_unwritten(void *block, std::size_t size) noexcept;

    // As release(), and returns the pages inside the block to the system until they are used again.
    void give_back(void *block, std::size_t size) noexcept;

    // Whether this arena uses a caller's buffer.
    bool fixed() const noexcept { return fixed_; }

    // Frees all blocks; the chunks stay.
    void reset() noexcept;

    // The bytes that a block of this size counts for.
    std::size_t counted(std::size_t size) const noexcept;

private:
    struct Chunk {
        std::byte *begin, *top, *clean, *end;
        bool owned;
    };
    struct Free {
        std::byte *begin;
        std::size_t size;
    };

    // A block, or null. Its first `dirty` bytes may be non-zero.
    struct Taken {
        std::byte *begin = nullptr;
        std::size_t dirty = 0;
    };

    Taken take_released(std::size_t size) noexcept;
    Taken take_from(Chunk &chunk, std::size_t size) noexcept;
    void zero(std::byte *block, std::size_t dirty, std::size_t size);
    Chunk &grow(std::size_t size, bool zeroed);
    bool give_back_idle() noexcept;
    [[noreturn]] void fail_out_of_memory(std::size_t size) const;
    Chunk *chunk_of(const std::byte *p) noexcept;

    DeviceMemory &memory_;
    MemoryBudget &budget_;
    std::vector<Chunk> chunks_;
    std::size_t used_ = 0;     // this arena's share of the budget
    std::size_t current_ = 0;  // the chunk to which small blocks are appended
    std::vector<Free> free_;
    std::size_t next_chunk_size_ = std::size_t{64} << 10;
    bool fixed_ = false;
};

}  // namespace tensorlib::core
