#include "dtype/codebooks.hpp"

#include "dtype/grid_expansion.hpp"

namespace tensorlib::core::codebooks {

constexpr Grids expanded = expand();
const Grids host_grids = expanded;

}  // namespace tensorlib::core::codebooks
