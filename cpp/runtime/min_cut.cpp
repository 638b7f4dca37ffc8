#include "runtime/min_cut.hpp"

#include <algorithm>

namespace tensorlib::core {

void MinCut::add_arc(std::uint32_t from, std::uint32_t to, std::uint64_t capacity) {
    const auto add = [&](std::uint32_t begin, std::uint32_t end, std::uint64_t left) {
        arcs_.push_back({end, first_[begin], left});
        first_[begin] = static_cast<std::uint32_t>(arcs_.size() - 1);
    };
    add(from, to, capacity);
    add(to, from, 0);
}

// Computes each vertex's level: the number of arcs with remaining capacity that lead to it from the source. False if
// none leads to the sink.
bool MinCut::find_levels() {
    level_.assign(first_.size(), none);
    std::vector<std::uint32_t> queue{source};
    level_[source] = 0;
    for (std::size_t next = 0; next < queue.size(); next++) {
        for (std::uint32_t a = first_[queue[next]]; a != none; a = arcs_[a].next) {
            if (arcs_[a].left == 0 || level_[arcs_[a].to] != none) continue;
            level_[arcs_[a].to] = level_[queue[next]] + 1;
            queue.push_back(arcs_[a].to);
        }
    }
    return level_[sink] != none;
}

// Augments along one more path of rising levels. Returns the flow through it, or 0 if there is none. Vertices that lead
// nowhere are abandoned for good: at_ is the arc that was tried last at each vertex. The path is its own stack, because
// it may be as long as the graph.
std::uint64_t MinCut::augment() {
    std::vector<std::uint32_t> path;
    std::uint32_t vertex = source;
    while (vertex != sink) {
        std::uint32_t &a = at_[vertex];
        while (a != none && (arcs_[a].left == 0 || level_[arcs_[a].to] != level_[vertex] + 1)) a = arcs_[a].next;
        if (a != none) {
            path.push_back(a);
            vertex = arcs_[a].to;
            continue;
        }
        if (path.empty()) return 0;
        vertex = arcs_[path.back() ^ 1].to;
        at_[vertex] = arcs_[at_[vertex]].next;
        path.pop_back();
    }
    std::uint64_t through = uncut;
    for (const std::uint32_t a : path) through = std::min(through, arcs_[a].left);
    for (const std::uint32_t a : path) {
        arcs_[a].left -= through;
        arcs_[a ^ 1].left += through;
    }
    return through;
}

std::vector<bool> MinCut::solve() {
    while (find_levels()) {
        at_ = first_;
        while (augment() != 0) {
        }
    }
    // Vertices that still reach the sink are on its side.
    std::vector<bool> reaches(first_.size());
    std::vector<std::uint32_t> queue{sink};
    reaches[sink] = true;
    for (std::size_t next = 0; next < queue.size(); next++) {
        for (std::uint32_t a = first_[queue[next]]; a != none; a = arcs_[a].next) {
            // The reverse arc of one that leads here.
            if (arcs_[a ^ 1].left == 0 || reaches[arcs_[a].to]) continue;
            reaches[arcs_[a].to] = true;
            queue.push_back(arcs_[a].to);
        }
    }
    return reaches;
}

}  // namespace tensorlib::core
