#include "shared_memory.hpp"

#include "kernel.hpp"
#include "state.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace simt {

namespace {

enum SharedState : std::uint8_t { shared_unwritten = 0, shared_written = 1, shared_pending = 2 };

std::byte *buffer = nullptr;
std::uint8_t states[SharedMemory::capacity];
struct Tags {
    std::uint64_t writer, reader;
};
Tags word_tags[SharedMemory::capacity / 4], byte_tags[SharedMemory::capacity];
bool split[SharedMemory::capacity / 4];
std::size_t last_size = 0;

constexpr std::uint64_t several_lanes = std::uint64_t{1} << 14, several_warps = std::uint64_t{2} << 14,
                        several = several_lanes | several_warps;

constexpr std::uint64_t interval_of(std::uint64_t tag) { return tag >> 30; }
constexpr std::uint64_t epoch_of(std::uint64_t tag) { return tag >> 16 & 0x3fff; }
constexpr std::uint32_t lane_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag >> 4 & 0x3ff); }
constexpr std::uint32_t warp_of(std::uint64_t tag) { return lane_of(tag) / 32; }

[[noreturn]] void shared_fault(cudaError_t code, std::uintptr_t p, std::size_t n, Access access, const std::string &what) {
    fault(code, format("%s %zu bytes of shared memory at byte %td, %s", verb(access), n, static_cast<std::ptrdiff_t>(p - running.shared),
                       what.c_str()));
}

[[gnu::noinline]] void outside(std::uintptr_t p, std::size_t n, Access access) {
    in_runtime([&] {
        if (p < running.shared)
            shared_fault(cudaErrorIllegalAddress, p, n, access, format("before the block's %zu bytes", running.shared_size));
        shared_fault(cudaErrorIllegalAddress, p, n, access, format("past the block's %zu bytes", running.shared_size));
    });
}

[[gnu::noinline]] void check_states(std::uintptr_t p, std::size_t n, Access access) {
    in_runtime([&] {
        const std::size_t offset = p - running.shared;
        for (std::size_t i = 0; i < n; i++) {
            if (states[offset + i] == shared_pending) {
                shared_fault(cudaErrorLaunchFailure, p + i, n - i, access,
                             "to which an asynchronous copy is under way: no wait has completed it");
            }
            if (states[offset + i] == shared_unwritten && access != Access::write)
                shared_fault(cudaErrorIllegalAddress, p + i, n - i, access, "never written by this block");
        }
        if (access == Access::write) std::memset(states + offset, shared_written, n);
    });
}

[[gnu::noinline]] void race(std::size_t offset, std::size_t n, std::uint64_t other, bool other_wrote, Access access) {
    in_runtime([&] {
        const std::string who = other & several ? "several threads" : name_of(kernel.lanes[lane_of(other)]);
        shared_fault(cudaErrorLaunchFailure, running.shared + offset, n, access,
                     format("which %s %s since the last barrier: a race within the block", who.c_str(), other_wrote ? "wrote" : "read"));
    });
}

// The lane of `tag` (which is not this one, or several) and this one do not wait for each other in between.
bool concurrent(std::uint64_t tag) {
    const std::uint64_t mine = running.lane_tag;
    if (interval_of(tag) != interval_of(mine)) return false;
    if (tag & several_warps) return true;
    if (warp_of(tag) != warp_of(mine)) return true;
    return epoch_of(tag) == epoch_of(mine);
}

bool by_this_lane(std::uint64_t tag) {
    return (tag & several) == 0 && lane_of(tag) == lane_of(running.lane_tag) && interval_of(tag) == interval_of(running.lane_tag);
}

bool races(std::uint64_t tag) { return tag != running.lane_tag && concurrent(tag) && !by_this_lane(tag); }

void note_read(Tags &tags, std::size_t offset, std::size_t n) {
    if (races(tags.writer)) race(offset, n, tags.writer, true, Access::read);
    if (!races(tags.reader)) {
        // Earlier readers of this warp are ordered by a __syncwarp; for other warps this lane stands for them.
        tags.reader = running.lane_tag;
    } else if ((tags.reader & several_warps) == 0) {
        tags.reader = running.lane_tag | (warp_of(tags.reader) == warp_of(running.lane_tag) ? several_lanes : several_warps);
    }
}

// An atomic update and a plain access of another lane are a race, two atomic updates are none. So an atomic one
// leaves its tag as "several warps" of the writers, which plain tags of writers never are.
void note_write(Tags &tags, std::size_t offset, std::size_t n, Access access) {
    const bool both_atomic = access == Access::atomic && (tags.writer & several);
    if (!both_atomic && races(tags.writer)) race(offset, n, tags.writer, true, access);
    if (races(tags.reader)) race(offset, n, tags.reader, false, access);
    if (access != Access::atomic) {
        tags.writer = running.lane_tag;
    } else if (!by_this_lane(tags.writer)) {
        tags.writer = running.lane_tag | several_warps;
    }
}

void note(Tags &tags, std::size_t offset, std::size_t n, Access access) {
    if (access == Access::read) {
        note_read(tags, offset, n);
    } else {
        note_write(tags, offset, n, access);
    }
}

// A word has one pair of tags until a part of it is accessed; from then on, in this block, each byte has its own.
void note(std::size_t offset, std::size_t n, Access access) {
    for (const std::size_t end = offset + n; offset < end;) {
        const std::size_t word = offset / 4;
        if (offset % 4 == 0 && end - offset >= 4 && !split[word]) {
            note(word_tags[word], offset, 4, access);
            offset += 4;
            continue;
        }
        if (!split[word]) {
            split[word] = true;
            std::fill_n(byte_tags + word * 4, 4, word_tags[word]);
        }
        note(byte_tags[offset], offset, 1, access);
        offset++;
    }
}

bool all_written(std::size_t offset, std::size_t n) {
    if (n == 4) {
        std::uint32_t now;
        std::memcpy(&now, states + offset, 4);
        return now == 0x01010101u;
    }
    for (std::size_t i = 0; i < n; i++) {
        if (states[offset + i] != shared_written) return false;
    }
    return true;
}

}  // namespace

void SharedMemory::reserve() {
    if (!buffer) {
        void *p = mmap(nullptr, capacity + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED || mprotect(static_cast<std::byte *>(p) + guard, capacity, PROT_READ | PROT_WRITE) != 0)
            die("no memory for a block's shared memory");
        buffer = static_cast<std::byte *>(p) + guard;
    }
    running.shared = reinterpret_cast<std::uintptr_t>(buffer);
}

// Bytes that an earlier block has left would look like luck, not like a fault.
void SharedMemory::start_block(std::size_t size) {
    running.shared_size = size;
    std::memset(states, shared_unwritten, std::max(size, last_size));
    std::memset(split, 0, (std::max(size, last_size) + 3) / 4);
    last_size = size;
}

void check_shared(std::uintptr_t p, std::size_t n, Access access) {
    const std::size_t offset = p - running.shared;
    if (offset > running.shared_size || n > running.shared_size - offset) [[unlikely]]
        outside(p, n, access);
    if (!all_written(offset, n)) [[unlikely]]
        check_states(p, n, access);
    note(offset, n, access);
}

void *shared_memory() noexcept {
    (void)lane_in("simt::shared_memory");
    return buffer;
}

namespace {

// The copy's reads count at once, its writes at the wait: until then nobody may touch the destination.
void issue_copy(Lane &lane, void *to, const void *from, int size, int n_read) {
    const auto p = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
    if ((size != 4 && size != 8 && size != 16) || n_read < 0 || n_read > size) {
        fault(cudaErrorLaunchFailure,
              format("copies %d of %d bytes asynchronously: 4, 8 and 16 are valid, of which as many may be read", n_read, size));
    }
    const auto n = static_cast<std::size_t>(size);
    if (p % n != 0 || source % n != 0) {
        fault(cudaErrorMisalignedAddress,
              format("copies %zu bytes asynchronously from 0x%zx to 0x%zx: both must be multiples of %zu", n, source, p, n));
    }
    if (p < running.shared || p - running.shared > running.shared_size || n > running.shared_size - (p - running.shared)) {
        if (SharedMemory::near(p)) outside(p, n, Access::write);
        fault(cudaErrorIllegalAddress, format("copies asynchronously to 0x%zx, which is not shared memory", p));
    }
    if (n_read > 0 && source - running.base >= running.size) {
        fault(cudaErrorIllegalAddress, format("copies asynchronously from 0x%zx, which is not memory of the device", source));
    }
    check_device_range(running.device->memory, from, static_cast<std::size_t>(n_read), Access::read);
    const std::size_t offset = p - running.shared;
    check_states(p, n, Access::write);
    note(offset, n, Access::write);
    std::memset(states + offset, shared_pending, n);
    lane.copies.push_back({static_cast<std::byte *>(to), static_cast<const std::byte *>(from), static_cast<std::uint32_t>(n),
                           static_cast<std::uint32_t>(n_read), lane.group});
}

void complete_copies(Lane &lane, int groups_left_pending) {
    if (groups_left_pending < 0)
        fault(cudaErrorLaunchFailure, format("waits for all but %d groups of asynchronous copies", groups_left_pending));
    std::size_t n_left = 0;
    for (const AsyncCopy &copy : lane.copies) {
        if (copy.group + static_cast<std::uint32_t>(groups_left_pending) >= lane.group) {
            lane.copies[n_left++] = copy;
            continue;
        }
        std::memcpy(copy.to, copy.from, copy.n_read);
        std::memset(copy.to + copy.n_read, 0, copy.size - copy.n_read);
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(copy.to) - running.shared;
        std::memset(states + offset, shared_written, copy.size);
        note(offset, copy.size, Access::write);
    }
    lane.copies.resize(n_left);
}

}  // namespace

void copy_async(void *to, const void *from, int size, int n_read) {
    Lane &lane = lane_in("simt::copy_async");
    in_runtime([&] { issue_copy(lane, to, from, size, n_read); });
}

void copy_async_commit() { lane_in("simt::copy_async_commit").group++; }

void copy_async_wait(int groups_left_pending) {
    Lane &lane = lane_in("simt::copy_async_wait");
    in_runtime([&] { complete_copies(lane, groups_left_pending); });
}

}  // namespace simt
