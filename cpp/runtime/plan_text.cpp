#include "base/fail.hpp"
#include "ops/custom.hpp"
#include "ops/op_def.hpp"
#include "runtime/plan.hpp"

#include <algorithm>
#include <string_view>

namespace tensorlib::core {

namespace {

// A line about recomputed nodes or a memory bound; empty if there is neither.
std::string recomputation_text(const Recomputation &r) {
    if (r.before == 0 && !r.limit) return "";
    const std::string limit = r.limit ? format_text(" (at most %zu are to be)", *r.limit) : "";
    return format_text(
        "for gradients %zu bytes are kept and %zu nodes recomputed: intermediates %zu bytes before, %zu after%s, each node by "
        "itself\n",
        r.kept, r.n_clones, r.before, r.after, limit.c_str());
}

// A word for a node that is marked for recomputation, or that recomputes another node.
std::string recompute_text(const Graph &graph, std::size_t i, bool is_output) {
    const Tensor &node = *graph.nodes()[i];
    if (node.state.original) return ", recomputed";
    if (!node.state.recompute.load(std::memory_order_acquire)) return "";
    const auto &clashing = graph.recomputation().clashing;
    if (std::ranges::find(clashing, &node) != clashing.end()) return ", kept, as what it reads is written before gradients read it";
    return is_output ? ", kept as an output" : "";
}

// The copies of a step's constants: copies of one form together, and each reason for a missing copy once.
std::string copies_text(const KernelPlan &plan) {
    std::string text;
    for (const ConstantCopy &copy : plan.copies) {
        const auto same = [&](const ConstantCopy &other) { return std::string_view(other.text) == copy.text; };
        if (!*copy.text || &*std::ranges::find_if(plan.copies, same) != &copy) continue;
        std::size_t bytes = 0;
        for (const ConstantCopy &other : plan.copies) bytes += same(other) ? other.bytes : 0;
        text += format_text(", %s", copy.text);
        if (copy.planned()) text += format_text(" of %zu bytes", bytes);
    }
    return text;
}

// "cpu, isa avx512, 2 threads"
std::string device_text(const Backend &part) {
    return format_text("%s, isa %s, %d threads", part.device().name(), part.isa(), part.n_threads());
}

}  // namespace

// The numbers of nodes and leafs, and the bytes on each device.
std::string Plan::head_text(Backend &backend) const {
    const auto parts = backend.parts();
    const auto counts = format_text("%zu nodes, %zu leafs", graph_->nodes().size(), graph_->leafs().size());
    const std::vector<PartMemory> &memory = planned_.memory;
    const auto bytes = [](const PartMemory &part) {
        return format_text("intermediates %zu bytes (%zu without reuse), workspace %zu bytes", part.bytes - part.workspace_bytes,
                           part.intermediates.unshared, part.workspace_bytes);
    };
    if (parts.size() == 1)
        return format_text("plan on %s: %s, %s\n", device_text(*parts[0]).c_str(), counts.c_str(), bytes(memory[0]).c_str());
    const std::vector<Copy> &copies = planned_.operands.copies;
    std::size_t copied = 0;
    std::vector<std::size_t> copied_to(parts.size());
    for (const Copy &copy : copies) copied += copy.bytes, copied_to[copy.to] += copy.bytes;
    std::string text = format_text("plan on %s: %s, %zu copies of %zu bytes in each run\n", backend.device().name(), counts.c_str(),
                                   copies.size(), copied);
    for (std::size_t p = 0; p < parts.size(); p++) {
        const auto computed = std::ranges::count(steps(), p, &Step::part);
        text += format_text("on %s: %zu steps, %s, %zu bytes copied here\n", device_text(*parts[p]).c_str(),
                            static_cast<std::size_t>(computed), bytes(memory[p]).c_str(), copied_to[p]);
    }
    for (const KeptConstant &kept : planned_.kept_constants) {
        const Tensor &root = *graph_->at(kept.root);
        text += format_text("constant %s of %s: %zu bytes kept on %s\n", tensor_text(root).c_str(), root.context->memory().device(),
                            root.layout.nbytes(), parts[kept.part]->device().name());
    }
    return text;
}

// The steps in execution order, by the nodes that they compute, and the copies between them.
std::string Plan::segments_text(Backend &backend) const {
    const auto parts = backend.parts();
    if (parts.size() == 1) return "";
    std::string text;
    const auto add_copies = [&](std::span<const Copy> copies) {
        for (const Copy &copy : copies) {
            text += format_text("copy %s, %zu bytes: %s to %s\n", tensor_text(*copy.root).c_str(), copy.bytes,
                                parts[copy.from]->device().name(), parts[copy.to]->device().name());
        }
    };
    const std::vector<Step> &steps = planned_.schedule.steps;
    for (std::size_t k = 0; k < steps.size(); k++) {
        const Step &step = steps[k];
        add_copies(step.before);
        const bool begins = k == 0 || !step.before.empty() || steps[k - 1].round != step.round || steps[k - 1].part != step.part;
        if (begins) text += format_text("segment on %s: nodes", parts[step.part]->device().name());
        text += format_text(" %u", planned_.schedule.nodes[k].result);
        const bool ends = k + 1 == steps.size() || steps[k + 1].round != step.round || steps[k + 1].part != step.part;
        if (ends) text += "\n";
        add_copies(step.after);
    }
    return text;
}

// The devices that refuse the node, and why.
std::string Plan::refused_text(std::size_t node, Backend &backend) const {
    std::string text;
    for (const RefusedNode &refused : planned_.refused) {
        if (refused.node != node) continue;
        Backend &part = *backend.parts()[refused.part];
        const Problem problem{*graph_->nodes()[node], part, part.n_threads(), {}, 0, graph_->batch_invariant};
        const std::string why = part.refusals(problem, nullptr);
        text += format_text(", not on %s%s%s", part.device().name(), why.empty() ? "" : ": ", why.c_str());
    }
    return text;
}

std::string Plan::text(Backend &backend) const {
    std::string text = head_text(backend);
    text += recomputation_text(graph_->recomputation());
    const auto parts = backend.parts();
    std::vector<const Step *> step_of(graph_->nodes().size());
    for (std::size_t k = 0; k < steps().size(); k++) step_of[planned_.schedule.nodes[k].result] = &steps()[k];
    for (std::size_t i = 0; i < graph_->nodes().size(); i++) {
        const Tensor &node = *graph_->nodes()[i];
        text += format_text("%4zu %-9s %s: ", i, op_text(node).c_str(), tensor_text(node).c_str());
        const std::string recomputed = recompute_text(*graph_, i, structure_.is_output(i));
        if (node.is_pure_view()) {
            text += "view" + recomputed + "\n";
            continue;
        }
        if (planned_.fusions.is_fused(i)) {
            text += format_text("in node %u%s\n", planned_.fusions.runs_in[i], recomputed.c_str());
            continue;
        }
        const Step &step = *step_of[i];
        Backend &part = *parts[step.part];
        if (parts.size() > 1) text += std::string(part.device().name()) + " ";
        text += step_text(step);
        for (std::size_t s = 0; s < n_stages; s++) {
            if (step.plan.n_chunks[s] == 0) continue;
            text += format_text(", %s in %lld", stage_names[s], static_cast<long long>(step.plan.n_chunks[s]));
        }
        if (step.plan.n_rounds > 1) text += format_text(", %lld rounds", static_cast<long long>(step.plan.n_rounds));
        text += format_text(", %.3g flops, workspace %zu, ", op_def(step.node->op).cost(*step.node).flops, step.plan.workspace);
        if (const auto &offset = planned_.memory[step.part].intermediates.offset; offset[i] != MemoryPlan::nowhere) {
            text += format_text("at %zu", offset[i]);
        } else {
            text += node.root->is_leaf() ? "in a leaf" : "in its context";
        }
        text += recomputed;
        if (*step.plan.rounding) text += format_text(", %s", step.plan.rounding);
        text += copies_text(step.plan);
        for (const Rebuilt &r : step.rebuilt) text += format_text(", %s rebuilt before", tensor_text(*r.root).c_str());
        text += refused_text(i, backend);
        const Problem problem{*step.node, part, part.n_threads(), step.src.empty() ? step.program : Program{}, 0, graph_->batch_invariant};
        const std::string refused = part.refusals(problem, step.kernel);
        text += refused.empty() ? "\n" : " (" + refused + ")\n";
    }
    return text + segments_text(backend);
}

}  // namespace tensorlib::core
