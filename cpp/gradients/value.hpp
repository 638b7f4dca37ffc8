// Arithmetic on tensors as rules of gradients write it: each function appends ordinary nodes.
#pragma once

#include "graph/context.hpp"
#include "ops/op_def.hpp"

#include <initializer_list>
#include <vector>

namespace tensorlib::core::gradients {

// Appends nodes to a context, and can take them back.
class Nodes {
public:
    explicit Nodes(Context &context) noexcept;
    // Takes back what was appended, unless keep() was called.
    ~Nodes();
    Nodes(const Nodes &) = delete;
    Nodes &operator=(const Nodes &) = delete;
    // Leaves them: their values, and those that they were differentiated from, are those of before any write that is built later.
    void keep() noexcept;

    Tensor *make(Op op, std::span<Tensor *const> src, std::span<const Attr> attrs = {});

private:
    Context &context_;
    std::uint64_t number_;  // of the node made last: Tensor::gradient_number
    std::vector<Tensor *> made_;
};

// A tensor of F32, and the nodes that what is made of it joins. Operators are elementwise, and a smaller operand repeats into a larger one.
class Value {
public:
    Value(Nodes &nodes, Tensor &tensor) noexcept : nodes_(&nodes), tensor_(&tensor) {}

    Tensor &tensor() const noexcept { return *tensor_; }
    const Extents &ne() const noexcept { return tensor_->layout.ne; }

    // An operation of this and of others: `a.op(Op::mul, {b})`. Null where an operand is left out.
    Value op(Op op, std::initializer_list<Tensor *> others = {}, std::initializer_list<Attr> attrs = {}) const;
    Value op(Op op, const Value &other, std::initializer_list<Attr> attrs = {}) const { return this->op(op, {other.tensor_}, attrs); }

    Value scaled(double factor, double added = 0) const;
    Value filled(double value) const;
    // This where the condition is not 0, else 0.
    Value where(const Value &condition) const;

    // In another shape; a copy first where this is not contiguous.
    Value shaped(const Extents &ne) const;
    // Dimension i becomes dimension axes[i].
    Value permuted(const std::array<std::int64_t, 4> &axes) const;
    Value transposed() const { return op(Op::transpose); }
    Value contiguous() const;
    // `length` elements of dimension d, from `start` on.
    Value narrowed(std::size_t d, std::int64_t start, std::int64_t length) const;
    // Dimension d with zeros, or cut off (below 0), at both ends.
    Value padded(std::size_t d, std::int64_t before, std::int64_t behind) const;
    // Rows in the opposite order.
    Value reversed() const;
    Value repeated(const Extents &ne) const;
    Value cast(DType type) const;

    Value sum_rows() const { return op(Op::sum_rows); }
    Value mean_rows() const { return op(Op::mean); }
    // Summed to a shape of which this is repetitions: element i of the result is the sum of those whose index modulo `ne` is i.
    Value summed_to(const Extents &ne) const;
    // The sums of groups that follow on each other in dimensions 2 and 3, in as many slices as there are in `ne`: the adjoint of how
    // products share slices.
    Value slices_summed_to(const Extents &ne) const;

    // Zeros and ones of a shape, and numbers from `first` on, in steps; of this alone the context counts.
    Value zeros(const Extents &ne) const { return numbers(0, 1, 1).repeated(ne); }
    Value ones(const Extents &ne) const { return numbers(1, 1, 1).repeated(ne); }
    // {n, n}, ones on its diagonal.
    Value unit_matrix(std::int64_t n) const { return ones({n, 1, 1, 1}).op(Op::diag); }
    Value numbers(double first, double step, std::int64_t n) const;

private:
    // The sums over the middle of three extents.
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
