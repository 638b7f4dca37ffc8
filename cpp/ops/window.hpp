// The window of acc and set.
#pragma once

#include "graph/tensor.hpp"

#include <cstddef>

namespace tensorlib::core::ops {

// b's elements in the result: their strides, and the byte offset of the first one.
struct Window {
    Layout layout;
    std::size_t offset;
};

// The window of an acc or a set node.
Window window_of(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
