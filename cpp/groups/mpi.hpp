// Ranks that are processes, connected by the machine's MPI library (mpi_library.hpp).
#pragma once

#include "groups/engine.hpp"

#include <chrono>
#include <memory>

namespace tensorlib::core {

// This process's end of a group of all processes that the launcher started. All of them make as many such groups, in the same
// order. Starts MPI unless the program has, and finalizes it when the process ends if it has started it. Throws
// Error(unavailable) if there is no usable library, and Error(group) if the others do not come in time.
// At most `most_bytes` go through one call of the library, whose counts have 31 bits.
std::unique_ptr<GroupEngine> mpi_engine(std::chrono::milliseconds timeout, std::size_t most_bytes = std::size_t{1} << 30);

}  // namespace tensorlib::core
