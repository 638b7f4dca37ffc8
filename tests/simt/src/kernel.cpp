#include "kernel.hpp"

#include "access.hpp"
#include "shared_memory.hpp"
#include "state.hpp"

#include <bit>
#include <numeric>

namespace simt {

KernelRun kernel;
constinit thread_local Lane *watched_lane __attribute__((tls_model("initial-exec"))) = nullptr;

std::string coordinates(uint3 at) { return format("(%u,%u,%u)", at.x, at.y, at.z); }

namespace {

uint3 position(std::uint64_t linear, dim3 of) {
    const auto row = static_cast<unsigned>(linear / of.x);
    return {static_cast<unsigned>(linear % of.x), row % of.y, row / of.y};
}

void end_lane(Lane &lane) {
    Warp &warp = kernel.warps[lane.index / 32];
    const unsigned bit = 1u << (lane.index % 32);
    if (kernel.n_at_barrier > 0) {
        fault(cudaErrorLaunchFailure,
              "exits while " + name_of(kernel.lanes[kernel.first_at_barrier]) + " waits at __syncthreads: a divergent barrier");
    }
    for (const Gathering &g : warp.gatherings) {
        if (g.mask & bit)
            fault(cudaErrorLaunchFailure, format("exits while lanes of its warp wait for it in %s with mask 0x%08x", g.name, g.mask));
    }
    if (kernel.n_exited++ == 0) kernel.first_exited = lane.index;
    warp.exited |= bit;
    warp.ready &= ~bit;
}

// Where a new fiber begins. It never returns: its last switch is for ever.
void run_lane_to_its_end() {
    fiber_started();
    kernel.call.run_thread(kernel.call.arguments.get());
    Lane &lane = *kernel.turn;
    in_runtime([&] { end_lane(lane); });
    switch_fiber(lane.fiber, kernel.scheduler, true);
    die("internal: a thread went on after its end");
}

void start_block() {
    kernel.n_exited = kernel.n_at_barrier = 0;
    kernel.interval++;
    kernel.ready_warps = kernel.warps.size() == 32 ? ~0u : (1u << kernel.warps.size()) - 1;
    for (std::uint32_t w = 0; w < kernel.warps.size(); w++) {
        Warp &warp = kernel.warps[w];
        const std::uint32_t n = std::min<std::uint32_t>(32, kernel.n_lanes - w * 32);
        warp.exists = warp.ready = n == 32 ? ~0u : (1u << n) - 1;
        warp.exited = 0;
        warp.epoch = 0;
        warp.gatherings.clear();
    }
    for (Lane &lane : kernel.lanes) {
        lane.started = false;
        lane.group = 0;
        lane.copies.clear();
    }
    SharedMemory::start_block(kernel.shared_bytes);
}

// A bit of a nonzero set, from a random place on.
std::uint32_t pick(unsigned set) {
    const std::uint32_t from = state().random.next() & 31;
    return (static_cast<std::uint32_t>(std::countr_zero(std::rotr(set, static_cast<int>(from)))) + from) & 31;
}

// Threads that never wait take turns on one stack, which stays in the cache: only a thread that is suspended keeps
// its stack.
int free_stacks[max_fibers];
int n_free_stacks = 0;

void resume(Lane &lane) {
    if (!lane.started) {
        lane.started = true;
        prepare_fiber(lane.fiber, free_stacks[--n_free_stacks], run_lane_to_its_end);
    }
    running.stack = FiberPool::base(lane.fiber.stack);
    update_lane_tag(lane);
    const std::uint32_t exited = kernel.n_exited;
    kernel.turn = watched_lane = &lane;
    switch_fiber(kernel.scheduler, lane.fiber, false);
    kernel.turn = watched_lane = nullptr;
    if (kernel.n_exited != exited) free_stacks[n_free_stacks++] = lane.fiber.stack;
}

[[noreturn]] void report_deadlock() {
    for (Lane &lane : kernel.lanes) {
        const Warp &warp = kernel.warps[lane.index / 32];
        const unsigned bit = 1u << (lane.index % 32);
        for (const Gathering &g : warp.gatherings) {
            if ((g.arrived & bit) == 0) continue;
            std::string text =
                format("waits in %s with mask 0x%08x, in which lanes 0x%08x are missing", g.name, g.mask, g.mask & ~g.arrived);
            if (kernel.n_at_barrier > 0) text += ", while " + name_of(kernel.lanes[kernel.first_at_barrier]) + " waits at __syncthreads";
            throw WorkFault{cudaErrorLaunchFailure, report_of(name_in_kernel(lane), text + ": a deadlock")};
        }
    }
    die("internal: threads wait for nothing");
}

void run_block() {
    start_block();
    while (kernel.ready_warps != 0) {
        const std::uint32_t w = pick(kernel.ready_warps);
        Warp &warp = kernel.warps[w];
        while (warp.ready != 0) {
            resume(kernel.lanes[w * 32 + pick(warp.ready)]);
            if (kernel.abandoned) throw std::move(kernel.fault);
        }
        kernel.ready_warps &= ~(1u << w);
    }
    if (kernel.n_exited < kernel.n_lanes) report_deadlock();
}

void end_kernel() {
    kernel.call = {};
    kernel.abandoned = false;
    kernel.fault = {};
}

}  // namespace

std::string block_coordinates(std::uint64_t linear) { return coordinates(position(linear, kernel.grid)); }

std::string name_of(const Lane &lane) { return "thread " + coordinates(lane.thread); }

std::string name_in_kernel(const Lane &lane) {
    return format("kernel %s, block %s, %s", kernel.call.name, coordinates(kernel.block_position).c_str(), name_of(lane).c_str());
}

bool is_kernel_argument(std::uintptr_t p, std::size_t n) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(kernel.call.arguments.get());
    return p - begin < kernel.call.arguments_size && n <= kernel.call.arguments_size - (p - begin);
}

void abandon_kernel() {
    kernel.abandoned = true;
    switch_fiber(kernel.turn->fiber, kernel.scheduler, false);
    die("internal: an abandoned thread went on");
}

void wait_here(Lane &lane) {
    kernel.warps[lane.index / 32].ready &= ~(1u << (lane.index % 32));
    switch_fiber(lane.fiber, kernel.scheduler, false);
}

void make_ready(std::uint32_t warp, unsigned lanes) {
    kernel.warps[warp].ready |= lanes;
    kernel.ready_warps |= 1u << warp;
}

void run_kernel(const KernelCall &call, dim3 grid, dim3 block, std::size_t shared_bytes) {
    FiberPool::reserve();
    SharedMemory::reserve();
    kernel.call = call;
    kernel.grid = grid;
    kernel.block = block;
    kernel.shared_bytes = shared_bytes;
    kernel.n_lanes = block.x * block.y * block.z;
    kernel.lanes.resize(kernel.n_lanes);
    for (std::uint32_t i = 0; i < kernel.n_lanes; i++) {
        kernel.lanes[i].index = i;
        kernel.lanes[i].thread = position(i, block);
    }
    kernel.warps.resize((kernel.n_lanes + 31) / 32);
    n_free_stacks = 0;
    for (int i = max_fibers; i-- > 0;) free_stacks[n_free_stacks++] = i;
    struct End {
        ~End() { end_kernel(); }
    } end;
    // Every block once, in an order that depends on the seed: i * step + start modulo their number, where step has
    // no divisor in common with it.
    const std::uint64_t n = std::uint64_t{grid.x} * grid.y * grid.z;
    std::uint64_t step = 1 + state().random.below(static_cast<std::uint32_t>(n));
    while (std::gcd(step, n) != 1) step++;
    std::uint64_t at = state().random.below(static_cast<std::uint32_t>(n));
    for (std::uint64_t i = 0; i < n; i++, at = (at + step) % n) {
        kernel.block_position = position(at, grid);
        running.mine = running.first + tag_first_block + static_cast<std::uint32_t>(at);
        run_block();
    }
}

uint3 thread_index() noexcept { return lane_in("threadIdx").thread; }
uint3 block_index() noexcept {
    (void)lane_in("blockIdx");
    return kernel.block_position;
}
dim3 block_dimensions() noexcept {
    (void)lane_in("blockDim");
    return kernel.block;
}
dim3 grid_dimensions() noexcept {
    (void)lane_in("gridDim");
    return kernel.grid;
}

Lane &lane_in(const char *what) {
    if (!watched_lane) die("%s outside of a kernel", what);
    return *watched_lane;
}

namespace {

constexpr std::size_t usual_shared = 48 << 10, most_shared = 227 << 10;

}  // namespace

cudaError_t queue_kernel(KernelCall kernel_call, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t handle) {
    return call("launch", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return refuse(cudaErrorInvalidResourceHandle, "launch of %s: the stream is not a live handle", kernel_call.name);
        if (stream->device != &current_device())
            return refuse(cudaErrorInvalidResourceHandle, "launch of %s: the stream is of another device", kernel_call.name);
        const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
        if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) {
            return refuse(cudaErrorInvalidConfiguration, "launch of %s: a block of %u x %u x %u threads", kernel_call.name, block.x,
                          block.y, block.z);
        }
        if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) {
            return refuse(cudaErrorInvalidConfiguration, "launch of %s: a grid of %u x %u x %u blocks", kernel_call.name, grid.x, grid.y,
                          grid.z);
        }
        if (std::uint64_t{grid.x} * grid.y * grid.z > n_tags / 2)
            return refuse(cudaErrorNotSupported, "launch of %s: more than 2^27 blocks are not simulated", kernel_call.name);
        if (shared_bytes > most_shared) {
            return refuse(cudaErrorInvalidConfiguration, "launch of %s: %zu bytes of shared memory", kernel_call.name, shared_bytes);
        }
        const auto allowed = state().shared_limits.find(kernel_call.function);
        if (shared_bytes > usual_shared &&
            (allowed == state().shared_limits.end() || shared_bytes > static_cast<std::size_t>(allowed->second))) {
            return refuse(cudaErrorInvalidValue, "launch of %s: %zu bytes of shared memory were not allowed by cudaFuncSetAttribute",
                          kernel_call.name, shared_bytes);
        }
        if (stream == stream->device->legacy && forbidding_capture()) {
            invalidate(*forbidding_capture());
            return refuse(cudaErrorStreamCaptureImplicit, "launch of %s on the legacy stream while a stream is capturing",
                          kernel_call.name);
        }
        Work work;
        work.name = format("kernel %s", kernel_call.name);
        work.n_blocks = grid.x * grid.y * grid.z;
        work.run = [kernel_call, grid, block, shared_bytes] { run_kernel(kernel_call, grid, block, shared_bytes); };
        return enqueue(*stream, std::move(work));
    });
}

}  // namespace simt

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
    using namespace simt;
    return call("cudaFuncSetAttribute", plain, [&]() -> cudaError_t {
        if (!function) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
            return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || static_cast<std::size_t>(value) > most_shared) {
            return refuse(cudaErrorInvalidValue,
                          "cudaFuncSetAttribute: attribute %d, value %d; up to %zu bytes of dynamic shared memory are valid",
                          static_cast<int>(attribute), value, most_shared);
        }
        state().shared_limits[function] = value;
        return cudaSuccess;
    });
}
