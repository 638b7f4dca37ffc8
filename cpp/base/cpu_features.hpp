// What this processor can do, from CPUID and XGETBV alone: what the operating system tells (/proc/cpuinfo) is not what
// a program sees under valgrind or an emulator.
#pragma once

#include <string>

namespace tensorlib::core {

struct CpuFeatures {
    // AVX2, FMA and F16C, with the operating system saving their registers.
    bool avx2 = false;
    // AVX-512 F, BW, CD, DQ, VL, VNNI and BF16, likewise.
    bool avx512 = false;
    // A Zen 3 or Zen 4: its prefetchers follow one stream of lines as fast as memory gives them.
    bool follows_streams = false;
};

CpuFeatures cpu_features() noexcept;

// The processor's own name; empty where it does not tell.
std::string cpu_name();

}  // namespace tensorlib::core
