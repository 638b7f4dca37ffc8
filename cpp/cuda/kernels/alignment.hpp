// Which vector loads operands allow, determined at launch.
#pragma once

#include "runtime/kernel.hpp"

#include <cuda_runtime.h>

namespace tensorlib::core {

inline bool is_aligned(const void *p, std::size_t size) noexcept { return reinterpret_cast<std::uintptr_t>(p) % size == 0; }

// Whether every row begins at a multiple of `size` bytes.
inline bool rows_aligned(const TensorRef &t, std::size_t size) noexcept {
    bool aligned = is_aligned(t.data, size);
    for (std::size_t d = 1; d < max_dims; d++) aligned = aligned && (t.ne[d] <= 1 || t.nb[d] % size == 0);
    return aligned;
}

// The widest of 16, 8, 4, 2 and 1 bytes that divides rows and is aligned on both sides.
inline std::size_t widest_word(const TensorRef &a, const TensorRef &b, std::size_t row_bytes) noexcept {
    std::size_t size = 16;
    while (size > 1 && (row_bytes % size != 0 || !rows_aligned(a, size) || !rows_aligned(b, size))) size /= 2;
    return size;
}

// Calls f with a value of the unsigned type of `size` bytes.
template <class F>
cudaError_t with_word(std::size_t size, F f) noexcept {
    switch (size) {
        case 16: return f(uint4{});
        case 8: return f(std::uint64_t{});
        case 4: return f(std::uint32_t{});
        case 2: return f(std::uint16_t{});
        default: return f(std::uint8_t{});
    }
}

}  // namespace tensorlib::core
