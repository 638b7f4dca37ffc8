// Prints the ISA that ran, and fails if it is not the requested one.
#include <gtest/gtest.h>

#include <tensorlib/tensorlib.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    const tensorlib::Backend backend("cpu", {1});
    std::printf("isa %s\n", backend.isa().c_str());
    if (const char *asked = std::getenv("TENSORLIB_ISA"); asked && *asked && backend.isa() != asked) {
        std::fprintf(stderr, "TENSORLIB_ISA is %s, but %s runs\n", asked, backend.isa().c_str());
        return 1;
    }
    return RUN_ALL_TESTS();
}
