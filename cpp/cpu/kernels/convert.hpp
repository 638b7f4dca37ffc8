// Converts elements from one type to another, run by run.
#pragma once

#include "base/atomic_min.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

// Elements that are converted at a time: 1, or the longer block of both types.
inline std::int64_t conversion_unit(DType from, DType to) noexcept { return std::max(traits(from).block_size, traits(to).block_size); }

// Converts n elements, whole blocks of both types. Returns the first element that the target cannot hold, or -1. Such
// an element becomes zero in the target, together with its whole block.
class Converter {
public:
    // With `stream`, long runs bypass the caches.
    Converter(DType from, DType to, const simd::SimdTable &simd, bool stream = false) noexcept;

    std::int64_t operator()(const void *from, void *to, std::int64_t n) const noexcept;

    std::int64_t unit() const noexcept { return unit_; }

private:
    using Plain = std::int64_t (*)(const void *from, void *to, std::int64_t n) noexcept;

    std::int64_t convert(const std::byte *from, std::byte *to, std::int64_t n) const noexcept;
    std::int64_t encode(const float *values, std::byte *to, std::int64_t n) const noexcept;

    const DTypeTraits &from_, &to_;
    const simd::SimdTable::FormatLoops &from_loops_, &to_loops_;
    const simd::SimdTable &simd_;
    Plain plain_ = nullptr;  // if one type is integers or F64, and neither is quantised
    std::int64_t unit_;
    bool stream_;
};

// Records that an operation could not take an element of an operand.
inline void note_fault(const Step &step, int operand, std::int64_t position) noexcept {
    atomic_min(std::atomic_ref(*step.fault), Fault::word(operand, position));
}

}  // namespace tensorlib::core
