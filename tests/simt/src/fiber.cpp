#include "fiber.hpp"

#include "state.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace simt {

namespace {

constexpr std::size_t guard_size = 4096;
constexpr std::size_t stride = guard_size + fiber_stack_size;

std::uintptr_t pool = 0;

// The stack of the flow that switched last. The next flow to arrive learns it from the sanitizer.
#if defined(__SANITIZE_ADDRESS__)
const void *host_stack = nullptr;
std::size_t host_stack_size = 0;
bool to_fiber = false;

// Frames of a fiber that has ended or was abandoned are still guarded by the sanitizer; this removes their guards.
void clean_stack(int stack) { __asan_unpoison_memory_region(reinterpret_cast<void *>(FiberPool::base(stack)), fiber_stack_size); }

void before_switch(Fiber &from, const Fiber &to, bool from_ends) {
    to_fiber = to.stack >= 0;
    const void *bottom = to_fiber ? reinterpret_cast<const void *>(FiberPool::base(to.stack)) : host_stack;
    __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.fake_stack, bottom, to_fiber ? fiber_stack_size : host_stack_size);
}
void after_switch(Fiber *arrived) {
    const void *bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(arrived ? arrived->fake_stack : nullptr, &bottom, &size);
    if (to_fiber) {
        host_stack = bottom;
        host_stack_size = size;
    }
}
#else
void clean_stack(int) {}
void before_switch(Fiber &, const Fiber &, bool) {}
void after_switch(Fiber *) {}
#endif

// Go and Rust bring alternate stacks for their threads' signals. Without one a kernel that overflows its stack
// could not be reported.
void ensure_signal_stack() {
    stack_t now{};
    if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    constexpr std::size_t size = 64 << 10;
    thread_local std::unique_ptr<std::byte[]> memory;
    memory.reset(new std::byte[size]);
    stack_t own{};
    own.ss_sp = memory.get();
    own.ss_size = size;
    sigaltstack(&own, nullptr);
}

}  // namespace

void FiberPool::reserve() {
    ensure_signal_stack();
    if (pool != 0) return;
    void *p = mmap(nullptr, stride * max_fibers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) die("no address space for the stacks of %d threads", max_fibers);
    pool = reinterpret_cast<std::uintptr_t>(p);
    for (int i = 0; i < max_fibers; i++) {
        if (mprotect(reinterpret_cast<void *>(pool + static_cast<std::size_t>(i) * stride), guard_size, PROT_NONE) != 0)
            die("mprotect of a stack's guard failed");
    }
}

std::uintptr_t FiberPool::base(int stack) noexcept { return pool + static_cast<std::size_t>(stack) * stride + guard_size; }

bool FiberPool::contains(std::uintptr_t address) noexcept { return pool != 0 && address - pool < stride * max_fibers; }

bool FiberPool::is_guard(std::uintptr_t address) noexcept { return contains(address) && (address - pool) % stride < guard_size; }

void fiber_started() { after_switch(nullptr); }

#if defined(__x86_64__)

// Saves what the calling convention keeps for the caller, swaps stacks, restores. Rounding modes are never changed.
asm(R"(
.text
.hidden simt_switch_stack
.globl simt_switch_stack
.type simt_switch_stack, @function
simt_switch_stack:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size simt_switch_stack, .-simt_switch_stack
)");
extern "C" void simt_switch_stack(void **save, void *to);

void prepare_fiber(Fiber &fiber, int stack, void (*entry)()) {
    clean_stack(stack);
    fiber.stack = stack;
    fiber.fake_stack = nullptr;
    // From the top: a word that stands for the return address of entry, which never returns, so that the stack is
    // aligned as after a call; entry; six saved registers.
    auto **top = reinterpret_cast<void **>(FiberPool::base(stack) + fiber_stack_size) - 1;
    top[0] = nullptr;
    top[-1] = reinterpret_cast<void *>(entry);
    std::memset(top - 7, 0, 6 * sizeof(void *));
    fiber.context = top - 7;
}

void switch_fiber(Fiber &from, Fiber &to, bool from_ends) {
    before_switch(from, to, from_ends);
    simt_switch_stack(&from.context, to.context);
    after_switch(&from);
}

#else

// Slower, as it saves the signal mask by a call of the system each time.
namespace {
ucontext_t contexts[max_fibers + 1];
ucontext_t &context_of(const Fiber &fiber) { return contexts[fiber.stack < 0 ? max_fibers : fiber.stack]; }
}  // namespace

void prepare_fiber(Fiber &fiber, int stack, void (*entry)()) {
    clean_stack(stack);
    fiber.stack = stack;
    fiber.fake_stack = nullptr;
    ucontext_t &context = context_of(fiber);
    getcontext(&context);
    context.uc_stack.ss_sp = reinterpret_cast<void *>(FiberPool::base(stack));
    context.uc_stack.ss_size = fiber_stack_size;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
}

void switch_fiber(Fiber &from, Fiber &to, bool from_ends) {
    before_switch(from, to, from_ends);
    swapcontext(&context_of(from), &context_of(to));
    after_switch(&from);
}

#endif

}  // namespace simt
