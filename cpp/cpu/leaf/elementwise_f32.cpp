// Element-by-element loops over contiguous floats: bound by memory, or for short rows by the loop's own overhead.
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
#else
constexpr auto add_stream = add;
#endif

void add_scalar(int64_t n, const float *a, float b, float *dst) {
    const Vec::Reg all = Vec::broadcast(b);
    int64_t i = 0;
    for (; i + W <= n; i += W) Vec::store(dst + i, Vec::add(Vec::load(a + i), all));
    for (; i < n; i++) dst[i] = a[i] + b;
}

}  // namespace

void fill_elementwise(LeafTable &table) {
    table.add_f32 = add;
    table.add_stream_f32 = add_stream;
    table.add_scalar_f32 = add_scalar;
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
