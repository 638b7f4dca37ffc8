// What the CUDA tests share: the devices that they run on, GPUs or the simulated one.
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

}  // namespace support
