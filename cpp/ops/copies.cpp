// Copies, with a change of type or of place.
#include "base/fail.hpp"
#include "ops/op_def.hpp"

namespace tensorlib::core::ops {

namespace {

constexpr const char *one_operand[] = {"a"};
constexpr const char *cpy_operands[] = {"src", "dst"};

std::span<const std::int64_t> shape_of(const Tensor &t) { return {t.layout.ne.data(), static_cast<std::size_t>(t.layout.n_dims)}; }

// cont, dup: a's elements, side by side. Exact. Derivative: g.
void cont_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    result.layout = contiguous_layout(op_name(result.op), src[0]->layout.type, shape_of(*src[0]));
}

// Any type into any other. Integers into integers exactly; F64 and integers into each other rounded once, to nearest
// even; everything else by way of F32, rounded to nearest even, or as the format encodes. A value that the target
// cannot hold (beyond an integer's range; NaN or infinity where blocks hold numbers) is an error of computing.
unsigned converted_operand(const Tensor &node) noexcept { return may_refuse(node.src[0]->layout.type, node.layout.type) ? 1 : 0; }
std::string converted_values(const Tensor &node, int) { return values_of(node.layout.type); }

// cast: a's elements in another type, side by side. Derivative: g in a's type.
constexpr AttrDef cast_attrs[] = {{"to", AttrKind::text, true}};

void cast_infer(std::span<Tensor *const> src, const Attrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const DTypeTraits &to = traits_named("cast", attrs.text("to"));
    result.layout = contiguous_layout("cast", to.type, shape_of(a));
}

// The same elements in the same order: copying changes nothing.
bool same_elements(const Tensor &a, const Tensor &b) {
    return a.root == b.root && a.root_offset == b.root_offset && a.layout.ne == b.layout.ne && a.layout.nb == b.layout.nb;
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
    check_target("cpy", "dst", to);
    if (!same_elements(from, to)) check_apart("cpy", "src", from, "dst", to);
    result.layout = to.layout;
    result.view_of = src[1];
    result.writes = true;
}

}  // namespace

bool may_refuse(DType from, DType to) noexcept {
    if (from == to) return false;
    const DTypeTraits &source = traits(from), &target = traits(to);
    switch (target.kind) {
        case Kind::floating: return false;
        case Kind::integer: return source.kind != Kind::integer || source.size > target.size;
        // Blocks hold finite numbers. An I64 is one.
        case Kind::weight:
        case Kind::activation: return source.kind != Kind::integer;
    }
    return true;  // not reached: all kinds are above
}

std::string values_of(DType type) {
    const DTypeTraits &t = traits(type);
    if (t.kind != Kind::integer) return std::string("finite numbers are valid for ") + t.name;
    const int bits = static_cast<int>(t.size * 8 - 1);
    const std::int64_t largest = INT64_MAX >> (63 - bits);
    return format_text("%s holds %lld to %lld", t.name, static_cast<long long>(-largest - 1), static_cast<long long>(largest));
}

constexpr OpDef cont{
    .op = Op::cont,
    .name = "cont",
    .operands = one_operand,
    .infer = cont_infer,
    .gradient = "da = g",
    .cost = copy_cost,
    .doc = "a contiguous copy",
};

constexpr OpDef dup{
    .op = Op::dup,
    .name = "dup",
    .operands = one_operand,
    .infer = cont_infer,
    .gradient = "da = g",
    .cost = copy_cost,
    .doc = "a copy",
};

constexpr OpDef cpy{
    .op = Op::cpy,
    .name = "cpy",
    .operands = cpy_operands,
    .infer = cpy_infer,
    .gradient = "dsrc = g in src's shape and type; dst is overwritten and has none",
    .cost = copy_cost,
    .doc = "src's elements into dst",
    .checked_operands = converted_operand,
    .valid_values = converted_values,
};

constexpr OpDef cast{
    .op = Op::cast,
    .name = "cast",
    .operands = one_operand,
    .attrs = cast_attrs,
    .infer = cast_infer,
    .gradient = "da = g in a's type",
    .cost = copy_cost,
    .doc = "a's elements in another type",
    .checked_operands = converted_operand,
    .valid_values = converted_values,
};

}  // namespace tensorlib::core::ops
