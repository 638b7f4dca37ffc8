// A rank of a group of processes in which something goes wrong. mpi_failures starts it with mpirun, says what, and reads what
// each rank prints.
#include <tensorlib/group.hpp>
#include <tensorlib/tensorlib.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace tl = tensorlib;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr tl::GroupOptions one_second{.timeout = 1s};

void print(const tl::Group &group, const std::string &text) {
    std::printf("[rank %d] %s\n", group.rank(), text.c_str());
    std::fflush(stdout);
}

float sum(const tl::Group &group, std::int64_t n = 4) {
    const tl::Context ctx;
    const tl::Tensor total = (ctx.zeros(tl::Type::f32, {n}) + 1).all_sum(group);
    tl::Backend("cpu", {1}).compute({total});
    return total.read_f32()[0];
}

// Prints the error, and whether it came in time.
void expect_failure(const tl::Group &group, const std::function<void()> &f, Clock::duration most = 3s) {
    const Clock::time_point begin = Clock::now();
    try {
        f();
        print(group, "no error");
    } catch (const tl::Error &error) {
        print(group, std::string(Clock::now() - begin < most ? "error in time: " : "error too late: ") + error.what());
    }
}

// All ranks sum once; then rank 1 does f(), and the others sum for ever.
int without_rank_1(const std::function<void()> &f, std::int64_t n = 4) {
    const tl::Group group("mpi", one_second);
    const tl::Context ctx;
    const tl::Backend cpu("cpu", {1});
    const tl::Graph graph{(ctx.zeros(tl::Type::f32, {n}) + 1).all_sum(group)};
    graph.compute(cpu);
    if (group.rank() == 1) {
        f();
    } else {
        expect_failure(group, [&] {
            for (;;) graph.compute(cpu);
        });
        // The launcher may end all when the first rank ends.
        std::this_thread::sleep_for(500ms);
    }
    return 0;
}

int is_killed() {
    return without_rank_1([] { std::raise(SIGKILL); });
}

int is_stopped() {
    without_rank_1([] { std::raise(SIGSTOP); });
    return 3;  // so that the launcher ends rank 1
}

// The others wait with more bytes than the library copies.
int is_late() {
    return without_rank_1([] { std::this_thread::sleep_for(4s); }, 1 << 20);
}

// So do they in the comparison of graphs.
int differs() {
    const tl::Group group("mpi", one_second);
    if (group.rank() == 1) {
        std::this_thread::sleep_for(4s);
    } else {
        expect_failure(group, [&] { sum(group); });
        std::this_thread::sleep_for(500ms);
    }
    return 0;
}

int leaves() {
    tl::Group *group = new tl::Group("mpi", {.timeout = 60s});
    sum(*group);
    if (group->rank() == 1) {
        delete group;
        std::this_thread::sleep_for(3s);
    } else {
        expect_failure(*group, [&] { sum(*group); });
        expect_failure(*group, [&] { sum(*group); });
        delete group;
        std::this_thread::sleep_for(500ms);
    }
    return 0;
}

int fails() {
    const tl::Group group("mpi", {.timeout = 60s});
    const tl::Context ctx;
    const tl::Backend cpu("cpu", {1});
    const tl::Tensor rows = ctx.tensor<std::int32_t>({1}, {group.rank() == 1 ? 7 : 1});
    const tl::Tensor total = get_rows(ctx.zeros(tl::Type::f32, {4, 2}), rows).all_sum(group);
    expect_failure(group, [&] {
        for (;;) cpu.compute({total});
    });
    std::this_thread::sleep_for(500ms);
    return 0;
}

int stops() {
    const tl::Group group("mpi", {.timeout = 60s});
    const tl::Context ctx;
    tl::Graph graph{ctx.zeros(tl::Type::f32, {4}).all_sum(group).sqr().all_sum(group)};
    if (group.rank() == 1) graph.set_progress([](std::size_t done, std::size_t) { return done == 0; });
    expect_failure(group, [&] { graph.compute(tl::Backend("cpu", {1})); });
    std::this_thread::sleep_for(500ms);
    return 0;
}

// What the exchange that was given up may still use is neither freed nor used again, and everything else goes on.
int goes_on() {
    const tl::Group group("mpi", one_second);
    const std::int64_t n = 1 << 20;
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    std::optional<tl::Tensor> total = ((ctx.zeros(tl::Type::f32, {n}) + 1) * 2).all_sum(group);
    std::optional<tl::Graph> graph{tl::Graph{*total}};
    graph->compute(cpu);
    if (group.rank() == 1) {
        std::this_thread::sleep_for(2s);
        // It comes too late. What the others have given up may be completed now.
        expect_failure(group, [&] { graph->compute(cpu); });
        std::this_thread::sleep_for(5s);
        return 0;
    }
    expect_failure(group, [&] { graph->compute(cpu); });
    expect_failure(group, [&] { total->read_f32(); });
    expect_failure(group, [&] { graph->compute(cpu); });
    graph.reset();
    total.reset();
    expect_failure(group, [&] { ctx.reset(); });
    const auto check = [&](const tl::Context &in, const char *what) {
        const tl::Tensor b = ((in.zeros(tl::Type::f32, {n}) + 3) * 2).sqr();
        cpu.compute({b});
        std::this_thread::sleep_for(1500ms);
        const std::vector<float> values = b.read_f32();
        const bool is_right = std::ranges::all_of(values, [](float value) { return value == 36; });
        print(group, std::string(what) + (is_right ? " is right" : " is wrong"));
    };
    check(ctx, "the same context");
    check(tl::Context(), "another context");
    std::this_thread::sleep_for(500ms);
    return 0;
}

int forks() {
    const tl::Group group("mpi", one_second);
    if (group.rank() == 0) {
        const pid_t child = fork();
        if (child == 0) {
            expect_failure(group, [&] { sum(group); });
            expect_failure(group, [] { tl::Group("mpi"); });
            std::_Exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        print(group, status == 0 ? "the child lives" : "the child died");
    }
    // The child's failure is not the group's.
    print(group, "the sum is " + std::to_string(sum(group)));
    return 0;
}

// Rank 0 alone makes a group.
int comes_alone() {
    const tl::Group group("mpi", {.timeout = 20s});
    if (group.rank() == 0) expect_failure(group, [] { tl::Group("mpi", one_second); });
    return 0;
}

int leaks() {
    const tl::Group &group = *new tl::Group("mpi", one_second);
    print(group, "the sum is " + std::to_string(sum(group)));
    return 0;
}

// Sends wait for nobody, not even the end of the process.
int sends_and_ends() {
    const tl::Group group("mpi", {.timeout = 20s});
    const tl::Context ctx;
    const std::int64_t n = 1 << 20;
    const tl::Backend cpu("cpu", {1});
    if (group.rank() == 0) {
        const tl::Graph graph{(ctx.zeros(tl::Type::f32, {n}) + 5).send(1, group)};
        graph.compute(cpu);
    } else {
        const tl::Tensor got = ctx.zeros(tl::Type::f32, {n}).receive(0, group) * 1;
        const tl::Graph graph{got};
        graph.compute(cpu);
        print(group, "received " + std::to_string(got.read_f32()[n - 1]));
    }
    return 0;
}

// The program starts MPI, for one thread, and finalizes it.
int program_starts_mpi() {
    void *library = dlopen(std::getenv("TENSORLIB_TEST_MPI"), RTLD_NOW | RTLD_GLOBAL);
    const auto init = reinterpret_cast<int (*)(int *, char ***)>(dlsym(library, "MPI_Init"));
    const auto finalize = reinterpret_cast<int (*)()>(dlsym(library, "MPI_Finalize"));
    init(nullptr, nullptr);
    int rank = 0;
    {
        const tl::Group group("mpi", one_second);
        rank = group.rank();
        print(group, "the sum is " + std::to_string(sum(group)));
        std::thread([&] { expect_failure(group, [&] { sum(group); }); }).join();
        print(group, "the sum is " + std::to_string(sum(group)));
    }
    finalize();
    const tl::Group self("self");
    if (rank == 0) expect_failure(self, [] { tl::Group("mpi"); });
    return 0;
}

int creates() {
    const tl::Group self("self");
    expect_failure(self, [&] { print(self, tl::Group().text()); });
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const std::map<std::string, int (*)()> modes{{"is_killed", is_killed},
                                                 {"is_stopped", is_stopped},
                                                 {"is_late", is_late},
                                                 {"differs", differs},
                                                 {"leaves", leaves},
                                                 {"fails", fails},
                                                 {"stops", stops},
                                                 {"goes_on", goes_on},
                                                 {"forks", forks},
                                                 {"comes_alone", comes_alone},
                                                 {"leaks", leaks},
                                                 {"sends_and_ends", sends_and_ends},
                                                 {"program_starts_mpi", program_starts_mpi},
                                                 {"creates", creates}};
    const auto mode = argc == 2 ? modes.find(argv[1]) : modes.end();
    if (mode == modes.end()) return 64;
    try {
        return mode->second();
    } catch (const std::exception &error) {
        std::printf("unexpected: %s\n", error.what());
        return 1;
    }
}
