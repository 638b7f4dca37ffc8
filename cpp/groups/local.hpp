// Ranks that are threads of one process.
#pragma once

#include "groups/engine.hpp"

#include <vector>

namespace tensorlib::core {

// The ends of a group of `size` ranks, in the order of ranks.
std::vector<std::unique_ptr<GroupEngine>> local_engines(int size);

}  // namespace tensorlib::core
