// Leafs whose contents were promised to stay as they are, and those whose original was given back.
#pragma once

#include "graph/context.hpp"

namespace tensorlib::core {

// A number for Tensor::constant, from 1 on.
std::uint64_t next_constant() noexcept;

void set_constant(Tensor &t);
void drop_original(Tensor &t);

}  // namespace tensorlib::core
