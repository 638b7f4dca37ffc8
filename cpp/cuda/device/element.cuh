// Converts one element of any type that arithmetic takes to a float and back, with the types' own decode and encode,
// chosen at run time. For the kernels that take every input. All lanes take one path, so the choice costs little
// compared with memory.
#pragma once

#include "dtype/dtype.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace tensorlib::core::device {

// Types with one element per block that hold a float: F32, F16, BF16, F64.
template <class Format>
constexpr bool is_element_v = Format::block_size == 1 && Format::kind == Kind::floating;

inline bool is_element(DType type) noexcept {
    return visit(type, [](auto format) { return is_element_v<decltype(format)>; });
}

template <class Format>
__device__ void load_as(const char *p, float *value) {
    if constexpr (is_element_v<Format>) Format::decode(*reinterpret_cast<const typename Format::Block *>(p), value);
}
template <class Format>
__device__ void store_as(char *p, float value) {
    if constexpr (is_element_v<Format>) Format::encode(&value, *reinterpret_cast<typename Format::Block *>(p));
}

__device__ inline float load_element(DType type, const char *p) {
    float value = 0;
    switch (type) {
#define TL_DTYPE(name, id, Format) \
    case DType::name: load_as<Format>(p, &value); break;
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return value;
}

__device__ inline void store_element(DType type, char *p, float value) {
    switch (type) {
#define TL_DTYPE(name, id, Format) \
    case DType::name: store_as<Format>(p, value); break;
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
}

// An element of I32, I64, F64, a smaller integer or BOOL, converted to E, which holds it.
template <class E>
__device__ E load_number(DType type, const char *from) {
    switch (type) {
        case DType::i32: return static_cast<E>(*reinterpret_cast<const std::int32_t *>(from));
        case DType::i64: return static_cast<E>(*reinterpret_cast<const std::int64_t *>(from));
        case DType::i16: return static_cast<E>(*reinterpret_cast<const std::int16_t *>(from));
        case DType::i8: return static_cast<E>(*reinterpret_cast<const std::int8_t *>(from));
        case DType::u8: return static_cast<E>(*reinterpret_cast<const std::uint8_t *>(from));
        case DType::boolean: return static_cast<E>(*reinterpret_cast<const std::uint8_t *>(from) != 0);
        default: return static_cast<E>(*reinterpret_cast<const double *>(from));
    }
}

// An element of any type without blocks, as the type that it is computed with: float, I32, I64 or F64.
template <class E>
__device__ E load_as_number(DType type, const char *from) {
    if constexpr (std::is_same_v<E, float>) {
        return load_element(type, from);
    } else {
        return load_number<E>(type, from);
    }
}

}  // namespace tensorlib::core::device
