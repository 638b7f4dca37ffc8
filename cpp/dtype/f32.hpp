// F32: IEEE 754 binary32, the type in which everything is computed.
#pragma once

#include "dtype/format.hpp"

#include <cstdint>

namespace TL_FORMATS {

struct F32 {
    using Block = float;
    static constexpr const char *name = "f32";
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::floating;

    TL_HOST_DEVICE static void decode(const Block &block, float *values) { *values = block; }
    TL_HOST_DEVICE static bool encode(const float *values, Block &block) {
        block = *values;
        return true;
    }
};

static_assert(sizeof(F32::Block) == 4);

}  // namespace TL_FORMATS
