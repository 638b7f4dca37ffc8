// Element types of rows, for loops that widen elements as they are loaded.
#pragma once

#include "cpu/simd/isa.hpp"

#include "dtype/bf16.hpp"
#include "dtype/f16.hpp"

namespace tensorlib::core::simd::TL_ISA {

// SimdTable::pack_f32 for any elements of 32 bits, which it does not change.
void pack_words(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel);

struct Floats {
    using Element = float;
    static Vec::Reg load(const float *p) { return Vec::load(p); }
    static float one(float x) { return x; }
};
#if defined(TL_HAS_HALVES)
struct Halves {
    using Element = uint16_t;
    static Vec::Reg load(const uint16_t *p) { return Vec::load_f16(p); }
    static float one(uint16_t x) { return from_half(x); }
};
struct Brains {
    using Element = uint16_t;
    static Vec::Reg load(const uint16_t *p) { return Vec::load_bf16(p); }
    static float one(uint16_t x) {
        float value;
        BF16::decode(x, &value);
        return value;
    }
};
#endif

}  // namespace tensorlib::core::simd::TL_ISA
