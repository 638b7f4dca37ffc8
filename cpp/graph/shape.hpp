// Shapes and strides. ne counts elements, the contiguous dimension first; nb counts bytes from one element (of a
// blocked type: one block) to the next. Dimensions that a tensor does not use have ne 1.
#pragma once

#include "dtype/dtype.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tensorlib::core {

constexpr int max_dims = 4;

using Extents = std::array<std::int64_t, max_dims>;
using Strides = std::array<std::size_t, max_dims>;

// The row of index i1 + ne[1] * (i2 + ne[2] * i3), and how many bytes it lies behind the first one.
struct RowIndex {
    std::int64_t i1, i2, i3;
};
inline RowIndex row_index(const Extents &ne, std::int64_t row) noexcept { return {row % ne[1], row / ne[1] % ne[2], row / ne[1] / ne[2]}; }
inline std::size_t row_place(const Strides &nb, const RowIndex &r) noexcept {
    return static_cast<std::size_t>(r.i1) * nb[1] + static_cast<std::size_t>(r.i2) * nb[2] + static_cast<std::size_t>(r.i3) * nb[3];
}

struct Layout {
    DType type = DType::f32;
    std::int32_t n_dims = 1;
    Extents ne{1, 1, 1, 1};
    Strides nb{};

    std::int64_t n_elements() const noexcept { return ne[0] * ne[1] * ne[2] * ne[3]; }
    std::int64_t n_rows() const noexcept { return ne[1] * ne[2] * ne[3]; }
    // Bytes of the elements packed without gaps.
    std::size_t nbytes() const noexcept;
    std::size_t row_bytes() const noexcept;
    // Bytes from the first element to the end of the last, strides counted; 0 for an empty tensor.
    std::size_t span_bytes() const noexcept;
    // The same from `offset` bytes before the first element on; false where that does not fit into a size. An empty tensor ends where it
    // begins.
    bool end_from(std::size_t offset, std::size_t &end) const noexcept;
    // Elements of dimension 0 lie side by side.
    bool rows_contiguous() const noexcept;
    // All elements lie side by side in ne order; dimensions of one element may have any stride.
    bool contiguous() const noexcept;
};

// A contiguous layout. Throws Error(invalid_argument), its message headed by `op`, where n_dims is not 1 to 4, a
// dimension is negative, rows are not whole blocks, or the bytes do not fit in a size.
Layout contiguous_layout(const char *op, DType type, std::span<const std::int64_t> ne);

// "[2, 4]": trailing dimensions of 1 left out, but at least one shown.
std::string shape_text(const Extents &ne);

// "[2, 4] f32"
std::string layout_text(const Layout &layout);

}  // namespace tensorlib::core
