// Ranks that are threads of one process.
#pragma once

#include "groups/engine.hpp"

#include <vector>

namespace tensorlib::core {

// The ends of a group of `size` ranks, in the order of ranks. With TENSORLIB_LOCAL_NETWORK, exchanges take as long as on that network.
// Throws Error(invalid_argument) if that variable has another text than one of a network.
std::vector<std::unique_ptr<GroupEngine>> local_engines(int size);

}  // namespace tensorlib::core
