// Copies units (elements, or blocks of a quantised type) into contiguous rows.
#pragma once

#include "cpu/kernels/sink.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

// Calls f with a value of the unsigned type of `unit` bytes. Units that are not contiguous are elements, of 8 bytes at
// most.
template <class F>
void with_unit(std::int64_t unit, F f) noexcept {
    switch (unit) {
        case 1: return f(std::uint8_t{});
        case 2: return f(std::uint16_t{});
        case 4: return f(std::uint32_t{});
        default: return f(std::uint64_t{});
    }
}

// n units that are nb bytes apart.
inline void take_units(std::byte *to, const std::byte *from, std::int64_t nb, std::int64_t n, std::int64_t unit) noexcept {
    if (nb == unit) {
        std::memcpy(to, from, static_cast<std::size_t>(n * unit));
        return;
    }
    with_unit(unit, [=](auto word) {
        constexpr std::int64_t size = sizeof word;
        for (std::int64_t i = 0; i < n; i++) std::memcpy(to + i * size, from + i * nb, size);
    });
}

// Prefetches n bytes of the row that is copied next, if the result bypasses the caches. Short rows come from anywhere,
// so without this each one starts with memory's latency. Long rows do not need it.
inline void fetch_row(const Sink &sink, const std::byte *from, std::int64_t n) noexcept {
    if (!sink.streams() || n > Sink::most) return;
    for (std::int64_t i = 0; i < n; i += 64) __builtin_prefetch(from + i, 0, 2);
}

inline void copy_units(Sink &sink, const std::byte *from, std::int64_t nb, std::int64_t n, std::int64_t unit) noexcept {
    if (nb == unit) {
        sink.copy(from, n * unit);
        return;
    }
    const std::int64_t most = Sink::most / unit;
    for (; n > 0; n -= most, from += most * nb) {
        const std::int64_t count = std::min(n, most);
        take_units(sink.room(count * unit), from, nb, count, unit);
    }
}

// n copies of one element.
inline void fill_units(std::byte *to, const void *element, std::int64_t n, std::int64_t unit) noexcept {
    with_unit(unit, [=](auto word) {
        constexpr std::int64_t size = sizeof word;
        std::memcpy(&word, element, size);
        for (std::int64_t i = 0; i < n; i++) std::memcpy(to + i * size, &word, size);
    });
}
inline void fill_units(Sink &sink, const void *element, std::int64_t n, std::int64_t unit) noexcept {
    const std::int64_t most = Sink::most / unit;
    for (; n > 0; n -= most) {
        const std::int64_t count = std::min(n, most);
        fill_units(sink.room(count * unit), element, count, unit);
    }
}

}  // namespace tensorlib::core
