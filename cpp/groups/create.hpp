// Makes a group from its name.
#pragma once

#include "groups/group.hpp"

#include <string_view>

namespace tensorlib::core {

// "self", "local:N", "mpi" or "auto". Throws Error(invalid_argument) for other names, Error(unavailable) if there is no usable MPI
// library, and Error(group) if the other processes do not come.
Ref<Group> create_group(std::string_view name, const GroupParams &params);

// 0 is the default. Throws Error(invalid_argument) for more than a year.
GroupParams group_params(std::uint64_t timeout_ms);

}  // namespace tensorlib::core
