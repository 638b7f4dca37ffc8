#include "host_guard.hpp"

#include "fiber.hpp"
#include "kernel.hpp"
#include "state.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace simt {

namespace {

struct sigaction previous;

// Formatting is not async-signal-safe; the process is about to die of a fault in a known place, not inside the
// C library, so that the message is worth more than the rule.
void say_and_die(const std::string &text) {
    const std::string line = "simulated GPU: " + text + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) std::abort();
    signal(SIGABRT, SIG_DFL);
    std::abort();
}

void pass_on(int number, siginfo_t *info, void *context) {
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
        // Back at the faulting instruction, which faults again with the default action.
        signal(number, SIG_DFL);
    } else {
        previous.sa_handler(number);
    }
}

void on_fault(int number, siginfo_t *info, void *context) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool real = info->si_code > 0;  // by the processor, not by kill()
    if (real && FiberPool::is_guard(address))
        say_and_die((this_lane() ? name_in_kernel(*this_lane()) : "a kernel") + " overflows its stack of " +
                    std::to_string(fiber_stack_size) + " bytes");
    if (real && has_state()) {
        for (const auto &device : state().devices) {
            if (!device->memory.contains(info->si_addr)) continue;
            say_and_die(format("the host touches device memory at %p, %s (device %d, seed %llu)", info->si_addr,
                               device->memory.describe(address).c_str(), device->index,
                               static_cast<unsigned long long>(state().config.seed)));
        }
    }
    pass_on(number, info, context);
}

}  // namespace

void install_host_guard() {
    struct sigaction now {};
    if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) return;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    // On the alternate stack where the thread has one, as Go and Rust demand of every handler.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous);
}

}  // namespace simt
