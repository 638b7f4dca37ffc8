// Asks for two devices, also where there is one GPU, before anything asks the driver.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    // A process of its own for each death test, begun anew: a forked child has lost the driver.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    // Two simulated GPUs, or one real one as two.
    setenv("TENSORLIB_SIMT_DEVICES", "2", 0);
#if !defined(TENSORLIB_SIMT)
    setenv("TENSORLIB_CUDA_VIRTUAL_DEVICES", "2", 0);
#endif
    return RUN_ALL_TESTS();
}
