// Operations that make nodes: in a context that is named, or in the youngest of their operands'.
#include "api/handles.hpp"
#include "graph/context.hpp"
#include "ops/op_def.hpp"

namespace tensorlib {

Tensor Context::node(core::Op op, std::initializer_list<const Tensor *> operands, std::span<const core::Attr> attrs) const {
    core::Tensor *src[core::max_sources];
    std::size_t n = 0;
    for (const Tensor *operand : operands) src[n++] = &operand->get();
    return Tensor(impl_, core::build_node(*impl_, op, {src, n}, attrs));
}

// The context that was made last: links then always lead from young to old and never in a circle.
Context Context::youngest_of(std::initializer_list<const Tensor *> operands) {
    const std::shared_ptr<core::Context> *youngest = nullptr;
    for (const Tensor *operand : operands) {
        operand->get();
        if (!youngest || operand->context_->id() > (*youngest)->id()) youngest = &operand->context_;
    }
    return Context(*youngest);
}

Tensor Context::add(const Tensor &a, const Tensor &b) const { return node(core::Op::add, {&a, &b}); }
Tensor Context::mul_mat(const Tensor &a, const Tensor &b) const { return node(core::Op::mul_mat, {&a, &b}); }

Tensor Context::mul_mat_exact(const Tensor &a, const Tensor &b) const {
    const core::Attr exact = core::Attr::of_int("exact", 1);
    return node(core::Op::mul_mat, {&a, &b}, {&exact, 1});
}

Tensor Context::mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) const { return node(core::Op::mul_mat_id, {&a, &b, &ids}); }
Tensor Context::cpy(const Tensor &src, const Tensor &dst) const { return node(core::Op::cpy, {&src, &dst}); }
Tensor Context::get_rows(const Tensor &a, const Tensor &rows) const { return node(core::Op::get_rows, {&a, &rows}); }
Tensor Context::set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) const { return node(core::Op::set_rows, {&a, &b, &rows}); }

Tensor add(const Tensor &a, const Tensor &b) { return Context::youngest_of({&a, &b}).add(a, b); }
Tensor mul_mat(const Tensor &a, const Tensor &b) { return Context::youngest_of({&a, &b}).mul_mat(a, b); }
Tensor mul_mat_exact(const Tensor &a, const Tensor &b) { return Context::youngest_of({&a, &b}).mul_mat_exact(a, b); }
Tensor mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) {
    return Context::youngest_of({&a, &b, &ids}).mul_mat_id(a, b, ids);
}
Tensor cpy(const Tensor &src, const Tensor &dst) { return Context::youngest_of({&src, &dst}).cpy(src, dst); }
Tensor get_rows(const Tensor &a, const Tensor &rows) { return Context::youngest_of({&a, &rows}).get_rows(a, rows); }
Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) { return Context::youngest_of({&a, &b, &rows}).set_rows(a, b, rows); }

}  // namespace tensorlib
