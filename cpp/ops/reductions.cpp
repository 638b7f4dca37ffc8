// Sums, means, extremes, indices and counts, described in reductions.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tensorlib::core::ops {

namespace {

// The extents that a reduction leaves.
void reduced_layout(const OpDef &def, DType type, unsigned set, bool keep, NodeSpec &result) {
    const Layout &a = result.src[0]->layout;
    Extents ne{1, 1, 1, 1};
    std::size_t n = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(a.n_dims); d++) {
        const bool is_reduced = set >> d & 1;
        if (!is_reduced || keep) ne[n++] = is_reduced ? 1 : a.ne[d];
    }
    result.layout = contiguous_layout(def.name, type, {ne.data(), std::max<std::size_t>(n, 1)});
}

// Floats, integers and bool.
void check_reduced(const OpDef &def, std::span<Tensor *const> src) {
    const Kind kind = traits(src[0]->layout.type).kind;
    if (kind == Kind::floating || kind == Kind::integer) return;
    fail(Status::type_mismatch, "%s: %s: it must be a float, an integer or bool", def.name, operands_text(def, src).c_str());
}

template <class A>
void sum_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_reduced(def, src);
    const ReducedDims dims = dims_in(attrs);
    reduced_layout(def, reduced_type(result.op, src[0]->layout.type), dims.set, dims.keep, result);
}

void sum_rows_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_reduced(def, src);
    reduced_layout(def, reduced_type(result.op, src[0]->layout.type), 1, true, result);
}

// No element of an empty group is the largest or the smallest.
void check_not_empty(const OpDef &def, std::span<Tensor *const> src, unsigned set) {
    const Reduction reduction(src[0]->layout, set);
    if (reduction.count == 0 || reduction.length > 0) return;
    fail(Status::shape_mismatch, "%s: %s: at least one element to reduce is valid: none is the largest or the smallest", def.name,
         operands_text(def, src).c_str());
}

template <class A>
void extreme_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    check_not_empty(op_def(result.op), src, dims_in(attrs).set);
    sum_infer(src, attrs, result);
}

void cumsum_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_reduced(def, src);
    const Layout &a = src[0]->layout;
    const DType type = reduced_type(result.op, a.type);
    result.layout = contiguous_layout(def.name, type, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
}

// A number of operations for each element.
template <int per_element>
Cost element_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = per_element * static_cast<double>(node.src[0]->layout.n_elements());
    return cost;
}
constexpr auto sum_cost = element_cost<1>;
// Two passes: an addition, then a difference, its square and two additions.
constexpr auto var_cost = element_cost<5>;
// A comparison, a difference, an exponential and an addition.
constexpr auto log_sum_exp_cost = element_cost<23>;
// A comparison, an exponential, and the arithmetic with b.
constexpr auto cross_entropy_loss_cost = element_cost<25>;

// ---- Indices of elements, which are I32.

constexpr std::int64_t most_places = std::numeric_limits<std::int32_t>::max();

void check_places(const OpDef &def, std::span<Tensor *const> src) {
    check_reduced(def, src);
    if (src[0]->layout.ne[0] <= most_places) return;
    fail(Status::shape_mismatch, "%s: %s: rows of at most 2147483647 elements are valid, as their places are i32", def.name,
         operands_text(def, src).c_str());
}

template <class A>
void place_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    check_reduced(def, src);
    const ReducedDims dims = dims_in(attrs);
    check_not_empty(def, src, dims.set);
    if (Reduction(src[0]->layout, dims.set).length > most_places) {
        fail(Status::shape_mismatch, "%s: %s: at most 2147483647 elements to reduce to one are valid, as their places are i32", def.name,
             operands_text(def, src).c_str());
    }
    reduced_layout(def, DType::i32, dims.set, dims.keep, result);
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

}  // namespace

constexpr OpDef sum{facts::sum, {.infer = with_attrs<SumAttrs, sum_infer>, .cost = sum_cost}};
constexpr OpDef sum_rows{facts::sum_rows, {.infer = sum_rows_infer, .cost = sum_cost}};
constexpr OpDef mean{facts::mean, {.infer = with_attrs<MeanAttrs, sum_infer>, .cost = sum_cost}};
constexpr OpDef max{facts::max, {.infer = with_attrs<MaxAttrs, extreme_infer>, .cost = sum_cost}};
constexpr OpDef min{facts::min, {.infer = with_attrs<MinAttrs, extreme_infer>, .cost = sum_cost}};
constexpr OpDef var{facts::var, {.infer = with_attrs<VarAttrs, sum_infer>, .cost = var_cost}};
constexpr OpDef std{facts::std, {.infer = with_attrs<StdAttrs, sum_infer>, .cost = var_cost}};
constexpr OpDef prod{facts::prod, {.infer = with_attrs<ProdAttrs, sum_infer>, .cost = sum_cost}};
constexpr OpDef any{facts::any, {.infer = with_attrs<AnyAttrs, sum_infer>, .cost = sum_cost}};
constexpr OpDef all{facts::all, {.infer = with_attrs<AllAttrs, sum_infer>, .cost = sum_cost}};
constexpr OpDef log_sum_exp{facts::log_sum_exp, {.infer = with_attrs<LogSumExpAttrs, sum_infer>, .cost = log_sum_exp_cost}};
constexpr OpDef cumsum{facts::cumsum, {.infer = cumsum_infer, .cost = sum_cost}};

constexpr OpDef argmax{facts::argmax, {.infer = with_attrs<ArgmaxAttrs, place_infer>, .cost = sum_cost}};
constexpr OpDef argmin{facts::argmin, {.infer = with_attrs<ArgminAttrs, place_infer>, .cost = sum_cost}};
constexpr OpDef argsort{facts::argsort, {.infer = with_attrs<ArgsortAttrs, argsort_infer>, .cost = argsort_cost}};
constexpr OpDef top_k{facts::top_k, {.infer = with_attrs<TopKAttrs, top_k_infer>, .cost = sum_cost}};
constexpr OpDef count_equal{facts::count_equal, {.infer = count_equal_infer, .cost = sum_cost}};

constexpr OpDef cross_entropy_loss{facts::cross_entropy_loss, {.infer = cross_entropy_loss_infer, .cost = cross_entropy_loss_cost}};

}  // namespace tensorlib::core::ops
