#include "cpu/kernels/sorting.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tensorlib::core {

namespace {

// Shorter rows are sorted by comparisons, because counting alone takes as long there.
constexpr std::int64_t shortest_radix_sort = 256;
constexpr int bits = 8;
using Counts = std::array<std::uint32_t, 1 << bits>;  // of at most 2^31 - 1 entries

// The passes of a sort: the bytes of a key.
template <class Entry>
constexpr int passes = 4;
template <>
constexpr int passes<WideSortEntry> = 8;

std::size_t digit(SortEntry entry, int pass) noexcept { return entry >> (32 + bits * pass) & ((1u << bits) - 1); }
std::size_t digit(const WideSortEntry &entry, int pass) noexcept { return entry.key >> (bits * pass) & ((1u << bits) - 1); }

}  // namespace

// Sorts by the keys' bytes, starting with the last; each pass is stable. One traversal counts for all passes. A byte
// that all keys share needs no pass.
template <class Entry>
Entry *sort_entries(Entry *entries, Entry *room, std::int64_t n) noexcept {
    if (n < shortest_radix_sort) {
        std::sort(entries, entries + n);
        return entries;
    }
    std::array<Counts, passes<Entry>> counts{};
    for (std::int64_t i = 0; i < n; i++) {
        for (int pass = 0; pass < passes<Entry>; pass++) counts[static_cast<std::size_t>(pass)][digit(entries[i], pass)]++;
    }
    for (int pass = 0; pass < passes<Entry>; pass++) {
        Counts &next = counts[static_cast<std::size_t>(pass)];
        if (next[digit(entries[0], pass)] == n) continue;
        std::uint32_t before = 0;
        for (std::uint32_t &count : next) before += std::exchange(count, before);
        for (std::int64_t i = 0; i < n; i++) room[next[digit(entries[i], pass)]++] = entries[i];
        std::swap(entries, room);
    }
    return entries;
}

// Binary search for the least i with a[i] > b[n - 1 - i]: the elements of a before i, and enough elements of b, are the
// first n.
template <class Entry>
std::int64_t taken_of_a(const SortedPair<Entry> &pair, std::int64_t n) noexcept {
    std::int64_t low = std::max<std::int64_t>(0, n - pair.n_b), high = std::min(n, pair.n_a);
    while (low < high) {
        const std::int64_t i = low + (high - low) / 2;
        if (pair.a[i] < pair.b[n - 1 - i]) {
            low = i + 1;
        } else {
            high = i;
        }
    }
    return low;
}

template SortEntry *sort_entries(SortEntry *, SortEntry *, std::int64_t) noexcept;
template WideSortEntry *sort_entries(WideSortEntry *, WideSortEntry *, std::int64_t) noexcept;
template std::int64_t taken_of_a(const SortedPair<SortEntry> &, std::int64_t) noexcept;
template std::int64_t taken_of_a(const SortedPair<WideSortEntry> &, std::int64_t) noexcept;

}  // namespace tensorlib::core
