// Optimiser steps, described in optimisers.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"

namespace tensorlib::core::ops {

namespace {

// Parameter and state are contiguous F32, have the gradient's shape, and do not overlap. The last operand has
// n_settings settings.
template <std::int64_t n_settings>
void step_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const Tensor &a = *src[0], &settings = *src.back();
    const auto operands = [&] { return operands_text(def, src); };
    check_floats(def, src.subspan(1, 1));
    for (std::size_t i = 0; i < src.size(); i++) {
        if (i != 1 && src[i]->layout.type != DType::f32)
            fail(Status::type_mismatch, "%s: %s: %s must be f32", def.name, operands().c_str(), def.operands[i].name);
    }
    if (settings.layout.ne != Extents{n_settings, 1, 1, 1}) {
        fail(Status::shape_mismatch, "%s: %s: settings must have the shape [%lld]", def.name, operands().c_str(),
             static_cast<long long>(n_settings));
    }
    for (std::size_t i = 0; i + 1 < src.size(); i++) {
        if (src[i]->layout.ne != a.layout.ne) {
            fail(Status::shape_mismatch, "%s: %s: %s must have a's shape", def.name, operands().c_str(), def.operands[i].name);
        }
        if (i == 1) continue;
        if (!src[i]->layout.contiguous()) {
            fail(Status::invalid_argument, "%s: %s is %s and so not contiguous: a leaf, or rows of one, is valid", def.name,
                 def.operands[i].name, strided_text(*src[i]).c_str());
        }
        check_target(def.name, def.operands[i].name, *src[i]);
        for (std::size_t j = 0; j < src.size(); j++) {
            if (j != i) check_apart(def.name, def.operands[j].name, *src[j], def.operands[i].name, *src[i]);
        }
    }
    result.layout = a.layout;
}

void momentum_infer(std::span<Tensor *const> src, const OptStepMomentumAttrs &, NodeSpec &result) { step_infer<3>(src, Attrs({}), result); }

// Reads all operands, and writes only memory that it has read.
template <int operations, int written>
Cost step_cost(const Tensor &node) {
    const auto n = static_cast<double>(node.layout.n_elements());
    Cost cost = copy_cost(node);
    cost.bytes += (written - 1) * n * sizeof(float);
    cost.flops = operations * n;
    return cost;
}

}  // namespace

constexpr OpDef opt_step_sgd{facts::opt_step_sgd, {.infer = step_infer<2>, .cost = step_cost<3, 1>}};

constexpr OpDef opt_step_momentum{facts::opt_step_momentum,
                                  {.infer = with_attrs<OptStepMomentumAttrs, momentum_infer>, .cost = step_cost<5, 2>}};

constexpr OpDef opt_step_adamw{facts::opt_step_adamw, {.infer = step_infer<7>, .cost = step_cost<14, 3>}};

constexpr OpDef opt_step_lion{facts::opt_step_lion, {.infer = step_infer<4>, .cost = step_cost<9, 2>}};

}  // namespace tensorlib::core::ops
