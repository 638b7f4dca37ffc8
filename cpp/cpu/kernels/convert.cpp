#include "cpu/kernels/convert.hpp"

#include "dtype/convert.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

constexpr std::int64_t stage = 512;  // elements, a multiple of every block
// Prefetch distance for long runs, in bytes before their conversion.
constexpr std::size_t bytes_ahead = 4096;

template <class From, class To>
std::int64_t convert_plain(const void *from, void *to, std::int64_t n) noexcept {
    const auto *source = static_cast<const typename From::Block *>(from);
    auto *target = static_cast<typename To::Block *>(to);
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < n; i++) {
        if (convert_element<From, To>(source[i], target[i])) continue;
        target[i] = {};
        if (bad < 0) bad = i;
    }
    return bad;
}

}  // namespace

Converter::Converter(DType from, DType to, const simd::SimdTable &simd, bool stream) noexcept
    : from_(traits(from)),
      to_(traits(to)),
      from_loops_(simd.formats[dtype_index(from)]),
      to_loops_(simd.formats[dtype_index(to)]),
      simd_(simd),
      unit_(conversion_unit(from, to)),
      stream_(stream) {
    // F32, F16 and BF16 are converted by way of F32, which the ISA's own loops do.
    const auto by_floats = [](const DTypeTraits &t) { return t.kind == Kind::floating && t.size <= sizeof(float); };
    if (unit_ != 1 || (by_floats(from_) && by_floats(to_))) return;
    plain_ = visit(from, [&](auto source) -> Plain {
        using From = decltype(source);
        return visit(to, [](auto target) -> Plain {
            using To = decltype(target);
            if constexpr (From::block_size == 1 && To::block_size == 1) {
                return convert_plain<From, To>;
            } else {
                return nullptr;
            }
        });
    });
}

std::int64_t Converter::encode(const float *values, std::byte *to, std::int64_t n) const noexcept {
    std::int64_t bad = -1;
    for (std::int64_t done = 0; done < n;) {
        const std::int64_t wrong =
            to_loops_.encode_by_rule(values + done, to + static_cast<std::size_t>(done / to_.block_size) * to_.size, n - done);
        if (wrong < 0) break;
        if (bad < 0) bad = done + wrong;
        const std::int64_t block = (done + wrong) / to_.block_size;
        std::memset(to + static_cast<std::size_t>(block) * to_.size, 0, to_.size);
        done = (block + 1) * to_.block_size;
    }
    return bad;
}

std::int64_t Converter::convert(const std::byte *from, std::byte *to, std::int64_t n) const noexcept {
    if (plain_) return plain_(from, to, n);
    if (from_.type == DType::f32) return encode(reinterpret_cast<const float *>(from), to, n);
    if (to_.type == DType::f32) {
        from_loops_.decode(from, reinterpret_cast<float *>(to), n);
        return -1;
    }
    float values[stage];
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < n; i += stage) {
        const std::int64_t count = std::min(stage, n - i);
        from_loops_.decode(from + static_cast<std::size_t>(i / from_.block_size) * from_.size, values, count);
        const std::int64_t wrong = encode(values, to + static_cast<std::size_t>(i / to_.block_size) * to_.size, count);
        if (wrong >= 0 && bad < 0) bad = i + wrong;
    }
    return bad;
}

std::int64_t Converter::operator()(const void *from, void *to, std::int64_t n) const noexcept {
    const auto *source = static_cast<const std::byte *>(from);
    auto *target = static_cast<std::byte *>(to);
    if (!stream_ || n < stage) return convert(source, target, n);
    alignas(64) std::byte values[stage * sizeof(double)];
    std::int64_t bad = -1;
    for (std::int64_t i = 0; i < n; i += stage) {
        const std::int64_t count = std::min(stage, n - i);
        const std::byte *piece = source + static_cast<std::size_t>(i / from_.block_size) * from_.size;
        const auto piece_bytes = static_cast<std::size_t>(count / from_.block_size) * from_.size;
        for (std::size_t at = 0; at < piece_bytes; at += 64) __builtin_prefetch(piece + bytes_ahead + at, 0, 2);
        const std::int64_t wrong = convert(piece, values, count);
        if (wrong >= 0 && bad < 0) bad = i + wrong;
        simd_.copies.stream(count / to_.block_size * static_cast<std::int64_t>(to_.size), values,
                            target + static_cast<std::size_t>(i / to_.block_size) * to_.size);
    }
    simd_.copies.stream_end();
    return bad;
}

}  // namespace tensorlib::core
