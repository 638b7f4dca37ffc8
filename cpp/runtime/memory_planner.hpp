// Assigns memory that a plan needs temporarily: offsets into one block, reused as soon as the last user is done.
#pragma once

#include "graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tensorlib::core {

struct MemoryPlan {
    static constexpr std::size_t nowhere = ~std::size_t{0};
    std::vector<std::size_t> offset;  // for each lifetime; nowhere if it has no bytes
    std::size_t size = 0;             // bytes of the block
    std::size_t unshared = 0;         // what it would take without reuse, for the plan's text
};

// Bytes that are needed from one time to another, both included.
struct Lifetime {
    std::size_t bytes = 0;  // a multiple of the device's alignment; 0 if they are not in the block
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
    // The lifetimes whose memory this one may take over if they end when it begins and have as many bytes.
    std::vector<std::uint32_t> may_overwrite{};

    void used_at(std::uint32_t time) noexcept {
        first = first < time ? first : time;
        last = last > time ? last : time;
    }
};

// The bytes that a tensor takes in a block.
std::size_t block_bytes(std::size_t nbytes, std::size_t alignment) noexcept;

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

// The bytes that a graph of these parts needs, with a word for the faults of each checked node. They equal those of its
// plan if all nodes run by themselves and none overwrites an operand. checked[i]: the operands of node i that are kept
// to the end, a bit each.
std::size_t plan_memory(const GraphParts &parts, std::span<const unsigned> checked, std::size_t alignment);

}  // namespace tensorlib::core
