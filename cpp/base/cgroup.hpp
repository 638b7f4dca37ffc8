// What a Linux control group leaves its processes: processors and memory, the least of the process's own group and of all above it.
#pragma once

#include <cstdint>
#include <string>

namespace tensorlib::core {

// Where to look; others than the system's are for tests. Version 2 has one tree; of version 1 each controller has one, in a folder of its
// name.
struct CgroupFiles {
    std::string root = "/sys/fs/cgroup";
    std::string self = "/proc/self/cgroup";  // in which group this process is
};

// Whole processors that the quota allows, at least 1 (2.5 are 2); 0 where there is no quota.
int cgroup_cpus(const CgroupFiles &files = {});

// Bytes that may still be taken, files' cache counted as free; ~0 where there is no limit, and at least 1, as 0 says unknown elsewhere.
std::uint64_t cgroup_memory(const CgroupFiles &files = {});

// The number behind a word of a file of words and numbers, or 0.
std::uint64_t number_in(const std::string &path, const std::string &word);

}  // namespace tensorlib::core
