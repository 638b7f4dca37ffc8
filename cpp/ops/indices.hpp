// Operands that hold numbers of rows, elements or places.
#pragma once

#include "ops/op_def.hpp"

#include <span>
#include <string>

namespace tensorlib::core::ops {

// Fails if the operand is neither I32 nor I64.
void check_indices(const OpFacts &def, std::span<Tensor *const> src, std::size_t operand);

// What is valid, where there are n of something: "rows 0 to 4 are there".
std::string valid_indices(const char *what, std::int64_t n);

}  // namespace tensorlib::core::ops
