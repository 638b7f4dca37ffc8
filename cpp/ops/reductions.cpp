// Sums, means and counts, of rows or of all elements: what reductions.toml describes.
#include "ops/elementwise.hpp"

namespace tensorlib::core::ops {

namespace {

// An operation that makes one element of a row, or of all elements.
enum class Of { rows, all };
template <Of of>
void sum_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_floats(def, src);
    const Layout &a = src[0]->layout;
    Extents ne = a.ne;
    ne[0] = 1;
    const int n_dims = of == Of::all ? 1 : a.n_dims;
    result.layout = contiguous_layout(def.name, DType::f32, {ne.data(), static_cast<std::size_t>(n_dims)});
}

void cumsum_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_floats(def, src);
    const Layout &a = src[0]->layout;
    result.layout = contiguous_layout(def.name, DType::f32, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
}

// An addition for each element.
Cost sum_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = static_cast<double>(node.src[0]->layout.n_elements());
    return cost;
}

}  // namespace

constexpr OpDef sum{facts::sum, {.infer = sum_infer<Of::all>, .cost = sum_cost}};
constexpr OpDef sum_rows{facts::sum_rows, {.infer = sum_infer<Of::rows>, .cost = sum_cost}};
constexpr OpDef mean{facts::mean, {.infer = sum_infer<Of::rows>, .cost = sum_cost}};
constexpr OpDef cumsum{facts::cumsum, {.infer = cumsum_infer, .cost = sum_cost}};

}  // namespace tensorlib::core::ops
