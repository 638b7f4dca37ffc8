#include "groups/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace tensorlib::core {

namespace {

// Few enough to stay in the first cache for all parts.
constexpr std::int64_t at_once = 512;

template <class T>
T larger(T a, T b) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || (a == b && !std::signbit(a))) return a;
        return std::isnan(b) || b >= a ? b : a;
    } else {
        return std::max(a, b);
    }
}

template <class T>
T sum(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
        return a + b;
    }
}

template <class T>
void accumulate(Reduction reduction, const T *part, T *total, std::int64_t n) noexcept {
    if (reduction == Reduction::sum) {
        for (std::int64_t i = 0; i < n; i++) total[i] = sum(total[i], part[i]);
    } else {
        for (std::int64_t i = 0; i < n; i++) total[i] = larger(total[i], part[i]);
    }
}

// `load(part, i0, n, values)` gives n elements of a part as T, `store` writes n of them to the result.
template <class T, class Load, class Store>
void reduce(Reduction reduction, std::span<const std::byte *const> parts, std::int64_t n, Load load, Store store) noexcept {
    std::array<T, at_once> total, values;
    for (std::int64_t i = 0; i < n; i += at_once) {
        const std::int64_t some = std::min(at_once, n - i);
        load(parts[0], i, some, total.data());
        for (const std::byte *part : parts.subspan(1)) {
            load(part, i, some, values.data());
            accumulate(reduction, values.data(), total.data(), some);
        }
        store(i, some, total.data());
    }
}

template <class T>
void reduce_plain(Reduction reduction, std::span<const std::byte *const> parts, std::byte *result, std::int64_t n) noexcept {
    const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
    reduce<T>(
        reduction, parts, n,
        [&](const std::byte *part, std::int64_t i, std::int64_t some, T *values) { std::memcpy(values, part + bytes(i), bytes(some)); },
        [&](std::int64_t i, std::int64_t some, const T *values) { std::memcpy(result + bytes(i), values, bytes(some)); });
}

void reduce_rounded(Reduction reduction, DType type, std::span<const std::byte *const> parts, std::byte *result, std::int64_t n) noexcept {
    const DTypeTraits &traits = core::traits(type);
    const auto bytes = [&](std::int64_t i) { return static_cast<std::size_t>(i) * traits.size; };
    reduce<float>(
        reduction, parts, n,
        [&](const std::byte *part, std::int64_t i, std::int64_t some, float *values) { traits.decode(part + bytes(i), values, some); },
        [&](std::int64_t i, std::int64_t some, const float *values) { traits.encode(values, nullptr, result + bytes(i), some); });
}

}  // namespace

bool is_reducible(DType type) noexcept {
    constexpr std::array reducible{DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64};
    return std::ranges::find(reducible, type) != reducible.end();
}

void reduce_in_order(Reduction reduction, DType type, std::span<const std::byte *const> parts, std::byte *result, std::int64_t n) noexcept {
    switch (type) {
        case DType::f32: return reduce_plain<float>(reduction, parts, result, n);
        case DType::f64: return reduce_plain<double>(reduction, parts, result, n);
        case DType::i32: return reduce_plain<std::int32_t>(reduction, parts, result, n);
        case DType::i64: return reduce_plain<std::int64_t>(reduction, parts, result, n);
        default: return reduce_rounded(reduction, type, parts, result, n);
    }
}

}  // namespace tensorlib::core
