#include "runtime/placement.hpp"

#include "base/fail.hpp"
#include "runtime/min_cut.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tensorlib::core {

namespace {

using NodeIndex = Graph::NodeIndex;
// A set of parts, one bit each.
using Mask = std::uint64_t;
static_assert(max_parts < 64);
constexpr Mask bit(std::size_t part) noexcept { return Mask{1} << part; }

// Small enough that sums stay below MinCut::uncut.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 42;

// A root's bytes between two writes to it, from the first to the last byte that is read: the part that makes them and the
// units that read them. A part that reads fewer bytes gets only these, which the costs ignore.
struct Flow {
    std::uint64_t begin, end, bytes;
    std::uint32_t home;
    std::vector<std::uint32_t> readers;
};

// Nodes that share memory go to the same part: they form a unit, which has the number of one of them. The numbers after
// the nodes' stand for the parts themselves, for data that already lies there.
class Placer {
public:
    Placer(const Graph &graph, const TensorSet &places, const Backend &backend)
        : graph_(graph), places_(places), backend_(backend), n_nodes_(graph.nodes().size()), n_parts_(backend.parts().size()) {
        leader_.resize(n_nodes_);
        std::iota(leader_.begin(), leader_.end(), 0u);
        allowed_.assign(n_nodes_ + n_parts_, bit(n_parts_) - 1);
        for (std::size_t p = 0; p < n_parts_; p++) allowed_[n_nodes_ + p] = bit(p);
    }

    // The part that has all leafs and all nodes' contexts, if it also takes all nodes.
    std::optional<std::uint32_t> alone(const RefusedNodes &refused) const;
    void join_units();
    using Refusal = std::function<std::string(std::size_t, std::size_t)>;
    void restrict(const RefusedNodes &refused, const Refusal &refusal);
    void find_flows();
    void place_greedily();
    void improve();
    Placement result();

private:
    NodeIndex root_place(const Tensor &t) const { return *places_.find(t.root); }
    std::uint32_t leader(std::uint32_t node) {
        while (leader_[node] != node) node = leader_[node] = leader_[leader_[node]];
        return node;
    }
    std::uint32_t lies_on(const Tensor &root) const { return static_cast<std::uint32_t>(*backend_.part_on(root.context->memory())); }
    std::uint32_t unit_of_part(std::uint32_t part) const { return static_cast<std::uint32_t>(n_nodes_) + part; }
    std::uint32_t unit_of(NodeIndex root) {
        return root & Graph::leaf_bit ? unit_of_part(lies_on(*graph_.leafs()[root & ~Graph::leaf_bit])) : leader(root);
    }
    // The parts on which the caller allows a node, whether or not they take it.
    Mask wanted(const Tensor &node) const;
    std::string reason(std::size_t node, std::size_t part, const RefusedNodes &refused, const Refusal &refusal) const;
    [[noreturn]] void fail_nowhere(std::uint32_t unit, const RefusedNodes &refused, const Refusal &refusal);
    std::uint32_t &flow_at(NodeIndex root) { return root & Graph::leaf_bit ? flow_of_leaf_[root & ~Graph::leaf_bit] : flow_of_node_[root]; }
    void read(const Tensor &t, std::uint32_t reader);
    std::uint64_t cost_on(std::uint32_t unit, std::uint32_t part) const;
    std::uint64_t cost() const;
    bool improve(std::uint32_t a, std::uint32_t b);
    void improve_pairs();

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    const Graph &graph_;
    const TensorSet &places_;
    const Backend &backend_;
    const std::size_t n_nodes_, n_parts_;
    std::vector<std::uint32_t> leader_;
    // By unit: the parts that it may go to, the flows that it reads, those that it writes into others' memory, and its
    // part.
    std::vector<Mask> allowed_;
    std::vector<std::vector<std::uint32_t>> reads_, writes_;
    std::vector<std::uint32_t> part_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> flow_of_node_, flow_of_leaf_;  // the current flow of a root's bytes; none before they are read
};

std::optional<std::uint32_t> Placer::alone(const RefusedNodes &refused) const {
    if (std::ranges::any_of(refused, [](const auto &of_part) { return !of_part.empty(); })) return {};
    const DeviceMemory *memory = nullptr;
    const auto lies_elsewhere = [&](const Tensor *t) {
        const DeviceMemory *here = &t->root->context->memory();
        if (!memory) memory = here;
        return here != memory;
    };
    // All nodes count, because any of them may have its own data as another graph's output.
    if (std::ranges::any_of(graph_.leafs(), lies_elsewhere) || std::ranges::any_of(graph_.nodes(), lies_elsewhere)) return {};
    for (const Tensor *node : graph_.nodes()) {
        const Tensor &asked = *node->known();
        const DeviceMemory *by_hand = asked.state.placed_on.load(std::memory_order_acquire);
        if (by_hand && by_hand != memory) return {};
    }
    return memory ? std::optional(static_cast<std::uint32_t>(*backend_.part_on(*memory))) : std::nullopt;
}

void Placer::join_units() {
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        const Tensor &node = *graph_.nodes()[i];
        const NodeIndex root = root_place(node);
        if (node.is_pure_view() && !(root & Graph::leaf_bit)) leader_[leader(i)] = leader(root);
    }
}

Mask Placer::wanted(const Tensor &node) const {
    const Tensor &asked = *node.known();
    const DeviceMemory *by_hand = asked.state.placed_on.load(std::memory_order_acquire);
    if (!by_hand) return bit(n_parts_) - 1;
    const auto part = backend_.part_on(*by_hand);
    if (!part) {
        fail(Status::context_mismatch, "graph_compute: %s, the result of %s, was placed on %s, the backend computes on %s",
             tensor_text(node).c_str(), op_name(node.op), by_hand->device(), backend_.device().name());
    }
    return bit(*part);
}

// The reason why the node keeps its unit away from the part; empty if it does not.
std::string Placer::reason(std::size_t i, std::size_t part, const RefusedNodes &refused, const Refusal &refusal) const {
    const Tensor &node = *graph_.nodes()[i];
    if (node.is_pure_view()) return {};
    if (!refused[part].empty() && refused[part][i]) return refusal(i, part);
    return wanted(node) >> part & 1 ? "" : "it was placed elsewhere by tensor_place";
}

void Placer::fail_nowhere(std::uint32_t unit, const RefusedNodes &refused, const Refusal &refusal) {
    std::string reasons;
    std::size_t first = n_nodes_;
    for (std::size_t p = 0; p < n_parts_; p++) {
        std::string why;
        for (std::uint32_t i = 0; i < n_nodes_ && why.empty(); i++) {
            if (leader(i) != unit) continue;
            why = reason(i, p, refused, refusal);
            if (!why.empty()) first = std::min<std::size_t>(first, i);
        }
        reasons += format_text("%s%s: %s", p ? "; " : "", backend_.parts()[p]->device().name(), why.c_str());
    }
    const Tensor &node = *graph_.nodes()[first];
    fail(Status::unsupported, "graph_compute: %s of %s to %s: no device of %s can compute it: %s", op_name(node.op),
         sources_text(node).c_str(), layout_text(node.layout).c_str(), backend_.device().name(), reasons.c_str());
}

void Placer::restrict(const RefusedNodes &refused, const Refusal &refusal) {
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        const Tensor &node = *graph_.nodes()[i];
        if (node.is_pure_view()) continue;
        Mask mask = wanted(node);
        for (std::size_t p = 0; p < n_parts_; p++) {
            if (!refused[p].empty() && refused[p][i]) mask &= ~bit(p);
        }
        allowed_[leader(i)] &= mask;
    }
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        if (leader(i) == i && allowed_[i] == 0) fail_nowhere(i, refused, refusal);
    }
}

void Placer::read(const Tensor &t, std::uint32_t reader) {
    const NodeIndex place = *places_.find(t.root);
    const std::uint32_t home = unit_of(place);
    if (home == reader) return;
    std::uint32_t &number = flow_at(place);
    if (number == none) {
        number = static_cast<std::uint32_t>(flows_.size());
        flows_.push_back({t.root_offset, t.root_offset, 0, home, {}});
    }
    Flow &flow = flows_[number];
    flow.begin = std::min<std::uint64_t>(flow.begin, t.root_offset);
    flow.end = std::max<std::uint64_t>(flow.end, t.root_offset + t.layout.span_bytes());
    flow.bytes = std::min(flow.end - flow.begin, most_bytes);
    auto &readers = flow.readers;
    if (std::ranges::find(readers, reader) != readers.end()) return;
    readers.push_back(reader);
    reads_[reader].push_back(number);
}

void Placer::find_flows() {
    flow_of_node_.assign(n_nodes_, none);
    flow_of_leaf_.assign(graph_.leafs().size(), none);
    reads_.resize(n_nodes_ + n_parts_);
    writes_.resize(n_nodes_ + n_parts_);
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        const Tensor &node = *graph_.nodes()[i];
        if (node.is_pure_view()) continue;
        for (const Tensor *source : graph_.sources(i)) {
            if (source) read(*source, leader(i));
        }
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (!node.writes(s)) continue;
            const NodeIndex root = root_place(*node.src[s]);
            flow_at(root) = none;
            // A write goes to the part of the memory that it writes into.
            if (unit_of(root) == leader(i)) continue;
            writes_[leader(i)].push_back(static_cast<std::uint32_t>(flows_.size()));
            const Tensor &target = *node.src[s];
            const std::uint64_t bytes = std::min<std::uint64_t>(target.layout.span_bytes(), most_bytes);
            flows_.push_back({target.root_offset, target.root_offset + bytes, bytes, leader(i), {unit_of(root)}});
        }
    }
    for (const Tensor *output : graph_.outputs()) {
        if (!output->root->is_leaf()) read(*output->root, unit_of_part(lies_on(*output->root)));
    }
}

// The bytes to copy to the part for the unit's operands that are placed elsewhere and that no other reader there has yet.
std::uint64_t Placer::cost_on(std::uint32_t unit, std::uint32_t part) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t f : reads_[unit]) {
        const Flow &flow = flows_[f];
        if (part_[flow.home] == none || part_[flow.home] == part) continue;
        if (std::ranges::none_of(flow.readers, [&](std::uint32_t reader) { return part_[reader] == part; })) bytes += flow.bytes;
    }
    for (const std::uint32_t f : writes_[unit]) {
        const std::uint32_t to = part_[flows_[f].readers.front()];
        if (to != none && to != part) bytes += flows_[f].bytes;
    }
    return bytes;
}

// One pass over the graph: each unit goes to the part with the fewest bytes to copy; on a tie to the part of the node
// before it, then to the first part of the joined backend.
void Placer::place_greedily() {
    part_.assign(n_nodes_ + n_parts_, none);
    for (std::uint32_t unit = 0; unit < part_.size(); unit++) {
        const bool is_unit = unit >= n_nodes_ || leader(unit) == unit;
        if (is_unit && std::has_single_bit(allowed_[unit])) part_[unit] = static_cast<std::uint32_t>(std::countr_zero(allowed_[unit]));
    }
    std::uint32_t before = none;
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        if (graph_.nodes()[i]->is_pure_view()) continue;
        const std::uint32_t unit = leader(i);
        if (part_[unit] == none) {
            std::uint64_t least = 0;
            for (std::uint32_t p = 0; p < n_parts_; p++) {
                if (!(allowed_[unit] >> p & 1)) continue;
                const std::uint64_t bytes = cost_on(unit, p);
                const bool better = part_[unit] == none || bytes < least || (bytes == least && p == before);
                if (better) part_[unit] = p, least = bytes;
            }
        }
        before = part_[unit];
    }
}

std::uint64_t Placer::cost() const {
    std::uint64_t bytes = 0;
    for (const Flow &flow : flows_) {
        Mask on = 0;
        for (const std::uint32_t reader : flow.readers) on |= bit(part_[reader]);
        bytes += flow.bytes * static_cast<std::uint64_t>(std::popcount(on & ~bit(part_[flow.home])));
    }
    return bytes;
}

// Divides the units of parts a and b between these two at the least cost; all others stay. a is the source's side of a cut.
// A flow costs its bytes if its home is on one side and any of its readers on the other; an extra vertex stands for "any
// of its readers".
bool Placer::improve(std::uint32_t a, std::uint32_t b) {
    const Mask both = bit(a) | bit(b);
    MinCut cut;
    std::vector<std::uint32_t> vertex(part_.size(), none);
    for (std::uint32_t unit = 0; unit < n_nodes_; unit++) {
        if (leader_[unit] != unit || part_[unit] == none || !(both >> part_[unit] & 1)) continue;
        if ((allowed_[unit] & both) == both) vertex[unit] = cut.add_vertex();
    }
    for (const Flow &flow : flows_) {
        if (flow.bytes == 0) continue;
        bool fixed_on_a = false, fixed_on_b = false, any_free = false;
        for (const std::uint32_t reader : flow.readers) {
            if (vertex[reader] != none)
                any_free = true;
            else if (part_[reader] == a)
                fixed_on_a = true;
            else if (part_[reader] == b)
                fixed_on_b = true;
        }
        const std::uint32_t home = vertex[flow.home];
        // A home without a vertex has a fixed side. A home on a third part has neither: it copies to both.
        const bool home_on_a = home == none && part_[flow.home] == a, home_on_b = home == none && part_[flow.home] == b;
        // The home is on a or elsewhere, and a reader is on b.
        if (!home_on_b) {
            const std::uint32_t from = home == none ? MinCut::source : home;
            if (fixed_on_b) {
                if (home != none) cut.add_arc(from, MinCut::sink, flow.bytes);
            } else if (any_free) {
                const std::uint32_t any = cut.add_vertex();
                cut.add_arc(from, any, flow.bytes);
                for (const std::uint32_t reader : flow.readers) {
                    if (vertex[reader] != none) cut.add_arc(any, vertex[reader], MinCut::uncut);
                }
            }
        }
        if (!home_on_a) {
            const std::uint32_t to = home == none ? MinCut::sink : home;
            if (fixed_on_a) {
                if (home != none) cut.add_arc(MinCut::source, to, flow.bytes);
            } else if (any_free) {
                const std::uint32_t any = cut.add_vertex();
                cut.add_arc(any, to, flow.bytes);
                for (const std::uint32_t reader : flow.readers) {
                    if (vertex[reader] != none) cut.add_arc(vertex[reader], any, MinCut::uncut);
                }
            }
        }
    }
    const std::vector<bool> on_b = cut.solve();
    const std::uint64_t before = cost();
    const std::vector<std::uint32_t> old = part_;
    for (std::uint32_t unit = 0; unit < n_nodes_; unit++) {
        if (vertex[unit] != none) part_[unit] = on_b[vertex[unit]] ? b : a;
    }
    if (cost() < before) return true;
    part_ = old;
    return false;
}

// Repeats until no pair of parts improves.
void Placer::improve_pairs() {
    // Each round copies less than the one before. With more parts, further rounds gain little.
    constexpr int most_rounds = 8;
    bool improved = cost() != 0;
    for (int round = 0; round < most_rounds && improved; round++) {
        improved = false;
        for (std::uint32_t a = 0; a < n_parts_; a++) {
            for (std::uint32_t b = a + 1; b < n_parts_; b++) improved = improve(a, b) || improved;
        }
        if (n_parts_ == 2) return;  // the cut is the minimum
    }
}

// With more than two parts, cuts between pairs can get stuck. So the search starts from several placements: the result of
// the pass over the graph, and all free units on each part in turn.
void Placer::improve() {
    const std::vector<std::uint32_t> greedy = part_;
    improve_pairs();
    for (std::uint32_t p = 0; n_parts_ > 2 && p < n_parts_ && cost() != 0; p++) {
        const std::vector<std::uint32_t> best = part_;
        const std::uint64_t least = cost();
        part_ = greedy;
        for (std::uint32_t unit = 0; unit < n_nodes_; unit++) {
            if (part_[unit] != none && allowed_[unit] >> p & 1) part_[unit] = p;
        }
        improve_pairs();
        if (cost() >= least) part_ = best;
    }
}

Placement Placer::result() {
    Placement placement{std::vector<std::uint32_t>(n_nodes_), cost(), {}};
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        const Tensor &node = *graph_.nodes()[i];
        const bool of_leaf = node.is_pure_view() && node.root->is_leaf();
        placement.part[i] = of_leaf ? lies_on(*node.root) : part_[leader(i)];
    }
    return placement;
}

}  // namespace

Placement place_nodes(const Graph &graph, const TensorSet &places, const Backend &backend, const RefusedNodes &refused,
                      const std::function<std::string(std::size_t, std::size_t)> &refusal) {
    Placer placer(graph, places, backend);
    if (const auto part = placer.alone(refused)) return {std::vector(graph.nodes().size(), *part), 0, part};
    placer.join_units();
    placer.restrict(refused, refusal);
    placer.find_flows();
    placer.place_greedily();
    placer.improve();
    return placer.result();
}

}  // namespace tensorlib::core
