#include "runtime/plan.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/op_def.hpp"
#include "runtime/planner.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tensorlib::core {

Plan::Plan(Graph &graph, Backend &backend) : structure_(graph) {
    check_leafs(graph);
    Planner planner(*this, graph, backend);
    planner.make_copies();
    planner.lay_out();
    planner.check_limit();
    planner.find_addresses();
    attach(graph);
}

Plan::Plan(const Graph &graph, Backend &backend, Estimate) : structure_(graph) { Planner(*this, graph, backend).lay_out(); }

std::vector<std::size_t> Plan::estimate(const Graph &graph, Backend &backend) {
    const Plan plan(graph, backend, Estimate{});
    std::vector<std::size_t> bytes;
    for (const Block &block : plan.blocks_) bytes.push_back(block.bytes);
    const auto add = [&](std::size_t part, std::size_t n) {
        std::size_t &sum = bytes[part];
        if (!checked_add(sum, n, sum)) sum = ~std::size_t{0};
    };
    const auto add_root = [&](const Tensor &root) {
        DeviceMemory &memory = root.context->memory();
        add(*backend.part_on(memory), round_up(root.layout.nbytes(), memory.alignment()));
    };
    for (const Tensor *leaf : graph.leafs()) add_root(*leaf);
    for (std::size_t i = 0; i < graph.nodes().size(); i++) {
        if (plan.structure_.is_output(i)) add_root(*graph.nodes()[i]);
    }
    for (const KeptConstant &kept : plan.kept_constants_) {
        add(kept.part, round_up(graph.at(kept.root)->layout.nbytes(), plan.blocks_[kept.part].memory->alignment()));
    }
    // A constant's packed copy serves all products of a part that read the same rows of it in the same form.
    using Packed = std::tuple<std::size_t, const Tensor *, std::size_t, Extents, Strides, std::string_view>;
    std::vector<Packed> packed;
    for (const Step &step : plan.steps_) {
        for (const ConstantCopy &copy : step.plan.copies) {
            if (!copy.planned()) continue;
            const Tensor &a = *step.node->src[copy.source];
            const Packed key(step.part, a.root, a.root_offset, a.layout.ne, a.layout.nb, copy.text);
            if (std::ranges::find(packed, key) != packed.end()) continue;
            packed.push_back(key);
            add(step.part, copy.bytes);
        }
    }
    return bytes;
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
    for (std::size_t i = 0; i < copies_.size(); i++) copies_[i].root = graph.at(copied_roots_[i]);
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

void Plan::place(std::byte *at, std::size_t part) noexcept {
    Block &block = blocks_[part];
    if (at == block.at) return;
    block.at = at;
    for (const InBlock &in_block : in_block_) {
        if (in_block.part == part) *in_block.address = at + in_block.offset;
    }
    auto *fault = reinterpret_cast<std::uint64_t *>(at);
    for (const CheckedNode &checked : checked_) {
        if (steps_[checked.step].part == part) steps_[checked.step].fault = fault++;
    }
    recording_.reset();
}

std::size_t Plan::own_bytes() const noexcept {
    const auto bytes = [](const auto &...vectors) { return (... + (vectors.capacity() * sizeof *vectors.data())); };
    std::size_t offsets = 0;
    for (const Block &block : blocks_) offsets += bytes(block.intermediates.offset);
    return sizeof *this + structure_.bytes() + offsets +
           bytes(steps_, step_nodes_, done_, operands_, inputs_, instructions_, rebuilt_, rebuilt_leafs_, copies_, copied_roots_, parts_,
                 refused_, kept_constants_, in_graph_, in_block_, fusions_.runs_in, blocks_, checked_, owned_, targets_);
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
    for (const Block &block : blocks_) {
        const std::vector<std::uint64_t> none(block.n_faults, Fault::none);
        if (!none.empty()) block.memory->write(block.at, none.data(), none.size() * sizeof(std::uint64_t));
    }
}

void Plan::check_faults() {
    if (checked_.empty()) return;
    for (std::size_t part = 0; part < blocks_.size(); part++) {
        const Block &block = blocks_[part];
        std::vector<std::uint64_t> faults(block.n_faults);
        if (faults.empty()) continue;
        block.memory->read(faults.data(), block.at, faults.size() * sizeof(std::uint64_t));
        auto fault = faults.begin();
        for (const CheckedNode &checked : checked_) {
            if (steps_[checked.step].part == part && *fault++ != Fault::none) fail_for(steps_[checked.step], fault[-1]);
        }
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
    const std::string value = element_text(*blocks_[step.part].memory, step.src[operand], Fault::position(fault));
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
    for (const Graph::NodeIndex place : targets_) {
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

}  // namespace tensorlib::core
