// Reduces what several ranks have, element by element, in the order of ranks.
#pragma once

#include "dtype/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorlib::core {

enum class Reduction : std::uint8_t { sum, max };

// Whether ranks can add and compare elements of this type: F32, F16, BF16, F64, I32 and I64.
bool is_reducible(DType type) noexcept;

// n elements of each part. F16 and BF16 are added in F32 and rounded once; integers wrap around. The largest element is
// NaN if one of them is NaN, and 0 is larger than -0. The result may be one of the parts.
void reduce_in_order(Reduction reduction, DType type, std::span<const std::byte *const> parts, std::byte *result, std::int64_t n) noexcept;

}  // namespace tensorlib::core
