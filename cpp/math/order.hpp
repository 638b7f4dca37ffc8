// Elements of a row as entries that sort in the order of argsort and top_k, each with its index.
#pragma once

#include "math/lanes.hpp"

#include <type_traits>

namespace TL_MATH {

enum class Order : uint8_t { ascending, descending };

// An element of F32 or I32: the key is in the upper half, the index in the lower one. Among equal elements the first
// comes first, so no two entries are equal, and every way of sorting is stable. NaN is last in both orders; -0 and 0 are
// equal.
using SortEntry = uint64_t;

// An element of I64 or F64, in the same order.
struct WideSortEntry {
    uint64_t key, place;

    friend constexpr TL_MATH_INLINE bool operator<(const WideSortEntry &a, const WideSortEntry &b) {
        return a.key < b.key || (a.key == b.key && a.place < b.place);
    }
    friend constexpr TL_MATH_INLINE bool operator>(const WideSortEntry &a, const WideSortEntry &b) { return b < a; }
};

// The entry of an element that is computed with as E.
template <class E>
using SortEntryOf = std::conditional_t<sizeof(E) == sizeof(uint32_t), SortEntry, WideSortEntry>;

// The entry after all others.
template <class Entry>
constexpr TL_MATH_INLINE Entry last_entry() {
    if constexpr (std::is_same_v<Entry, SortEntry>) {
        return ~SortEntry{0};
    } else {
        return {~uint64_t{0}, ~uint64_t{0}};
    }
}

// The bits of a number, as an unsigned integer that ascends with it.
template <class E>
TL_MATH_INLINE auto ascending_key(E value) {
    using Key = std::conditional_t<sizeof(E) == sizeof(uint32_t), uint32_t, uint64_t>;
    constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    if constexpr (std::is_integral_v<E>) {
        return static_cast<Key>(static_cast<Key>(value) ^ sign);
    } else {
        // Adding 0 turns -0 into 0.
        const auto bits = __builtin_bit_cast(Key, value + E{0});
        // Negative floats are in the reverse order of their bits, and come before the others.
        return static_cast<Key>(bits ^ (bits & sign ? ~Key{0} : sign));
    }
}

template <class E>
TL_MATH_INLINE SortEntryOf<E> sort_entry(E value, int64_t place, Order order) {
    auto key = ascending_key(value);
    if (order == Order::descending) key = static_cast<decltype(key)>(~key);
    if (value != value) key = static_cast<decltype(key)>(~decltype(key){0});
    if constexpr (sizeof(key) == sizeof(uint32_t)) {
        return SortEntry{key} << 32 | static_cast<uint32_t>(place);
    } else {
        return {key, static_cast<uint64_t>(place)};
    }
}

TL_MATH_INLINE int32_t place_of(SortEntry entry) { return static_cast<int32_t>(entry & 0xffffffffu); }
TL_MATH_INLINE int32_t place_of(const WideSortEntry &entry) { return static_cast<int32_t>(entry.place); }

// The float of an entry in descending order: NaN for NaN, 0 for -0.
TL_MATH_INLINE float descending_value(SortEntry entry) {
    const auto ascending = ~static_cast<uint32_t>(entry >> 32);
    return __builtin_bit_cast(float, ascending ^ (ascending >> 31 ? 0x80000000u : 0xffffffffu));
}

}  // namespace TL_MATH
