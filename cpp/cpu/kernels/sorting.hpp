// Elements of a row in an order: as integers that sort as the order asks, each with its place.
#pragma once

#include <bit>
#include <cstdint>

namespace tensorlib::core {

enum class Order : std::uint8_t { ascending, descending };

// The key in the upper half, the place in the lower one: of equal elements the first comes first, so that no two are alike and every way
// of sorting is stable. NaN is last in both orders; -0 and 0 are equal.
using SortEntry = std::uint64_t;
constexpr SortEntry last_entry = ~SortEntry{0};  // behind all others

inline SortEntry sort_entry(float value, std::int64_t place, Order order) noexcept {
    // (Adding 0 makes 0 of -0.)
    const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
    // Negative floats are in the reverse order of their bits, and come before the others.
    const std::uint32_t ascending = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    const std::uint32_t key = value != value ? 0xffffffffu : order == Order::ascending ? ascending : ~ascending;
    return SortEntry{key} << 32 | static_cast<std::uint32_t>(place);
}

inline std::int32_t place_of(SortEntry entry) noexcept { return static_cast<std::int32_t>(entry & 0xffffffffu); }

// Of an entry in descending order the float, which is NaN for NaN.
inline float descending_value(SortEntry entry) noexcept {
    const auto ascending = ~static_cast<std::uint32_t>(entry >> 32);
    return std::bit_cast<float>(ascending ^ (ascending >> 31 ? 0x80000000u : 0xffffffffu));
}

// Sorts n entries, whose places ascend, with as much room beside them; the answer is where they are then, one of the two.
SortEntry *sort_entries(SortEntry *entries, SortEntry *room, std::int64_t n) noexcept;

// Two sorted runs.
struct SortedPair {
    const SortEntry *a, *b;
    std::int64_t n_a, n_b;
};
// Calls take(entry) for entries [begin, end) of what both make together, in order.
template <class Take>
void merge_range(const SortedPair &pair, std::int64_t begin, std::int64_t end, Take take) noexcept;

// How many of the first n entries of both together are a's.
std::int64_t taken_of_a(const SortedPair &pair, std::int64_t n) noexcept;

template <class Take>
void merge_range(const SortedPair &pair, std::int64_t begin, std::int64_t end, Take take) noexcept {
    std::int64_t i = taken_of_a(pair, begin), j = begin - i;
    for (std::int64_t n = begin; n < end; n++) {
        // (Selections, no branches: which run is next cannot be foreseen.)
        const SortEntry a = i < pair.n_a ? pair.a[i] : last_entry, b = j < pair.n_b ? pair.b[j] : last_entry;
        const bool of_a = a < b;
        take(of_a ? a : b);
        i += of_a;
        j += !of_a;
    }
}

}  // namespace tensorlib::core
