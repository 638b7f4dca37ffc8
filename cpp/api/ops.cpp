// Makes nodes, in a given context or in the youngest one of their operands; and the hand-written functions.
#include "api/handles.hpp"
#include "graph/context.hpp"
#include "ops/elementwise.hpp"
#include "ops/numbers.hpp"

#include <cmath>
#include <limits>

namespace tensorlib {

Tensor Nodes::make(const ContextOps &context, core::Op op, std::initializer_list<const Tensor *> operands,
                   std::span<const core::Attr> attrs) {
    // Nothing else derives from ContextOps.
    const std::shared_ptr<core::Context> &impl = static_cast<const Context &>(context).impl_;
    core::Tensor *src[core::max_sources];
    std::size_t n = 0;
    for (const Tensor *operand : operands) src[n++] = operand ? &operand->get() : core::left_out();
    return Tensor(impl, core::build_node(*impl, op, {src, n}, attrs));
}

Context Nodes::youngest_of(std::initializer_list<const Tensor *> operands) {
    const std::shared_ptr<core::Context> *youngest = nullptr;
    for (const Tensor *operand : operands) {
        if (!operand) continue;
        operand->get();
        if (!youngest || operand->context_->id() > (*youngest)->id()) youngest = &operand->context_;
    }
    return Context(*youngest);
}

Tensor Context::mul_mat(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::mul_mat, {&a, &b}); }

Tensor Context::mul_mat_exact(const Tensor &a, const Tensor &b) const {
    const core::Attr exact = core::Attr::of_int("exact", 1);
    return Nodes::make(*this, core::Op::mul_mat, {&a, &b}, {&exact, 1});
}

Tensor Context::mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) const {
    return Nodes::make(*this, core::Op::mul_mat_id, {&a, &b, &ids});
}

Tensor mul_mat(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).mul_mat(a, b); }
Tensor mul_mat_exact(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).mul_mat_exact(a, b); }
Tensor mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) { return Nodes::youngest_of({&a, &b, &ids}).mul_mat_id(a, b, ids); }

Tensor Nodes::make_untiled(core::Op op, const Tensor &a, const Tensor &b) {
    core::ops::refuse_tiles(core::op_def(op), a.get(), b.get());
    return make(youngest_of({&a, &b}), op, {&a, &b});
}

Tensor operator+(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::add, a, b); }
Tensor operator-(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::sub, a, b); }
Tensor operator*(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::mul, a, b); }
Tensor operator/(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::div, a, b); }

namespace {

// Whether the tensor's elements are computed with as they are. All others are computed with in F32.
bool is_wide(const Tensor &t) { return core::ops::is_number(dtype_of(t.type())); }

// A number as an operand: a leaf with one element, in the tensor's context; of a wide type, a node, which refuses what the
// type cannot hold.
Tensor leaf_for(const Tensor &t, double number) {
    if (is_wide(t)) return fill(t, number);
    return Nodes::youngest_of({&t}).tensor<float>({1}, {static_cast<float>(number)});
}

// t * factor + addend, each rounded once. An addend of -0 changes nothing, not even the sign of a 0.
Tensor scaled(const Tensor &t, double factor, double addend) {
    if (std::isnan(factor) || std::isnan(addend)) return mul(t, leaf_for(t, std::numeric_limits<double>::quiet_NaN()));
    if (is_wide(t)) return scale(t, factor, {.bias = addend});
    // Numbers beyond F32 are infinite.
    return scale(t, static_cast<double>(static_cast<float>(factor)), {.bias = static_cast<double>(static_cast<float>(addend))});
}

}  // namespace

Tensor operator+(const Tensor &a, double b) { return scaled(a, 1, b); }
Tensor operator-(const Tensor &a, double b) { return scaled(a, 1, -b); }
Tensor operator*(const Tensor &a, double b) { return scaled(a, b, -0.0); }
// Not a product with 1 / b, which would be rounded twice.
Tensor operator/(const Tensor &a, double b) { return div(a, leaf_for(a, b)); }
Tensor operator+(double a, const Tensor &b) { return scaled(b, 1, a); }
Tensor operator-(double a, const Tensor &b) { return scaled(b, -1, a); }
Tensor operator*(double a, const Tensor &b) { return scaled(b, a, -0.0); }
Tensor operator/(double a, const Tensor &b) {
    const Tensor quotient = div(leaf_for(b, a), b);
    // Rounds to the type as an operation that computes it in F32 would.
    return b.type() == quotient.type() ? quotient : quotient.cast(b.type());
}

}  // namespace tensorlib
