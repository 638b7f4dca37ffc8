// Ranks that are killed, stopped, late, leave, fork or fail, and MPI libraries that are missing or the wrong ones: each time the
// others get an error that names the rank, in time, and nobody hangs. Starts mpi_rank with the launcher
// TENSORLIB_TEST_MPIRUN, of the library TENSORLIB_TEST_MPI.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace {

struct Result {
    std::string output;
    int status = 0;  // the launcher's; 124 after a minute
};

std::string setting(const char *name) {
    const char *value = std::getenv(name);
    if (!value || !*value) throw std::runtime_error(std::string(name) + " is not set: cargo xtask test --only groups sets it");
    return value;
}

Result run(const std::string &command) {
    const auto close = [](std::FILE *pipe) { return pclose(pipe); };
    std::FILE *pipe = popen(("timeout -k 2 60 " + command + " 2>&1").c_str(), "r");
    if (!pipe) throw std::runtime_error("popen");
    Result result;
    std::array<char, 4096> block{};
    for (std::size_t n; (n = std::fread(block.data(), 1, block.size(), pipe)) > 0;) result.output.append(block.data(), n);
    const int status = close(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

Result ranks(int n, const std::string &mode, const std::string &options = "") {
    return run(setting("TENSORLIB_TEST_MPIRUN") + " " + options + " -n " + std::to_string(n) + " " TENSORLIB_MPI_RANK " " + mode);
}

bool is_open_mpi() { return setting("TENSORLIB_TEST_MPI").find("libmpi.so.40") != std::string::npos; }

// The lines of these ranks, each of which says all words.
void expect_lines(const Result &result, std::initializer_list<int> of, const std::string &words) {
    EXPECT_NE(result.status, 124) << "it hangs: " << result.output;
    for (const int rank : of) {
        const std::string line = "[rank " + std::to_string(rank) + "] ";
        bool is_there = false;
        for (std::size_t at = result.output.find(line); at != std::string::npos; at = result.output.find(line, at + 1)) {
            const std::string text = result.output.substr(at, result.output.find('\n', at) - at);
            is_there = is_there || text.find(words) != std::string::npos;
        }
        EXPECT_TRUE(is_there) << "rank " << rank << " does not say: " << words << "\n" << result.output;
    }
}

TEST(MpiFailures, a_killed_rank_ends_the_others) {
    const Result result = ranks(3, "is_killed");
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.status, 124) << result.output;
}

TEST(MpiFailures, ranks_that_do_not_come_are_named_at_the_deadline) {
    const std::string waited[] = {"error in time: graph_compute: all_sum of [4] f32: rank 0 has waited 1000 ms for rank 1",
                                  "error in time: graph_compute: all_sum of [1048576] f32: rank 0 has waited 1000 ms for rank 1",
                                  "error in time: graph_compute: rank 0 has waited 1000 ms for rank 1"};
    std::size_t i = 0;
    for (const char *mode : {"is_stopped", "is_late", "differs"}) {
        const Result result = ranks(3, mode);
        expect_lines(result, {0, 2}, "error in time: graph_compute: ");
        expect_lines(result, {0, 2}, "has waited 1000 ms for rank 1");
        // One of them is first, and the other may have heard of it.
        std::string second = waited[i++];
        EXPECT_TRUE(result.output.find(second) != std::string::npos ||
                    result.output.find(second.replace(second.find("rank 0"), 6, "rank 2")) != std::string::npos)
            << result.output;
    }
}

TEST(MpiFailures, a_rank_that_leaves_fails_or_stops_is_an_error_on_the_others_at_once) {
    const Result left = ranks(3, "leaves");
    expect_lines(left, {0, 2}, "error in time: graph_compute: rank 1 has left the group");
    expect_lines(left, {0, 2}, "error in time: graph_compute: the group has failed: ");
    const Result failed = ranks(3, "fails");
    expect_lines(failed, {0, 2}, "rank 1 has failed: graph_compute: get_rows");
    expect_lines(failed, {1}, "element 0 of rows is 7");
    const Result stopped = ranks(3, "stops");
    expect_lines(stopped, {0, 2}, "rank 1 has failed: graph_compute: stopped by the progress callback");
    expect_lines(stopped, {1}, "stopped by the progress callback after 1 of 3 nodes");
}

TEST(MpiFailures, the_process_goes_on_and_memory_that_mpi_may_use_is_left_alone) {
    const Result result = ranks(3, "goes_on");
    expect_lines(result, {0, 2}, "for rank 1");
    expect_lines(result, {0, 2}, "is not computed");
    expect_lines(result, {0, 2}, "the group has failed: ");
    expect_lines(result, {0, 2}, "context_reset: an exchange of a group that has failed cannot be stopped");
    expect_lines(result, {0, 2}, "the same context is right");
    expect_lines(result, {0, 2}, "another context is right");
    expect_lines(result, {1}, "error in time: ");
}

TEST(MpiFailures, a_forked_child_is_refused_and_harms_nobody) {
    const Result result = ranks(3, "forks");
    EXPECT_EQ(result.status, 0) << result.output;
    expect_lines(result, {0}, "graph_compute: this process was forked");
    expect_lines(result, {0}, "group_create: this process was forked");
    expect_lines(result, {0}, "the child lives");
    expect_lines(result, {0, 1, 2}, "the sum is 3");
}

TEST(MpiFailures, a_group_that_others_do_not_make) {
    expect_lines(ranks(3, "comes_alone"), {0},
                 "error in time: group_create: rank 0 has waited 1000 ms for the other processes to make the group");
}

TEST(MpiFailures, handles_that_are_never_freed_and_sends_at_the_end_of_a_process) {
    const Result leaked = ranks(3, "leaks");
    EXPECT_EQ(leaked.status, 0) << leaked.output;
    expect_lines(leaked, {0, 1, 2}, "the sum is 3");
    EXPECT_EQ(std::count(leaked.output.begin(), leaked.output.end(), '\n'), 3) << "the library complains: " << leaked.output;
    const Result sent = ranks(2, "sends_and_ends");
    EXPECT_EQ(sent.status, 0) << sent.output;
    expect_lines(sent, {1}, "received 5");
}

TEST(MpiFailures, a_program_may_start_mpi_itself) {
    const Result result = ranks(2, "program_starts_mpi");
    EXPECT_EQ(result.status, 0) << result.output;
    expect_lines(result, {0, 1}, "the sum is 2");
    expect_lines(result, {0, 1}, "error in time: graph_compute: the program has started MPI for its main thread only");
    expect_lines(result, {0}, "error in time: group_create: MPI was finalized");
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 7) << "the library complains: " << result.output;
}

TEST(MpiFailures, missing_and_wrong_libraries_are_named) {
    const auto with = [](const std::string &library) {
        return ranks(2, "creates", (is_open_mpi() ? "-x TENSORLIB_MPI=" : "-genv TENSORLIB_MPI ") + library);
    };
    expect_lines(with("/nowhere/libmpi.so"), {0},
                 "no MPI library was found (TENSORLIB_MPI=PATH names one): TENSORLIB_MPI: /nowhere/libmpi.so");
    expect_lines(with("libm.so.6"), {0}, "libm.so.6 is no MPI library");
    const Result other = with(is_open_mpi() ? "libmpich.so.12" : "libmpi.so.40");
    expect_lines(other, {0}, "group_create: the launcher has started 2 processes (");
    expect_lines(other, {0}, "sees one: it is not the launcher's MPI");
    const Result own = ranks(2, "creates");
    expect_lines(own, {0}, is_open_mpi() ? "mpi: 2 processes, Open MPI" : "mpi: 2 processes, MPICH");
}

TEST(MpiFailures, without_a_launcher_auto_is_self) {
    expect_lines(run(TENSORLIB_MPI_RANK " creates"), {0}, "self: one rank, because no launcher such as mpirun has started this process");
}

}  // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
