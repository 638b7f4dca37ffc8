// Gradient rules: for each operation, how the gradients of its operands follow from that of its result.
#pragma once

#include "gradients/value.hpp"

#include <string>
#include <utility>

namespace tensorlib::core::gradients {

// The gradients of the tensors in the backward pass, as far as they have been summed.
class Sums {
public:
    // The gradient of a tensor: null until something is added. F32, of the tensor's shape.
    virtual Tensor *&of(const Tensor &t) = 0;
    // What a view views, through any number of views: the tensor that the views begin with, or the first view on the
    // way that is in wrt.
    virtual Tensor &viewed_by(const Tensor &view) = 0;
    // The first tensor in the graph that is an equal view of the same tensor, or t itself. Both share one gradient.
    virtual Tensor &first_alike(Tensor &t) = 0;

protected:
    ~Sums() = default;
};

// One node in the backward pass. All values are F32; rounding to the operands' types is ignored.
class Rule {
public:
    Rule(Nodes &nodes, const Tensor &node, Tensor &gradient, unsigned wanted, Sums &sums) noexcept
        : nodes_(nodes), node_(node), gradient_(gradient), wanted_(wanted), sums_(sums) {}

    const Tensor &node() const noexcept { return node_; }
    template <class A>
    const A &attrs() const noexcept {
        return attrs_of<A>(node_);
    }
    Nodes &nodes() const noexcept { return nodes_; }

    // The gradient of the result, the result, and an operand.
    Value g() const { return Value(nodes_, gradient_); }
    Value c() const { return f32(const_cast<Tensor &>(node_)); }
    // The result of an operation of one operand and no attributes, before it was rounded to 16 bits.
    Value unrounded() const { return node_.layout.type == DType::f32 ? c() : (*this)[0].op(node_.op); }
    Value operator[](std::size_t operand) const { return f32(*node_.src[operand]); }
    // An operand unchanged: indices, or one that keeps its type.
    Tensor *source(std::size_t operand) const noexcept { return node_.src[operand]; }
    const Extents &ne(std::size_t operand) const noexcept { return node_.src[operand]->layout.ne; }
    bool has(std::size_t operand) const noexcept { return node_.src[operand] != nullptr; }

    bool wants(std::size_t operand) const noexcept { return wanted_ >> operand & 1; }
    // Calls make() if the operand's gradient is wanted. If the operand was repeated, the gradient is summed over the
    // repetitions. Several calls add up.
    template <class Make>
    void give(std::size_t operand, Make &&make) {
        if (wants(operand)) put(operand, std::forward<Make>(make)());
    }
    // For a gradient that is 0 in most positions: add(sum) returns the sum with the gradient added, by an operation
    // that overwrites its first operand if that has no later reader. A thousand small parts of a tensor therefore cost
    // their own size, not a thousand times the tensor's. `sum` is contiguous, and zeros at first.
    template <class Add>
    void give_into(std::size_t operand, Add &&add) {
        if (!wants(operand)) return;
        Tensor *&sum = sums_.of(sums_.first_alike(*node_.src[operand]));
        sum = &std::forward<Add>(add)(begun(sum, ne(operand))).tensor();
    }
    // For the tensor that the node views, through any number of views.
    const Tensor &viewed() const { return sums_.viewed_by(node_); }
    template <class Add>
    void give_into_viewed(Add &&add) {
        Tensor *&sum = sums_.of(viewed());
        sum = &std::forward<Add>(add)(begun(sum, viewed().layout.ne)).tensor();
    }

    Value f32(Tensor &t) const;

private:
    void put(std::size_t operand, const Value &gradient);
    // A sum in a form to which elements can be added: contiguous, and zeros of this shape if it is null.
    Value begun(Tensor *sum, const Extents &ne) const { return sum ? Value(nodes_, *sum).contiguous() : g().zeros(ne); }

    Nodes &nodes_;
    const Tensor &node_;
    Tensor &gradient_;
    unsigned wanted_;
    Sums &sums_;
};

struct GradientRule {
    // Gives a gradient to each operand that is wanted and has no `no_gradient`. Null if no operand has a gradient.
    void (*build)(Rule &rule);
    // Why this node has no rule although its operation has one; empty if it has one. Null: the operation's nodes always
    // have one.
    std::string (*refusal)(const Tensor &node) = nullptr;
};

// The rule of operations whose operands all have a `no_gradient` reason in their description: a decision, not a gap.
constexpr GradientRule no_gradient{nullptr};

// If a listed operation has no rule, the program does not link. Composed operations are in no graph.
namespace rules {
#define TL_OP(name, number) extern const GradientRule name;
#define TL_COMPOSED_OP(name, number)
#include "graph/gen/op_list.inc"
#undef TL_COMPOSED_OP
#undef TL_OP
}  // namespace rules

const GradientRule &rule_of(Op op) noexcept;

}  // namespace tensorlib::core::gradients
