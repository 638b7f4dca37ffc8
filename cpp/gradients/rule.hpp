// The rules: for each operation, how the gradients of its operands follow from that of its result.
#pragma once

#include "gradients/value.hpp"

#include <string>
#include <utility>

namespace tensorlib::core::gradients {

// The gradients of the tensors on the way back, as far as they have been summed.
class Sums {
public:
    // That of a tensor: null until something is added. F32, of the tensor's shape.
    virtual Tensor *&of(const Tensor &t) = 0;
    // What a view is of, at any distance: the tensor that the views begin with, or the first of them that is asked for itself.
    virtual Tensor &viewed_by(const Tensor &view) = 0;
    // The first tensor on the way that is the same view of the same tensor, or itself. A sum that holds for both is one gradient of that.
    virtual Tensor &first_alike(Tensor &t) = 0;

protected:
    ~Sums() = default;
};

// One node on the way back. All values are F32; whatever the operands' types are, rounding to them counts as none.
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
    // An operand as it is: indices, or one that keeps its type.
    Tensor *source(std::size_t operand) const noexcept { return node_.src[operand]; }
    const Extents &ne(std::size_t operand) const noexcept { return node_.src[operand]->layout.ne; }
    bool has(std::size_t operand) const noexcept { return node_.src[operand] != nullptr; }

    bool wants(std::size_t operand) const noexcept { return wanted_ >> operand & 1; }
    // make() is called where the operand's gradient is wanted; where it is the gradient of repetitions they are summed. Several add up.
    template <class Make>
    void give(std::size_t operand, Make &&make) {
        if (wants(operand)) put(operand, std::forward<Make>(make)());
    }
    // For a gradient that is 0 in most places: add(sum) returns the sum with the gradient added, by an operation that writes on its first
    // operand where that ends there. So a thousand small parts of a tensor cost what they hold, not a thousand times the tensor. `sum` is
    // contiguous and zeros at first.
    template <class Add>
    void give_into(std::size_t operand, Add &&add) {
        if (!wants(operand)) return;
        Tensor *&sum = sums_.of(sums_.first_alike(*node_.src[operand]));
        sum = &std::forward<Add>(add)(begun(sum, ne(operand))).tensor();
    }
    // The same of what the node is a view of, at any distance.
    const Tensor &viewed() const { return sums_.viewed_by(node_); }
    template <class Add>
    void give_into_viewed(Add &&add) {
        Tensor *&sum = sums_.of(viewed());
        sum = &std::forward<Add>(add)(begun(sum, viewed().layout.ne)).tensor();
    }

    Value f32(Tensor &t) const;

private:
    void put(std::size_t operand, const Value &gradient);
    // A sum as something can be added to its elements: contiguous, zeros of this shape where it is null.
    Value begun(Tensor *sum, const Extents &ne) const { return sum ? Value(nodes_, *sum).contiguous() : g().zeros(ne); }

    Nodes &nodes_;
    const Tensor &node_;
    Tensor &gradient_;
    unsigned wanted_;
    Sums &sums_;
};

struct GradientRule {
    // Gives a gradient to each operand that is wanted and has no `no_gradient`. Null where no operand has a gradient.
    void (*build)(Rule &rule);
    // Why this node has no rule, though its operation has; empty where it has. Null: it always has.
    std::string (*refusal)(const Tensor &node) = nullptr;
};

// The rule of operations whose operands all have a `no_gradient` reason in their description: a decision, not a gap.
constexpr GradientRule no_gradient{nullptr};

// An operation that is in the list and has no rule does not link.
namespace rules {
#define TL_OP(name, number) extern const GradientRule name;
#include "graph/gen/op_list.inc"
#undef TL_OP
}  // namespace rules

const GradientRule &rule_of(Op op) noexcept;

}  // namespace tensorlib::core::gradients
