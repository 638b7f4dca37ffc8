// Elements of one type into another, run by run.
#pragma once

#include "base/atomic_min.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

// Elements that are converted at a time: 1, or the longer block of both sides.
inline std::int64_t conversion_unit(DType from, DType to) noexcept { return std::max(traits(from).block_size, traits(to).block_size); }

// n elements, whole blocks on both sides; returns the first that the target cannot hold, or -1. What cannot be held is
// zero in the target, with all of its block.
class Converter {
public:
    // With `stream`, long runs go past the caches.
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
    Plain plain_ = nullptr;  // where one side is integers or F64, and neither has blocks
    std::int64_t unit_;
    bool stream_;
};

// Notes that an element of an operand could not be taken.
inline void note_fault(const Step &step, int operand, std::int64_t position) noexcept {
    atomic_min(std::atomic_ref(*step.fault), Fault::word(operand, position));
}

}  // namespace tensorlib::core
