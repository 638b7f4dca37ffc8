// The simulator's functions for tests, in addition to the calls of the runtime.
#pragma once

#include <cstddef>

namespace simt {

// Allocations of device memory, on all devices, that were not freed.
std::size_t live_allocations();

// As if the process had just begun: everything made so far is gone, handles and addresses with it, dead devices are
// well, and the environment is read again. No other thread may be in a call.
void reset();

}  // namespace simt
