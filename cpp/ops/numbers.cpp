#include "ops/numbers.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cmath>

namespace tensorlib::core::ops {

namespace {

// Whether an integer type has the number.
bool represents(DType type, double number) noexcept {
    const IntegerRange range = integer_range(type);
    // Adding 1 to the largest I64 rounds to 2^63, as its conversion does.
    return number >= static_cast<double>(range.least) && number < static_cast<double>(range.most) + 1 && number == std::trunc(number);
}

// The largest and the smallest integer of the type are as good as an infinite bound.
std::int64_t to_bound(DType type, double bound, bool upper) noexcept {
    const std::int64_t least = type == DType::i32 ? INT32_MIN : INT64_MIN, most = type == DType::i32 ? INT32_MAX : INT64_MAX;
    const double whole = upper ? std::floor(bound) : std::ceil(bound);
    if (whole <= static_cast<double>(least)) return least;
    return whole >= -static_cast<double>(least) ? most : static_cast<std::int64_t>(whole);
}

// An integer of as many bits.
DType bits_of(DType type) noexcept {
    switch (traits(type).size) {
        case 1: return DType::u8;
        case 2: return DType::i16;
        case 4: return DType::i32;
        default: return DType::i64;
    }
}

int first_operand(Op op) noexcept { return op == Op::where ? 1 : 0; }

}  // namespace

DType ordered_type(DType type) noexcept {
    if (is_float(type)) return DType::f32;
    return is_number(type) ? type : DType::i32;
}

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
    // `where` selects bits, unless all of its operands are floats.
    const auto in_f32 = [op](const Tensor *t) { return op == Op::where ? is_float(t->layout.type) : !is_number(t->layout.type); };
    return !std::ranges::all_of(src, in_f32);
}

NumberNode number_node(const Tensor &node) noexcept {
    NumberNode made{static_cast<NumberOp>(number_op(node.op)), DType::f64, first_operand(node.op), {}};
    made.type = node.src[made.first]->layout.type;
    if (made.op == NumberOp::where) made.type = bits_of(made.type);
    if (made.op == NumberOp::bitwise_not) made.parameters.i64[0] = made.type == DType::boolean ? 1 : -1;
    if (made.type == DType::boolean) made.type = DType::u8;
    if (is_bitwise(made.op)) return made;
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

namespace {

// The operands of `where`, which are not all F32, F16 or BF16.
void check_selected(const OpFacts &def, std::span<Tensor *const> src) {
    const DType type = src[1]->layout.type;
    const Kind kind = traits(src[0]->layout.type).kind;
    if (traits(type).block_size != 1 || src[2]->layout.type != type) {
        fail(Status::type_mismatch, "%s: %s: a and b must be of one type that is not quantised", def.name, operands_text(def, src).c_str());
    }
    if (kind == Kind::floating || kind == Kind::integer) return;
    fail(Status::type_mismatch, "%s: %s: condition must be a float, an integer or bool", def.name, operands_text(def, src).c_str());
}

}  // namespace

void check_numbers(const OpFacts &def, std::span<Tensor *const> src, const Attrs &attrs) {
    if (def.op == Op::where) return check_selected(def, src);
    const DType type = src[0]->layout.type;
    for (const Tensor *other : src) {
        if (other->layout.type == type) continue;
        fail(Status::type_mismatch, "%s: %s: each must be f32, f16 or bf16, or all must be i32, i64 or f64", def.name,
             operands_text(def, src).c_str());
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
    for (const AttrDef &parameter : def.attrs) check_represented(def, *src[0], parameter.name, attrs.number(parameter.name, 0));
}

void check_represented(const OpFacts &def, const Tensor &a, const char *name, double number) {
    const DType type = a.layout.type;
    if (traits(type).kind != Kind::integer || represents(type, number)) return;
    const IntegerRange range = integer_range(type);
    fail(Status::invalid_argument, "%s: a is %s, %s is %.17g: an integer that %s has is valid, %lld to %lld", def.name,
         tensor_text(a).c_str(), name, number, traits(type).name, static_cast<long long>(range.least), static_cast<long long>(range.most));
}

unsigned checked_integers(const Tensor &node) noexcept { return computes_numbers(node) && node.layout.type != DType::f64 ? 2 : 0; }
std::string valid_integers(const Tensor &node, int) {
    return node.op == Op::div ? "integers other than 0 are valid" : "integers of 0 and more are valid";
}

}  // namespace tensorlib::core::ops
