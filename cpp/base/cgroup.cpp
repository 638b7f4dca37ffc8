#include "base/cgroup.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tensorlib::core {

namespace {

// The process's group in the tree of a version 1 controller, or, for "", in that of version 2; "/" if the file does not
// say. A line is "4:memory:/path" or "3:cpu,cpuacct:/path", or "0::/path" for version 2.
std::string own_group(const CgroupFiles &files, const std::string &controller) {
    std::ifstream file(files.self);
    for (std::string line; std::getline(file, line);) {
        const std::size_t names = line.find(':'), path = line.find(':', names + 1);
        if (path == std::string::npos) continue;
        std::stringstream list(line.substr(names + 1, path - names - 1));
        bool listed = controller.empty() && path == names + 1;
        for (std::string name; std::getline(list, name, ',');) listed = listed || (!controller.empty() && name == controller);
        if (listed) {
            std::string group = line.substr(path + 1);
            // A group outside of what the process sees begins with "/..".
            if (group.starts_with("/") && group.find("/..") == std::string::npos) return group;
        }
    }
    return "/";
}

// Calls look(folder) for the process's group and each group above it. A container that sees its own group at the root
// has none of the folders in a path from outside: those are skipped, and the root is always visited.
template <class Look>
void for_each_group(const CgroupFiles &files, const std::string &controller, Look look) {
    const std::string tree = controller.empty() ? files.root : files.root + "/" + controller;
    std::string group = own_group(files, controller);
    while (!group.empty() && group != "/") {
        look(tree + group);
        group.erase(group.rfind('/'));
    }
    look(tree);
}

// "max 100000" or "200000 100000", in microseconds per period.
double quota_cpus(std::istream &in) {
    std::string quota;
    double period = 0;
    if (!(in >> quota >> period) || period <= 0) return 0;
    return std::max(0.0, std::strtod(quota.c_str(), nullptr) / period);
}

// Version 1 uses -1 for no quota.
double quota_cpus_v1(const std::string &folder) {
    double quota = 0, period = 0;
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 0;
    return quota / period;
}

// Version 1 without a limit gives a number near 2^63.
std::uint64_t left_in(const std::string &folder, const char *limit_name, const char *used_name, const char *cache) {
    std::uint64_t limit = 0, used = 0;
    if (!(std::ifstream(folder + limit_name) >> limit) || !(std::ifstream(folder + used_name) >> used)) return ~std::uint64_t{0};
    used -= std::min(used, number_in(folder + "/memory.stat", cache));
    return limit > used ? limit - used : 1;
}

}  // namespace

int cgroup_cpus(const CgroupFiles &files) {
    constexpr double most = 4096;
    double least = most;
    const auto take = [&](double cpus) {
        if (cpus > 0) least = std::min(least, cpus);
    };
    for_each_group(files, "", [&](const std::string &folder) {
        std::ifstream file(folder + "/cpu.max");
        take(quota_cpus(file));
    });
    for_each_group(files, "cpu", [&](const std::string &folder) { take(quota_cpus_v1(folder)); });
    // With one thread more than the quota has whole processors, that thread would be stopped for the rest of each
    // period, and the others would wait for it.
    return least == most ? 0 : std::max(1, static_cast<int>(least));
}

std::uint64_t cgroup_memory(const CgroupFiles &files) {
    std::uint64_t least = ~std::uint64_t{0};
    for_each_group(files, "", [&](const std::string &folder) {
        least = std::min(least, left_in(folder, "/memory.max", "/memory.current", "inactive_file"));
    });
    for_each_group(files, "memory", [&](const std::string &folder) {
        least = std::min(least, left_in(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"));
    });
    return least;
}

std::uint64_t number_in(const std::string &path, const std::string &word) {
    std::ifstream file(path);
    std::string name, line;
    while (file >> name) {
        std::uint64_t value = 0;
        if (name == word) return file >> value ? value : 0;
        std::getline(file, line);
    }
    return 0;
}

}  // namespace tensorlib::core
