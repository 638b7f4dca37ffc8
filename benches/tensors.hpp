// Tensors to measure with.
#pragma once

#include "dtype/dtype.hpp"
#include "graph/context.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorlib::bench {

// Operands are rotated over more bytes than this, so that none is in a cache.
constexpr std::int64_t cold_bytes = 257'000'000;
// Rows repeat after this many, which no cache notices: encoding all of them would take minutes.
constexpr std::int64_t different_rows = 64;

template <std::size_t N>
core::Tensor *leaf(core::Context &context, core::DType type, const std::array<std::int64_t, N> &ne) {
    return context.new_leaf(core::contiguous_layout("bench", type, ne));
}

// Floats and quantised types.
inline bool may_be_weights(const core::DTypeTraits &type) {
    const bool floats = type.type == core::DType::f32 || type.type == core::DType::f16 || type.type == core::DType::bf16;
    return floats || (type.kind == core::Kind::weight && type.block_size > 1);
}

// Fills a contiguous tensor with these rows of floats, as many as they are at a time.
void repeat_rows(core::Tensor &t, std::span<const float> rows);

}  // namespace tensorlib::bench
