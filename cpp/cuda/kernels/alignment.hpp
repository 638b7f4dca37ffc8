// Which vector loads an operand allows, known when it is launched.
#pragma once

#include "runtime/kernel.hpp"

namespace tensorlib::core {

inline bool is_aligned(const void *p, std::size_t size) noexcept { return reinterpret_cast<std::uintptr_t>(p) % size == 0; }

// Whether every row begins at a multiple of `size` bytes.
inline bool rows_aligned(const TensorRef &t, std::size_t size) noexcept {
    bool aligned = is_aligned(t.data, size);
    for (std::size_t d = 1; d < max_dims; d++) aligned = aligned && (t.ne[d] <= 1 || t.nb[d] % size == 0);
    return aligned;
}

}  // namespace tensorlib::core
