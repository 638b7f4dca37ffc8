// Stores past the caches, for loops that have them as a choice.
#pragma once

#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

// Whether registers may be stored so from there on: they lie on their own size.
inline bool can_stream(const float *to) { return reinterpret_cast<uintptr_t>(to) % sizeof(Vec::Reg) == 0; }

// A whole register, past the caches where it is to and there is such a store.
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
