// Storage types at run time: the enumeration, its traits and the one visitor, all from dtype_list.inc.
#pragma once

#include "dtype/formats.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tensorlib::core {

enum class DType : std::int32_t {
#define TL_DTYPE(name, id, format) name = id,
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
};

// The type that a format's struct stands for.
template <class Format>
constexpr DType dtype_of = DType::f32;
#define TL_DTYPE(name, id, format) \
    template <>                    \
    inline constexpr DType dtype_of<format> = DType::name;
#include "dtype/dtype_list.inc"
#undef TL_DTYPE

struct DTypeTraits {
    DType type;
    const char *name;
    std::int64_t block_size;  // elements
    std::size_t size;         // bytes per block
    Kind kind;
    // What the reference rounds activations to in products with this type; itself for plain types and activations. For those who compare
    // with it or convert by hand: products here round to bytes with scales of their own (mul_mat).
    DType partner;

    // Decodes n elements, a multiple of block_size.
    void (*decode)(const void *blocks, float *values, std::int64_t n) noexcept;
    // Encodes n elements, a multiple of block_size, with the smallest sum of weights * (value - decoded)^2 that is found:
    // weights are finite, not negative, and as many as values, or null, which is as ones (so are zeros in all of a block).
    // Returns the first position that the type cannot hold, or -1; types with blocks hold finite numbers only. Nothing is
    // written of that position's block and of those after it.
    std::int64_t (*encode)(const float *values, const float *weights, void *blocks, std::int64_t n) noexcept;
};

// No block of any type has more bytes or elements.
constexpr std::size_t largest_block = 292;
constexpr std::int64_t longest_block = 256;

// The value of an element of an integer type.
std::int64_t integer_value(DType type, const void *element) noexcept;

// The traits of a type, or nullptr where the number names none (it may come from a caller or a file).
const DTypeTraits *find_traits(std::int32_t id) noexcept;

// The traits of a type that is known to exist.
const DTypeTraits &traits(DType type) noexcept;

// By name, whatever the case of the letters; nullptr where there is none.
const DTypeTraits *find_traits(std::string_view name) noexcept;

// By name or number; throws Error(invalid_argument), its message headed by `what` and naming the nearest, where there is none.
const DTypeTraits &traits_named(const char *what, std::string_view name);
const DTypeTraits &traits_numbered(const char *what, std::int32_t id);

// All types in the list's order, for messages and enumerations.
std::size_t dtype_count() noexcept;
const DTypeTraits &dtype_at(std::size_t index) noexcept;
std::size_t dtype_index(DType type) noexcept;

// Calls f with the format's struct as a value: visit(type, [](auto format) { using Format = decltype(format); ... }).
template <class F>
decltype(auto) visit(DType type, F &&f) {
    switch (type) {
#define TL_DTYPE(name, id, format) \
    case DType::name: return std::forward<F>(f)(format{});
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return std::forward<F>(f)(F32{});  // not reached: a DType is one of the list
}

}  // namespace tensorlib::core
