// I8, I16, I32, I64 in two's complement, U8, and BOOL. Reading as F32 rounds to nearest even. Writing F32 rounds to nearest
// even, and refuses NaN and values that do not fit. BOOL is a byte, 0 or 1; every value but 0 converts to 1.
#pragma once

#include "dtype/format.hpp"

#include <math.h>
#include <limits>

namespace TL_FORMATS {

template <class T>
struct Integer {
    using Block = T;
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::integer;
    // Values in [least, end) fit. Both are 0 or a power of two, which floats hold exactly.
    static constexpr float least = static_cast<float>(std::numeric_limits<T>::min());
    static constexpr float end = 2 * static_cast<float>(std::numeric_limits<T>::max() / 2 + 1);

    TL_HOST_DEVICE static void decode(const Block &block, float *values) { *values = static_cast<float>(block); }
    TL_HOST_DEVICE static bool encode(const float *values, Block &block) {
        // The default rounding mode is to nearest even. A NaN fails both comparisons.
        const float rounded = rintf(*values);
        if (!(rounded >= least && rounded < end)) return false;
        block = static_cast<T>(rounded);
        return true;
    }
};

struct I8 : Integer<std::int8_t> {
    static constexpr const char *name = "i8";
};
struct I16 : Integer<std::int16_t> {
    static constexpr const char *name = "i16";
};
struct I32 : Integer<std::int32_t> {
    static constexpr const char *name = "i32";
};
struct I64 : Integer<std::int64_t> {
    static constexpr const char *name = "i64";
};
struct U8 : Integer<std::uint8_t> {
    static constexpr const char *name = "u8";
};

struct Bool {
    using Block = std::uint8_t;
    static constexpr const char *name = "bool";
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::integer;

    TL_HOST_DEVICE static void decode(const Block &block, float *values) { *values = block != 0 ? 1.0f : 0.0f; }
    TL_HOST_DEVICE static bool encode(const float *values, Block &block) {
        block = *values != 0;
        return true;
    }
};

// The value of an element of an integer type.
template <class Format>
TL_HOST_DEVICE constexpr std::int64_t whole(const typename Format::Block &element) {
    return element;
}
template <>
TL_HOST_DEVICE constexpr std::int64_t whole<Bool>(const std::uint8_t &element) {
    return element != 0;
}

}  // namespace TL_FORMATS
