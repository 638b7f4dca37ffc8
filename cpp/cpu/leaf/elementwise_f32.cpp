// Element-by-element loops over contiguous floats, and copies past the caches: bound by memory, or for short rows by the loop's own
// overhead.
#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;

void add(int64_t n, const float *a, const float *b, float *dst) {
    int64_t i = 0;
    for (; i + W <= n; i += W) Vec::store(dst + i, Vec::add(Vec::load(a + i), Vec::load(b + i)));
    for (; i < n; i++) dst[i] = a[i] + b[i];
}

#if defined(TL_HAS_STREAM)
// Stores that do not read their lines first: 12 bytes an element in place of 16.
void add_stream(int64_t n, const float *a, const float *b, float *dst) {
    int64_t i = 0;
    for (; i < n && reinterpret_cast<uintptr_t>(dst + i) % sizeof(Vec::Reg) != 0; i++) dst[i] = a[i] + b[i];
    for (; i + W <= n; i += W) Vec::stream(dst + i, Vec::add(Vec::load(a + i), Vec::load(b + i)));
    for (; i < n; i++) dst[i] = a[i] + b[i];
    Vec::stream_end();
}

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
constexpr auto add_stream = add;
void copy_stream(int64_t n, const void *src, void *dst) { __builtin_memcpy(dst, src, static_cast<size_t>(n)); }
void stream_end() {}
#endif

void add_scalar(int64_t n, const float *a, float b, float *dst) {
    const Vec::Reg all = Vec::broadcast(b);
    int64_t i = 0;
    for (; i + W <= n; i += W) Vec::store(dst + i, Vec::add(Vec::load(a + i), all));
    for (; i < n; i++) dst[i] = a[i] + b;
}

}  // namespace

void fill_elementwise(LeafTable::Elementwise &table) { table = {.add = add, .add_stream = add_stream, .add_scalar = add_scalar}; }

void fill_copies(LeafTable::Copies &table) { table = {.stream = copy_stream, .stream_end = stream_end}; }

}  // namespace tensorlib::core::leaf::TL_LEVEL
