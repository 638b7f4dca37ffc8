// Sums, means and counts of rows or of all elements, described in reductions.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tensorlib::core::ops {

namespace {

// An operation that reduces a row, or all elements, to one element.
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

// One addition or comparison for each element.
Cost sum_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = static_cast<double>(node.src[0]->layout.n_elements());
    return cost;
}

// ---- Indices of elements, which are I32.

void check_places(const OpDef &def, std::span<Tensor *const> src) {
    check_floats(def, src);
    if (src[0]->layout.ne[0] <= std::numeric_limits<std::int32_t>::max()) return;
    fail(Status::shape_mismatch, "%s: %s: rows of at most 2147483647 elements are valid, as their places are i32", def.name,
         operands_text(def, src).c_str());
}

void argmax_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_places(def, src);
    const Layout &a = src[0]->layout;
    if (a.ne[0] == 0) {
        fail(Status::shape_mismatch, "%s: %s: rows of 1 element or more are valid: no element of an empty row is the largest", def.name,
             operands_text(def, src).c_str());
    }
    const auto n_dims = static_cast<std::size_t>(std::max(1, a.n_dims - 1));
    result.layout = contiguous_layout(def.name, DType::i32, {a.ne.data() + 1, n_dims});
}

void argsort_infer(std::span<Tensor *const> src, const ArgsortAttrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_places(def, src);
    const Layout &a = src[0]->layout;
    result.layout = contiguous_layout(def.name, DType::i32, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
}

void top_k_infer(std::span<Tensor *const> src, const TopKAttrs &attrs, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_places(def, src);
    const Layout &a = src[0]->layout;
    if (attrs.k > a.ne[0]) {
        fail(Status::invalid_argument, "%s: %s, k is %lld: 0 to %lld is valid, no more than a row has", def.name,
             operands_text(def, src).c_str(), static_cast<long long>(attrs.k), static_cast<long long>(a.ne[0]));
    }
    Extents ne = a.ne;
    ne[0] = attrs.k;
    result.layout = contiguous_layout(def.name, DType::i32, {ne.data(), static_cast<std::size_t>(a.n_dims)});
}

// Comparisons per element: the number of binary digits of the row length.
Cost argsort_cost(const Tensor &node) {
    Cost cost = sum_cost(node);
    cost.flops *= std::max(1.0, std::log2(static_cast<double>(node.src[0]->layout.ne[0])));
    return cost;
}

void count_equal_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const Layout &a = src[0]->layout, &b = src[1]->layout;
    if (a.type != b.type || traits(a.type).block_size != 1) {
        fail(Status::type_mismatch, "%s: %s: two of one type without blocks are valid", def.name, operands_text(def, src).c_str());
    }
    if (a.ne != b.ne) fail(Status::shape_mismatch, "%s: %s: two of one shape are valid", def.name, operands_text(def, src).c_str());
    result.layout = contiguous_layout(def.name, DType::i64, std::array<std::int64_t, 1>{1});
}

void cross_entropy_loss_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_floats(def, src);
    if (src[0]->layout.ne != src[1]->layout.ne)
        fail(Status::shape_mismatch, "%s: %s: two of one shape are valid", def.name, operands_text(def, src).c_str());
    result.layout = contiguous_layout(def.name, DType::f32, std::array<std::int64_t, 1>{1});
}

// A comparison, an exponential, and the arithmetic with b.
Cost cross_entropy_loss_cost(const Tensor &node) {
    Cost cost = sum_cost(node);
    cost.flops *= 25;
    return cost;
}

}  // namespace

constexpr OpDef sum{facts::sum, {.infer = sum_infer<Of::all>, .cost = sum_cost}};
constexpr OpDef sum_rows{facts::sum_rows, {.infer = sum_infer<Of::rows>, .cost = sum_cost}};
constexpr OpDef mean{facts::mean, {.infer = sum_infer<Of::rows>, .cost = sum_cost}};
constexpr OpDef cumsum{facts::cumsum, {.infer = cumsum_infer, .cost = sum_cost}};

constexpr OpDef argmax{facts::argmax, {.infer = argmax_infer, .cost = sum_cost}};
constexpr OpDef argsort{facts::argsort, {.infer = with_attrs<ArgsortAttrs, argsort_infer>, .cost = argsort_cost}};
constexpr OpDef top_k{facts::top_k, {.infer = with_attrs<TopKAttrs, top_k_infer>, .cost = sum_cost}};
constexpr OpDef count_equal{facts::count_equal, {.infer = count_equal_infer, .cost = sum_cost}};

constexpr OpDef cross_entropy_loss{facts::cross_entropy_loss, {.infer = cross_entropy_loss_infer, .cost = cross_entropy_loss_cost}};

}  // namespace tensorlib::core::ops
