// Shared by the CUDA tests: the devices that they run on, GPUs or the simulated one.
#pragma once

#include "support.hpp"

#include "api/devices.hpp"

#include <set>

namespace support {

inline std::vector<std::string> cuda_devices() {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < tl::core::device_count(); i++) names.emplace_back(tl::core::device_at(i).name());
    return names;
}

inline bool is_simulated() { return tl::core::device_count() > 1 && tl::core::device_at(1).props().simulated; }

// Skips where there is no device, saying so.
class CudaTest : public testing::Test {
protected:
    void SetUp() override {
        if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device here, real or simulated";
    }
};

// For what only the simulated GPU can be made to do. Asks by the build, not by the list, which starts the driver: tests
// that change how the driver starts come before that.
class SimulatedTest : public testing::Test {
protected:
    void SetUp() override {
#if !defined(TENSORLIB_SIMT)
        GTEST_SKIP() << "only the simulated GPU can be made to fail so";
#endif
    }
};

inline tl::Backend gpu() {
    // What the built-in kernels do, also on a machine with cuBLASLt.
    static const Environment builtin("TENSORLIB_CUBLASLT", "off");
    return tl::Backend("cuda:0");
}

// Computes on the device, again from its recording, and checks that the kernel was the one meant.
inline std::vector<float> compute(const tl::Tensor &t, const char *kernel, const tl::Backend &backend) {
    const tl::Graph graph({t});
    const std::string plan = graph.plan_text(backend);
    EXPECT_NE(plan.find(std::string(kernel) + ","), std::string::npos) << kernel << " is not in " << plan;
    graph.compute(backend);
    const auto first = t.read_f32();
    for (int run = 0; run < 2; run++) {
        graph.compute(backend);
        const auto again = t.read_f32();
        EXPECT_TRUE(std::equal(first.begin(), first.end(), again.begin(), [](float x, float y) {
            return x == y || (std::isnan(x) && std::isnan(y));
        })) << "other bits the second time";
    }
    return first;
}

}  // namespace support
