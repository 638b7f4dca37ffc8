// Elements of one type into another, run by run.
#pragma once

#include "cpu/cpu_kernel.hpp"

#include <atomic>

namespace tensorlib::core {

// n elements, whole blocks on both sides; returns the first that the target cannot hold, or -1. What cannot be held is
// zero in the target, with all of its block.
class Converter {
public:
    Converter(DType from, DType to, const leaf::LeafTable &leaf) noexcept;

    std::int64_t operator()(const void *from, void *to, std::int64_t n) const noexcept;

    // Elements that are converted at a time where a side has blocks: the longer block.
    std::int64_t unit() const noexcept { return unit_; }

private:
    using Plain = std::int64_t (*)(const void *from, void *to, std::int64_t n) noexcept;

    const DTypeTraits &from_, &to_;
    const leaf::LeafTable::FormatLoops &from_loops_, &to_loops_;
    Plain plain_ = nullptr;  // where neither side has blocks
    std::int64_t unit_;
};

// Notes that an element of an operand could not be taken.
inline void note_fault(const Step &step, int operand, std::int64_t position) noexcept {
    const std::atomic_ref<std::uint64_t> fault(*step.fault);
    const std::uint64_t word = Fault::word(operand, position);
    std::uint64_t seen = fault.load(std::memory_order_relaxed);
    while (word < seen && !fault.compare_exchange_weak(seen, word, std::memory_order_relaxed)) {
    }
}

}  // namespace tensorlib::core
