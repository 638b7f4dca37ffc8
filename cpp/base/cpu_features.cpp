#include "base/cpu_features.hpp"

#include <cstdint>
#include <cstring>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__) && !defined(TL_PORTABLE)
#include <cpuid.h>
#define TL_HAS_CPUID 1
#endif

namespace tensorlib::core {

#if defined(TL_HAS_CPUID)

namespace {

struct Registers {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
    Registers r;
    // Checks the highest leaf; the registers stay zero if this leaf does not exist.
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

constexpr bool bit(unsigned value, int n) { return (value >> n) & 1u; }

// Which register files the operating system saves. Call only if CPUID says that XGETBV exists (OSXSAVE).
std::uint64_t saved_registers() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
}

}  // namespace

CpuFeatures cpu_features() noexcept {
    CpuFeatures features;
    const Registers base = cpuid(1), extended = cpuid(7), extended1 = cpuid(7, 1);
    if (!bit(base.ecx, 27)) return features;
    // Family 19h: the base family, which is at its maximum, plus 0ah of the extended family.
    const Registers vendor = cpuid(0);
    features.follows_streams = vendor.ebx == 0x68747541 && (base.eax >> 8 & 15) == 15 && (base.eax >> 20 & 255) == 10;  // "Auth"enticAMD
    const std::uint64_t saved = saved_registers();
    // XCR0: bits 1 and 2 are the 128- and 256-bit registers, 5 to 7 the masks and the two parts of the 512-bit ones.
    const bool saves_256 = (saved & 0x06) == 0x06, saves_512 = (saved & 0xe6) == 0xe6;
    features.avx2 = saves_256 && bit(base.ecx, 12) && bit(base.ecx, 29) && bit(extended.ebx, 5);
    features.avx512 = features.avx2 && saves_512 && bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 28) &&
                      bit(extended.ebx, 30) && bit(extended.ebx, 31) && bit(extended.ecx, 11) && bit(extended1.eax, 5);
    return features;
}

std::string cpu_name() {
    if (cpuid(0x80000000u).eax < 0x80000004u) return {};
    char name[49] = {};
    for (unsigned i = 0; i < 3; i++) {
        const Registers r = cpuid(0x80000002u + i);
        std::memcpy(name + 16 * i, &r, 16);
    }
    return name;
}

#else

CpuFeatures cpu_features() noexcept { return {}; }
std::string cpu_name() { return {}; }

#endif

}  // namespace tensorlib::core
