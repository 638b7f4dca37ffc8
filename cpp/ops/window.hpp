// The window of acc and set.
#pragma once

#include "graph/tensor.hpp"

#include <cstddef>

namespace tensorlib::core::ops {

// b's elements in the result: their strides, and where the first one lies, in bytes.
struct Window {
    Layout layout;
    std::size_t offset;
};

// Of a node of one of them.
Window window_of(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
