// What op_functions.hpp declares. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#include "api/handles.hpp"
#include "ops/op_def.hpp"

namespace tensorlib {

Tensor ContextOps::add(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::add, {&a, &b}); }

Tensor ContextOps::transpose(const Tensor &a) const { return Nodes::make(*this, core::Op::transpose, {&a}); }

Tensor ContextOps::cont(const Tensor &a) const { return Nodes::make(*this, core::Op::cont, {&a}); }

Tensor ContextOps::cpy(const Tensor &src, const Tensor &dst) const { return Nodes::make(*this, core::Op::cpy, {&src, &dst}); }

Tensor ContextOps::dup(const Tensor &a) const { return Nodes::make(*this, core::Op::dup, {&a}); }

Tensor ContextOps::get_rows(const Tensor &a, const Tensor &rows) const { return Nodes::make(*this, core::Op::get_rows, {&a, &rows}); }

Tensor ContextOps::set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) const {
    return Nodes::make(*this, core::Op::set_rows, {&a, &b, &rows});
}

Tensor add(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).add(a, b); }

Tensor transpose(const Tensor &a) { return Nodes::youngest_of({&a}).transpose(a); }

Tensor cont(const Tensor &a) { return Nodes::youngest_of({&a}).cont(a); }

Tensor cpy(const Tensor &src, const Tensor &dst) { return Nodes::youngest_of({&src, &dst}).cpy(src, dst); }

Tensor dup(const Tensor &a) { return Nodes::youngest_of({&a}).dup(a); }

Tensor get_rows(const Tensor &a, const Tensor &rows) { return Nodes::youngest_of({&a, &rows}).get_rows(a, rows); }

Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) { return Nodes::youngest_of({&a, &b, &rows}).set_rows(a, b, rows); }

Tensor TensorOps::transpose() const { return tensorlib::transpose(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::cont() const { return tensorlib::cont(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::dup() const { return tensorlib::dup(static_cast<const Tensor &>(*this)); }

}  // namespace tensorlib
