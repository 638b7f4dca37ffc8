// Elementwise arithmetic, described in arithmetic.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/numbers.hpp"

namespace tensorlib::core::ops {

namespace {

void add1_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    if (src[1]->layout.n_elements() != 1) {
        fail(Status::shape_mismatch, "add1: a is %s, b is %s: a b of one element is valid", tensor_text(*src[0]).c_str(),
             tensor_text(*src[1]).c_str());
    }
    elementwise_infer<>(src, given, result);
}

// Elementwise, but for integers the second operand has values that are not valid.
template <TileOp op>
constexpr OpCode of_checked_integers{.infer = elementwise_infer<>,
                                     .cost = elementwise_cost,
                                     .checked_operands = checked_integers,
                                     .valid_values = valid_integers,
                                     .formula = plain_formula<op>};

Formula scale_formula(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<ScaleAttrs>(node);
    return formula_of<TileOp::scale>({attrs.scale, attrs.bias});
}

void clamp_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    elementwise_attrs_infer<ClampAttrs>(src, given, result);
    const double least = given.number("min", 0), most = given.number("max", 0);
    if (least > most) fail(Status::invalid_argument, "clamp: min is %g, max is %g: a min of at most max is valid", least, most);
}

Formula clamp_formula(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<ClampAttrs>(node);
    return formula_of<TileOp::clamp>({attrs.min, attrs.max});
}

Formula fill_formula(const Tensor &node) noexcept { return formula_of<TileOp::fill>({attrs_of<FillAttrs>(node).value}); }

}  // namespace

constexpr OpDef add{facts::add, elementwise<TileOp::add>};
constexpr OpDef sub{facts::sub, elementwise<TileOp::sub>};
constexpr OpDef mul{facts::mul, elementwise<TileOp::mul>};
constexpr OpDef div{facts::div, of_checked_integers<TileOp::div>};
constexpr OpDef maximum{facts::maximum, elementwise<TileOp::maximum>};
constexpr OpDef minimum{facts::minimum, elementwise<TileOp::minimum>};
constexpr OpDef pow{facts::pow, of_checked_integers<TileOp::pow>};
constexpr OpDef eq{facts::eq, elementwise<TileOp::eq>};
constexpr OpDef ne{facts::ne, elementwise<TileOp::ne>};
constexpr OpDef lt{facts::lt, elementwise<TileOp::lt>};
constexpr OpDef le{facts::le, elementwise<TileOp::le>};
constexpr OpDef gt{facts::gt, elementwise<TileOp::gt>};
constexpr OpDef ge{facts::ge, elementwise<TileOp::ge>};
constexpr OpDef add1{facts::add1, {.infer = add1_infer, .cost = elementwise_cost, .formula = plain_formula<TileOp::add>}};
constexpr OpDef where{facts::where, {.infer = elementwise_infer<1>, .cost = elementwise_cost, .formula = plain_formula<TileOp::where>}};
constexpr OpDef scale{facts::scale, {.infer = elementwise_attrs_infer<ScaleAttrs>, .cost = elementwise_cost, .formula = scale_formula}};
constexpr OpDef clamp{facts::clamp, {.infer = clamp_infer, .cost = elementwise_cost, .formula = clamp_formula}};
constexpr OpDef fill{facts::fill, {.infer = elementwise_attrs_infer<FillAttrs>, .cost = elementwise_cost, .formula = fill_formula}};

}  // namespace tensorlib::core::ops
