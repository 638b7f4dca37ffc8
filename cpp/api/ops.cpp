// Makes nodes, in a given context or in the youngest one of their operands; and the hand-written functions.
#include "api/handles.hpp"
#include "graph/context.hpp"
#include "ops/op_def.hpp"

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
    const core::Layout &of_a = a.get().layout, &of_b = b.get().layout;
    for (std::size_t d = 0; d < core::max_dims; d++) {
        const std::int64_t n = of_a.ne[d], m = of_b.ne[d];
        if (m <= 1 || m == n || n <= 1 || n % m != 0) continue;
        core::fail(Status::shape_mismatch,
                   "%s: a is %s, b is %s: in dimension %zu, b would repeat %lld times. The operator takes equal extents and extents of 1. "
                   "Repeat b with repeat(), or call %s(), which does",
                   core::op_name(op), core::tensor_text(a.get()).c_str(), core::tensor_text(b.get()).c_str(), d,
                   static_cast<long long>(n / m), core::op_name(op));
    }
    return make(youngest_of({&a, &b}), op, {&a, &b});
}

Tensor operator+(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::add, a, b); }
Tensor operator-(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::sub, a, b); }
Tensor operator*(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::mul, a, b); }
Tensor operator/(const Tensor &a, const Tensor &b) { return Nodes::make_untiled(core::Op::div, a, b); }

}  // namespace tensorlib
