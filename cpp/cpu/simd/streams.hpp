// Stores past the caches, for loops that can choose them.
#pragma once

#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

// Whether registers may be streamed to this address: it must be aligned to their size.
inline bool can_stream(const float *to) { return reinterpret_cast<uintptr_t>(to) % sizeof(Vec::Reg) == 0; }

// Stores a whole register, past the caches if requested and supported.
template <bool stream>
inline void store(float *to, Vec::Reg v) {
#if defined(TL_HAS_STREAM)
    if constexpr (stream) {
        Vec::stream(to, v);
        return;
    }
#endif
    Vec::store(to, v);
}

}  // namespace tensorlib::core::simd::TL_ISA
