#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

std::int64_t chunks_for(std::int64_t units, std::int64_t bytes, int n_threads) noexcept {
    // Four chunks per thread: a thread that starts late leaves at most a quarter of its share to wait for.
    const std::int64_t most = n_threads == 1 ? 1 : 4 * std::int64_t{n_threads};
    return std::max<std::int64_t>(1, std::min({most, units, bytes / bytes_per_chunk}));
}

void load_row(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *values,
              const simd::SimdTable &simd) noexcept {
    const DTypeTraits &type = traits(t.type);
    const auto decode = simd.formats[dtype_index(t.type)].decode;
    const std::byte *from = row + static_cast<std::size_t>(i0 / type.block_size) * t.nb[0];
    if (t.nb[0] == type.size) {
        decode(from, values, n);
        return;
    }
    for (std::int64_t i = 0; i < n; i += type.block_size, from += t.nb[0]) decode(from, values + i, type.block_size);
}

void store_row(const TensorRef &t, std::byte *row, std::int64_t i0, std::int64_t n, const float *values,
               const simd::SimdTable &simd) noexcept {
    const DTypeTraits &type = traits(t.type);
    const auto encode = simd.formats[dtype_index(t.type)].encode;
    std::byte *to = row + static_cast<std::size_t>(i0 / type.block_size) * t.nb[0];
    if (t.nb[0] == type.size) {
        encode(values, nullptr, to, n);
        return;
    }
    for (std::int64_t i = 0; i < n; i += type.block_size, to += t.nb[0]) encode(values + i, nullptr, to, type.block_size);
}

const float *floats_of(const TensorRef &t, const std::byte *row, std::int64_t i0, std::int64_t n, float *stage,
                       const simd::SimdTable &simd) noexcept {
    if (t.type == DType::f32 && t.nb[0] == sizeof(float)) return reinterpret_cast<const float *>(row) + i0;
    load_row(t, row, i0, n, stage, simd);
    return stage;
}

}  // namespace tensorlib::core
