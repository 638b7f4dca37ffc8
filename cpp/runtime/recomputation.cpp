#include "runtime/recomputation.hpp"

#include "graph/precedence.hpp"
#include "graph/write_order.hpp"

#include <algorithm>
#include <utility>

namespace tensorlib::core {

namespace {

using NodeIndex = GraphParts::NodeIndex;

// A node, or a clone that recomputes it for the gradients of a call.
struct Entry {
    NodeIndex node;
    std::uint32_t call = 0;  // the call of a clone; 0 for the node itself
    bool live = false;
    // The desired position: a node's own number and index, or the key of its first reader for an entry that runs late.
    using Key = std::pair<std::uint64_t, NodeIndex>;
    Key key{};
    std::uint32_t uses = 0;

    bool is_clone() const noexcept { return call != 0; }
};

class Rematerializer {
public:
    Rematerializer(const GraphParts &parts, const std::vector<bool> &marked)
        : parts_(parts), first_source_(parts.first_sources()), roots_(parts.roots()), written_(parts.nodes), eligible_(marked) {
        for (std::size_t i = 0; i < n(); i++) {
            const Tensor &node = *parts_.nodes[i];
            // The other ranks compute a node of a group once.
            if (roots_[i] != i || written_.is_written(node) || node.is_collective) eligible_[i] = false;
        }
        for (const NodeIndex output : parts_.output_indices) {
            if (GraphParts::is_node(output) && roots_[output] != GraphParts::nowhere) eligible_[roots_[output]] = false;
        }
    }

    Rematerialized run() {
        Rematerialized result;
        do {
            find_entries();
        } while (keep_clashing(result.clashing));
        result.parts = in_order(sorted());
        return result;
    }

private:
    static constexpr Entry::Key latest{~std::uint64_t{0}, GraphParts::nowhere};

    std::size_t n() const noexcept { return parts_.nodes.size(); }
    std::uint32_t call_of(std::size_t node) const noexcept { return parts_.nodes[node]->state.gradient_call(); }

    // Whether a reader of that call reads a clone instead of the node itself.
    bool reads_clone(NodeIndex source, std::uint32_t call) const noexcept {
        const NodeIndex root = roots_[source];
        return root != GraphParts::nowhere && eligible_[root] && call > call_of(root);
    }

    // Calls f(source) for each source of a node that is itself a node.
    template <class F>
    void for_each_source(NodeIndex node, F f) const {
        for (std::size_t at = first_source_[node]; at < first_source_[node + 1]; at++) {
            if (GraphParts::is_node(parts_.source_indices[at])) f(parts_.source_indices[at]);
        }
    }

    std::size_t find_clone(NodeIndex node, std::uint32_t call) const {
        const auto &all = clones_of_[node];
        const auto found = std::ranges::find(all, call, [&](std::size_t id) { return entries_[id].call; });
        return found == all.end() ? entries_.size() : *found;
    }
    // What a reader of that call reads for the source.
    std::size_t version_of(NodeIndex source, std::uint32_t call) const {
        return reads_clone(source, call) ? find_clone(source, call) : source;
    }

    // Collects what is needed: walks backwards from the outputs over everything that is read, as itself or as a clone.
    void find_entries() {
        entries_.clear();
        clones_of_.assign(n(), {});
        for (NodeIndex i = 0; i < n(); i++) {
            entries_.push_back({.node = i, .key = comes_late(i) ? latest : Entry::Key(parts_.nodes[i]->state.gradient_number, i)});
        }
        for (const NodeIndex output : parts_.output_indices) {
            if (!GraphParts::is_node(output)) continue;
            Entry &entry = entries_[output];
            entry.live = true;
            entry.uses++;
            entry.key = {parts_.nodes[output]->state.gradient_number, output};
        }
        for (NodeIndex i = static_cast<NodeIndex>(n()); i-- > 0;) {
            // All readers of a node come after it, so all of them have been examined.
            if (entries_[i].live) need_sources(i, call_of(i));
            for (const std::size_t id : clones_of_[i]) need_sources(id, entries_[id].call);
        }
        for (NodeIndex i = 0; i < n(); i++) {
            if (entries_[i].live && call_of(i) != 0) advance(i);
        }
    }
    void need_sources(std::size_t reader, std::uint32_t call) {
        const Entry::Key key = entries_[reader].key;
        for_each_source(entries_[reader].node, [&](NodeIndex source) {
            std::size_t id = source;
            if (reads_clone(source, call)) id = find_clone(source, call);
            if (id == entries_.size()) {
                entries_.push_back({.node = source, .call = call, .key = latest});
                clones_of_[source].push_back(id);
            }
            Entry &entry = entries_[id];
            entry.live = true;
            entry.uses++;
            if (entry.is_clone() || comes_late(source)) entry.key = std::min(entry.key, key);
        });
    }

    // A node that is made of leafs alone keeps no other memory alive. It runs as late as possible, so that its own
    // result is not kept long.
    bool comes_late(NodeIndex node) const {
        bool of_leafs = !parts_.nodes[node]->writes();
        for_each_source(node, [&](NodeIndex source) { of_leafs = of_leafs && roots_[source] == GraphParts::nowhere; });
        return of_leafs;
    }
    // A sole reader in the backward pass whose output is no larger than its inputs runs as soon as these exist: an
    // optimiser step of a weight, or what lies between the weight's gradient and a product's. Rules are called from the
    // last node to the first, so without this those of weights would come after all others.
    void advance(NodeIndex node) {
        const Tensor &t = *parts_.nodes[node];
        std::size_t made = t.root == &t ? t.layout.nbytes() : 0, read = 0;
        bool alone = true;
        Entry::Key key{};
        for_each_source(node, [&](NodeIndex source) {
            const std::size_t id = version_of(source, call_of(node));
            alone = alone && entries_[id].uses == 1;
            read += parts_.nodes[source]->layout.nbytes();
            key = std::max(key, entries_[id].key);
        });
        if (read != 0 && alone && made <= read) entries_[node].key = key;
    }

    // Keeps nodes that would read memory that is written before the gradients run for which they would be recomputed. A
    // write that belongs to these gradients, such as an optimiser step, waits instead. Returns whether there were any.
    bool keep_clashing(std::vector<const Tensor *> &clashing) {
        const std::size_t before = clashing.size();
        written_.for_each_pair([&](std::size_t, const WrittenMemory::Access &earlier, const WrittenMemory::Access &later) {
            if (!later.writes) return;
            for (const std::size_t id : clones_of_[earlier.node]) {
                const NodeIndex root = roots_[entries_[id].node];
                if (entries_[id].call <= call_of(later.node) || !eligible_[root]) continue;
                eligible_[root] = false;
                clashing.push_back(parts_.nodes[root]);
            }
        });
        return clashing.size() != before;
    }

    // Among the entries that may come next, the one with the least key is taken. An order exists: that of the parts,
    // with each clone next to its original.
    std::vector<std::uint32_t> sorted() const {
        Precedence precedence(entries_.size());
        const auto follows = [&](std::size_t first, std::size_t second) {
            if (entries_[first].live && entries_[second].live) precedence.follows(first, second);
        };
        for (std::size_t id = 0; id < entries_.size(); id++) {
            const Entry &entry = entries_[id];
            const std::uint32_t call = entry.is_clone() ? entry.call : call_of(entry.node);
            for_each_source(entry.node, [&](NodeIndex source) {
                if (entry.live) follows(version_of(source, call), id);
            });
        }
        // Reads and writes of the same memory keep their order, and clones run between the same writes as their
        // originals.
        written_.for_each_pair([&](std::size_t, const WrittenMemory::Access &earlier, const WrittenMemory::Access &later) {
            follows(earlier.node, later.node);
            for (const std::size_t id : clones_of_[later.node]) {
                if (earlier.writes) follows(earlier.node, id);
            }
            for (const std::size_t id : clones_of_[earlier.node]) {
                if (later.writes) follows(id, later.node);
            }
        });
        keep_build_order(parts_.nodes, follows);
        const auto key = [&](std::uint32_t id) { return std::pair(entries_[id].key, entries_[id].node); };
        return precedence.sorted(key, [&](std::uint32_t id) { return entries_[id].live; });
    }

    GraphParts in_order(const std::vector<std::uint32_t> &order) const {
        GraphParts made;
        made.leafs = parts_.leafs;
        std::vector<NodeIndex> place_of(entries_.size(), GraphParts::nowhere);
        for (const std::uint32_t id : order) {
            const Entry &entry = entries_[id];
            const std::uint32_t call = entry.is_clone() ? entry.call : call_of(entry.node);
            place_of[id] = static_cast<NodeIndex>(made.nodes.size());
            made.nodes.push_back(parts_.nodes[entry.node]);
            made.clones.push_back(entry.is_clone());
            for (std::size_t at = first_source_[entry.node]; at < first_source_[entry.node + 1]; at++) {
                const NodeIndex source = parts_.source_indices[at];
                made.source_indices.push_back(GraphParts::is_node(source) ? place_of[version_of(source, call)] : source);
            }
        }
        if (std::ranges::find(made.clones, true) == made.clones.end()) made.clones.clear();
        for (const NodeIndex output : parts_.output_indices)
            made.output_indices.push_back(GraphParts::is_node(output) ? place_of[output] : output);
        return made;
    }

    const GraphParts &parts_;
    const std::vector<std::size_t> first_source_;
    const std::vector<NodeIndex> roots_;
    const WrittenMemory written_;
    std::vector<bool> eligible_;  // for a node with its own memory: whether it is recomputed if it is read late

    std::vector<Entry> entries_;                       // all nodes, followed by the clones
    std::vector<std::vector<std::size_t>> clones_of_;  // by node: its clones
};

}  // namespace

Rematerialized recomputed(const GraphParts &parts, std::vector<bool> marked) { return Rematerializer(parts, marked).run(); }

std::vector<std::uint32_t> late_calls(const GraphParts &parts) {
    const std::vector<NodeIndex> roots = parts.roots();
    std::vector<std::uint32_t> late(parts.nodes.size(), 0);
    std::size_t at = 0;
    for (const Tensor *reader : parts.nodes) {
        for (std::size_t s = 0; s < reader->n_src; s++, at++) {
            const NodeIndex source = parts.source_indices[at];
            const NodeIndex root = GraphParts::is_node(source) ? roots[source] : GraphParts::nowhere;
            if (root == GraphParts::nowhere || reader->state.gradient_call() <= parts.nodes[root]->state.gradient_call()) continue;
            late[root] = std::max(late[root], reader->state.gradient_call());
        }
    }
    return late;
}

}  // namespace tensorlib::core
