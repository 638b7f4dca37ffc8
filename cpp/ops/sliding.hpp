// Windows that slide over one dimension, for pooling, im2col and convolutions. infer, the CPU kernels and the CUDA
// kernels share this code.
#pragma once

#include "dtype/host_device.hpp"

#include <cstdint>

namespace tensorlib::core {

// Tap t of the window at a position meets the element position * stride + t * dilation - padding, if there is such an
// element. A transposed convolution has the same relation, but the elements are those of its result.
//
//   elements          0 1 2 3 4 5 6         padding 1, 3 taps, dilation 1, stride 2
//   position 0      x x x
//   position 1          x x x
struct Sliding {
    std::int64_t elements = 1, taps = 1, stride = 1, padding = 0, dilation = 1;
    std::int64_t positions = 1;

    struct Range {
        std::int64_t begin, end;
        TL_HOST_DEVICE std::int64_t size() const { return end - begin; }
    };

    TL_HOST_DEVICE std::int64_t element(std::int64_t position, std::int64_t tap) const {
        return position * stride + tap * dilation - padding;
    }
    // The taps that meet an element at this position.
    TL_HOST_DEVICE Range taps_at(std::int64_t position) const { return within(element(position, 0), dilation, taps, elements); }
    // The positions at which this tap meets an element.
    TL_HOST_DEVICE Range positions_of(std::int64_t tap) const { return within(element(0, tap), stride, positions, elements); }
    // Whether a tap meets this element at some position, and at which one.
    TL_HOST_DEVICE bool position_of(std::int64_t element, std::int64_t tap, std::int64_t &position) const {
        const std::int64_t from_first = element + padding - tap * dilation;
        position = from_first / stride;
        return from_first >= 0 && position < positions && position * stride == from_first;
    }

    // Sets n to the number of elements that a window spans, 0 without taps. False if it exceeds 2^63 - 1.
    bool span(std::int64_t &n) const noexcept {
        if (taps <= 0) return n = 0, true;
        return !__builtin_mul_overflow(taps - 1, dilation, &n) && !__builtin_add_overflow(n, std::int64_t{1}, &n);
    }
    // Counts the positions at which a window lies within the elements and the padding on both sides; there may be none.
    // False if sizes exceed 2^63 - 1.
    bool count_positions() noexcept {
        std::int64_t padded, spanned;
        if (!span(spanned) || __builtin_mul_overflow(padding, std::int64_t{2}, &padded) ||
            __builtin_add_overflow(padded, elements, &padded))
            return false;
        positions = padded < spanned ? 0 : (padded - spanned) / stride + 1;
        return true;
    }
    // Counts the elements that windows at all positions span, without the padding on both sides; 0 or less if there are
    // none. False if sizes exceed 2^63 - 1.
    bool count_elements() noexcept {
        std::int64_t spanned, padded, last;
        return span(spanned) && !__builtin_mul_overflow(padding, std::int64_t{2}, &padded) &&
               !__builtin_mul_overflow(positions - 1, stride, &last) && !__builtin_add_overflow(last, spanned, &last) &&
               !__builtin_sub_overflow(last, padded, &elements);
    }

    // The i below n for which first + i * step is an element; step is positive.
    TL_HOST_DEVICE static Range within(std::int64_t first, std::int64_t step, std::int64_t n, std::int64_t elements) {
        // Most windows have a step of 1, and a division takes as long as a short row.
        const std::int64_t before = first >= 0 ? 0 : step == 1 ? -first : (-first - 1) / step + 1;
        const std::int64_t up_to = first >= elements ? 0 : step == 1 ? elements - first : (elements - 1 - first) / step + 1;
        const std::int64_t begin = before < n ? before : n, end = up_to < n ? up_to : n;
        return {begin, end < begin ? begin : end};
    }
};

}  // namespace tensorlib::core
