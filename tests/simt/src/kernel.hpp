// A running kernel: its blocks one after another, the threads of a block as fibers in turns.
#pragma once

#include "access.hpp"
#include "fiber.hpp"

#include <cuda_runtime_api.h>
#include <simt/device.hpp>
#include <simt/launch.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

struct AsyncCopy {
    std::byte *to;
    const std::byte *from;
    std::uint32_t size, n_read;
    std::uint32_t group;
};

// One thread of the block.
struct Lane {
    Fiber fiber;
    uint3 thread{};
    std::uint32_t index = 0;
    bool started = false;
    const void *in = nullptr;  // of the collective it waits in
    void *out = nullptr;
    std::uint32_t group = 0;  // of asynchronous copies, not committed yet
    std::vector<AsyncCopy> copies;
};

// Lanes of one warp on their way into a collective.
struct Gathering {
    WarpFunction function;
    const char *name;
    unsigned mask, arrived;
};

struct Warp {
    unsigned exists = 0, ready = 0, exited = 0;  // bits of lanes
    std::uint32_t epoch = 0;                     // counts __syncwarp
    std::vector<Gathering> gatherings;
};

struct KernelRun {
    KernelCall call;
    dim3 grid, block;
    uint3 block_position{};
    std::size_t shared_bytes = 0;

    std::vector<Lane> lanes;
    std::vector<Warp> warps;
    unsigned ready_warps = 0;
    std::uint32_t n_lanes = 0, n_exited = 0, n_at_barrier = 0;
    std::uint32_t first_at_barrier = 0, first_exited = 0;
    std::source_location barrier;
    std::uint64_t interval = 1;  // between barriers; goes on from block to block

    Fiber scheduler;
    Lane *turn = nullptr;
    bool abandoned = false;
    WorkFault fault{};
};
extern KernelRun kernel;

// The thread whose code runs on this host thread; null outside of kernels, and inside of the runtime's own code: that
// may share functions of the standard library with a kernel file's host code, and those are instrumented. Read at
// each access, so from a register's offset; the one pointer fits into what the loader keeps free for libraries that
// are loaded late.
extern constinit thread_local Lane *watched_lane __attribute__((tls_model("initial-exec")));

// The lane whose turn it is, also inside of the runtime's code; null between the lanes.
inline Lane *this_lane() noexcept { return kernel.turn; }

// Leaves the running lane for ever; the kernel ends with the fault that it holds.
[[noreturn]] void abandon_kernel();

// The runtime's own code, called by a kernel: unwatched, and a fault goes no further up than here. All of the code's
// objects are gone before the lane is left. Elsewhere, or inside of such code, just f().
template <class F>
void in_runtime(F f) {
    Lane *lane = watched_lane;
    if (!lane) return f();
    watched_lane = nullptr;
    try {
        f();
        watched_lane = lane;
        return;
    } catch (WorkFault &fault) {
        kernel.fault = std::move(fault);
    }
    abandon_kernel();
}

// The watched lane, where a built-in makes no sense on the host.
Lane &lane_in(const char *what);

// "thread (3,0,0)", and "kernel k, block (0,0,0), thread (3,0,0)".
std::string name_of(const Lane &lane);
std::string name_in_kernel(const Lane &lane);
std::string coordinates(uint3 at);
std::string block_coordinates(std::uint64_t linear);

bool is_kernel_argument(std::uintptr_t p, std::size_t n) noexcept;

// Suspends the running lane until something makes it ready.
void wait_here(Lane &lane);
void make_ready(std::uint32_t warp, unsigned lanes);
// The lane's part of what its accesses to shared memory are tagged with.
void update_lane_tag(const Lane &lane);

void run_kernel(const KernelCall &call, dim3 grid, dim3 block, std::size_t shared_bytes);

}  // namespace simt
