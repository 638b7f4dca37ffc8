#include "ops/elementwise.hpp"

#include "base/fail.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

// Whether b repeats into a: every dimension of a is a multiple of b's. A zero dimension of b fits only a zero dimension
// of a.
bool repeats_into(const Extents &b, const Extents &a) {
    for (int d = 0; d < max_dims; d++) {
        if (b[d] == 0 ? a[d] != 0 : a[d] % b[d] != 0) return false;
    }
    return true;
}

// Approximate number of additions, multiplications, divisions and comparisons for one element. A polynomial of degree n
// takes 2 n, and range reduction takes 4 to 10.
double flops_of(TileOp op) {
    switch (op) {
        case TileOp::fill:
        case TileOp::copy: return 0;
        case TileOp::scale:
        case TileOp::leaky_relu:
        case TileOp::clamp:
        case TileOp::reglu: return 2;
        case TileOp::floor:
        case TileOp::ceil:
        case TileOp::round:
        case TileOp::trunc: return 3;
        case TileOp::hardswish:
        case TileOp::hardsigmoid: return 5;
        case TileOp::exp:
        case TileOp::expm1:
        case TileOp::elu:
        case TileOp::sigmoid: return 20;
        case TileOp::log:
        case TileOp::log1p:
        case TileOp::sin:
        case TileOp::cos:
        case TileOp::tanh:
        case TileOp::silu:
        case TileOp::swiglu:
        case TileOp::gelu_quick:
        case TileOp::geglu_quick: return 25;
        case TileOp::gelu:
        case TileOp::geglu:
        case TileOp::gelu_erf:
        case TileOp::geglu_erf:
        case TileOp::erf:
        case TileOp::softplus:
        case TileOp::xielu:
        case TileOp::swiglu_oai: return 40;
        case TileOp::pow: return 60;
        default: return 1;
    }
}

}  // namespace

bool is_float(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

void check_floats(const OpFacts &def, std::span<Tensor *const> src) {
    const auto fits = [](const Tensor *source) { return is_float(source->layout.type); };
    if (std::ranges::all_of(src, fits)) return;
    fail(Status::type_mismatch, "%s: %s: %s must be f32, f16 or bf16", def.name, operands_text(def, src).c_str(),
         src.size() > 1 ? "each" : "it");
}

template <std::size_t into>
void elementwise_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_floats(def, src);
    const Layout &a = src[into]->layout;
    for (std::size_t i = 0; i < src.size(); i++) {
        if (repeats_into(src[i]->layout.ne, a.ne)) continue;
        fail(Status::shape_mismatch, "%s: %s: each dimension of %s must be 1 or divide that of %s", def.name,
             operands_text(def, src).c_str(), def.operands[i].name, def.operands[into].name);
    }
    result.layout = contiguous_layout(def.name, a.type, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
}

template void elementwise_infer<0>(std::span<Tensor *const>, const Attrs &, NodeSpec &);
template void elementwise_infer<1>(std::span<Tensor *const>, const Attrs &, NodeSpec &);

Cost elementwise_cost(const Tensor &node) {
    const TileOp op = op_def(node.op).formula(node).op;
    Cost cost = copy_cost(node);
    if (traits(op).operands == 0) cost.bytes = static_cast<double>(node.layout.nbytes());
    cost.flops = flops_of(op) * static_cast<double>(node.layout.n_elements());
    return cost;
}

}  // namespace tensorlib::core::ops
