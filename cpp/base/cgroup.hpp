// The processors and memory that a Linux control group leaves its processes: the minimum over the process's own group
// and all groups above it.
#pragma once

#include <cstdint>
#include <string>

namespace tensorlib::core {

// Where to look; tests use other paths than the system's. Version 2 has one tree; for version 1, each controller has a
// tree in a folder of its name.
struct CgroupFiles {
    std::string root = "/sys/fs/cgroup";
    std::string self = "/proc/self/cgroup";  // says which group this process is in
};

// Whole processors that the quota allows, at least 1 (2.5 count as 2); 0 if there is no quota.
int cgroup_cpus(const CgroupFiles &files = {});

// Bytes that may still be allocated, with files' cache counted as free; ~0 if there is no limit, and at least 1,
// because 0 means unknown elsewhere.
std::uint64_t cgroup_memory(const CgroupFiles &files = {});

// The number after a word in a file of words and numbers, or 0.
std::uint64_t number_in(const std::string &path, const std::string &word);

}  // namespace tensorlib::core
