// Shapes and strides. ne counts elements, with the contiguous dimension first. nb counts bytes from one element to the
// next, or from one block to the next for a quantised type. Unused dimensions have ne 1.
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

// The row of index i1 + ne[1] * (i2 + ne[2] * i3), and its offset in bytes.
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
    // The bytes of the elements, packed without gaps.
    std::size_t nbytes() const noexcept;
    std::size_t row_bytes() const noexcept;
    // Bytes from the first element to the end of the last one, including strides; 0 for an empty tensor.
    std::size_t span_bytes() const noexcept;
    // Sets `end` to where the last element ends, if the first one is at `offset`; false if that does not fit in a size.
    // An empty tensor ends where it begins.
    bool end_from(std::size_t offset, std::size_t &end) const noexcept;
    // Whether the elements of dimension 0 are contiguous.
    bool rows_contiguous() const noexcept;
    // Whether all elements are contiguous in ne order. Dimensions of one element may have any stride.
    bool contiguous() const noexcept;
};

// A contiguous layout. Throws Error(invalid_argument), with a message headed by `op`, if n_dims is not 1 to 4, a
// dimension is negative, rows are not whole blocks, or the bytes do not fit in a size.
Layout contiguous_layout(const char *op, DType type, std::span<const std::int64_t> ne);

// "[2, 4]": without trailing dimensions of 1, but with at least one dimension.
std::string shape_text(const Extents &ne);

// "[2, 4] f32"
std::string layout_text(const Layout &layout);

}  // namespace tensorlib::core
