// The operations' numbers and names, from op_list.inc. What they mean is in ops/.
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

// Operations, leaf not counted.
constexpr std::size_t op_count = 0
#define TL_OP(name, number) +1
#include "graph/gen/op_list.inc"
#undef TL_OP
    ;

// One more than the largest number: the list is in their order. (They may have gaps while operations are on other branches.)
constexpr std::size_t op_end = [] {
    std::size_t end = 1;
#define TL_OP(name, number) end = (number) + 1;
#include "graph/gen/op_list.inc"
#undef TL_OP
    return end;
}();

// The most operands that an operation has.
constexpr std::size_t max_sources = 10;

const char *op_name(Op op) noexcept;

}  // namespace tensorlib::core
