// Requests two devices before anything asks the driver, also on a machine with one GPU.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    // Runs each death test in a new process, because a forked child has lost the driver.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    // Two simulated GPUs, or one real one as two.
    setenv("TENSORLIB_SIMT_DEVICES", "2", 0);
#if !defined(TENSORLIB_SIMT)
    setenv("TENSORLIB_CUDA_VIRTUAL_DEVICES", "2", 0);
#endif
    return RUN_ALL_TESTS();
}
