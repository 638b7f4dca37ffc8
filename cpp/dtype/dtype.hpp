// Storage types at run time: the enumeration, its traits and the only visitor, all from dtype_list.inc.
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

// GGUF numbers its types from 0 up. Those that it does not have are numbered from here.
constexpr std::int32_t first_own_type = 1000;
constexpr bool in_gguf(DType type) noexcept { return static_cast<std::int32_t>(type) < first_own_type; }

// The type that a format struct stands for.
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
    // What the reference implementation rounds activations to in products with this type; the type itself for plain
    // types and activations. It is for programs that compare with the reference or convert by hand: products here round
    // to bytes with their own scales (mul_mat).
    DType partner;

    // Decodes n elements, a multiple of block_size.
    void (*decode)(const void *blocks, float *values, std::int64_t n) noexcept;
    // Encodes n elements, a multiple of block_size, with the smallest sum of weights * (value - decoded)^2 that it
    // finds. weights: n finite, non-negative numbers, or null for ones; a block whose weights are all zero counts as
    // ones. Returns the first position that the type cannot hold, or -1; quantised types hold only finite numbers.
    // Nothing is written of that position's block and later ones.
    std::int64_t (*encode)(const float *values, const float *weights, void *blocks, std::int64_t n) noexcept;
    // Encodes without weights and without a search, for types that have a plain rule (encode/rules.hpp); for others, encode.
    std::int64_t (*encode_by_rule)(const float *values, void *blocks, std::int64_t n) noexcept;
};

// The limits for the blocks of all types.
constexpr std::size_t largest_block = 292;
constexpr std::int64_t longest_block = 256;

// The value of an element of an integer type, and the smallest and the largest one.
struct IntegerRange {
    std::int64_t least, most;
};
IntegerRange integer_range(DType type) noexcept;
std::int64_t integer_value(DType type, const void *element) noexcept;

// The traits of a type, or nullptr if there is no type of this number, which may come from a caller or a file.
const DTypeTraits *find_traits(std::int32_t id) noexcept;

// The traits of a type that is known to exist.
const DTypeTraits &traits(DType type) noexcept;

// Finds a type by name, ignoring case; nullptr if there is none.
const DTypeTraits *find_traits(std::string_view name) noexcept;

// Find a type by name or number. If there is none, throw Error(invalid_argument), with a message headed by `what` that
// names the nearest types.
const DTypeTraits &traits_named(const char *what, std::string_view name);
const DTypeTraits &traits_numbered(const char *what, std::int32_t id);

// All types in the list's order, for messages and enumerations.
std::size_t dtype_count() noexcept;
const DTypeTraits &dtype_at(std::size_t index) noexcept;
std::size_t dtype_index(DType type) noexcept;

// Calls f with the type's format struct as a value: visit(type, [](auto format) { using Format = decltype(format); ...
// }).
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
