// What the operations on groups of ranks share.
#pragma once

#include "graph/tensor.hpp"
#include "groups/group.hpp"

#include <string>

namespace tensorlib::core {

// The group of a collective, which its node keeps.
const Group &group_of(const Tensor &collective) noexcept;

// The part of a tensor that is divided along a dimension: `outer` times, `inner` bytes of each of the parts follow each
// other. The tensor is contiguous.
struct Division {
    std::int64_t outer;
    std::size_t inner;
};
// For `whole` divided into `n` parts, or made of as many.
Division division(const Layout &whole, std::int64_t dim, int n) noexcept;

// What all ranks must agree about, for messages: "all_gather(dim 1) of [4, 2] f32".
std::string collective_text(const Tensor &collective);

}  // namespace tensorlib::core
