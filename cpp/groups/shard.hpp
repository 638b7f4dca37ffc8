// Which elements of a tensor a rank has, if the tensor is divided over ranks.
#pragma once

#include <cstdint>

namespace tensorlib::core {

struct Shard {
    std::int64_t first = 0, count = 0;
};

// Rank `rank`'s share of n elements in whole blocks. The shares follow each other in the order of ranks, and differ by at most one
// block. The last block may be partial. Throws Error(invalid_argument) for numbers out of range.
Shard shard_range(std::int64_t n, std::int64_t block, int rank, int size);

}  // namespace tensorlib::core
