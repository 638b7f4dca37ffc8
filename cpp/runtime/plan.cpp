#include "runtime/plan.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <numeric>

namespace tensorlib::core {

Plan::Plan(Graph &graph, Backend &backend) : graph_(graph), backend_serial_(backend.serial()), leafs_as_of_(changed_leafs()) {
    const auto nodes = graph.nodes();
    for (std::size_t i = 0; i < nodes.size(); i++) {
        bool added;
        index_.insert(nodes[i], static_cast<std::uint32_t>(i), added);
    }
    for (const Tensor *leaf : graph.leafs()) {
        if (!leaf->address() && !is_dropped(*leaf)) {
            fail(Status::invalid_argument, "graph_compute: leaf %s has no data yet: call context_allocate first",
                 tensor_text(*leaf).c_str());
        }
    }
    const std::vector<Choice> choices = choose_kernels(backend);
    if (backend.fuses()) find_fusions(choices);
    make_steps(choices);
    place_outputs();
    place_intermediates();
    resolve_addresses();
    find_owned();
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
void Plan::find_fusions(const std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::size_t last_writer = 0;  // its index + 1
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.writes()) last_writer = i + 1;
        const EpilogueDef *epilogue = find_epilogue(node.op);
        if (!epilogue) continue;
        for (const Tensor *source : node.sources()) {
            const auto *product = index_.find(source);
            if (!product || source->op != Op::mul_mat || graph_.uses()[*product] != 1 || last_writer > *product) continue;
            if (epilogue->other_operand(node, *source) < 0) continue;
            // A step has one word for faults, and it is the product's.
            if (checked_operands(node) != 0) continue;
            if (!choices[*product].kernel->fuses) continue;
            if (!fusions_.any()) {
                fusions_.runs_in.resize(nodes.size());
                std::iota(fusions_.runs_in.begin(), fusions_.runs_in.end(), 0u);
                fusions_.product = fusions_.runs_in;
            }
            fusions_.runs_in[*product] = static_cast<std::uint32_t>(i);
            fusions_.product[i] = *product;
            break;
        }
    }
}

// By the nodes' indices; pure views have none.
std::vector<Choice> Plan::choose_kernels(Backend &backend) const {
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

void Plan::make_steps(const std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    // A step is some 400 bytes: growing by doubling would copy them, and hand pages back to the system in between.
    steps_.reserve(nodes.size());
    done_.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (nodes[i]->is_pure_view() || fusions_.is_fused(i)) {
            if (!done_.empty()) done_.back() = i + 1;
            continue;
        }
        const std::size_t computed = fusions_.product_of(i);
        Tensor &node = *nodes[computed];
        Step step{};
        step.kernel = choices[computed].kernel;
        step.plan = choices[computed].plan;
        step.node = &node;
        if (&node != nodes[i]) step.epilogue = nodes[i];
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (node.writes(s) && node.src[s]->root->is_leaf()) targets_.push_back(node.src[s]->root);
        }
        if (const unsigned operands = checked_operands(node)) {
            checked_.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(steps_.size()), operands});
        }
        steps_.push_back(step);
        done_.push_back(i + 1);
    }
}

// Outputs' data belong to their contexts and outlive the graph.
void Plan::place_outputs() {
    for (const Tensor *output : graph_.outputs()) {
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

namespace {

// The roots without their originals, each once, that the step reads.
std::vector<const Tensor *> dropped_roots(const Step &step) {
    std::vector<const Tensor *> roots;
    const auto add = [&](const Tensor &t) {
        if (is_dropped(t) && std::find(roots.begin(), roots.end(), t.root) == roots.end()) roots.push_back(t.root);
    };
    for (std::size_t s = 0; s < step.node->n_src; s++) {
        if (step.node->src[s] && !(step.plan.unread >> s & 1)) add(*step.node->src[s]);
    }
    if (const Tensor *node = step.epilogue) add(*node->src[find_epilogue(node->op)->other_operand(*node, *step.node)]);
    return roots;
}

}  // namespace

void Plan::place_intermediates() {
    const std::size_t unit = graph_.context().memory().alignment();
    const auto nodes = graph_.nodes();
    std::vector<bool> is_intermediate(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        is_intermediate[i] = nodes[i]->root == nodes[i] && !fusions_.is_fused(i) && !nodes[i]->data.load(std::memory_order_acquire);
    }
    std::vector<unsigned> overlaid(nodes.size());
    for (const Step &step : steps_) {
        // Of a fused node the product's last part would be read behind the first that is written.
        if (!step.epilogue) overlaid[*index_.find(step.node)] = step.plan.overlaid;
    }
    memory_ = plan_memory(graph_, is_intermediate, checked_, fusions_.runs_in, overlaid, unit);
    // One workspace for all steps, and one room for what is rebuilt, as they run one after the other.
    std::size_t workspace = 0, rebuilt = 0, n_rebuilt = 0;
    for (const Step &step : steps_) {
        workspace = std::max(workspace, step.plan.workspace);
        std::size_t of_step = 0;
        for (const Tensor *root : dropped_roots(step)) of_step += round_up(root->layout.nbytes(), unit), n_rebuilt++;
        rebuilt = std::max(rebuilt, of_step);
    }
    rebuilt_.reserve(n_rebuilt);
    faults_offset_ = memory_.size;
    rebuilt_offset_ = faults_offset_ + round_up(checked_.size() * sizeof(std::uint64_t), unit);
    workspace_offset_ = rebuilt_offset_ + rebuilt;
    memory_.size = workspace_offset_;
    std::size_t size;
    if (!checked_add(memory_.size, workspace, size)) size = ~std::size_t{0};
    const auto purpose = [&] {
        return format_text("graph_compute: %zu bytes of intermediates and %zu of workspace of a graph of %zu nodes", memory_.size,
                           workspace, nodes.size());
    };
    if (size != 0) for_purpose(purpose, [&] { block_.allocate(graph_.context(), size); });
}

std::byte *Plan::address_of(const Tensor &t, const Step &step) const {
    for (const Rebuilt &r : step.rebuilt) {
        if (r.root == t.root) return r.to + t.root_offset;
    }
    if (const auto *root = index_.find(t.root); root && memory_.offset[*root] != MemoryPlan::nowhere) {
        return block_.begin() + memory_.offset[*root] + t.root_offset;
    }
    return t.address();
}

TensorRef Plan::ref_of(const Tensor &t, const Step &step) const { return {t.layout.type, t.layout.ne, t.layout.nb, address_of(t, step)}; }

// rebuilt_ has room for all.
void Plan::place_rebuilt(Step &step) {
    const std::size_t unit = graph_.context().memory().alignment(), first = rebuilt_.size();
    std::byte *to = block_.begin() + rebuilt_offset_;
    for (const Tensor *root : dropped_roots(step)) {
        rebuilt_.push_back({root, to});
        to += round_up(root->layout.nbytes(), unit);
    }
    step.rebuilt = std::span(rebuilt_).subspan(first);
}

void Plan::resolve_addresses() {
    std::size_t n_operands = 0;
    for (const Step &step : steps_) n_operands += step.node->n_src;
    operands_.reserve(n_operands);
    for (Step &step : steps_) {
        place_rebuilt(step);
        step.dst = ref_of(step.epilogue ? *step.epilogue : *step.node, step);
        if (const Tensor *node = step.epilogue) {
            step.epilogue_operand = ref_of(*node->src[find_epilogue(node->op)->other_operand(*node, *step.node)], step);
        }
        const std::size_t first = operands_.size();
        for (std::size_t s = 0; s < step.node->n_src; s++) {
            operands_.push_back(step.node->src[s] ? ref_of(*step.node->src[s], step) : TensorRef{});
        }
        step.src = std::span(operands_).subspan(first);
        step.workspace = block_.begin() + workspace_offset_;
    }
    auto *fault = reinterpret_cast<std::uint64_t *>(block_.begin() + faults_offset_);
    for (const CheckedNode &checked : checked_) steps_[checked.step].fault = fault++;
    clear_faults();
}

void Plan::clear_faults() {
    faults_are_clear_ = true;
    if (checked_.empty()) return;
    const std::vector<std::uint64_t> none(checked_.size(), Fault::none);
    graph_.context().memory().write(block_.begin() + faults_offset_, none.data(), none.size() * sizeof(std::uint64_t));
}

void Plan::check_faults() {
    if (checked_.empty()) return;
    std::vector<std::uint64_t> faults(checked_.size());
    graph_.context().memory().read(faults.data(), block_.begin() + faults_offset_, faults.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < faults.size(); i++) {
        if (faults[i] != Fault::none) fail_for(steps_[checked_[i].step], faults[i]);
    }
    faults_are_clear_ = true;
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
    const std::string value = element_text(graph_.context().memory(), step.src[operand], Fault::position(fault));
    fail(Status::invalid_argument, "graph_compute: %s of %s: element %lld of %s is %s: %s", def.name, sources_text(*step.node).c_str(),
         static_cast<long long>(Fault::position(fault)), def.operands[operand].name, value.c_str(),
         def.valid_values(*step.node, static_cast<int>(operand)).c_str());
}

// Another graph may give one of our nodes data of its own later, by making it an output.
std::uint64_t Plan::placed_nodes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto &reached : graph_.contexts()) sum += reached.context->placed_nodes();
    return sum;
}

std::uint64_t Plan::changed_leafs() const noexcept {
    std::uint64_t sum = 0;
    for (const auto &reached : graph_.contexts()) sum += reached.context->changed_leafs();
    return sum;
}

void Plan::find_owned() {
    owned_as_of_ = placed_nodes();
    owned_.clear();
    for (Tensor *node : graph_.nodes()) {
        if (node->root == node && node->data.load(std::memory_order_acquire)) owned_.push_back(node);
    }
}

void Plan::begin_run() {
    for (const Tensor *target : targets_) {
        if (target->constant.load(std::memory_order_acquire)) {
            fail(Status::invalid_argument, "graph_compute: the graph writes to %s, which %s", tensor_text(*target).c_str(),
                 constant_text(*target));
        }
    }
    // A run that was stopped, or that failed otherwise, may have noted an element, and nobody has asked.
    if (!faults_are_clear_) clear_faults();
    faults_are_clear_ = checked_.empty();
    if (owned_as_of_ != placed_nodes()) find_owned();
    for (Tensor *node : owned_) node->computed.store(false, std::memory_order_release);
}

void Plan::end_run() noexcept {
    for (const Tensor *output : graph_.outputs()) {
        if (!output->root->is_leaf()) output->root->computed.store(true, std::memory_order_release);
    }
}

std::string Plan::text(Backend &backend) const {
    std::string text = format_text(
        "plan on %s, isa %s, %d threads: %zu nodes, %zu leafs, intermediates %zu bytes (%zu without reuse), workspace %zu bytes\n",
        backend.device().name(), backend.isa(), backend.n_threads(), graph_.nodes().size(), graph_.leafs().size(), memory_.size,
        memory_.unshared, block_.size() - workspace_offset_);
    std::size_t next_step = 0;
    for (std::size_t i = 0; i < graph_.nodes().size(); i++) {
        const Tensor &node = *graph_.nodes()[i];
        text += format_text("%4zu %-9s %s: ", i, op_name(node.op), tensor_text(node).c_str());
        if (node.is_pure_view()) {
            text += "view\n";
            continue;
        }
        if (fusions_.is_fused(i)) {
            text += format_text("in node %u\n", fusions_.runs_in[i]);
            continue;
        }
        const Step &step = steps_[next_step++];
        text += step.kernel->name;
        if (step.epilogue) text += std::string(" + ") + op_name(node.op);
        for (std::size_t s = 0; s < n_stages; s++) {
            if (step.plan.n_chunks[s] == 0) continue;
            text += format_text(", %s in %lld", stage_names[s], static_cast<long long>(step.plan.n_chunks[s]));
        }
        if (step.plan.n_rounds > 1) text += format_text(", %lld rounds", static_cast<long long>(step.plan.n_rounds));
        text += format_text(", %.3g flops, workspace %zu, ", op_def(step.node->op).cost(*step.node).flops, step.plan.workspace);
        if (memory_.offset[i] != MemoryPlan::nowhere) {
            text += format_text("at %zu", memory_.offset[i]);
        } else {
            text += node.root->is_leaf() ? "in a leaf" : "in its context";
        }
        if (*step.plan.rounding) text += format_text(", %s", step.plan.rounding);
        if (*step.plan.copy_text) {
            text += format_text(", %s", step.plan.copy_text);
            if (step.plan.copy) text += format_text(" of %zu bytes", step.plan.copy_bytes);
        }
        for (const Rebuilt &r : step.rebuilt) text += format_text(", %s rebuilt before", tensor_text(*r.root).c_str());
        const std::string refused = backend.refusals({*step.node, backend, backend.n_threads()}, step.kernel);
        text += refused.empty() ? "\n" : " (" + refused + ")\n";
    }
    return text;
}

}  // namespace tensorlib::core
