// Drivers that are missing or too old, calls that fail, devices that break. Each runs in a process of its own, because a
// process asks the driver once and a broken device stays broken. The process survives the failure: it ends with status 0 after
// it has used the CPU.
#include "cuda_support.hpp"

#include "base/platform.hpp"

#include <sys/wait.h>
#include <unistd.h>

using support::leaf;

namespace {

using Absent = support::SimulatedTest;
using Failing = support::SimulatedTest;

// What f throws, "" where nothing.
std::string error_of(const std::function<void()> &f) {
    try {
        f();
        return "";
    } catch (const tl::Error &error) {
        return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
}

bool cpu_works() {
    const tl::Context ctx;
    const auto sum = leaf(ctx, {10}, 1) + leaf(ctx, {10}, 2);
    tl::Backend("cpu", {2}).compute({sum});
    return sum.read_f32().size() == 10;
}

// Ends the process: printing what was seen, for the parent to compare.
[[noreturn]] void report(const std::string &text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::_Exit(cpu_works() ? 0 : 1);
}

TEST_F(Absent, no_driver) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_DRIVER", "none", 1);
            const std::size_t count = tl::core::device_count();
            report(std::to_string(count) + " device: " + error_of([] { tl::Backend("cuda:0"); }));
        },
        testing::ExitedWithCode(0), "1 device: 6 backend_create: no device 'cuda:0': no NVIDIA driver is installed; there are: cpu");
}

TEST_F(Absent, a_driver_that_is_too_old) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_DRIVER", "old", 1);
            report(error_of([] { tl::Backend("cuda:0"); }));
        },
        testing::ExitedWithCode(0),
        "6 backend_create: .*the NVIDIA driver is too old: it knows CUDA [0-9.]+, this library is built with 1[0-9.]+");
}

TEST_F(Absent, virtual_devices_are_one_gpu_under_several_names) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_DEVICES", "1", 1);
            setenv("TENSORLIB_CUDA_VIRTUAL_DEVICES", "3", 1);
            std::string text;
            for (const tl::DeviceInfo &device : tl::devices()) text += device.name + " ";
            const tl::Backend first("cuda:0");
            const tl::Backend last("cuda:2");
            const tl::Context one(first);
            const tl::Context other(last);
            text += error_of([&] { last.compute({leaf(one, {3}, 1) + leaf(other, {3}, 2)}); });
            const auto sum = leaf(other, {3}, 1) + leaf(other, {3}, 2);
            last.compute({sum});
            report(text);
        },
        testing::ExitedWithCode(0), "cpu cuda:0 cuda:1 cuda:2 4 graph_compute: .*cuda:.*cuda:");
}

TEST_F(Failing, a_launch_that_is_refused_leaves_the_device_usable) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_FAIL", "launch:1=9", 1);
            const tl::Backend gpu("cuda:0");
            const tl::Context ctx(gpu);
            const auto a = leaf(ctx, {10}, 1);
            const auto sum = a + a;
            const std::string first = error_of([&] { gpu.compute({sum}); });
            const std::string second = error_of([&] { gpu.compute({sum}); });
            report(first + " | then: '" + second + "' " + std::to_string(sum.read_f32()[0] == 2 * a.read_f32()[0]));
        },
        testing::ExitedWithCode(0), "graph_compute: add of .10. f32, .10. f32 to .10. f32 by tiles_flat: cuda:0: .* then: '' 1");
}

// Zeroing is queued on the device: memory that is given back before it ran would be written by it later, which ends the device.
TEST_F(Failing, leafs_that_are_given_back_are_zeroed_first) {
    EXPECT_EXIT(
        {
            const tl::Backend gpu("cuda:0");
            tl::ContextOptions options;
            options.no_alloc = true;
            options.mem_limit = 3 << 20;
            std::string text;
            for (int i = 0; i < 3; i++) {
                const tl::Context shapes(gpu, options);
                for (const std::int64_t n : {1 << 18, 1 << 17, 1 << 19}) shapes.zeros(tl::Type::f32, {n});
                text += error_of([&] { shapes.allocate(); }) + " | ";
                const tl::Context ctx(gpu);
                const auto a = leaf(ctx, {1 << 16}, 1);
                const auto sum = a + a;
                text += error_of([&] {
                            gpu.compute({sum});
                            text += std::to_string(sum.read_f32()[7] == 2 * a.read_f32()[7]);
                        }) +
                        " ";
            }
            report(text);
        },
        testing::ExitedWithCode(0),
        "^(7 context_allocate: leaf .524288. f32 in context [0-9]+: 2097152 bytes asked, .*mem_limit is 3145728 . 1 ){3}");
}

TEST_F(Failing, a_kernel_that_faults_ends_the_device_and_every_later_call_says_so) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_FAIL", "launch:2=700", 1);
            const tl::Backend gpu("cuda:0");
            const tl::Context ctx(gpu);
            const auto a = leaf(ctx, {10}, 1);
            const auto fine = a + a;
            gpu.compute({fine});
            std::string text = error_of([&] { gpu.compute({a + a}); });
            text += " | again: " + error_of([&] { gpu.compute({fine}); });
            text += " | read: " + error_of([&] { a.read_f32(); });
            text += " | write: " + error_of([&] { a.write_f32(std::vector<float>(10)); });
            text += " | leaf: " + error_of([&] { ctx.zeros(tl::Type::f32, {1 << 22}); });
            text += " | open: " + error_of([&] { tl::Backend("cuda:0"); });
            text += " | other: '" + error_of([&] {
                        const tl::Backend other("cuda:1");
                        const tl::Context there(other);
                        other.compute({leaf(there, {10}, 1) + leaf(there, {10}, 2)});
                    }) +
                    "'";
            report(text);
        },
        testing::ExitedWithCode(0),
        "12 graph_compute.*again: 12 graph_compute: cuda:0 has failed and can not be used.*read: 12 tensor_read: cuda:0 has failed"
        ".*write: 12 tensor_write: cuda:0 has failed.*leaf: 12 context: cuda:0 has failed.*open: 12 backend_create: cuda:0 has failed"
        ".*other: ''");
}

TEST_F(Failing, debug_mode_names_the_operation) {
    EXPECT_EXIT(
        {
            setenv("TENSORLIB_SIMT_FAIL", "launch:2=719", 1);
            setenv("TENSORLIB_CUDA_DEBUG", "1", 1);
            const tl::Backend gpu("cuda:0");
            const tl::Context ctx(gpu);
            auto a = leaf(ctx, {10}, 1);
            a.set_name("input");
            auto product = mul_mat(a, a);
            report(error_of([&] { gpu.compute({product + product}); }));
        },
        testing::ExitedWithCode(0), "12 graph_compute: add of .1. f32, .1. f32 to .1. f32 by tiles_flat: cuda:0");
}

// Each of the first calls that give memory fails once; what was there stays, and the next try succeeds.
TEST_F(Failing, any_allocation_may_fail) {
    for (const char *call : {"cudaMalloc:1=2", "cudaMallocHost:1=2", "cudaStreamCreateWithFlags:1=2", "cudaStreamCreateWithFlags:2=2",
                             "cudaEventCreateWithFlags:3=2", "cudaGraphInstantiate:1=2"}) {
        const auto in_child = [call] {
            setenv("TENSORLIB_SIMT_FAIL", call, 1);
            const auto work = [] {
                const tl::Backend gpu("cuda:0");
                const tl::Context ctx(gpu);
                const auto a = leaf(ctx, {3000}, 1);
                const tl::Graph graph({a + a});
                for (int i = 0; i < 3; i++) graph.compute(gpu);
            };
            const std::string first = error_of(work), second = error_of(work);
            // Pinned memory is replaced by ordinary memory; all else is an error.
            const bool error_expected = std::string(call).find("MallocHost") == std::string::npos;
            report(std::string(first.empty() != error_expected ? "as expected" : "not expected") + ": " + first + " | then: '" + second +
                   "'");
        };
        EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "as expected: .*then: ''") << call;
    }
}

using Forks = support::CudaTest;

TEST_F(Forks, a_forked_child_is_told) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto a = leaf(ctx, {10}, 1);
    const auto sum = a + a;
    gpu.compute({sum});
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool told = error_of([&] { gpu.compute({sum}); }).find("fork()") != std::string::npos &&
                          error_of([&] { a.read_f32(); }).find("fork()") != std::string::npos &&
                          error_of([] { tl::Backend("cuda:0"); }).find("fork()") != std::string::npos;
        std::_Exit(told && cpu_works() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_NO_THROW(gpu.compute({sum}));
}

}  // namespace
