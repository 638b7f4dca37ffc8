#include "gradients/gradients.hpp"

#include "base/fail.hpp"
#include "gradients/rule.hpp"
#include "graph/tensor_set.hpp"
#include "graph/write_order.hpp"
#include "ops/elementwise.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tensorlib::core::gradients {

namespace {

// Whether a path leads from a node to this operand. F64 is on paths, so that check_rules() finds it: the result depends on
// what comes before it, but no gradient does.
bool passes(const Tensor &node, std::size_t operand) {
    const Tensor *source = node.src[operand];
    if (!source || operand_at(op_def(node.op), operand).no_gradient) return false;
    return ops::is_float(source->layout.type) || source->layout.type == DType::f64;
}

// Why gradients do not pass a node; empty if they do. Rules compute in F32, in which different doubles may be equal.
std::string refusal_of(const Tensor &node) {
    if (node.layout.type == DType::f64) return "f32, f16 or bf16 is valid, or stop_gradient before it";
    const GradientRule &rule = rule_of(node.op);
    return rule.refusal ? rule.refusal(node) : std::string();
}

// The nodes that the ys depend on, sources before users.
class Path final : public Sums {
public:
    struct Step {
        Tensor *tensor;
        bool asked = false;        // one of wrt
        bool active = false;       // one of wrt, or computed from one
        bool reached = false;      // gradients flow from a y to it
        unsigned wanted = 0;       // for a reached node: the operands to which gradients continue, a bit each
        Tensor *viewed = nullptr;  // for a view: the tensor that it views, skipping views that are not in wrt
        Tensor *gradient = nullptr;
    };

    Path(std::span<Tensor *const> ys, std::span<Tensor *const> wrt) {
        for (Tensor *y : ys) expand(y);
        for (Tensor *t : wrt) {
            if (Step *step = find(*t)) step->asked = step->active = true;
        }
        for (Step &step : steps_) {
            for (std::size_t i = 0; i < step.tensor->n_src; i++)
                step.active = step.active || (passes(*step.tensor, i) && find(*step.tensor->src[i])->active);
        }
        for (Tensor *y : ys) find(*y)->reached = true;
        for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
            if (!step->active || !step->reached) continue;
            for (std::size_t i = 0; i < step->tensor->n_src; i++) {
                if (!passes(*step->tensor, i)) continue;
                Step &source = *find(*step->tensor->src[i]);
                if (!source.active) continue;
                step->wanted |= 1u << i;
                source.reached = true;
            }
        }
        find_views();
    }

    std::span<Step> steps() noexcept { return steps_; }
    Step *find(const Tensor &t) {
        const std::uint32_t *place = places_.find(&t);
        return place ? &steps_[*place] : nullptr;
    }

    Tensor *&of(const Tensor &t) override { return find(t)->gradient; }
    Tensor &viewed_by(const Tensor &view) override { return *find(view)->viewed; }
    Tensor &first_alike(Tensor &t) override {
        const Step &step = *find(t);
        return step.viewed && !step.asked ? *first_views_.at(key_of(step)) : t;
    }

private:
    // Identifies a view: its root, offset, shape and strides.
    using ViewKey = std::tuple<const Tensor *, std::size_t, Extents, Strides>;
    static ViewKey key_of(const Step &view) {
        return {view.viewed, view.tensor->root_offset, view.tensor->layout.ne, view.tensor->layout.nb};
    }

    // Steps are in order, so the first of several equal views comes last in the backward pass.
    void find_views() {
        for (Step &step : steps_) {
            const Op op = step.tensor->op;
            if (op != Op::view && op != Op::reshape && op != Op::permute && op != Op::transpose) continue;
            const Step &source = *find(*step.tensor->src[0]);
            step.viewed = source.viewed && !source.asked ? source.viewed : source.tensor;
            if (step.wanted != 0 && !step.asked) first_views_.try_emplace(key_of(step), step.tensor);
        }
    }

    // Has its own stack, because recursion would overflow the thread's stack on a long chain.
    void expand(Tensor *y) {
        struct Frame {
            Tensor *tensor;
            std::size_t next;
        };
        std::vector<Frame> stack;
        const auto visit = [&](Tensor *t) {
            bool added;
            seen_.insert(t, 0, added);
            if (added) stack.push_back({t, 0});
        };
        visit(y);
        while (!stack.empty()) {
            Frame &frame = stack.back();
            if (frame.next < frame.tensor->n_src) {
                if (Tensor *source = frame.tensor->src[frame.next++]) visit(source);
                continue;
            }
            bool added;
            places_.insert(frame.tensor, static_cast<std::uint32_t>(steps_.size()), added);
            steps_.push_back({frame.tensor});
            stack.pop_back();
        }
    }

    TensorSet seen_, places_;
    std::vector<Step> steps_;
    std::map<ViewKey, Tensor *> first_views_;  // of nodes through which gradients continue
};

void check(const Context &context, std::span<Tensor *const> ys, std::span<Tensor *const> seeds, std::span<Tensor *const> wrt) {
    if (ys.empty() || wrt.empty()) {
        fail(Status::invalid_argument, "gradients: %zu outputs with respect to %zu tensors: at least one of each is valid", ys.size(),
             wrt.size());
    }
    const auto check_type = [](const char *what, std::size_t i, const Tensor &t) {
        if (ops::is_float(t.layout.type)) return;
        fail(Status::type_mismatch, "gradients: %s %zu is %s: f32, f16 or bf16 is valid", what, i, tensor_text(t).c_str());
    };
    for (std::size_t i = 0; i < ys.size(); i++) {
        const Tensor &y = *ys[i];
        check_type("output", i, y);
        const Tensor *seed = seeds.empty() ? nullptr : seeds[i];
        if (!seed && y.layout.n_elements() != 1) {
            fail(Status::invalid_argument,
                 "gradients: output %zu is %s and has no seed: an output of one element is valid without, such as a loss", i,
                 tensor_text(y).c_str());
        }
        if (seed && seed->layout.type != DType::f32)
            fail(Status::type_mismatch, "gradients: seed %zu is %s: f32 is valid", i, tensor_text(*seed).c_str());
        if (seed && seed->layout.ne != y.layout.ne) {
            fail(Status::shape_mismatch, "gradients: output %zu is %s, its seed %s: the output's shape is valid", i, tensor_text(y).c_str(),
                 tensor_text(*seed).c_str());
        }
    }
    for (std::size_t j = 0; j < wrt.size(); j++) check_type("tensor", j, *wrt[j]);
    for (const auto &tensors : {ys, seeds, wrt}) {
        for (const Tensor *t : tensors) {
            if (t) context.check_reference("gradients", *t->context);
        }
    }
}

// Reports all nodes that gradients do not pass at once, because whoever changes a model needs the whole list.
void check_rules(const Context &context, Path &path) {
    // Many nodes share few contexts, and each check walks links.
    std::vector<const Context *> checked;
    const auto check_context = [&](const Context &other) {
        if (std::ranges::find(checked, &other) != checked.end()) return;
        context.check_reference("gradients", other);
        checked.push_back(&other);
    };
    constexpr std::size_t most = 8;
    std::string text;
    std::size_t found = 0;
    for (const Path::Step &step : path.steps()) {
        const Tensor &node = *step.tensor;
        if (step.wanted == 0) continue;
        check_context(*node.context);
        for (const Tensor *source : node.sources()) check_context(*source->context);
        const std::string why = refusal_of(node);
        if (why.empty()) continue;
        if (++found <= most)
            text += format_text("%s%s %s: %s", found > 1 ? "; " : "", op_name(node.op), tensor_text(node).c_str(), why.c_str());
    }
    if (found == 0) return;
    if (found > most) text += format_text("; and %zu more", found - most);
    fail(Status::unsupported, "gradients: %zu node%s cannot be differentiated: %s", found, found == 1 ? "" : "s", text.c_str());
}

}  // namespace

void append(Context &context, std::span<Tensor *const> ys, std::span<Tensor *const> seeds, std::span<Tensor *const> wrt,
            std::span<Tensor *> grads) {
    check(context, ys, seeds, wrt);
    Path path(ys, wrt);
    check_rules(context, path);

    Nodes nodes(context);
    const auto add = [&](Path::Step &step, Tensor &gradient) {
        if (!step.active) return;
        const Value more(nodes, gradient);
        step.gradient = step.gradient ? &(Value(nodes, *step.gradient) + more).tensor() : &gradient;
    };
    for (std::size_t i = 0; i < ys.size(); i++) {
        Path::Step &step = *path.find(*ys[i]);
        if (!step.active) continue;
        Tensor *seed = seeds.empty() ? nullptr : seeds[i];
        add(step, seed ? *seed : Value(nodes, *ys[i]).cast(DType::f32).filled(1).tensor());
    }
    const std::span<Path::Step> steps = path.steps();
    for (std::size_t s = steps.size(); s-- > 0;) {
        const Path::Step step = steps[s];
        if (step.wanted == 0 || !step.gradient) continue;
        Rule rule(nodes, *step.tensor, *step.gradient, step.wanted, path);
        rule_of(step.tensor->op).build(rule);
    }
    for (std::size_t j = 0; j < wrt.size(); j++) {
        const Path::Step *step = path.find(*wrt[j]);
        const Layout &layout = wrt[j]->layout;
        const Value value(nodes, *wrt[j]);
        Value gradient = step && step->gradient ? Value(nodes, *step->gradient).contiguous() : value.zeros(layout.ne);
        if (gradient.tensor().layout.n_dims != layout.n_dims) {
            const auto n_dims = static_cast<std::size_t>(layout.n_dims);
            gradient = gradient.op(Op::reshape, {}, {Attr::of_ints("ne", std::span(layout.ne).first(n_dims))});
        }
        grads[j] = &gradient.tensor();
    }
    for (const Path::Step &step : steps) {
        if (step.reached && !step.tensor->is_leaf()) note_seen_writes(*step.tensor);
    }
    nodes.keep();
}

bool reach(Tensor &y, const Tensor &t) {
    if (!ops::is_float(y.layout.type) || !ops::is_float(t.layout.type)) return false;
    Tensor *const ys[] = {&y};
    // Path marks its own records, and changes no tensor.
    Tensor *const wrt[] = {const_cast<Tensor *>(&t)};
    Path path(ys, wrt);
    const Path::Step *step = path.find(t);
    return step && step->reached;
}

}  // namespace tensorlib::core::gradients
