#include "gradients/masks.hpp"

#include <bit>
#include <numbers>

namespace tensorlib::core::gradients {

namespace {

// {1, 1, heads}; math/alibi.hpp has the formula.
Value slopes(const Value &v, std::int64_t heads, double max_bias) {
    const auto n = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    const double step = -max_bias * std::numbers::ln2 / static_cast<double>(n);
    Value all = v.numbers(step, step, n).op(Op::exp);
    if (heads > n) all = all.op(Op::concat, v.numbers(step / 2, step, heads - n).op(Op::exp), {Attr::of_int("dim", 0)});
    return all.shaped({1, 1, heads, 1});
}

}  // namespace

Value mask_gradient(const Value &scores, const Extents &ne, double max_bias) {
    const Extents &from = scores.ne();
    const Value scaled = max_bias == 0 || from[2] == 0 ? scores : scores * slopes(scores, from[2], max_bias);
    return scaled.summed_to({ne[0], from[1], ne[2], ne[3]}).padded(1, 0, ne[1] - from[1]);
}

Value sinks_gradient(const Value &g, const Value &weights) {
    const std::int64_t heads = g.ne()[2];
    const Value sink = weights.sum_rows().scaled(-1, 1);
    return -(sink * (g * weights).sum_rows()).summed_to({1, 1, heads, 1}).shaped({heads, 1, 1, 1});
}

}  // namespace tensorlib::core::gradients
