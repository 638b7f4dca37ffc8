// A device's memory and the known state of each byte.
//
//   region    | guard | 256 B | allocation | tail | guard | 256 B | allocation | ...
//
// Each device has one range of addresses, reserved once, four times the memory that it may hand out. It is
// accessible only while the runtime runs queued work. An allocation starts 256 bytes into a page (cudaMalloc
// promises no more, so a kernel that needs 512 fails) and is followed by inaccessible bytes and pages.
//
// Shadows, reserved with the region and zero until touched:
//   state   a byte per byte: unwritten (0), written, no access
//   writer  a tag per word of 4 bytes: who wrote it last; the low 4 bits say which of its bytes
//   reader  likewise
// A table gives a page's owner; zero is nobody. A new allocation therefore costs a few entries, whatever its size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace simt {

enum ByteState : std::uint8_t { unwritten = 0, written = 1, no_access = 2 };

struct Allocation {
    std::size_t offset = 0;  // in the region
    std::size_t size = 0;
    bool live = false;
};

class DeviceMemory {
public:
    DeviceMemory() = default;
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;

    // Reserves addresses; false where the system refuses.
    bool reserve(std::size_t limit);

    // Null where the limit is reached.
    void *allocate(std::size_t size);
    // The allocation that starts at p, or null.
    const Allocation *starting_at(const void *p) const;
    void free(const void *p);

    bool contains(const void *p) const noexcept { return reinterpret_cast<std::uintptr_t>(p) - base_address() < size; }
    // The live allocation that holds all of [p, p + n), or null.
    const Allocation *holding(const void *p, std::size_t n) const;

    // Lets the process at the memory while queued work runs, and not otherwise.
    void open();
    void close();

    void set_state(const void *p, std::size_t n, ByteState state);
    void forget_accesses(const void *p, std::size_t n);
    void forget_all_accesses();

    // Where an address is: "12 bytes past the end of allocation #5 of 1024 bytes".
    std::string describe(std::uintptr_t address) const;

    std::uintptr_t base_address() const noexcept { return reinterpret_cast<std::uintptr_t>(base); }
    std::size_t offset_of(const void *p) const noexcept { return reinterpret_cast<std::uintptr_t>(p) - base_address(); }

    std::byte *base = nullptr;
    std::size_t size = 0;
    std::uint8_t *state = nullptr;
    std::uint32_t *writer = nullptr, *reader = nullptr;
    std::uint32_t *owner = nullptr;  // per page, number of the allocation
    std::size_t limit = 0, used = 0;
    std::size_t n_live = 0;

private:
    struct Range {
        std::size_t offset, size;
    };
    bool find_room(std::size_t room, std::size_t &offset);
    void recycle();

    std::deque<Allocation> allocations_{1};  // by number, from 1
    std::size_t frontier_ = 0;               // below it addresses have been handed out
    std::deque<Range> quarantine_;
    std::map<std::size_t, std::size_t> free_;  // offset, size
    std::map<std::size_t, std::uint32_t> by_offset_;
    bool open_ = false;
};

}  // namespace simt
