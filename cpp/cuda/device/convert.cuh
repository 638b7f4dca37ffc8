// Converts elements of types that are chosen at run time, and records those that a type cannot hold, for the kernels
// that take every input. All lanes take one path, so the choice costs little compared with memory.
#pragma once

#include "cuda/device/device.cuh"
#include "dtype/convert.hpp"

namespace tensorlib::core::device {

template <class Format>
constexpr bool is_plain_v = Format::block_size == 1;

// Records that an operation could not take an element of an operand: the smallest word wins.
__device__ inline void note_fault(std::uint64_t *fault, int operand, std::int64_t position) {
    atomic_min(fault, Fault::word(operand, position));
}

// A row's index: I32 or I64.
__device__ inline std::int64_t load_index(DType type, const char *p) {
    return type == DType::i64 ? *reinterpret_cast<const std::int64_t *>(p) : *reinterpret_cast<const std::int32_t *>(p);
}

// Indices of rows, or of matrices, as a kernel's argument.
struct Numbers {
    View view;
    DType type;
    int operand;
    std::uint64_t *fault;

    // The index in element i of slice (i1, i2), or -1 if it is not from `least` (0, or -1) to below `end`. Threads for
    // which `notes` is set record such an index as a fault.
    __device__ std::int64_t at(std::int64_t i, std::int64_t i1, std::int64_t i2, std::int64_t end, bool notes,
                               std::int64_t least = 0) const {
        const std::int64_t number = load_index(type, view.data + i * view.nb[0] + i1 * view.nb[1] + i2 * view.nb[2]);
        if (number >= least && number < end) return number;
        if (notes) note_fault(fault, operand, i + view.ne[0] * (i1 + view.ne[1] * i2));
        return -1;
    }
};
inline Numbers numbers_of(const Step &step, int operand) noexcept {
    const TensorRef &t = step.src[static_cast<std::size_t>(operand)];
    return {view_of(t), t.type, operand, step.fault};
}

template <class From, class To>
__device__ bool convert_as(const typename From::Block &from, char *to) {
    if constexpr (is_plain_v<To>) {
        typename To::Block value{};
        const bool fits = convert_element<From, To>(from, value);
        *reinterpret_cast<typename To::Block *>(to) = value;
        return fits;
    }
    return true;
}

// Converts an element to a type without blocks. False if that cannot hold it; the target is then zero.
template <class From>
__device__ bool convert_to(const typename From::Block &from, DType to_type, char *to) {
    switch (to_type) {
#define TL_DTYPE(name, id, To) \
    case DType::name: return convert_as<From, To>(from, to);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return true;
}

template <class From>
__device__ bool convert_from(const char *from, DType to_type, char *to) {
    if constexpr (is_plain_v<From>) return convert_to<From>(*reinterpret_cast<const typename From::Block *>(from), to_type, to);
    return true;
}

// As convert_to(), from any type without blocks.
__device__ inline bool convert(DType from_type, const char *from, DType to_type, char *to) {
    switch (from_type) {
#define TL_DTYPE(name, id, From) \
    case DType::name: return convert_from<From>(from, to_type, to);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return true;
}

template <class Format>
__device__ void decode_run_of(const char *row, std::int64_t run, float *values) {
    if constexpr (!is_plain_v<Format>) {
        constexpr int runs = static_cast<int>(Format::block_size) / run_length;
        const auto *blocks = reinterpret_cast<const typename Format::Block *>(row);
        Format::decode_run(blocks[run / runs], static_cast<int>(run % runs), values);
    }
}

// Decodes run `run` (8 elements) of a row of blocks.
__device__ inline void decode_run(DType type, const char *row, std::int64_t run, float *values) {
    switch (type) {
#define TL_DTYPE(name, id, Format) \
    case DType::name: decode_run_of<Format>(row, run, values); break;
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
}

inline bool is_plain(DType type) noexcept { return traits(type).block_size == 1; }

}  // namespace tensorlib::core::device
