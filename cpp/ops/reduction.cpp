#include "ops/reduction.hpp"

#include "base/checked.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

template <class A>
ReducedDims dims_of(const Tensor &node) noexcept {
    return dims_in(attrs_of<A>(node));
}

}  // namespace

void DimList::append(std::int64_t extent, std::size_t stride) noexcept {
    if (n > 0 && stride == nb[n - 1] * static_cast<std::size_t>(ne[n - 1])) {
        ne[n - 1] *= extent;
        return;
    }
    ne[n] = extent;
    nb[n] = stride;
    n++;
}

Reduction::Reduction(const Layout &a, unsigned set) noexcept {
    for (std::size_t d = 0; d < max_dims; d++) {
        if (a.ne[d] == 1) continue;
        const bool is_reduced = set >> d & 1;
        if (!is_reduced && reduced.n == 0) columns *= a.ne[d];
        (is_reduced ? reduced : kept).append(a.ne[d], a.nb[d]);
    }
    count = kept.count();
    length = reduced.count();
}

// Along a group 256 KiB of floats, the least that is worth a second thread, and no more than fits in the L2 cache. Across
// groups about a mebibyte of rows.
std::int64_t Reduction::segment() const noexcept {
    if (along()) return 65536;
    const std::int64_t together = std::clamp<std::int64_t>(columns, 1, 1024);
    return std::clamp<std::int64_t>((std::int64_t{1} << 18) / together, 128, 1024) / reduced_rows * reduced_rows;
}

std::int64_t Reduction::segments() const noexcept { return std::max<std::int64_t>(ceil_div(length, segment()), 1); }

ReducedDims reduced_dims(const Tensor &node) noexcept {
    switch (node.op) {
        case Op::sum: return dims_of<SumAttrs>(node);
        case Op::mean: return dims_of<MeanAttrs>(node);
        case Op::max: return dims_of<MaxAttrs>(node);
        case Op::min: return dims_of<MinAttrs>(node);
        case Op::argmax: return dims_of<ArgmaxAttrs>(node);
        case Op::argmin: return dims_of<ArgminAttrs>(node);
        case Op::var: return dims_of<VarAttrs>(node);
        case Op::std: return dims_of<StdAttrs>(node);
        case Op::prod: return dims_of<ProdAttrs>(node);
        case Op::any: return dims_of<AnyAttrs>(node);
        case Op::all: return dims_of<AllAttrs>(node);
        case Op::log_sum_exp: return dims_of<LogSumExpAttrs>(node);
        default: return {1, true};  // sum_rows
    }
}

ReducedResult reduced_result(const Tensor &node) noexcept {
    const auto length = static_cast<double>(reduction_of(node).length);
    const auto kind = [&] {
        switch (node.op) {
            case Op::prod: return Reduced::product;
            case Op::max: return Reduced::largest;
            case Op::min: return Reduced::smallest;
            case Op::argmax: return Reduced::largest_at;
            case Op::argmin: return Reduced::smallest_at;
            case Op::any: return Reduced::any;
            case Op::all: return Reduced::all;
            case Op::var:
            case Op::std: return Reduced::deviations;
            case Op::log_sum_exp: return Reduced::exponentials;
            default: return Reduced::sum;
        }
    };
    const std::int64_t correction = node.op == Op::var   ? attrs_of<VarAttrs>(node).correction
                                    : node.op == Op::std ? attrs_of<StdAttrs>(node).correction
                                                         : 0;
    const double divisor = std::max(length - static_cast<double>(correction), 0.0);
    return {kind(), divisor, node.op == Op::mean, node.op == Op::std};
}

DType computed_type(const ReducedResult &result, DType type) noexcept {
    if (is_float(type)) return DType::f32;
    if (type == DType::f64 || result.mean || !has_reduction<std::int64_t>(result.kind)) return DType::f64;
    return type == DType::i64 ? DType::i64 : DType::i32;
}

DType reduced_type(Op op, DType type) noexcept {
    switch (op) {
        case Op::argmax:
        case Op::argmin: return DType::i32;
        case Op::max:
        case Op::min: return is_float(type) ? DType::f32 : type;
        // Truth values, as comparisons and logical operations give them.
        case Op::any:
        case Op::all: return type == DType::boolean ? type : DType::f32;
        case Op::sum:
        case Op::sum_rows:
        case Op::cumsum:
        case Op::prod:
            if (traits(type).kind == Kind::integer) return DType::i64;
            break;
        default: break;
    }
    return is_float(type) ? DType::f32 : DType::f64;
}

}  // namespace tensorlib::core::ops
