// Settings, errors, devices, and the built-ins.
#include "support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

using namespace support;

namespace {

TEST(Driver, none) {
    const Environment environment({{"TENSORLIB_SIMT_DRIVER", "none"}});
    int count = 77, version = 77;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(count, 77);
    EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_EQ(version, 0);
    void *p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInsufficientDriver);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInsufficientDriver), "cudaErrorInsufficientDriver");
}

TEST(Driver, old) {
    const Environment environment({{"TENSORLIB_SIMT_DRIVER", "old"}});
    int count = 77, version = 0, runtime = 0;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(count, 77);
    OK(cudaDriverGetVersion(&version));
    OK(cudaRuntimeGetVersion(&runtime));
    EXPECT_EQ(version, 11040);
    EXPECT_EQ(runtime, 13000);
}

TEST(Driver, no_devices) {
    const Environment environment({{"TENSORLIB_SIMT_DEVICES", "0"}});
    int count = 77;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQ(count, 77);
}

TEST(Devices, several) {
    const Environment environment({{"TENSORLIB_SIMT_DEVICES", "3"}, {"TENSORLIB_SIMT_MEMORY", "1048576"}});
    int count = 0, device = -1;
    OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(count, 3);
    EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
    OK(cudaSetDevice(2));
    OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 2);
    // Per thread: another one begins at 0.
    std::thread([] {
        int other = -1;
        EXPECT_EQ(cudaGetDevice(&other), cudaSuccess);
        EXPECT_EQ(other, 0);
    }).join();
    // A launch wants the stream's device, a copy and an event do not.
    const cudaStream_t stream = new_stream();
    float *p = device_floats(128);
    OK(cudaSetDevice(0));
    EXPECT_EQ(launch_kernel("full_mask", p, nullptr, 0, 1, 32, 0, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(new_event(), stream), cudaErrorInvalidResourceHandle);
    OK(cudaMemsetAsync(p, 0, 512, stream));
    OK(cudaStreamSynchronize(stream));
    cudaPointerAttributes attributes{};
    OK(cudaPointerGetAttributes(&attributes, p));
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 2);
    float *q = device_floats(128);
    OK(cudaMemcpyAsync(q, p, 512, cudaMemcpyDefault, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(floats_of(q, 128), std::vector<float>(128));
}

TEST(Devices, properties) {
    const Environment environment({{"TENSORLIB_SIMT_MEMORY", "1048576"}});
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT_STREQ(properties.name, "Simulated GPU");
    EXPECT_EQ(properties.major * 10 + properties.minor, 90);
    EXPECT_EQ(properties.multiProcessorCount, 132);
    EXPECT_EQ(properties.totalGlobalMem, 1048576u);
    EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u << 10);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
    int value = 0;
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT_EQ(value, 227 << 10);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0), cudaErrorInvalidValue);
}

TEST(Devices, memory_limit) {
    const Environment environment({{"TENSORLIB_SIMT_MEMORY", "1048576"}});
    std::size_t free = 0, total = 0;
    void *p = nullptr, *q = nullptr;
    OK(cudaMalloc(&p, 700000));
    EXPECT_EQ(cudaMalloc(&q, 400000), cudaErrorMemoryAllocation);
    EXPECT_EQ(q, nullptr);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    OK(cudaMemGetInfo(&free, &total));
    EXPECT_EQ(total, 1048576u);
    EXPECT_EQ(free, 1048576u - 700416u);
    EXPECT_EQ(simt::live_allocations(), 1u);
    OK(cudaFree(p));
    EXPECT_EQ(simt::live_allocations(), 0u);
    EXPECT_EQ(cudaMalloc(&p, ~std::size_t{0}), cudaErrorMemoryAllocation);
    // Addresses of freed memory return to use when there are no others; what was freed counts as unwritten.
    for (int i = 0; i < 200; i++) {
        OK(cudaMalloc(&p, 1000000));
        OK(cudaMemset(p, 1, 1000000));
        OK(cudaFree(p));
    }
    OK(cudaMalloc(&p, 1000000));
    char byte = 0;
    EXPECT_EQ(cudaMemcpy(&byte, p, 1, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
}

TEST(Errors, a_fault_is_for_ever) {
    const auto environment = with_seed(1);
    float *p = device_floats(std::vector<float>(128)), *pinned = pinned_floats(4);
    const Outcome fault = run("write_past_end", p, nullptr, 1);
    EXPECT_EQ(fault.code, cudaErrorIllegalAddress);
    void *q = nullptr;
    EXPECT_EQ(cudaMalloc(&q, 4), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaFree(p), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetErrorString(cudaErrorIllegalAddress), fault.text);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    // Other threads see it too.
    std::thread([&] {
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
        EXPECT_EQ(cudaGetErrorString(cudaErrorIllegalAddress), fault.text);
    }).join();
}

TEST(Errors, the_other_device_lives_on) {
    const Environment environment({{"TENSORLIB_SIMT_DEVICES", "2"}});
    float *p = device_floats(std::vector<float>(128));
    EXPECT_EQ(run("write_past_end", p, nullptr, 1).code, cudaErrorIllegalAddress);
    OK(cudaSetDevice(1));
    float *q = device_floats(std::vector<float>(128));
    EXPECT_EQ(run("write_past_end", q, nullptr, 0).code, cudaSuccess);
    OK(cudaFree(q));
}

TEST(Errors, a_fault_drops_what_is_queued_after_it) {
    const auto environment = with_seed(1);
    float *p = device_floats(std::vector<float>(128)), *pinned = pinned_floats(1);
    pinned[0] = 5;
    const cudaStream_t stream = new_stream();
    OK(launch_kernel("write_past_end", p, nullptr, 1, 2, 64, 0, stream));
    OK(cudaMemcpyAsync(pinned, p, 4, cudaMemcpyDeviceToHost, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    EXPECT_EQ(pinned[0], 5);
}

TEST(Errors, an_older_report_does_not_stand_for_a_new_error) {
    const auto environment = with_seed(1);
    float on_host = 0;
    EXPECT_EQ(cudaFree(&on_host), cudaErrorInvalidValue);
    EXPECT_NE(std::strstr(cudaGetErrorString(cudaErrorInvalidValue), "cudaFree"), nullptr);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_NE(std::strstr(cudaGetErrorString(cudaErrorInvalidValue), "cudaFree"), nullptr);
    EXPECT_EQ(cudaMemGetInfo(nullptr, nullptr), cudaErrorInvalidValue);
    EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
}

TEST(Errors, texts) {
    EXPECT_STREQ(cudaGetErrorName(cudaErrorStreamCaptureImplicit), "cudaErrorStreamCaptureImplicit");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(Handles, stale_ones_are_refused) {
    const auto environment = with_seed(1);
    const cudaStream_t stream = new_stream();
    const cudaEvent_t event = new_event();
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
    (void)new_stream();
    (void)new_event();
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamWaitEvent(nullptr, event), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(launch_kernel("full_mask", nullptr, nullptr, 0, 1, 32, 0, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGraphLaunch(nullptr, nullptr), cudaErrorInvalidValue);
}

TEST(PlannedFailures, the_nth_call) {
    const Environment environment({{"TENSORLIB_SIMT_FAIL", "cudaMalloc:3,cudaMallocHost:1=999,launch:2"}});
    void *p = nullptr;
    OK(cudaMalloc(&p, 512));
    OK(cudaMalloc(&p, 512));
    EXPECT_EQ(cudaMalloc(&p, 512), cudaErrorMemoryAllocation);
    EXPECT_NE(std::strstr(cudaGetErrorString(cudaErrorMemoryAllocation), "TENSORLIB_SIMT_FAIL"), nullptr);
    OK(cudaMalloc(&p, 512));
    EXPECT_EQ(cudaMallocHost(&p, 512), cudaErrorUnknown);
    auto *floats = device_floats(128);
    EXPECT_EQ(run("full_mask", floats, nullptr, 0).code, cudaSuccess);
    EXPECT_EQ(run("full_mask", floats, nullptr, 0).code, cudaErrorLaunchOutOfResources);
    EXPECT_EQ(run("full_mask", floats, nullptr, 0).code, cudaSuccess);
}

TEST(PlannedFailures, a_sticky_code_kills_the_device) {
    const Environment environment({{"TENSORLIB_SIMT_FAIL", "launch:1=719"}});
    float *p = device_floats(128);
    EXPECT_EQ(run("full_mask", p, nullptr, 0).code, cudaErrorLaunchFailure);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_NE(std::strstr(cudaGetErrorString(cudaErrorLaunchFailure), "launch fails as TENSORLIB_SIMT_FAIL asks"), nullptr);
}

TEST(SettingsDeathTest, malformed_values_are_named) {
    const std::pair<const char *, const char *> malformed[] = {
        {"TENSORLIB_SIMT_SEED", "one"},
        {"TENSORLIB_SIMT_SEED", "99999999999999999999"},
        {"TENSORLIB_SIMT_DEVICES", "17"},
        {"TENSORLIB_SIMT_MEMORY", "1G"},
        {"TENSORLIB_SIMT_DRIVER", "good"},
        {"TENSORLIB_SIMT_FAIL", "cudaMalloc"},
        {"TENSORLIB_SIMT_FAIL", "cudaMallok:1"},
        {"TENSORLIB_SIMT_FAIL", "cudaMalloc:0"},
        {"TENSORLIB_SIMT_FAIL", "cudaMalloc:1=5000"},
    };
    for (const auto &[name, value] : malformed) {
        simt::reset();
        setenv(name, value, 1);
        EXPECT_EXIT(cudaDeviceSynchronize(), testing::ExitedWithCode(2), name) << value;
        unsetenv(name);
    }
}

TEST(Fork, the_child_has_no_device) {
    const auto environment = with_seed(1);
    float *p = device_floats(128);
    const pid_t child = fork();
    if (child == 0) {
        int count = 0;
        void *q = nullptr;
        const bool refused = cudaGetDeviceCount(&count) == cudaErrorInitializationError &&
                             cudaMalloc(&q, 4) == cudaErrorInitializationError && cudaFree(p) == cudaErrorInitializationError &&
                             cudaGetLastError() == cudaErrorInitializationError && cudaDeviceSynchronize() == cudaErrorInitializationError;
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cudaFree(p));
}

TEST(Threads, several_backends_at_once) {
    const auto environment = with_seed(1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            for (int i = 0; i < 20; i++) {
                float *p = device_floats(std::vector<float>(128, 2.0f)), *q = device_floats(128);
                const cudaStream_t stream = new_stream();
                EXPECT_EQ(launch_kernel("read_all", q, p, 0, 2, 64, 0, stream), cudaSuccess);
                EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
                EXPECT_EQ(floats_of(q, 128), std::vector<float>(128, 2.0f));
                EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
                EXPECT_EQ(cudaFree(p), cudaSuccess);
                EXPECT_EQ(cudaFree(q), cudaSuccess);
            }
        });
    }
    for (auto &thread : threads) thread.join();
}

TEST(Builtins, positions_in_all_dimensions) {
    const auto environment = with_seed(1);
    const dim3 grid(3, 2, 2), block(5, 4, 3);
    float *p = device_floats(720);
    const cudaStream_t stream = new_stream();
    OK(launch_kernel("positions", p, nullptr, 0, grid, block, 0, stream));
    OK(cudaStreamSynchronize(stream));
    const auto got = floats_of(p, 720);
    for (std::size_t i = 0; i < 720; i++) ASSERT_EQ(got[i], static_cast<float>(i) + 0.5f);
}

TEST(Builtins, exchanges) {
    for (const int seed : seeds) {
        const auto environment = with_seed(seed);
        float *p = device_floats(32);
        for (int which = 0; which <= 10; which++) {
            const Outcome ran = run("exchange", p, nullptr, which, 1, 32);
            ASSERT_EQ(ran.code, cudaSuccess) << ran.text;
            const auto got = floats_of(p, 32);
            for (int lane = 0; lane < 32; lane++) {
                const int wanted[] = {(lane + 5) % 32,
                                      lane / 8 * 8 + 3,
                                      lane >= 3 ? lane - 3 : lane,
                                      lane % 16 + 3 < 16 ? lane + 3 : lane,
                                      lane ^ 5,
                                      lane ^ 1,
                                      lane < 31 ? lane + 1 : lane,
                                      31,
                                      3,
                                      lane % 2 ? 1 : 2,
                                      3};
                ASSERT_EQ(got[static_cast<std::size_t>(lane)], static_cast<float>(wanted[which]))
                    << "exchange " << which << ", lane " << lane;
            }
        }
    }
}

TEST(Builtins, arithmetic) {
    const auto environment = with_seed(1);
    float *p = device_floats(8), *q = device_floats(std::vector<float>{2});
    ASSERT_EQ(run("arithmetic", p, q, 0).code, cudaSuccess);
    // 0x01ff7f80 is 1, -1, 127, -128 from the top; times 2, 3, 4, 5.
    EXPECT_EQ(floats_of(p, 8), (std::vector<float>{10 + 2 - 3 + 508 - 640, 7, 1.5f, 2, 0.5f, 43, 1, 32}));
}

}  // namespace
