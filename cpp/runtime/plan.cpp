#include "runtime/plan.hpp"

#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/op_def.hpp"
#include "runtime/planner.hpp"

#include <algorithm>

namespace tensorlib::core {

Plan::Plan(Graph &graph, Backend &backend) : memory_(graph.context().memory()), structure_(graph) {
    check_leafs(graph);
    Planner(*this, graph, backend);
    attach(graph);
}

void Plan::bind(Graph &graph) {
    check_leafs(graph);
    attach(graph);
}

void Plan::check_leafs(const Graph &graph) {
    for (const Tensor *leaf : graph.leafs()) {
        if (leaf->address() || is_dropped(*leaf)) continue;
        fail(Status::invalid_argument, "graph_compute: leaf %s has no data yet: call context_allocate first", tensor_text(*leaf).c_str());
    }
}

void Plan::attach(Graph &graph) {
    graph_ = &graph;
    try {
        place_outputs();
    } catch (...) {
        graph_ = nullptr;
        throw;
    }
    for (std::size_t i = 0; i < steps_.size(); i++) {
        steps_[i].node = graph.nodes()[step_nodes_[i].computed];
        steps_[i].result = graph.nodes()[step_nodes_[i].result];
    }
    for (std::size_t i = 0; i < rebuilt_.size(); i++) rebuilt_[i].root = graph.at(rebuilt_leafs_[i]);
    bool moved = false;
    for (const InGraph &in_graph : in_graph_) {
        std::byte *data = graph.at(in_graph.root)->data.load(std::memory_order_acquire);
        std::byte *address = data ? data + in_graph.offset : nullptr;
        moved = moved || *in_graph.address != address;
        *in_graph.address = address;
    }
    if (moved) recording_.reset();
    find_owned();
    leafs_as_of_ = changed_leafs();
}

void Plan::place(std::byte *block) noexcept {
    if (block == block_) return;
    block_ = block;
    for (const InBlock &in_block : in_block_) *in_block.address = block + in_block.offset;
    auto *fault = reinterpret_cast<std::uint64_t *>(block);
    for (const CheckedNode &checked : checked_) steps_[checked.step].fault = fault++;
    recording_.reset();
}

std::size_t Plan::own_bytes() const noexcept {
    const auto bytes = [](const auto &...vectors) { return (... + (vectors.capacity() * sizeof *vectors.data())); };
    return sizeof *this + structure_.bytes() +
           bytes(steps_, step_nodes_, done_, operands_, inputs_, instructions_, rebuilt_, rebuilt_leafs_, in_graph_, in_block_,
                 fusions_.runs_in, intermediates_.offset, checked_, owned_, targets_);
}

// Outputs' data belong to their contexts and outlive the graph.
void Plan::place_outputs() {
    for (const Tensor *output : graph_->outputs()) {
        Tensor &root = *output->root;
        if (root.is_leaf() || root.data.load(std::memory_order_acquire)) continue;
        const auto purpose = [&] {
            return format_text("graph_compute: output %s, the result of %s", tensor_text(root).c_str(), op_name(root.op));
        };
        void *data = for_purpose(purpose, [&] { return root.context->allocate_data(root.layout.nbytes()); });
        root.data.store(static_cast<std::byte *>(data), std::memory_order_release);
        root.context->count_placed_node();
    }
}

void Plan::clear_faults() {
    const std::vector<std::uint64_t> none(checked_.size(), Fault::none);
    memory_.write(block_, none.data(), none.size() * sizeof(std::uint64_t));
}

void Plan::check_faults() {
    if (checked_.empty()) return;
    std::vector<std::uint64_t> faults(checked_.size());
    memory_.read(faults.data(), block_, faults.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < faults.size(); i++) {
        if (faults[i] != Fault::none) fail_for(steps_[checked_[i].step], faults[i]);
    }
}

namespace {

// One element as text: integers in full.
std::string element_text(DeviceMemory &memory, const TensorRef &t, std::int64_t position) {
    const DTypeTraits &type = traits(t.type);
    const std::int64_t i0 = position % t.ne[0];
    const std::byte *row = row_address(t, row_index(t.ne, position / t.ne[0]));
    const std::byte *from = row + static_cast<std::size_t>(i0 / type.block_size) * t.nb[0];
    alignas(8) std::byte block[largest_block];
    memory.read(block, from, type.size);
    if (type.kind == Kind::integer) return std::to_string(integer_value(t.type, block));
    float values[longest_block];
    type.decode(block, values, type.block_size);
    return format_text("%g", static_cast<double>(values[i0 % type.block_size]));
}

}  // namespace

void Plan::fail_for(const Step &step, std::uint64_t fault) const {
    const auto operand = static_cast<std::size_t>(Fault::operand(fault));
    const OpDef &def = op_def(step.node->op);
    // A later step's may lie in its place.
    for (const Rebuilt &r : step.rebuilt) r.root->stand_in.load(std::memory_order_acquire)->rebuild(0, r.root->layout.n_rows(), r.to);
    const std::string value = element_text(memory_, step.src[operand], Fault::position(fault));
    fail(Status::invalid_argument, "graph_compute: %s of %s: element %lld of %s is %s: %s", def.name, sources_text(*step.node).c_str(),
         static_cast<long long>(Fault::position(fault)), def.operands[operand].name, value.c_str(),
         def.valid_values(*step.node, static_cast<int>(operand)).c_str());
}

// Another graph may give one of our nodes data of its own later, by making it an output.
std::uint64_t Plan::placed_nodes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto &reached : graph_->contexts()) sum += reached.context->placed_nodes();
    return sum;
}

std::uint64_t Plan::changed_leafs() const noexcept {
    std::uint64_t sum = 0;
    for (const auto &reached : graph_->contexts()) sum += reached.context->changed_leafs();
    return sum;
}

void Plan::find_owned() {
    owned_as_of_ = placed_nodes();
    owned_.clear();
    for (Tensor *node : graph_->nodes()) {
        if (node->root == node && node->data.load(std::memory_order_acquire)) owned_.push_back(node);
    }
}

void Plan::begin_run() {
    for (const Graph::Place place : targets_) {
        const Tensor &target = *graph_->at(place);
        if (target.constant.load(std::memory_order_acquire)) {
            fail(Status::invalid_argument, "graph_compute: the graph writes to %s, which %s", tensor_text(target).c_str(),
                 constant_text(target));
        }
    }
    if (owned_as_of_ != placed_nodes()) find_owned();
    for (Tensor *node : owned_) node->computed.store(false, std::memory_order_release);
}

void Plan::end_run() noexcept {
    for (const Tensor *output : graph_->outputs()) {
        if (!output->root->is_leaf()) output->root->computed.store(true, std::memory_order_release);
    }
}

namespace {

// What became of tensors that are not to be kept, or of a bound; empty where there are none.
std::string recomputation_text(const Recomputation &r) {
    if (r.before == 0 && !r.limit) return "";
    const std::string limit = r.limit ? format_text(" (at most %zu are to be)", *r.limit) : "";
    return format_text(
        "for gradients %zu bytes are kept and %zu nodes recomputed: intermediates %zu bytes before, %zu behind%s, each node by "
        "itself\n",
        r.kept, r.n_again, r.before, r.after, limit.c_str());
}

// Of a node that is marked, or computes another one again.
std::string recompute_text(const Graph &graph, std::size_t i, bool is_output) {
    const Tensor &node = *graph.nodes()[i];
    if (node.original) return ", recomputed";
    if (!node.recompute.load(std::memory_order_acquire)) return "";
    const auto &clashing = graph.recomputation().clashing;
    if (std::ranges::find(clashing, &node) != clashing.end()) return ", kept, as what it reads is written before gradients read it";
    return is_output ? ", kept as an output" : "";
}

}  // namespace

std::string Plan::text(Backend &backend) const {
    std::string text = format_text(
        "plan on %s, isa %s, %d threads: %zu nodes, %zu leafs, intermediates %zu bytes (%zu without reuse), workspace %zu bytes\n",
        backend.device().name(), backend.isa(), backend.n_threads(), graph_->nodes().size(), graph_->leafs().size(),
        block_bytes_ - workspace_bytes_, intermediates_.unshared, workspace_bytes_);
    text += recomputation_text(graph_->recomputation());
    std::size_t next_step = 0;
    for (std::size_t i = 0; i < graph_->nodes().size(); i++) {
        const Tensor &node = *graph_->nodes()[i];
        text += format_text("%4zu %-9s %s: ", i, op_name(node.op), tensor_text(node).c_str());
        const std::string again = recompute_text(*graph_, i, structure_.is_output(i));
        if (node.is_pure_view()) {
            text += "view" + again + "\n";
            continue;
        }
        if (fusions_.is_fused(i)) {
            text += format_text("in node %u%s\n", fusions_.runs_in[i], again.c_str());
            continue;
        }
        const Step &step = steps_[next_step++];
        text += step_text(step);
        for (std::size_t s = 0; s < n_stages; s++) {
            if (step.plan.n_chunks[s] == 0) continue;
            text += format_text(", %s in %lld", stage_names[s], static_cast<long long>(step.plan.n_chunks[s]));
        }
        if (step.plan.n_rounds > 1) text += format_text(", %lld rounds", static_cast<long long>(step.plan.n_rounds));
        text += format_text(", %.3g flops, workspace %zu, ", op_def(step.node->op).cost(*step.node).flops, step.plan.workspace);
        if (intermediates_.offset[i] != MemoryPlan::nowhere) {
            text += format_text("at %zu", intermediates_.offset[i]);
        } else {
            text += node.root->is_leaf() ? "in a leaf" : "in its context";
        }
        text += again;
        if (*step.plan.rounding) text += format_text(", %s", step.plan.rounding);
        if (*step.plan.copy_text) {
            text += format_text(", %s", step.plan.copy_text);
            if (step.plan.copy) text += format_text(" of %zu bytes", step.plan.copy_bytes);
        }
        for (const Rebuilt &r : step.rebuilt) text += format_text(", %s rebuilt before", tensor_text(*r.root).c_str());
        const Problem problem{*step.node, backend, backend.n_threads(), step.src.empty() ? step.program : Program{}};
        const std::string refused = backend.refusals(problem, step.kernel);
        text += refused.empty() ? "\n" : " (" + refused + ")\n";
    }
    return text;
}

}  // namespace tensorlib::core
