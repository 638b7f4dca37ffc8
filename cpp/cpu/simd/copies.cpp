// Copies past the caches: stores that do not read their lines first take two thirds of a plain copy's traffic.
#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

#if defined(TL_HAS_STREAM)
// Registers move any bytes unchanged.
void copy_stream(int64_t n, const void *src, void *dst) {
    const auto *from = static_cast<const char *>(src);
    auto *to = static_cast<char *>(dst);
    constexpr int64_t size = sizeof(Vec::Reg);
    int64_t i = (size - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % size)) % size;
    if (i > n) i = n;
    __builtin_memcpy(to, from, static_cast<size_t>(i));
    for (; i + size <= n; i += size) Vec::stream(reinterpret_cast<float *>(to + i), Vec::load(reinterpret_cast<const float *>(from + i)));
    __builtin_memcpy(to + i, from + i, static_cast<size_t>(n - i));
}
void stream_end() { Vec::stream_end(); }
#else
void copy_stream(int64_t n, const void *src, void *dst) { __builtin_memcpy(dst, src, static_cast<size_t>(n)); }
void stream_end() {}
#endif

}  // namespace

void fill_copies(SimdTable::Copies &table) { table = {.stream = copy_stream, .stream_end = stream_end}; }

}  // namespace tensorlib::core::simd::TL_ISA
