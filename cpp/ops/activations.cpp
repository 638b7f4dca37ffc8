// Activations and gated activations. activations.toml describes them; this file checks operands and infers shapes and
// costs.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"

#include <utility>

namespace tensorlib::core::ops {

namespace {

Formula leaky_relu_formula(const Tensor &node) noexcept { return formula_of<TileOp::leaky_relu>({attrs_of<LeakyReluAttrs>(node).slope}); }

Formula xielu_formula(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<XieluAttrs>(node);
    return formula_of<TileOp::xielu>({attrs.alpha_n, attrs.alpha_p, attrs.beta, attrs.eps});
}

// With a alone, each of its rows holds both halves; with b, both operands have the result's shape.
void glu_infer(std::span<Tensor *const> src, const GluAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], *b = src[1];
    const std::span<Tensor *const> given = src.first(b ? 2 : 1);
    check_floats(facts::glu, given);
    const auto operands = [&] { return operands_text(facts::glu, given); };
    if (attrs.split && !b)
        fail(Status::invalid_argument, "glu: %s, b is left out, split is 1: b must be there, or split 0", operands().c_str());
    // The option structs of C++, Rust and Zig pass the defaults, so defaults are valid for every op.
    const GluAttrs defaults{Attrs({})};
    if (attrs.op != GluOp::swiglu_oai && (attrs.alpha != defaults.alpha || attrs.limit != defaults.limit)) {
        fail(Status::invalid_argument, "glu: op is %s, alpha is %.12g, limit is %.12g: alpha and limit are of swiglu_oai alone",
             facts::glu_op_values[static_cast<std::size_t>(attrs.op)], attrs.alpha, attrs.limit);
    }
    Extents ne = a.layout.ne;
    if (b && b->layout.ne != ne) fail(Status::shape_mismatch, "glu: %s: both must have one shape", operands().c_str());
    if (!b) ne[0] /= 2;
    result.layout = contiguous_layout("glu", a.layout.type, {ne.data(), static_cast<std::size_t>(a.layout.n_dims)});
}

Formula glu_formula(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<GluAttrs>(node);
    Formula formula = [&] {
        switch (attrs.op) {
            case GluOp::reglu: return formula_of<TileOp::reglu>();
            case GluOp::geglu: return formula_of<TileOp::geglu>();
            case GluOp::swiglu: return formula_of<TileOp::swiglu>();
            case GluOp::geglu_erf: return formula_of<TileOp::geglu_erf>();
            case GluOp::geglu_quick: return formula_of<TileOp::geglu_quick>();
            case GluOp::swiglu_oai: break;
        }
        return formula_of<TileOp::swiglu_oai>({attrs.alpha, attrs.limit});
    }();
    if (!node.src[1]) {
        formula.sources[0] = {0, 0};
        formula.sources[1] = {0, node.layout.ne[0]};
    }
    if (attrs.swapped) std::swap(formula.sources[0], formula.sources[1]);
    return formula;
}

}  // namespace

constexpr OpDef relu{facts::relu, elementwise<TileOp::relu>};
constexpr OpDef sigmoid{facts::sigmoid, elementwise<TileOp::sigmoid>};
constexpr OpDef tanh{facts::tanh, elementwise<TileOp::tanh>};
constexpr OpDef elu{facts::elu, elementwise<TileOp::elu>};
constexpr OpDef softplus{facts::softplus, elementwise<TileOp::softplus>};
constexpr OpDef silu{facts::silu, elementwise<TileOp::silu>};
constexpr OpDef gelu{facts::gelu, elementwise<TileOp::gelu>};
constexpr OpDef gelu_erf{facts::gelu_erf, elementwise<TileOp::gelu_erf>};
constexpr OpDef gelu_quick{facts::gelu_quick, elementwise<TileOp::gelu_quick>};
constexpr OpDef hardswish{facts::hardswish, elementwise<TileOp::hardswish>};
constexpr OpDef hardsigmoid{facts::hardsigmoid, elementwise<TileOp::hardsigmoid>};
constexpr OpDef leaky_relu{facts::leaky_relu,
                           {.infer = elementwise_attrs_infer<LeakyReluAttrs>, .cost = elementwise_cost, .formula = leaky_relu_formula}};
constexpr OpDef xielu{facts::xielu, {.infer = elementwise_attrs_infer<XieluAttrs>, .cost = elementwise_cost, .formula = xielu_formula}};
constexpr OpDef glu{facts::glu, {.infer = with_attrs<GluAttrs, glu_infer>, .cost = elementwise_cost, .formula = glu_formula}};

}  // namespace tensorlib::core::ops
