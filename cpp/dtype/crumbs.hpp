// Two-bit codes as Q2_K, Q3_K and TQ2_0 store them: element 128n + 32j + l has bits 2j, 2j + 1 of byte 32n + l.
#pragma once

#include "dtype/format.hpp"

namespace TL_FORMATS {

// Stores all 256 codes 0..3, of any type.
template <class Code>
inline void store_crumbs(std::uint8_t *bytes, const Code *codes) {
    for (int n = 0; n < 2; n++) {
        for (int l = 0; l < 32; l++) {
            int bits = 0;
            for (int j = 0; j < 4; j++) bits |= static_cast<int>(codes[128 * n + 32 * j + l]) << 2 * j;
            bytes[32 * n + l] = static_cast<std::uint8_t>(bits);
        }
    }
}

}  // namespace TL_FORMATS
