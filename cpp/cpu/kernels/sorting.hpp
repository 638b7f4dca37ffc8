// Sorts a row's elements, as entries (math/order.hpp), and merges sorted runs. Entry is SortEntry or WideSortEntry.
#pragma once

#include "math/order.hpp"

#include <cstdint>

namespace tensorlib::core {

using math::last_entry;
using math::SortEntry;
using math::WideSortEntry;

// Sorts n entries, whose indices ascend, using a second buffer of the same size. Returns the buffer that has the
// result.
template <class Entry>
Entry *sort_entries(Entry *entries, Entry *room, std::int64_t n) noexcept;

// Two sorted runs.
template <class Entry>
struct SortedPair {
    const Entry *a, *b;
    std::int64_t n_a, n_b;
};

// How many of the first n entries of both runs together are a's.
template <class Entry>
std::int64_t taken_of_a(const SortedPair<Entry> &pair, std::int64_t n) noexcept;

// Calls take(entry) for entries [begin, end) of the merged runs, in order.
template <class Entry, class Take>
void merge_range(const SortedPair<Entry> &pair, std::int64_t begin, std::int64_t end, Take take) noexcept {
    std::int64_t i = taken_of_a(pair, begin), j = begin - i;
    for (std::int64_t n = begin; n < end; n++) {
        // Selects without branches, because which run is next cannot be predicted.
        const Entry a = i < pair.n_a ? pair.a[i] : last_entry<Entry>(), b = j < pair.n_b ? pair.b[j] : last_entry<Entry>();
        const bool of_a = a < b;
        take(of_a ? a : b);
        i += of_a;
        j += !of_a;
    }
}

}  // namespace tensorlib::core
