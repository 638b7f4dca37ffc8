// The numbers and names of operations, from op_list.inc. ops/ defines what they mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

enum class Op : std::uint16_t {
    leaf = 0,
#define TL_OP(name, number) name = number,
#include "graph/gen/op_list.inc"
#undef TL_OP
};

// The number of operations, without leaf.
constexpr std::size_t op_count = 0
#define TL_OP(name, number) +1
#include "graph/gen/op_list.inc"
#undef TL_OP
    ;

// The largest number plus one. The list is in the order of numbers, which may have gaps while operations are on other
// branches.
constexpr std::size_t op_end = [] {
    std::size_t end = 1;
#define TL_OP(name, number) end = (number) + 1;
#include "graph/gen/op_list.inc"
#undef TL_OP
    return end;
}();

// The largest number of operands of an operation.
constexpr std::size_t max_sources = 10;

const char *op_name(Op op) noexcept;

}  // namespace tensorlib::core
