#include "memory.hpp"

#include "state.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace simt {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t large_page = 2 << 20;
constexpr std::size_t start_in_page = 256;
constexpr std::size_t largest_guard = 64 << 10;

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Addresses on a boundary of large pages, which are asked for: closing and opening costs by the page, and 64 MB of
// small ones take 5 ms, of large ones 13 us (measured on a virtual machine).
void *reserve_pages(std::size_t size, int protection) {
    void *p = mmap(nullptr, size + large_page, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(p), begin = round_up(address, large_page);
    if (begin > address) munmap(p, begin - address);
    if (const std::size_t rest = address + large_page - begin) munmap(reinterpret_cast<void *>(begin + size), rest);
    madvise(reinterpret_cast<void *>(begin), size, MADV_HUGEPAGE);
    return reinterpret_cast<void *>(begin);
}

// Back to zeros. Giving pages back to the system splits large ones, so only for ranges that are worth it.
template <class T>
void clear(T *shadow, std::size_t offset, std::size_t size) {
    std::byte *p = reinterpret_cast<std::byte *>(shadow) + offset;
    if (size < 2 * large_page || madvise(p, size, MADV_DONTNEED) != 0) std::memset(p, 0, size);
}

}  // namespace

bool DeviceMemory::reserve(std::size_t bytes) {
    limit = bytes;
    size = round_up(4 * bytes, large_page) + (std::size_t{64} << 20);
    base = static_cast<std::byte *>(reserve_pages(size, PROT_NONE));
    state = static_cast<std::uint8_t *>(reserve_pages(size, PROT_READ | PROT_WRITE));
    writer = static_cast<std::uint32_t *>(reserve_pages(size, PROT_READ | PROT_WRITE));
    reader = static_cast<std::uint32_t *>(reserve_pages(size, PROT_READ | PROT_WRITE));
    owner = static_cast<std::uint32_t *>(reserve_pages(size / page * sizeof(std::uint32_t), PROT_READ | PROT_WRITE));
    frontier_ = largest_guard;
    return base && state && writer && reader && owner;
}

DeviceMemory::~DeviceMemory() {
    for (void *p : {static_cast<void *>(base), static_cast<void *>(state), static_cast<void *>(writer), static_cast<void *>(reader)}) {
        if (p) munmap(p, size);
    }
    if (owner) munmap(owner, size / page * sizeof(std::uint32_t));
}

// Freed addresses return to use only when there are no fresh ones, so that a stale pointer shows for long.
void DeviceMemory::recycle() {
    for (const Range range : quarantine_) {
        for (std::size_t p = range.offset / page; p < (range.offset + range.size) / page; p++) owner[p] = 0;
        by_offset_.erase(range.offset);
        auto next = free_.emplace(range.offset, range.size).first;
        if (next != free_.begin()) {
            auto before = std::prev(next);
            if (before->first + before->second == next->first) {
                before->second += next->second;
                free_.erase(next);
                next = before;
            }
        }
        auto after = std::next(next);
        if (after != free_.end() && next->first + next->second == after->first) {
            next->second += after->second;
            free_.erase(after);
        }
    }
    quarantine_.clear();
}

bool DeviceMemory::find_room(std::size_t room, std::size_t &offset) {
    if (room <= size - frontier_) {
        offset = frontier_;
        frontier_ += room;
        return true;
    }
    recycle();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->second < room) continue;
        offset = it->first;
        const std::size_t rest = it->second - room;
        free_.erase(it);
        if (rest > 0) free_.emplace(offset + room, rest);
        return true;
    }
    return false;
}

void *DeviceMemory::allocate(std::size_t bytes) {
    const std::size_t counted = round_up(std::max<std::size_t>(bytes, 1), 512);
    if (bytes > limit || counted > limit - used) return nullptr;
    const std::size_t data = round_up(start_in_page + bytes + 1, page);
    const std::size_t room = data + std::min(data, largest_guard);
    std::size_t offset = 0;
    if (!find_room(room, offset)) return nullptr;
    const auto number = static_cast<std::uint32_t>(allocations_.size());
    allocations_.push_back({offset + start_in_page, bytes, true});
    by_offset_[offset] = number;
    for (std::size_t p = offset / page; p < (offset + data) / page; p++) owner[p] = number;
    std::memset(state + offset, no_access, start_in_page);
    std::memset(state + offset + start_in_page + bytes, no_access, data - start_in_page - bytes);
    used += counted;
    n_live++;
    if (open_) {
        open_ = false;  // the new addresses too
        open();
    }
    return base + offset + start_in_page;
}

const Allocation *DeviceMemory::starting_at(const void *p) const {
    if (!contains(p)) return nullptr;
    const std::size_t offset = offset_of(p);
    const Allocation &a = allocations_[owner[offset / page]];
    return a.live && a.offset == offset ? &a : nullptr;
}

void DeviceMemory::free(const void *p) {
    const std::size_t offset = offset_of(p);
    Allocation &a = allocations_[owner[offset / page]];
    a.live = false;
    used -= round_up(std::max<std::size_t>(a.size, 1), 512);
    n_live--;
    const std::size_t begin = offset - start_in_page;
    const std::size_t data = round_up(start_in_page + a.size + 1, page);
    clear(state, begin, data);
    clear(writer, begin, data);
    clear(reader, begin, data);
    quarantine_.push_back({begin, data + std::min(data, largest_guard)});
}

const Allocation *DeviceMemory::holding(const void *p, std::size_t n) const {
    if (!contains(p)) return nullptr;
    const std::size_t offset = offset_of(p);
    const Allocation &a = allocations_[owner[offset / page]];
    if (!a.live || offset < a.offset || offset > a.offset + a.size || n > a.offset + a.size - offset) return nullptr;
    return &a;
}

void DeviceMemory::open() {
    if (open_ || !base) return;
    if (mprotect(base, round_up(frontier_, large_page), PROT_READ | PROT_WRITE) != 0)
        die("mprotect of the device's memory failed: %s", std::strerror(errno));
    open_ = true;
}

void DeviceMemory::close() {
    if (!open_) return;
    if (mprotect(base, round_up(frontier_, large_page), PROT_NONE) != 0)
        die("mprotect of the device's memory failed: %s", std::strerror(errno));
    open_ = false;
}

void DeviceMemory::set_state(const void *p, std::size_t n, ByteState value) { std::memset(state + offset_of(p), value, n); }

void DeviceMemory::forget_accesses(const void *p, std::size_t n) {
    if (n == 0) return;
    const std::size_t first = offset_of(p) / 4, last = (offset_of(p) + n - 1) / 4;
    std::fill(writer + first, writer + last + 1, 0u);
    std::fill(reader + first, reader + last + 1, 0u);
}

void DeviceMemory::forget_all_accesses() {
    clear(writer, 0, size);
    clear(reader, 0, size);
}

std::string DeviceMemory::describe(std::uintptr_t address) const {
    const std::size_t offset = address - base_address();
    std::uint32_t number = owner[offset / page];
    if (number == 0) {
        // A guard: whichever neighbour is nearer.
        const auto after = by_offset_.upper_bound(offset);
        if (after != by_offset_.end()) number = after->second;
        if (after != by_offset_.begin()) {
            const std::uint32_t below = std::prev(after)->second;
            const Allocation &b = allocations_[below];
            if (number == 0 || offset - (b.offset + b.size) <= allocations_[number].offset - offset) number = below;
        }
        if (number == 0) return "where nothing was ever allocated";
    }
    const Allocation &a = allocations_[number];
    const char *freed = a.live ? "" : ", which was freed";
    if (offset < a.offset) {
        return format("%zu bytes before the start of allocation #%u of %zu bytes%s", a.offset - offset, number, a.size, freed);
    }
    if (offset >= a.offset + a.size) {
        return format("%zu bytes past the end of allocation #%u of %zu bytes%s", offset - a.offset - a.size, number, a.size, freed);
    }
    return format("at byte %zu of allocation #%u of %zu bytes%s", offset - a.offset, number, a.size, freed);
}

}  // namespace simt
