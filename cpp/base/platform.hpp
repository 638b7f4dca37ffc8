// Everything that depends on the operating system, with a portable fallback for each function. Except for files.cpp and
// shared_library.cpp, no other file of the engine includes a system header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace tensorlib::core::platform {

// Zeroed memory that starts on a page; nullptr if there is none.
void *allocate_pages(std::size_t size) noexcept;
void free_pages(void *pages, std::size_t size) noexcept;
constexpr std::size_t page_size = 4096;

// Returns the whole pages of a range to the system. They read as zeros afterwards, and those of a mapped file as the
// file. If the system does not support it, they keep their contents. The range must not be memory that others map as
// well.
void discard_pages(void *begin, std::size_t size) noexcept;

// Processors that this process may use at one time, according to affinity mask and cgroup quota (whole processors); at
// least 1.
int usable_cpus() noexcept;

// Differs between a process and its forked child.
std::int64_t process_id() noexcept;

// From now on, fork() takes the lock first, and parent and child release it, so a child never inherits it from a thread
// that it does not have. The lock must exist as long as the process. Does nothing if there is no fork().
void hold_during_fork(std::mutex &lock) noexcept;

struct MemoryInfo {
    std::uint64_t total = 0;  // bytes; 0 = unknown
    std::uint64_t free = 0;
};
MemoryInfo memory_info() noexcept;

// Bytes that this process may still allocate before the system runs out or its cgroup's limit is reached; 0 = unknown.
std::uint64_t available_memory() noexcept;

// The value of an environment variable; empty if it is not set.
std::string environment(const char *name);

}  // namespace tensorlib::core::platform
