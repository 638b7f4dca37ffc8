// What the C++ API's sources share: public handles around engine objects.
#pragma once

#include "base/fail.hpp"
#include "base/ref.hpp"
#include "dtype/dtype.hpp"
#include "ops/op_def.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <tensorlib/tensorlib.hpp>
#include <utility>

namespace tensorlib {

// A shared_ptr that holds the engine's reference and points at the object itself.
template <class T>
std::shared_ptr<T> share(core::Ref<T> ref) {
    T *object = ref.get();
    return std::shared_ptr<T>(std::make_shared<core::Ref<T>>(std::move(ref)), object);
}

// The functions of operations make their nodes with this.
struct Nodes {
    // A handle of a tensor of the engine; for a clone that a graph recomputes, a handle of its original.
    static Tensor handle(const core::Tensor &t);
    // The engine's tensor. Throws Error(invalid_argument) for a null handle.
    static core::Tensor &of(const Tensor &t) { return t.get(); }
    // Null for an operand that is left out.
    static Tensor make(const ContextOps &context, core::Op op, std::initializer_list<const Tensor *> operands,
                       std::span<const core::Attr> attrs = {});
    static Tensor make_of_list(const ContextOps &context, core::Op op, std::span<const Tensor> operands, const core::Attr &attr);
    // For operators: in the youngest context. Throws Error(shape_mismatch) if b repeats as tiles, which means that an extent of b
    // is not 1 but divides that of a. The engine checks all else.
    static Tensor make_untiled(core::Op op, const Tensor &a, const Tensor &b);
    // The context that was made last. Links therefore always lead from young to old and never in a circle.
    static Context youngest_of(std::initializer_list<const Tensor *> operands);
    // The number by which a node names a group.
    static std::int64_t number_of(const Group &group);
    // Throws Error(invalid_argument) for no operands.
    static Context youngest_of(const char *op, std::span<const Tensor> operands);
};

// An optional operand in the form that Nodes takes. A null handle in it does not count as left out: it fails as
// elsewhere.
inline const Tensor *if_given(const std::optional<Tensor> &operand) { return operand ? &*operand : nullptr; }

// The attribute ne; throws Error(invalid_argument) for a shape of more than 4 dimensions. The engine refuses one of none.
inline core::Attr shape_attr(const char *op, const Shape &shape) {
    if (shape.size() > core::max_dims) core::fail(Status::invalid_argument, "%s: %zu dimensions: 1 to 4 are valid", op, shape.size());
    return core::Attr::of_ints("ne", shape);
}

// The engine's type; throws Error(invalid_argument) for a number that is no type.
core::DType dtype_of(Type type);

}  // namespace tensorlib
