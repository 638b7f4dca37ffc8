// Limits of control groups, read from files in Linux's format.
#include "base/cgroup.hpp"

#include "gguf_files.hpp"
#include "support.hpp"

#include <filesystem>
#include <fstream>

namespace {

using tl::core::CgroupFiles;

class Cgroup : public testing::Test {
protected:
    void put(const std::string &path, const std::string &text) {
        const std::string whole = folder.path(path);
        std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
        std::ofstream(whole) << text;
    }
    int cpus() const { return tl::core::cgroup_cpus(files); }
    std::uint64_t memory() const { return tl::core::cgroup_memory(files); }

    support::TempFolder folder;
    CgroupFiles files{folder.path("tree"), folder.path("self")};
    static constexpr std::uint64_t none = ~std::uint64_t{0};
};

TEST_F(Cgroup, no_files_are_no_limits) {
    EXPECT_EQ(cpus(), 0);
    EXPECT_EQ(memory(), none);
}

// A container: its own group is the root of what it sees.
TEST_F(Cgroup, at_the_root) {
    put("self", "0::/\n");
    put("tree/cpu.max", "250000 100000\n");
    put("tree/memory.max", "1000\n");
    put("tree/memory.current", "700\n");
    put("tree/memory.stat", "anon 500\ninactive_file 200\n");
    EXPECT_EQ(cpus(), 2);
    EXPECT_EQ(memory(), 500u);
}

// A part of a processor is no thread: it would run for that part of each period only, and the others would wait for it.
TEST_F(Cgroup, parts_of_processors) {
    put("self", "0::/\n");
    const auto cpus_of = [&](const std::string &quota) {
        put("tree/cpu.max", quota + " 100000\n");
        return cpus();
    };
    EXPECT_EQ(cpus_of("1000"), 1) << "at least one";
    EXPECT_EQ(cpus_of("100000"), 1);
    EXPECT_EQ(cpus_of("150000"), 1);
    EXPECT_EQ(cpus_of("199999"), 1);
    EXPECT_EQ(cpus_of("200000"), 2);
    EXPECT_EQ(cpus_of("999999"), 9);
}

// A service under a service manager: the root has no limits, the groups on the way down have.
TEST_F(Cgroup, of_the_own_group_and_those_above) {
    put("self", "0::/system.slice/model.service\n");
    put("tree/system.slice/model.service/cpu.max", "max 100000\n");
    put("tree/system.slice/model.service/memory.max", "5000\n");
    put("tree/system.slice/model.service/memory.current", "1000\n");
    put("tree/system.slice/cpu.max", "300000 100000\n");
    put("tree/system.slice/memory.max", "max\n");
    put("tree/system.slice/memory.current", "9000\n");
    EXPECT_EQ(cpus(), 3);
    EXPECT_EQ(memory(), 4000u);
    put("tree/system.slice/memory.max", "9500\n");
    EXPECT_EQ(memory(), 500u) << "the group above has less left";
    put("tree/system.slice/memory.max", "8000\n");
    EXPECT_EQ(memory(), 1u) << "nothing left";
}

TEST_F(Cgroup, of_version_1) {
    put("self", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/other\n0::/elsewhere\n");
    put("tree/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
    put("tree/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
    put("tree/cpu/cpu.cfs_quota_us", "-1\n");
    put("tree/cpu/cpu.cfs_period_us", "100000\n");
    put("tree/memory/docker/abc/memory.limit_in_bytes", "2000\n");
    put("tree/memory/docker/abc/memory.usage_in_bytes", "1500\n");
    put("tree/memory/docker/abc/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
    EXPECT_EQ(cpus(), 1);
    EXPECT_EQ(memory(), 600u);
}

// A path from outside of the container names folders that are not there: the root counts.
TEST_F(Cgroup, whose_folders_are_not_seen) {
    put("self", "0::/../../docker/abc\n");
    put("tree/cpu.max", "200000 100000\n");
    put("tree/memory.max", "100\n");
    put("tree/memory.current", "40\n");
    EXPECT_EQ(cpus(), 2);
    EXPECT_EQ(memory(), 60u);
}

}  // namespace
