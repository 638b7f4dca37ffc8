// The elementwise operations that compute in I32, I64 and F64 themselves. Formulas in F32 are in tile_ops.inc.
#pragma once

#include <cstdint>

namespace tensorlib::core {

// Those up to `trunc` from `sqrt` on are for F64 alone. clamp, fill and scale have numbers as parameters.
enum class NumberOp : std::uint8_t {
    add,
    sub,
    mul,
    div,
    maximum,
    minimum,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    where,
    abs,
    neg,
    sqr,
    sgn,
    clamp,
    fill,
    scale,
    sqrt,
    floor,
    ceil,
    round,
    trunc
};
constexpr int number_op_count = 25;

constexpr bool is_comparison(NumberOp op) noexcept { return op >= NumberOp::eq && op <= NumberOp::ge; }
constexpr bool is_for_integers(NumberOp op) noexcept { return op < NumberOp::sqrt; }
// The operands whose elements are numbers of the type; `where` has a condition before them.
constexpr int operands_of(NumberOp op) noexcept {
    if (op == NumberOp::fill) return 0;
    return op <= NumberOp::where ? 2 : 1;
}

}  // namespace tensorlib::core
