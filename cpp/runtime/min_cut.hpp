// A minimum cut of a directed graph with capacities, by Dinic's algorithm (E. A. Dinic, 1970): phases of shortest
// augmenting paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorlib::core {

class MinCut {
public:
    static constexpr std::uint32_t source = 0, sink = 1;
    // The capacity of arcs that are never cut. The sum of all other capacities must stay below it.
    static constexpr std::uint64_t uncut = std::uint64_t{1} << 62;

    MinCut() : first_(2, none) {}
    std::uint32_t add_vertex() {
        first_.push_back(none);
        return static_cast<std::uint32_t>(first_.size() - 1);
    }
    // The cut pays this capacity if `from` is on the source's side and `to` on the sink's.
    void add_arc(std::uint32_t from, std::uint32_t to, std::uint64_t capacity);

    // For each vertex, whether it is on the sink's side. Among several minimum cuts, it returns the one with most
    // vertices on the source's side.
    std::vector<bool> solve();

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct Arc {
        std::uint32_t to, next;  // the next arc that leaves the same vertex
        std::uint64_t left;      // unused capacity; the reverse arc's index differs in the last bit
    };
    bool find_levels();
    std::uint64_t augment();

    std::vector<std::uint32_t> first_;
    std::vector<Arc> arcs_;
    std::vector<std::uint32_t> level_, at_;
};

}  // namespace tensorlib::core
