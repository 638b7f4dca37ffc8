// The features of this processor, only from CPUID and XGETBV: under valgrind or an emulator, a program sees another
// processor than the operating system reports (/proc/cpuinfo).
#pragma once

#include <string>

namespace tensorlib::core {

struct CpuFeatures {
    // AVX2, FMA and F16C, if the operating system saves their registers.
    bool avx2 = false;
    // AVX-512 F, BW, CD, DQ, VL, VNNI and BF16, likewise.
    bool avx512 = false;
    // A Zen 3 or Zen 4: its prefetchers follow one stream of lines at the speed of memory.
    bool follows_streams = false;
};

CpuFeatures cpu_features() noexcept;

// The processor's own name; empty if it has none.
std::string cpu_name();

}  // namespace tensorlib::core
