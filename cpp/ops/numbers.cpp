#include "ops/numbers.hpp"

#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core::ops {

namespace {

// Whether the type represents the number: an integer type, integers in its range.
bool represents(DType type, double number) noexcept {
    if (type == DType::f64) return true;
    const double end = type == DType::i32 ? 2147483648.0 : 9223372036854775808.0;
    return number >= -end && number < end && number == std::trunc(number);
}

// The largest and the smallest integer of the type are as good as an infinite bound.
std::int64_t to_bound(DType type, double bound, bool upper) noexcept {
    const std::int64_t least = type == DType::i32 ? INT32_MIN : INT64_MIN, most = type == DType::i32 ? INT32_MAX : INT64_MAX;
    const double whole = upper ? std::floor(bound) : std::ceil(bound);
    if (whole <= static_cast<double>(least)) return least;
    return whole >= -static_cast<double>(least) ? most : static_cast<std::int64_t>(whole);
}

int first_operand(Op op) noexcept { return op == Op::where ? 1 : 0; }

}  // namespace

int number_op(Op op) noexcept {
    switch (op) {
#define TL_NUMBER_OP(name, operands, types) \
    case Op::name: return static_cast<int>(NumberOp::name);
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
        case Op::add1: return static_cast<int>(NumberOp::add);
        default: return -1;
    }
}

bool has_numbers(Op op, std::span<Tensor *const> src) noexcept {
    if (number_op(op) < 0) return false;
    for (std::size_t i = static_cast<std::size_t>(first_operand(op)); i < src.size(); i++) {
        if (is_number(src[i]->layout.type)) return true;
    }
    return false;
}

NumberNode number_node(const Tensor &node) noexcept {
    NumberNode made{static_cast<NumberOp>(number_op(node.op)), DType::f64, first_operand(node.op), {}};
    made.type = node.src[made.first]->layout.type;
    double given[2] = {0, 0};
    switch (node.op) {
        case Op::clamp: given[0] = attrs_of<ClampAttrs>(node).min, given[1] = attrs_of<ClampAttrs>(node).max; break;
        case Op::fill: given[0] = attrs_of<FillAttrs>(node).value; break;
        case Op::scale: given[0] = attrs_of<ScaleAttrs>(node).scale, given[1] = attrs_of<ScaleAttrs>(node).bias; break;
        default: break;
    }
    for (int i = 0; i < 2; i++) {
        if (made.type == DType::f64) {
            made.parameters.f64[i] = given[i];
            continue;
        }
        const std::int64_t whole = to_bound(made.type, given[i], i == 1);
        if (made.type == DType::i32) {
            made.parameters.i32[i] = static_cast<std::int32_t>(whole);
        } else {
            made.parameters.i64[i] = whole;
        }
    }
    return made;
}

void check_numbers(const OpFacts &def, std::span<Tensor *const> src, const Attrs &attrs) {
    const auto first = static_cast<std::size_t>(first_operand(def.op));
    const DType type = src[first]->layout.type;
    for (const Tensor *other : src.subspan(first)) {
        if (other->layout.type == type) continue;
        fail(Status::type_mismatch, "%s: %s: each must be f32, f16 or bf16, or all must be i32, i64 or f64", def.name,
             operands_text(def, src).c_str());
    }
    if (first > 0) {
        const Kind kind = traits(src[0]->layout.type).kind;
        if (kind != Kind::floating && kind != Kind::integer) {
            fail(Status::type_mismatch, "%s: %s: %s must be a float or an integer", def.name, operands_text(def, src).c_str(),
                 def.operands[0].name);
        }
    }
    if (type != DType::f64 && types_of(static_cast<NumberOp>(number_op(def.op))) == NumberTypes::doubles) {
        fail(Status::type_mismatch, "%s: %s: %s must be f32, f16 or bf16, or f64", def.name, operands_text(def, src).c_str(),
             src.size() > 1 ? "each" : "it");
    }
    if (type == DType::f64) return;
    if (def.op == Op::clamp) {
        const double least = attrs.number("min", 0), most = attrs.number("max", 0);
        if (std::ceil(least) <= std::floor(most)) return;
        fail(Status::invalid_argument, "clamp: a is %s, min is %.12g, max is %.12g: there is no integer between them",
             tensor_text(*src[0]).c_str(), least, most);
    }
    for (const AttrDef &parameter : def.attrs) {
        const double number = attrs.number(parameter.name, 0);
        if (represents(type, number)) continue;
        fail(Status::invalid_argument, "%s: a is %s, %s is %.17g: an integer that %s has is valid", def.name, tensor_text(*src[0]).c_str(),
             parameter.name, number, traits(type).name);
    }
}

unsigned checked_divisor(const Tensor &node) noexcept { return computes_numbers(node) && node.layout.type != DType::f64 ? 2 : 0; }
std::string valid_divisors(const Tensor &, int) { return "integers other than 0 are valid"; }

}  // namespace tensorlib::core::ops
