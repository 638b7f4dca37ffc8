// Copies that change type or layout, described in copies.toml.
#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::ops {

namespace {

constexpr const char *one_operand[] = {"a"};

std::span<const std::int64_t> shape_of(const Tensor &t) { return {t.layout.ne.data(), static_cast<std::size_t>(t.layout.n_dims)}; }

// cont and dup.
void cont_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    result.layout = contiguous_layout(op_name(result.op), src[0]->layout.type, shape_of(*src[0]));
}

unsigned converted_operand(const Tensor &node) noexcept { return may_refuse(node.src[0]->layout.type, node.layout.type) ? 1 : 0; }
std::string converted_values(const Tensor &node, int) { return values_of(node.layout.type); }

void cast_infer(std::span<Tensor *const> src, const CastAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    result.layout = contiguous_layout("cast", attrs.to, shape_of(a));
}

// Whether a and b are identical elements in identical order, so that copying changes nothing.
bool same_elements(const Tensor &a, const Tensor &b) {
    return a.root == b.root && a.root_offset == b.root_offset && a.layout.ne == b.layout.ne && a.layout.nb == b.layout.nb;
}

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
}

}  // namespace

bool may_refuse(DType from, DType to) noexcept {
    if (from == to) return false;
    const DTypeTraits &source = traits(from), &target = traits(to);
    switch (target.kind) {
        case Kind::floating: return false;
        case Kind::integer: {
            if (to == DType::boolean) return false;
            const IntegerRange there = integer_range(from), here = integer_range(to);
            return source.kind != Kind::integer || there.least < here.least || there.most > here.most;
        }
        // Quantised types hold only finite numbers. Every I64 is finite.
        case Kind::weight:
        case Kind::activation: return source.kind != Kind::integer;
    }
    return true;  // not reached: all kinds are above
}

std::string values_of(DType type) {
    const DTypeTraits &t = traits(type);
    if (t.kind != Kind::integer) return std::string("finite numbers are valid for ") + t.name;
    const IntegerRange range = integer_range(type);
    return format_text("%s holds %lld to %lld", t.name, static_cast<long long>(range.least), static_cast<long long>(range.most));
}

constexpr OpDef cont{facts::cont, {.infer = cont_infer, .cost = copy_cost}};

constexpr OpDef dup{facts::dup, {.infer = cont_infer, .cost = copy_cost}};

constexpr OpDef cpy{facts::cpy,
                    {.infer = cpy_infer, .cost = copy_cost, .checked_operands = converted_operand, .valid_values = converted_values}};

constexpr OpDef cast{facts::cast,
                     {.infer = with_attrs<CastAttrs, cast_infer>,
                      .cost = copy_cost,
                      .checked_operands = converted_operand,
                      .valid_values = converted_values}};

}  // namespace tensorlib::core::ops
