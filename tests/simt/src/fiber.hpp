// Stacks for the threads of a block, and the switch between them and the scheduler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

constexpr std::size_t fiber_stack_size = 64 << 10;
constexpr int max_fibers = 1024;  // threads of a block

// A suspended flow of control: what a switch saves and where it lives.
struct Fiber {
    void *context = nullptr;  // stack pointer, or the fallback's record
    int stack = -1;           // in the pool; -1 is the host thread's own
    void *fake_stack = nullptr;
};

// One stack per fiber, with an inaccessible page below each. Reserved on first use, kept.
class FiberPool {
public:
    static void reserve();
    static std::uintptr_t base(int stack) noexcept;
    static bool contains(std::uintptr_t address) noexcept;
    static bool is_guard(std::uintptr_t address) noexcept;
};

// Makes a fiber that calls entry() on the given stack when it is switched to. entry must not return.
void prepare_fiber(Fiber &fiber, int stack, void (*entry)());

// Leaves `from` (which goes on here when something switches back to it) for `to`. A fiber that ends says so: the
// address sanitizer then frees what it keeps for it.
void switch_fiber(Fiber &from, Fiber &to, bool from_ends);

// First thing a new fiber does: the address sanitizer wants to know that it has arrived.
void fiber_started();

}  // namespace simt
