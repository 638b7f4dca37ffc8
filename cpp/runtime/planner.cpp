#include "runtime/planner.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <numeric>

namespace tensorlib::core {

Planner::Planner(Plan &plan, const Graph &graph, Backend &backend) : plan_(plan), graph_(graph) {
    bool added;
    for (std::size_t i = 0; i < graph.nodes().size(); i++) places_.insert(graph.nodes()[i], static_cast<Graph::Place>(i), added);
    for (std::size_t i = 0; i < graph.leafs().size(); i++) {
        places_.insert(graph.leafs()[i], static_cast<Graph::Place>(i) | Graph::leaf_bit, added);
    }
    const std::vector<Choice> choices = choose_kernels(backend);
    if (backend.fuses()) find_fusions(choices);
    make_steps(choices);
    place_intermediates();
    find_addresses();
}

namespace {

unsigned checked_operands(const Tensor &node) noexcept {
    const OpDef &def = op_def(node.op);
    return def.checked_operands ? def.checked_operands(node) : 0;
}

// Kernels count elements, bytes and chunks in 64 bits. Within these bounds no count wraps: all of a tensor's elements times 16 bytes are
// 2^62, a row's or a column's times 1,024 threads times 16 rows of floats 2^60. Only views that repeat their elements are beyond them.
constexpr std::int64_t most_elements = std::int64_t{1} << 58, most_in_a_row = std::int64_t{1} << 44;

void check_sizes(const Tensor &node) {
    const auto check = [&](const Tensor &t) {
        const Extents &ne = t.layout.ne;
        if (t.layout.n_elements() <= most_elements && std::max(ne[0], ne[1]) <= most_in_a_row) return;
        fail(Status::unsupported, "graph_compute: %s of %s: %s has more than 2^58 elements, or 2^44 in dimension 0 or 1", op_name(node.op),
             sources_text(node).c_str(), layout_text(t.layout).c_str());
    };
    check(node);
    for (const Tensor *source : node.sources()) check(*source);
}

}  // namespace

// A product is fused with the node that reads it where that is its only use, and where nothing between the two writes into a leaf, which
// the product might read.
void Planner::find_fusions(const std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::size_t last_writer = 0;  // its index + 1
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.writes()) last_writer = i + 1;
        const EpilogueDef *epilogue = find_epilogue(node.op);
        if (!epilogue) continue;
        for (const Tensor *source : node.sources()) {
            const auto *product = places_.find(source);
            if (source->op != Op::mul_mat || graph_.uses()[*product] != 1 || last_writer > *product) continue;
            if (epilogue->other_operand(node, *source) < 0) continue;
            // A step has one word for faults, and it is the product's.
            if (checked_operands(node) != 0) continue;
            if (!choices[*product].kernel->fuses) continue;
            if (!plan_.fusions_.any()) {
                plan_.fusions_.runs_in.resize(nodes.size());
                std::iota(plan_.fusions_.runs_in.begin(), plan_.fusions_.runs_in.end(), 0u);
                plan_.fusions_.product = plan_.fusions_.runs_in;
            }
            plan_.fusions_.runs_in[*product] = static_cast<std::uint32_t>(i);
            plan_.fusions_.product[i] = *product;
            break;
        }
    }
}

// By the nodes' indices; pure views have none.
std::vector<Choice> Planner::choose_kernels(Backend &backend) const {
    const auto nodes = graph_.nodes();
    std::vector<Choice> choices(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.is_pure_view()) continue;
        check_sizes(node);
        const Problem problem{node, backend, backend.n_threads()};
        choices[i] = backend.choose_kernel(problem);
        if (choices[i].kernel) continue;
        const std::string reasons = backend.refusals(problem, nullptr);
        fail(Status::unsupported, "%s of %s to %s: no kernel of %s takes it%s%s", op_name(node.op), sources_text(node).c_str(),
             layout_text(node.layout).c_str(), backend.device().name(), reasons.empty() ? "" : ": ", reasons.c_str());
    }
    return choices;
}

void Planner::make_steps(const std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::vector<Step> &steps = plan_.steps_;
    // A step is some 400 bytes: growing by doubling would copy them, and hand pages back to the system in between.
    const auto n_steps = static_cast<std::size_t>(std::ranges::count_if(nodes, [](const Tensor *node) { return !node->is_pure_view(); }));
    steps.reserve(n_steps);
    plan_.step_nodes_.reserve(n_steps);
    plan_.done_.reserve(n_steps);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (nodes[i]->is_pure_view() || plan_.fusions_.is_fused(i)) {
            if (!plan_.done_.empty()) plan_.done_.back() = i + 1;
            continue;
        }
        const std::size_t computed = plan_.fusions_.product_of(i);
        Tensor &node = *nodes[computed];
        Step step{};
        step.kernel = choices[computed].kernel;
        step.plan = choices[computed].plan;
        step.node = &node;
        if (&node != nodes[i]) step.epilogue = nodes[i];
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (node.writes(s) && node.src[s]->root->is_leaf()) plan_.targets_.push_back(*places_.find(node.src[s]->root));
        }
        if (const unsigned operands = checked_operands(node)) {
            plan_.checked_.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(steps.size()), operands});
        }
        steps.push_back(step);
        plan_.step_nodes_.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(i)});
        plan_.done_.push_back(i + 1);
    }
}

namespace {

const Tensor &other_operand(const Step &step) noexcept {
    return *step.epilogue->src[find_epilogue(step.epilogue->op)->other_operand(*step.epilogue, *step.node)];
}

}  // namespace

// The roots without their originals, each once, that the step reads.
std::vector<const Tensor *> Planner::dropped_roots(const Step &step) const {
    std::vector<const Tensor *> roots;
    const auto add = [&](const Tensor &t) {
        if (is_dropped(t) && std::ranges::find(roots, t.root) == roots.end()) roots.push_back(t.root);
    };
    for (std::size_t s = 0; s < step.node->n_src; s++) {
        if (step.node->src[s] && !(step.plan.unread >> s & 1)) add(*step.node->src[s]);
    }
    if (step.epilogue) add(other_operand(step));
    return roots;
}

void Planner::place_intermediates() {
    const std::size_t unit = plan_.memory_.alignment();
    const auto nodes = graph_.nodes();
    std::vector<bool> is_intermediate(nodes.size());
    std::vector<const Tensor *> outputs;
    for (const Tensor *output : graph_.outputs()) outputs.push_back(output->root);
    std::ranges::sort(outputs);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        is_intermediate[i] = nodes[i]->root == nodes[i] && !plan_.fusions_.is_fused(i) && !nodes[i]->data.load(std::memory_order_acquire) &&
                             !std::ranges::binary_search(outputs, nodes[i]);
    }
    std::vector<unsigned> overlaid(nodes.size());
    for (const Step &step : plan_.steps_) {
        // Of a fused node the product's last part would be read behind the first that is written.
        if (!step.epilogue) overlaid[*places_.find(step.node)] = step.plan.overlaid;
    }
    plan_.intermediates_ = plan_memory(graph_, is_intermediate, plan_.checked_, plan_.fusions_.runs_in, overlaid, unit);
    // One workspace for all steps, and one room for what is rebuilt, as they run one after the other.
    std::size_t workspace = 0, rebuilt = 0, n_rebuilt = 0;
    for (const Step &step : plan_.steps_) {
        workspace = std::max(workspace, step.plan.workspace);
        std::size_t of_step = 0;
        for (const Tensor *root : dropped_roots(step)) of_step += round_up(root->layout.nbytes(), unit), n_rebuilt++;
        rebuilt = std::max(rebuilt, of_step);
    }
    plan_.rebuilt_.reserve(n_rebuilt);
    plan_.rebuilt_leafs_.reserve(n_rebuilt);
    // Faults come first: theirs is the one place that has to be as the last run has left it.
    plan_.intermediates_offset_ = round_up(plan_.checked_.size() * sizeof(std::uint64_t), unit);
    plan_.workspace_bytes_ = workspace;
    std::size_t &size = plan_.block_bytes_;
    if (!checked_add(plan_.intermediates_offset_, plan_.intermediates_.size, rebuilt_offset_) ||
        !checked_add(rebuilt_offset_, rebuilt, workspace_offset_) || !checked_add(workspace_offset_, workspace, size)) {
        size = ~std::size_t{0};
    }
}

// Where the tensor's first element is when the step runs: in the block, or behind a root's data.
void Planner::find_address(const Tensor &t, const Step &step, std::byte *&address) {
    const auto in_block = [&](std::size_t offset) { plan_.in_block_.push_back({&address, offset + t.root_offset}); };
    for (std::size_t offset = rebuilt_offset_; const Rebuilt &r : step.rebuilt) {
        if (r.root == t.root) return in_block(offset);
        offset += round_up(r.root->layout.nbytes(), plan_.memory_.alignment());
    }
    const Graph::Place root = *places_.find(t.root);
    if (!(root & Graph::leaf_bit) && plan_.intermediates_.offset[root] != MemoryPlan::nowhere) {
        return in_block(plan_.intermediates_offset_ + plan_.intermediates_.offset[root]);
    }
    plan_.in_graph_.push_back({&address, root, t.root_offset});
}

void Planner::find_addresses() {
    std::size_t n_operands = 0;
    for (const Step &step : plan_.steps_) n_operands += step.node->n_src;
    plan_.operands_.reserve(n_operands);
    for (Step &step : plan_.steps_) {
        const std::size_t first_rebuilt = plan_.rebuilt_.size(), first_operand = plan_.operands_.size();
        std::size_t offset = rebuilt_offset_;
        for (const Tensor *root : dropped_roots(step)) {
            plan_.rebuilt_.push_back({root, nullptr});
            plan_.rebuilt_leafs_.push_back(*places_.find(root));
            plan_.in_block_.push_back({&plan_.rebuilt_.back().to, offset});
            offset += round_up(root->layout.nbytes(), plan_.memory_.alignment());
        }
        step.rebuilt = std::span(plan_.rebuilt_).subspan(first_rebuilt);
        const Tensor &result = step.epilogue ? *step.epilogue : *step.node;
        step.dst = ref_of(result);
        find_address(result, step, step.dst.data);
        if (step.epilogue) {
            step.epilogue_operand = ref_of(other_operand(step));
            find_address(other_operand(step), step, step.epilogue_operand.data);
        }
        for (std::size_t s = 0; s < step.node->n_src; s++) {
            const Tensor *source = step.node->src[s];
            plan_.operands_.push_back(source ? ref_of(*source) : TensorRef{});
            if (source) find_address(*source, step, plan_.operands_.back().data);
        }
        step.src = std::span(plan_.operands_).subspan(first_operand);
        plan_.in_block_.push_back({&step.workspace, workspace_offset_});
    }
}

}  // namespace tensorlib::core
