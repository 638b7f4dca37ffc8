// An arena over one device's memory: blocks are appended to chunks and freed together.
//
//   chunk   | block | block | released | block | ........ unused ........ |
//           ^ begin                            ^ top      ^ clean        ^ end
//
// Invariants, for each chunk: begin <= top <= clean <= end; bytes from clean on were never handed out and read as
// zeros (clean = end where the memory does not come as zeros). Blocks lie below top. Released blocks are in the free list, sorted by
// address, neighbours merged, none touching its chunk's top.
//
// Growth: the first chunk has 64 KiB, each further one twice as much up to 16 MiB; a block of 1 MiB or more gets
// a chunk of its own (its own pages), so that large leafs waste nothing and start on a page. A caller's buffer
// is the only chunk and never outgrown. Before a large block gets a new chunk, chunks of 1 MiB or more in which no block is left go
// back to the device, since they were too small; a block that is not to be zeros (a plan's) then gets a quarter more. So plans that
// are a little larger each time, as those of a growing cache are, hold one or two chunks.
//
// Release is for graphs and plans, which come and go while the tensors stay: building the same graph in a
// loop finds the same blocks again.
//
// Bookkeeping lies outside the chunks, so the same code serves memory that the host cannot touch. Not
// thread-safe: the context's build lock guards it.
#pragma once

#include "graph/device_memory.hpp"

#include <cstddef>
#include <vector>

namespace tensorlib::core {

// What a context may use and has used; shared by its arenas.
struct MemoryBudget {
    std::size_t limit = 0;  // bytes; 0 = none
    std::size_t used = 0;
    std::size_t peak = 0;
};

class Arena {
public:
    // Over chunks of the memory's, or over a caller's buffer, which stays the caller's.
    Arena(DeviceMemory &memory, MemoryBudget &budget, void *buffer = nullptr, std::size_t size = 0);
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    // A block of at least size bytes with the memory's alignment; a unique address also for size 0. Throws
    // Error(out_of_memory) saying bytes asked, used and limit, but not for what: that is the caller's to say; nothing has
    // changed then. The block's contents are open, unless zeroed is asked for.
    void *allocate(std::size_t size, bool zeroed = false);

    // Takes back a block of allocate(size).
    void release(void *block, std::size_t size) noexcept;

    // The same of a block whose zeroing or first contents may still be on their way on the device: after they arrived.
    void release_unwritten(void *block, std::size_t size) noexcept;

    // The same as release(), and the pages that lie in it go back to the system until they are used again.
    void give_back(void *block, std::size_t size) noexcept;

    // Whether this is over a caller's buffer.
    bool fixed() const noexcept { return fixed_; }

    // All blocks are gone, the chunks stay.
    void reset() noexcept;

    // Bytes that a block of this size counts for.
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

    // A block, or null; its first `dirty` bytes may be other than zero.
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
    std::size_t used_ = 0;     // this arena's part of the budget
    std::size_t current_ = 0;  // the chunk that small blocks are appended to
    std::vector<Free> free_;
    std::size_t next_chunk_size_ = std::size_t{64} << 10;
    bool fixed_ = false;
};

}  // namespace tensorlib::core
