// The host's own accesses to device memory: a handler that names them and lets the process die.
#pragma once

namespace simt {

// Handles SIGSEGV from now on; faults elsewhere go to the handler that was there before.
void install_host_guard();

// True while there is state: a handler may come before or after it.
bool has_state() noexcept;

}  // namespace simt
