// Copies, with a change of type or of place.
#include "base/fail.hpp"
#include "ops/op_def.hpp"

namespace tensorlib::core::ops {

namespace {

constexpr const char *one_operand[] = {"a"};
constexpr const char *cpy_operands[] = {"src", "dst"};

bool converts(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

std::span<const std::int64_t> shape_of(const Tensor &t) { return {t.layout.ne.data(), static_cast<std::size_t>(t.layout.n_dims)}; }

// cont, dup: a's elements, side by side. Exact. Derivative: g.
void cont_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    result.layout = contiguous_layout(op_name(result.op), src[0]->layout.type, shape_of(*src[0]));
}

// cast: a's elements in another type, side by side; F32, F16 and BF16 into each other, rounded to nearest even.
// Derivative: g in a's type.
constexpr AttrDef cast_attrs[] = {{"to", AttrKind::text, true}};

void cast_infer(std::span<Tensor *const> src, const Attrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const auto name = attrs.text("to");
    const DTypeTraits *to = find_traits(name);
    if (!to) fail(Status::invalid_argument, "cast: no type '%.*s'", static_cast<int>(name.size()), name.data());
    if (to->type != a.layout.type && !(converts(a.layout.type) && converts(to->type))) {
        fail(Status::type_mismatch, "cast: a is %s: only f32, f16 and bf16 convert into each other, not %s into %s", tensor_text(a).c_str(),
             traits(a.layout.type).name, to->name);
    }
    result.layout = contiguous_layout("cast", to->type, shape_of(a));
}

// cpy: src's elements into dst's, in ne order, converted as by cast. The result is a view of dst. Whatever comes
// later in the graph and reads dst, through any view, sees them. Derivative: dsrc = g, in src's shape and type; dst
// is overwritten and has none.
void cpy_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Tensor &from = *src[0], &to = *src[1];
    if (from.layout.n_elements() != to.layout.n_elements()) {
        fail(Status::shape_mismatch, "cpy: src is %s, dst is %s: they must have as many elements (%lld and %lld)",
             tensor_text(from).c_str(), tensor_text(to).c_str(), static_cast<long long>(from.layout.n_elements()),
             static_cast<long long>(to.layout.n_elements()));
    }
    if (from.layout.type != to.layout.type && !(converts(from.layout.type) && converts(to.layout.type))) {
        fail(Status::type_mismatch, "cpy: src is %s, dst is %s: only f32, f16 and bf16 convert into each other", tensor_text(from).c_str(),
             tensor_text(to).c_str());
    }
    if (to.root->constant.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "cpy: dst is %s, which is promised constant: it cannot be written", tensor_text(to).c_str());
    }
    result.layout = to.layout;
    result.view_of = src[1];
}

}  // namespace

constexpr OpDef cont{Op::cont, "cont", one_operand, {}, cont_infer, "da = g", copy_cost, "a contiguous copy"};
constexpr OpDef dup{Op::dup, "dup", one_operand, {}, cont_infer, "da = g", copy_cost, "a copy"};
constexpr OpDef cpy{Op::cpy, "cpy", cpy_operands, {}, cpy_infer, "dsrc = g in src's shape and type; dst is overwritten and has none",
                    copy_cost, "src's elements into dst"};
constexpr OpDef cast{Op::cast, "cast", one_operand, cast_attrs, cast_infer, "da = g in a's type", copy_cost,
                     "a's elements in another type"};

}  // namespace tensorlib::core::ops
