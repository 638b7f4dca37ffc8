// Leafs whose contents were promised never to change, and leafs whose original data were freed.
#pragma once

#include "graph/context.hpp"

namespace tensorlib::core {

// A number for Storage::constant, starting from 1.
std::uint64_t next_constant() noexcept;

void set_constant(Tensor &t);
void drop_original(Tensor &t);

}  // namespace tensorlib::core
