// The formulas of elementwise operations, by number: the index of an ISA's table of loops (cpu/simd/simd_table.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

enum class TileOp : std::uint8_t {
#define TL_TILE_OP(name, operands, parameters) name,
#include "math/tile_ops.inc"
#undef TL_TILE_OP
};

struct TileOpTraits {
    const char *name;
    int operands, parameters;
};

constexpr TileOpTraits tile_op_traits[] = {
#define TL_TILE_OP(name, operands, parameters) {#name, operands, parameters},
#include "math/tile_ops.inc"
#undef TL_TILE_OP
};

constexpr const TileOpTraits &traits(TileOp op) noexcept { return tile_op_traits[static_cast<std::size_t>(op)]; }
constexpr std::size_t n_tile_ops = sizeof tile_op_traits / sizeof tile_op_traits[0];
constexpr int max_tile_operands = 3;

}  // namespace tensorlib::core
