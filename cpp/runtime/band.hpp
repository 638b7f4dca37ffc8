// What is kept of a tensor's rows, and what stands elsewhere: diag, tri, diag_mask_inf, diag_mask_zero.
#pragma once

#include "dtype/host_device.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>

namespace tensorlib::core {

// Of row i1 of the result the elements from begin + i1 * begin_step on, to before end + i1 * end_step, are those of `source` at their
// places; all others are `fill`.
struct Band {
    std::int64_t begin, begin_step, end, end_step;
    TensorRef source;
    std::uint64_t fill;  // an element's bytes, the first ones

    struct Range {
        std::int64_t begin, end;
    };
    // Within a row of n elements.
    TL_HOST_DEVICE Range range(std::int64_t i1, std::int64_t n) const {
        const std::int64_t first = begin + i1 * begin_step, last = end + i1 * end_step;
        return {first < n ? first : n, last < n ? last : n};
    }
};

Band band_of(const Step &step) noexcept;

// Whether what stands elsewhere is -inf.
bool masks_by_infinity(const Tensor &node) noexcept;

}  // namespace tensorlib::core
