// The plans that the runtime keeps with a context, as the context sees them. They outlive its graphs and its resets.
// Their memory counts as the context's, and they are dropped when that memory is needed for something else.
#pragma once

#include <array>
#include <cstddef>

namespace tensorlib::core {

class Graph;

class PlanStore {
public:
    virtual ~PlanStore() = default;

    // The graph is about to be freed: nothing may use its tensors any more.
    virtual void graph_gone(const Graph &graph) noexcept = 0;

    // What is given back: blocks of Context::allocate_plan_data(), and bytes of Context::count_plan().
    static constexpr std::size_t most_blocks = 4;
    struct Idle {
        struct Block {
            void *begin = nullptr;
            std::size_t size = 0;
        };
        std::array<Block, most_blocks> blocks{};
        std::size_t counted = 0;

        bool any() const noexcept { return counted != 0 || blocks[0].begin; }
    };
    // Takes everything that no run uses and no graph needs. The caller holds the context's build lock.
    virtual Idle take_idle() noexcept = 0;
};

}  // namespace tensorlib::core
