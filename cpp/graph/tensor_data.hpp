// Moves data into and out of tensors. Each function takes the context's run lock for the call, checks that the tensor
// may be read or written, and packs or unpacks strided views.
#pragma once

#include "graph/context.hpp"

namespace tensorlib::core {

// offset and size count bytes of the elements packed in ne order.
void write_bytes(Tensor &t, const void *data, std::size_t offset, std::size_t size);
void read_bytes(const Tensor &t, void *data, std::size_t offset, std::size_t size);

// Converts the whole tensor from and to F32. n must be its number of elements.
void write_f32(Tensor &t, const float *data, std::size_t n);
void read_f32(const Tensor &t, float *data, std::size_t n);

// Throws Error(invalid_argument) for an index outside the shape.
void check_index(const char *what, const Tensor &t, const Extents &index);
float get_f32(const Tensor &t, const Extents &index);
void set_f32(Tensor &t, const Extents &index, float value);

// Returns the first element's address and holds the run lock until unmap() with the same access.
void *map(Tensor &t, bool write);
void unmap(Tensor &t, bool write) noexcept;

}  // namespace tensorlib::core
