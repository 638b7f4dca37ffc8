// Elements of a row as integers that sort in the order of argsort and top_k, each with its index.
#pragma once

#include "math/lanes.hpp"

namespace TL_MATH {

enum class Order : uint8_t { ascending, descending };

// The key is in the upper half, the index in the lower one. Among equal elements the first comes first, so no two
// entries are equal, and every way of sorting is stable. NaN is last in both orders; -0 and 0 are equal.
using SortEntry = uint64_t;
constexpr SortEntry last_entry = ~SortEntry{0};  // after all others

TL_MATH_INLINE SortEntry sort_entry(float value, int64_t place, Order order) {
    // Adding 0 turns -0 into 0.
    const auto bits = __builtin_bit_cast(uint32_t, value + 0.0f);
    // Negative floats are in the reverse order of their bits, and come before the others.
    const uint32_t ascending = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    const uint32_t key = value != value ? 0xffffffffu : order == Order::ascending ? ascending : ~ascending;
    return SortEntry{key} << 32 | static_cast<uint32_t>(place);
}

TL_MATH_INLINE int32_t place_of(SortEntry entry) { return static_cast<int32_t>(entry & 0xffffffffu); }

// The float of an entry in descending order: NaN for NaN, 0 for -0.
TL_MATH_INLINE float descending_value(SortEntry entry) {
    const auto ascending = ~static_cast<uint32_t>(entry >> 32);
    return __builtin_bit_cast(float, ascending ^ (ascending >> 31 ? 0x80000000u : 0xffffffffu));
}

}  // namespace TL_MATH
