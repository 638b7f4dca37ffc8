// F64: IEEE 754 binary64, for storage. Reading it as F32 rounds to nearest even.
#pragma once

#include "dtype/format.hpp"

#include <cstdint>

namespace TL_FORMATS {

struct F64 {
    using Block = double;
    static constexpr const char *name = "f64";
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::floating;

    TL_HOST_DEVICE static void decode(const Block &block, float *values) { *values = static_cast<float>(block); }
    TL_HOST_DEVICE static bool encode(const float *values, Block &block) {
        block = static_cast<double>(*values);
        return true;
    }
};

static_assert(sizeof(F64::Block) == 8);

}  // namespace TL_FORMATS
