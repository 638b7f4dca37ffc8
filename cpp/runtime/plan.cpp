#include "runtime/plan.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/custom.hpp"
#include "ops/op_def.hpp"
#include "runtime/planner.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tensorlib::core {

Plan::Plan(Graph &graph, Backend &backend) : structure_(graph) {
    check_leafs(graph);
    planned_ = make_plan(graph, backend, structure_);
    blocks_.resize(planned_.memory.size());
    attach(graph);
}

std::vector<std::size_t> Plan::estimate(const Graph &graph, Backend &backend) {
    const GraphStructure structure(graph);
    const Planning planning(graph, backend, structure);
    const Draft draft = make_draft(planning, place_and_choose(planning));
    std::vector<std::size_t> bytes;
    for (const PartMemory &part : draft.memory.parts) bytes.push_back(part.bytes);
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
        if (structure.is_output(i)) add_root(*graph.nodes()[i]);
    }
    for (const KeptConstant &kept : draft.scheduled.transfers.kept_constants) {
        add(kept.part, round_up(graph.at(kept.root)->layout.nbytes(), planning.memory_of(kept.part).alignment()));
    }
    // A constant's packed copy serves all products of a part that read the same rows of it in the same form.
    using Packed = std::tuple<std::size_t, const Tensor *, std::size_t, Extents, Strides, std::string_view>;
    std::vector<Packed> packed;
    for (const Step &step : draft.scheduled.schedule.steps) {
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
    Schedule &schedule = planned_.schedule;
    for (std::size_t i = 0; i < schedule.steps.size(); i++) {
        schedule.steps[i].node = graph.nodes()[schedule.nodes[i].computed];
        schedule.steps[i].result = graph.nodes()[schedule.nodes[i].result];
    }
    StepOperands &operands = planned_.operands;
    for (std::size_t i = 0; i < operands.rebuilt.size(); i++) operands.rebuilt[i].root = graph.at(operands.rebuilt_roots[i]);
    for (std::size_t i = 0; i < operands.copies.size(); i++) operands.copies[i].root = graph.at(operands.copied_roots[i]);
    bool moved = false;
    for (const RootAddress &in_root : operands.in_roots) {
        std::byte *data = graph.at(in_root.root)->storage.data.load(std::memory_order_acquire);
        std::byte *address = data ? data + in_root.offset : nullptr;
        moved = moved || *in_root.address != address;
        *in_root.address = address;
    }
    if (moved) recording_.reset();
    find_owned();
    leafs_as_of_ = changed_leafs();
}

void Plan::place(std::byte *block, std::size_t part) noexcept {
    if (block == blocks_[part]) return;
    blocks_[part] = block;
    for (const BlockAddress &in_block : planned_.operands.in_blocks) {
        if (in_block.part == part) *in_block.address = block + in_block.offset;
    }
    auto *fault = reinterpret_cast<std::uint64_t *>(block);
    std::vector<Step> &steps = planned_.schedule.steps;
    for (const CheckedNode &checked : planned_.schedule.checked) {
        if (steps[checked.step].part == part) steps[checked.step].fault = fault++;
    }
    recording_.reset();
}

std::size_t Plan::own_bytes() const noexcept {
    const auto bytes = [](const auto &...vectors) { return (... + (vectors.capacity() * sizeof *vectors.data())); };
    const Planned &p = planned_;
    const Schedule &s = p.schedule;
    const StepOperands &o = p.operands;
    std::size_t offsets = 0;
    for (const PartMemory &part : p.memory) offsets += bytes(part.intermediates.offset);
    return sizeof *this + structure_.bytes() + offsets + p.fusions.in_prologue.capacity() / 8 +
           bytes(p.parts, p.refused, p.fusions.runs_in, p.instructions, p.inputs, p.kept_constants, p.memory) +
           bytes(s.steps, s.nodes, s.done, s.checked, s.targets) +
           bytes(o.sources, o.rebuilt, o.rebuilt_roots, o.copies, o.copied_roots, o.in_roots, o.in_blocks) + bytes(blocks_, owned_);
}

// Outputs' data belong to their contexts and outlive the graph.
void Plan::place_outputs() {
    for (const Tensor *output : graph_->outputs()) {
        Tensor &root = *output->root;
        if (root.is_leaf() || root.storage.data.load(std::memory_order_acquire)) continue;
        const auto purpose = [&] {
            return format_text("graph_compute: output %s, the result of %s", tensor_text(root).c_str(), op_name(root.op));
        };
        void *data = for_purpose(purpose, [&] { return root.context->allocate_data(root.layout.nbytes()); });
        root.storage.data.store(static_cast<std::byte *>(data), std::memory_order_release);
        root.context->count_placed_node();
    }
}

void Plan::clear_faults() {
    for (std::size_t part = 0; part < blocks_.size(); part++) {
        const std::vector<std::uint64_t> none(planned_.memory[part].n_faults, Fault::none);
        if (!none.empty()) planned_.memory[part].memory->write(blocks_[part], none.data(), none.size() * sizeof(std::uint64_t));
    }
}

void Plan::check_faults() {
    const std::vector<CheckedNode> &all_checked = planned_.schedule.checked;
    if (all_checked.empty()) return;
    for (std::size_t part = 0; part < blocks_.size(); part++) {
        std::vector<std::uint64_t> faults(planned_.memory[part].n_faults);
        if (faults.empty()) continue;
        planned_.memory[part].memory->read(faults.data(), blocks_[part], faults.size() * sizeof(std::uint64_t));
        auto fault = faults.begin();
        for (const CheckedNode &checked : all_checked) {
            const Step &step = planned_.schedule.steps[checked.step];
            if (step.part == part && *fault++ != Fault::none) fail_for(step, fault[-1]);
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
    if (step.node->op == Op::custom) CustomOp::of(*step.node).fail_for(step.fault, *step.node);
    // A later step's may lie in its place.
    for (const Rebuilt &r : step.rebuilt)
        r.root->storage.stand_in.load(std::memory_order_acquire)->rebuild(0, r.root->layout.n_rows(), r.to);
    const std::string value = element_text(*planned_.memory[step.part].memory, step.src[operand], Fault::position(fault));
    fail(Status::invalid_argument, "graph_compute: %s of %s: element %lld of %s is %s: %s", def.name, sources_text(*step.node).c_str(),
         static_cast<long long>(Fault::position(fault)), operand_at(def, operand).name, value.c_str(),
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
        if (node->root == node && node->storage.data.load(std::memory_order_acquire)) owned_.push_back(node);
    }
}

void Plan::begin_run() {
    for (const Graph::NodeIndex index : planned_.schedule.targets) {
        const Tensor &target = *graph_->at(index);
        if (const char *reason = read_only_text(target)) {
            fail(Status::invalid_argument, "graph_compute: the graph writes to %s, which %s", tensor_text(target).c_str(), reason);
        }
    }
    if (owned_as_of_ != placed_nodes()) find_owned();
    for (Tensor *node : owned_) node->storage.computed.store(false, std::memory_order_release);
}

void Plan::end_run() noexcept {
    for (const Tensor *output : graph_->outputs()) {
        if (!output->root->is_leaf()) output->root->storage.computed.store(true, std::memory_order_release);
    }
}

}  // namespace tensorlib::core
