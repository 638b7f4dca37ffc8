#include "groups/shard.hpp"

#include "base/fail.hpp"

#include <algorithm>

namespace tensorlib::core {

Shard shard_range(std::int64_t n, std::int64_t block, int rank, int size) {
    constexpr const char *function = "shard_range";
    if (n < 0) fail(Status::invalid_argument, "%s: n is %lld: 0 and more are valid", function, static_cast<long long>(n));
    if (block < 1) fail(Status::invalid_argument, "%s: block is %lld: 1 and more are valid", function, static_cast<long long>(block));
    if (size < 1) fail(Status::invalid_argument, "%s: size is %d: 1 and more are valid", function, size);
    if (rank < 0 || rank >= size) fail(Status::invalid_argument, "%s: rank is %d: 0 to %d are valid", function, rank, size - 1);
    const std::int64_t whole = n / block, blocks = whole + (n % block != 0);
    const std::int64_t each = blocks / size, more = blocks % size;
    // Where a rank's share begins. The product of a block that is not whole could overflow.
    const auto begin = [&](std::int64_t r) {
        const std::int64_t first = r * each + std::min(r, more);
        return first > whole ? n : first * block;
    };
    const std::int64_t first = begin(rank);
    return {.first = first, .count = begin(std::int64_t{rank} + 1) - first};
}

}  // namespace tensorlib::core
