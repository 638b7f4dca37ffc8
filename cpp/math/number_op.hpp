// The elementwise operations that compute in I32, I64 and F64 themselves, from number_ops.inc. Formulas in F32 are in
// tile_ops.inc.
#pragma once

#include "dtype/host_device.hpp"

#include <cstdint>

namespace tensorlib::core {

enum class NumberOp : std::uint8_t {
#define TL_NUMBER_OP(name, operands, types) name,
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
};

constexpr int number_op_count = 0
#define TL_NUMBER_OP(name, operands, types) +1
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
    ;

constexpr TL_HOST_DEVICE bool is_comparison(NumberOp op) noexcept { return op >= NumberOp::eq && op <= NumberOp::ge; }

constexpr TL_HOST_DEVICE bool is_bitwise(NumberOp op) noexcept { return op >= NumberOp::bitwise_and; }

// all: I32, I64 and F64. doubles: F64. integers: I8, I16, I32, I64 and U8, and all but shifts BOOL.
enum class NumberTypes : std::uint8_t { all, doubles, integers };
constexpr NumberTypes types_of(NumberOp op) noexcept {
    switch (op) {
#define TL_NUMBER_OP(name, operands, types) \
    case NumberOp::name: return NumberTypes::types;
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
    }
    return NumberTypes::all;  // not reached: all operations are above
}

// The operands whose elements are numbers of the type; `where` has a condition before them.
constexpr TL_HOST_DEVICE int operands_of(NumberOp op) noexcept {
    switch (op) {
#define TL_NUMBER_OP(name, operands, types) \
    case NumberOp::name: return operands;
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
    }
    return 0;  // not reached: all operations are above
}

}  // namespace tensorlib::core
