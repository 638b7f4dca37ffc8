// I8, I16, I32, I64: two's complement, for indices and storage. Reading as F32 rounds to nearest even. Writing F32
// rounds to nearest even, and refuses NaN and values that do not fit.
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
    // The largest value plus one: a power of two, which floats hold exactly. Values in [-end, end) fit.
    static constexpr float end = -static_cast<float>(std::numeric_limits<T>::min());

    TL_HOST_DEVICE static void decode(const Block &block, float *values) { *values = static_cast<float>(block); }
    TL_HOST_DEVICE static bool encode(const float *values, Block &block) {
        // The default rounding mode is to nearest even. A NaN fails both comparisons.
        const float rounded = rintf(*values);
        if (!(rounded >= -end && rounded < end)) return false;
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

}  // namespace TL_FORMATS
