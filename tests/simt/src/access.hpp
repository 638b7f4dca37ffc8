// The checks of memory accesses: by kernels, through the compiler's callbacks, and by copies and memsets.
//
// Running work has a range of tags: the first stands for all of it (or several of its blocks), the second for its
// atomic accesses, then one per block. Tags below `floor` belong to work that is known to have happened before.
#pragma once

#include "clock.hpp"
#include "fiber.hpp"
#include "stream.hpp"

#include <cstdint>
#include <string>

namespace simt {

class DeviceMemory;
struct Device;

// A fault of the work that runs. It unwinds the runtime's own code only: of a copy up to the queue, of a kernel's
// thread up to where the kernel called (in_runtime), which then leaves the thread for ever.
struct WorkFault {
    cudaError_t code;
    std::string text;
};

// What every access looks at, in one place. One kernel runs at a time, under the lock.
struct Running {
    std::uintptr_t base = 0;  // the device's region and shadows
    std::size_t size = 0;
    std::uint8_t *state = nullptr;
    std::uint32_t *writer = nullptr, *reader = nullptr;
    std::uint32_t mine = 0, floor = 0, first = 0;  // tags
    std::uintptr_t stack = 0;                      // of the running thread
    std::uintptr_t shared = 0;                     // see shared_memory.hpp
    std::size_t shared_size = 0;
    std::uint64_t lane_tag = 0;

    Device *device = nullptr;
    const Work *work = nullptr;
    const Clock *clock = nullptr;
    int stream_serial = 0;
};
extern Running running;

constexpr std::uint32_t n_tags = 1u << 28;  // tags are 28 bits: 4 of a word say which bytes
constexpr std::uint32_t tag_first_block = 2;

void begin_run(Device &device, const Work &work, Point point, const Clock &clock, int stream_serial);
void end_run();

// Checks a range of device memory for the running work and notes the access. A fault throws or ends the kernel.
enum class Access { read, write, atomic };
void check_device_range(DeviceMemory &memory, const void *p, std::size_t n, Access access, bool must_be_written = true);

using Tag = std::uint32_t;

// Parts of the checks that most accesses do not need. The first byte that may not be accessed is a fault; bytes
// written are noted.
[[gnu::noinline]] void check_states(DeviceMemory &memory, std::size_t offset, std::size_t n, Access access, bool must_be_written);
// Another tag has accessed the same bytes: fine if that work happened before.
[[gnu::noinline]] void check_order(DeviceMemory &memory, std::size_t word, Tag other, bool other_wrote, Access access);
// Memory that is no device's, not the thread's stack and not shared.
[[gnu::noinline]] void check_elsewhere(std::uintptr_t p, std::size_t n, Access access);
[[gnu::noinline]] void misaligned(std::uintptr_t p, std::size_t n, Access access);

const char *verb(Access access);

// Who and what, for a report: "kernel k, block (0,0,0), thread (3,0,0)" or "copy of 8 bytes to the host, stream #2".
std::string subject();

// A report's text, with the seed that repeats it.
std::string report_of(const std::string &who, const std::string &what);

// The running work is at fault.
[[noreturn]] void fault(cudaError_t code, const std::string &text);

}  // namespace simt
