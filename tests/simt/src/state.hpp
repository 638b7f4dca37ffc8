// The simulator's state and the gate that every call passes. One lock guards all of it: kernels run in the thread
// whose call needs them, under that lock.
#pragma once

#include "clock.hpp"
#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace simt {

struct Device {
    int index = 0;
    DeviceMemory memory;
    std::shared_ptr<Stream> legacy;
    cudaError_t dead = cudaSuccess;  // a sticky error: every later call returns it
    std::string report;              // that error's text
};

// Allocations of pinned host memory, by address.
struct Pinned {
    std::size_t size;
};

struct State {
    Config config;
    Random random;
    std::vector<std::unique_ptr<Device>> devices;
    Timeline timeline;
    std::map<std::uintptr_t, Pinned> pinned;
    std::map<const void *, int> shared_limits;     // cudaFuncSetAttribute, by kernel
    std::map<std::string, std::uint64_t> n_calls;  // counted only where failures are planned
};

State &state();

// What a call is, for the gate's checks.
enum Gate : unsigned {
    plain = 0,
    works_without_driver = 1,     // answers where there is no device
    works_when_dead = 2,          // answers although the device has a sticky error
    unsafe_during_capture = 4,    // CUDA's "potentially unsafe" calls: refused while a capture of global mode runs
    implicit_during_capture = 8,  // work of the legacy stream, likewise
};

// Passes the gate, runs body under the lock, remembers its error as the thread's last one.
cudaError_t call(const char *name, unsigned gate, const std::function<cudaError_t()> &body);

// An error with a report, for a misuse that the code alone does not explain: printed, and what cudaGetErrorString
// gives this thread for the code.
[[gnu::format(printf, 2, 3)]] cudaError_t refuse(cudaError_t code, const char *format, ...);

// A fault of work that ran: the device is dead from now on, its queued work is dropped.
void kill_device(Device &device, cudaError_t code, const std::string &text);

// A device's sticky error, if it has one, with its report for the calling thread.
cudaError_t health(const Device &device);

// The calling thread's device.
int &current_device_index() noexcept;
Device &current_device();

[[gnu::format(printf, 1, 2)]] std::string format(const char *format, ...);

// Ends the process: for what cannot be an error code.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char *format, ...);

}  // namespace simt
