// Which elements of a tensor's rows are kept, and what replaces the others: diag, tri, diag_mask_inf, diag_mask_zero.
#pragma once

#include "dtype/host_device.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>

namespace tensorlib::core {

// Elements begin + i1 * begin_step (included) to end + i1 * end_step (excluded) of row i1 of the result are those of
// `source` at the same positions. All other elements are `fill`.
struct Band {
    std::int64_t begin, begin_step, end, end_step;
    TensorRef source;
    std::uint64_t fill;  // the bytes of an element, in the low bytes

    struct Range {
        std::int64_t begin, end;
    };
    // The kept range in a row of n elements.
    TL_HOST_DEVICE Range range(std::int64_t i1, std::int64_t n) const {
        const std::int64_t first = begin + i1 * begin_step, last = end + i1 * end_step;
        return {first < n ? first : n, last < n ? last : n};
    }
};

Band band_of(const Step &step) noexcept;

// Whether the other elements are -inf.
bool masks_by_infinity(const Tensor &node) noexcept;

}  // namespace tensorlib::core
