#include "graph/arena.hpp"

#include "base/best_fit.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tensorlib::core {

namespace {

constexpr std::size_t own_chunk_size = std::size_t{1} << 20;
constexpr std::size_t largest_chunk_size = std::size_t{16} << 20;

std::size_t room(const std::byte *from, const std::byte *to) { return static_cast<std::size_t>(to - from); }

}  // namespace

Arena::Arena(DeviceMemory &memory, MemoryBudget &budget, void *buffer, std::size_t size)
    : memory_(memory), budget_(budget), fixed_(buffer != nullptr) {
    if (!fixed_) return;
    const std::size_t unit = memory_.alignment();
    const auto address = reinterpret_cast<std::uintptr_t>(buffer);
    const std::size_t skip = std::min<std::size_t>(static_cast<std::size_t>(-address) & (unit - 1), size);
    auto *begin = static_cast<std::byte *>(buffer) + skip;
    auto *end = begin + (size - skip) / unit * unit;
    // clean = end, because a caller's buffer may hold anything.
    chunks_.push_back({begin, begin, end, end, false});
}

Arena::~Arena() {
    for (const Chunk &chunk : chunks_) {
        if (chunk.owned) {
            memory_.release(chunk.begin, room(chunk.begin, chunk.end));
        } else {
            memory_.mark_used(chunk.begin, room(chunk.begin, chunk.end));
        }
    }
}

std::size_t Arena::counted(std::size_t size) const noexcept {
    const std::size_t unit = memory_.alignment();
    // allocate() refuses sizes within a unit of the largest before this can wrap.
    return std::max(round_up(size, unit), unit);
}

void *Arena::allocate(std::size_t size, bool zeroed) {
    if (size > std::numeric_limits<std::size_t>::max() / 2) fail_out_of_memory(size);
    const std::size_t counted_size = counted(size);
    if (budget_.limit != 0 && (counted_size > budget_.limit || budget_.used > budget_.limit - counted_size)) {
        fail_out_of_memory(counted_size);
    }
    Taken block;
    // The fast path: the current chunk has room. Zeroed blocks never come from the free list, which holds old data.
    if (!chunks_.empty() && room(chunks_[current_].top, chunks_[current_].end) >= counted_size) {
        if (!zeroed && !free_.empty()) block = take_released(counted_size);
        if (!block.begin) block = take_from(chunks_[current_], counted_size);
    } else {
        if (!zeroed) block = take_released(counted_size);
        for (std::size_t i = 0; !block.begin && i < chunks_.size(); i++) {
            if (room(chunks_[i].top, chunks_[i].end) >= counted_size) block = take_from(chunks_[i], counted_size);
        }
        // The last resort in a caller's buffer: reuse old blocks and clear them.
        if (!block.begin && fixed_ && zeroed) block = take_released(counted_size);
        if (!block.begin) block = take_from(grow(counted_size, zeroed), counted_size);
    }
    // The bytes added by rounding up stay marked unused, so a write past a tensor's end is found.
    memory_.mark_used(block.begin, size);
    used_ += counted_size;
    budget_.used += counted_size;
    if (zeroed && block.dirty != 0) zero(block.begin, std::min(block.dirty, size), size);
    budget_.peak = std::max(budget_.peak, budget_.used);
    return block.begin;
}

// Zeroes the first bytes of a block of this size, and gives the block back if the device fails.
void Arena::zero(std::byte *block, std::size_t dirty, std::size_t size) {
    try {
        memory_.zero(block, dirty);
    } catch (...) {
        release_unwritten(block, size);
        throw;
    }
}

Arena::Taken Arena::take_from(Chunk &chunk, std::size_t size) noexcept {
    std::byte *block = chunk.top;
    const std::size_t dirty = block < chunk.clean ? room(block, std::min(block + size, chunk.clean)) : 0;
    chunk.top = block + size;
    chunk.clean = std::max(chunk.clean, chunk.top);
    return {block, dirty};
}

// The rest of the block stays released.
Arena::Taken Arena::take_released(std::size_t size) noexcept {
    const auto best = best_fit(free_, size);
    if (best == free_.end()) return {};
    std::byte *block = best->begin;
    best->begin += size;
    best->size -= size;
    if (best->size == 0) free_.erase(best);
    return {block, size};
}

Arena::Chunk &Arena::grow(std::size_t size, bool zeroed) {
    if (fixed_) fail_out_of_memory(size);
    const bool own = size >= own_chunk_size;
    // A plan that grew since the last one will grow again. Leafs do not grow.
    const bool growing = own && give_back_idle() && !zeroed;
    std::size_t chunk_size = own ? size : std::max(size, next_chunk_size_);
    if (growing) chunk_size += round_up(size / 4, memory_.alignment());
    chunks_.reserve(chunks_.size() + 1);
    free_.reserve(free_.size() + 1);
    auto *begin = static_cast<std::byte *>(memory_.acquire(chunk_size));
    if (!begin && growing) begin = static_cast<std::byte *>(memory_.acquire(chunk_size = size));
    if (!begin) fail_out_of_memory(size);
    memory_.mark_unused(begin, chunk_size);
    std::byte *clean = memory_.acquires_zeros() ? begin : begin + chunk_size;
    chunks_.push_back({begin, begin, clean, begin + chunk_size, true});
    if (!own) {
        current_ = chunks_.size() - 1;
        next_chunk_size_ = std::min(next_chunk_size_ * 2, largest_chunk_size);
    }
    return chunks_.back();
}

// All idle chunks are too small for the request. Small chunks, and the one that is appended to, stay, because they will
// be used again.
bool Arena::give_back_idle() noexcept {
    bool any = false;
    for (std::size_t i = chunks_.size(); i-- > 0;) {
        const Chunk &chunk = chunks_[i];
        if (chunk.top != chunk.begin || i == current_ || room(chunk.begin, chunk.end) < own_chunk_size) continue;
        if (!any) memory_.settle();  // a block's zeroing may still be queued
        any = true;
        memory_.release(chunk.begin, room(chunk.begin, chunk.end));
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(i));
        if (current_ > i) current_--;
    }
    return any;
}

Arena::Chunk *Arena::chunk_of(const std::byte *p) noexcept {
    for (Chunk &chunk : chunks_) {
        if (p >= chunk.begin && p < chunk.end) return &chunk;
    }
    return nullptr;
}

void Arena::release(void *block, std::size_t size) noexcept {
    if (!block) return;
    auto *begin = static_cast<std::byte *>(block);
    std::size_t released = counted(size);
    used_ -= released;
    budget_.used -= released;
    Chunk *chunk = chunk_of(begin);
    if (!chunk) return;
    memory_.mark_unused(begin, released);
    // Merge with released neighbours of the same chunk.
    auto next = std::lower_bound(free_.begin(), free_.end(), begin, [](const Free &f, const std::byte *p) { return f.begin < p; });
    if (next != free_.end() && next->begin == begin + released && next->begin < chunk->end) {
        released += next->size;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto before = next - 1;
        if (before->begin + before->size == begin && before->begin >= chunk->begin) {
            begin = before->begin;
            released += before->size;
            next = free_.erase(before);
        }
    }
    if (begin + released == chunk->top) {
        chunk->top = begin;
        return;
    }
    try {
        free_.insert(next, {begin, released});
    } catch (...) {
        // There is no memory to remember the block, so it is lost until reset().
    }
}

void Arena::release_unwritten(void *block, std::size_t size) noexcept {
    memory_.settle();
    release(block, size);
}

void Arena::give_back(void *block, std::size_t size) noexcept {
    if (!fixed_) memory_.discard(block, counted(size));
    release(block, size);
}

void Arena::reset() noexcept {
    budget_.used -= used_;
    used_ = 0;
    memory_.settle();
    for (Chunk &chunk : chunks_) {
        chunk.top = chunk.begin;
        memory_.mark_unused(chunk.begin, room(chunk.begin, chunk.end));
    }
    free_.clear();
    current_ = 0;
}

void Arena::fail_out_of_memory(std::size_t size) const {
    if (fixed_) {
        const Chunk &c = chunks_.front();
        fail(Status::out_of_memory, "%zu bytes asked, %zu used, the caller's buffer has %zu", size, budget_.used, room(c.begin, c.end));
    }
    if (budget_.limit != 0) {
        fail(Status::out_of_memory, "%zu bytes asked, %zu used, mem_limit is %zu", size, budget_.used, budget_.limit);
    }
    fail(Status::out_of_memory, "%zu bytes asked on device %s, %zu used, no limit set: the machine has no more", size, memory_.device(),
         budget_.used);
}

}  // namespace tensorlib::core
