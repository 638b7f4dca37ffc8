// Arithmetic on tensors for gradient rules: each function appends ordinary nodes.
#pragma once

#include "graph/context.hpp"
#include "ops/node_batch.hpp"

#include <initializer_list>

namespace tensorlib::core::gradients {

// Appends nodes to a context, numbered in the order of the backward pass; takes them back unless keep() is called.
class Nodes {
public:
    explicit Nodes(Context &context) noexcept;
    // Keeps them. Their values, and those of the nodes that were differentiated, are those before any write that is
    // built later.
    void keep() noexcept;

    Tensor *make(Op op, std::span<Tensor *const> src, std::span<const Attr> attrs = {});
    Context &context() const noexcept { return context_; }

private:
    Context &context_;
    NodeBatch batch_;
    std::uint64_t number_;  // of the newest node: NodeState::gradient_number
};

// An F32 tensor, and the Nodes to which derived nodes are appended. Operators are elementwise, and a smaller operand
// repeats into a larger one.
class Value {
public:
    Value(Nodes &nodes, Tensor &tensor) noexcept : nodes_(&nodes), tensor_(&tensor) {}

    Tensor &tensor() const noexcept { return *tensor_; }
    const Extents &ne() const noexcept { return tensor_->layout.ne; }

    // An operation on this and others: `a.op(Op::mul, {b})`. Null stands for an operand that is left out.
    Value op(Op op, std::initializer_list<Tensor *> others = {}, std::initializer_list<Attr> attrs = {}) const;
    Value op(Op op, const Value &other, std::initializer_list<Attr> attrs = {}) const { return this->op(op, {other.tensor_}, attrs); }

    Value scaled(double factor, double added = 0) const;
    Value filled(double value) const;
    // This where the condition is not 0, otherwise 0.
    Value where(const Value &condition) const;

    // Reshaped; copied first if this is not contiguous.
    Value shaped(const Extents &ne) const;
    // Dimension i becomes dimension axes[i].
    Value permuted(const std::array<std::int64_t, 4> &axes) const;
    Value transposed() const { return op(Op::transpose); }
    Value contiguous() const;
    // `length` elements of dimension d, starting at `start`.
    Value narrowed(std::size_t d, std::int64_t start, std::int64_t length) const;
    // Dimension d padded with zeros, or cut if negative, at both ends.
    Value padded(std::size_t d, std::int64_t before, std::int64_t behind) const;
    // Rows in reverse order.
    Value reversed() const;
    Value repeated(const Extents &ne) const;
    Value cast(DType type) const;

    Value sum_rows() const { return op(Op::sum_rows); }
    Value mean_rows() const { return reduced(Op::mean, 1); }
    // Reduced over a set of dimensions, which stay with 1 element each.
    Value reduced(Op op, unsigned set) const { return this->op(op, {}, {Attr::of_dims("dims", set), Attr::of_int("keep", 1)}); }
    // The sum to a shape that this repeats: element i of the result is the sum of the elements whose index modulo `ne`
    // is i.
    Value summed_to(const Extents &ne) const;
    // The sums of consecutive groups in dimensions 2 and 3, with as many slices as `ne` has: the adjoint of how
    // products share slices.
    Value slices_summed_to(const Extents &ne) const;

    // Zeros and ones of a shape, and numbers from `first` in steps. Only the context of this is used.
    Value zeros(const Extents &ne) const { return numbers(0, 1, 1).repeated(ne); }
    Value ones(const Extents &ne) const { return numbers(1, 1, 1).repeated(ne); }
    // {n, n} with ones on its diagonal.
    Value unit_matrix(std::int64_t n) const { return ones({n, 1, 1, 1}).op(Op::diag); }
    Value numbers(double first, double step, std::int64_t n) const;

private:
    // The sums over the middle one of three extents.
    Value middle_summed(std::int64_t inner, std::int64_t summed, std::int64_t outer) const;

    Nodes *nodes_;
    Tensor *tensor_;
};

Value operator+(const Value &a, const Value &b);
Value operator*(const Value &a, const Value &b);
// b repeats into a.
Value operator-(const Value &a, const Value &b);
Value operator/(const Value &a, const Value &b);
inline Value operator-(const Value &a) { return a.op(Op::neg); }
inline Value operator*(const Value &a, double factor) { return a.scaled(factor); }
inline Value operator+(const Value &a, double added) { return a.scaled(1, added); }

}  // namespace tensorlib::core::gradients
