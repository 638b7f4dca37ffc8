// Writes a chunk's consecutive bytes: into the result, or into the result past the caches.
//
// Writes past the caches use whole lines. Short pieces are first collected in a stage of a few KiB.
#pragma once

#include "cpu/cpu_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorlib::core {

class Sink {
public:
    // The most bytes that room() returns.
    static constexpr std::int64_t most = 4096;

    Sink(std::byte *to, const simd::SimdTable &simd, bool stream) noexcept : to_(to), simd_(simd), stream_(stream) {}
    ~Sink() {
        if (!stream_) return;
        flush(held_);
        simd_.copies.stream_end();
    }
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;

    bool streams() const noexcept { return stream_; }

    // Room for the next n bytes, up to `most`, which the caller fills before its next call.
    std::byte *room(std::int64_t n) noexcept {
        if (!stream_) {
            std::byte *at = to_;
            to_ += n;
            return at;
        }
        if (held_ + n > capacity) flush(held_ - behind_line());
        std::byte *at = stage_ + held_;
        held_ += n;
        return at;
    }

    void copy(const std::byte *from, std::int64_t n) noexcept {
        if (stream_ && n >= static_cast<std::int64_t>(shortest_stream)) {
            // The stage ends at the end of a line, and so do direct writes.
            const std::int64_t head = (line - behind_line()) % line, body = (n - head) / line * line;
            put(from, head);
            flush(held_);
            simd_.copies.stream(body, from + head, to_);
            to_ += body;
            from += head + body;
            n -= head + body;
        }
        put(from, n);
    }

    void zero(std::int64_t n) noexcept {
        for (; n > 0; n -= most) {
            const std::int64_t count = std::min(n, most);
            std::memset(room(count), 0, static_cast<std::size_t>(count));
        }
    }

private:
    static constexpr std::int64_t line = 64, capacity = 2 * most;

    void put(const std::byte *from, std::int64_t n) noexcept { std::memcpy(room(n), from, static_cast<std::size_t>(n)); }
    // The bytes of the stage after the last whole line of the result.
    std::int64_t behind_line() const noexcept {
        const auto behind = static_cast<std::int64_t>((reinterpret_cast<std::uintptr_t>(to_) + static_cast<std::uintptr_t>(held_)) % line);
        return std::min(held_, behind);
    }
    void flush(std::int64_t n) noexcept {
        simd_.copies.stream(n, stage_, to_);
        to_ += n;
        held_ -= n;
        std::memcpy(stage_, stage_ + n, static_cast<std::size_t>(held_));
    }

    std::byte *to_;
    const simd::SimdTable &simd_;
    bool stream_;
    std::int64_t held_ = 0;
    alignas(64) std::byte stage_[capacity];
};

}  // namespace tensorlib::core
