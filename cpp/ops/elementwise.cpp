#include "ops/elementwise.hpp"

#include "base/fail.hpp"
#include "ops/numbers.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace tensorlib::core::ops {

namespace {

// Whether n elements come from `extent` elements that repeat. Only no elements make no elements.
bool repeats_to(std::int64_t extent, std::int64_t n) { return extent == 0 ? n == 0 : n % extent == 0; }

// The operands' shapes below each other, with a mark at a dimension that does not fit:
//
//   a  12  5
//   b   5
//       ^
std::string aligned_shapes(const OpDef &def, std::span<const Tensor *const> src, std::size_t dim) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < src.size(); i++) longest = std::max(longest, std::strlen(def.operands[i].name));
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < src.size(); i++) lines.push_back(format_text("\n  %-*s", static_cast<int>(longest), def.operands[i].name));
    std::string mark;
    for (std::size_t d = 0; d < max_dims; d++) {
        std::size_t width = 0;
        // As in other messages, without extents of 1 at the end.
        const auto text = [&](std::size_t i) {
            const Extents &ne = src[i]->layout.ne;
            const bool ends = std::all_of(ne.begin() + static_cast<std::ptrdiff_t>(d), ne.end(), [](std::int64_t n) { return n == 1; });
            return ends && d > 0 ? std::string() : std::to_string(ne[d]);
        };
        for (std::size_t i = 0; i < src.size(); i++) width = std::max(width, text(i).size());
        if (width == 0) break;
        if (d == dim) mark = format_text("\n%*s^", static_cast<int>(lines[0].size() + width), "");
        for (std::size_t i = 0; i < src.size(); i++) lines[i] += format_text("  %*s", static_cast<int>(width), text(i).c_str());
    }
    std::string shapes;
    for (const std::string &line : lines) shapes += line.substr(0, line.find_last_not_of(' ') + 1);
    return shapes + mark;
}

[[noreturn]] void fail_to_broadcast(const OpDef &def, std::span<Tensor *const> src, std::size_t operand, std::size_t into,
                                    std::size_t dim) {
    const char *name = def.operands[operand].name, *other = def.operands[into].name;
    fail(Status::shape_mismatch,
         "%s: %s: they do not broadcast, because %s has %lld elements in dimension %zu, and %s %lld. Equal extents are valid, "
         "an extent of 1, or one of %s that divides that of %s%s",
         def.name, operands_text(def, src).c_str(), name, static_cast<long long>(src[operand]->layout.ne[dim]), dim, other,
         static_cast<long long>(src[into]->layout.ne[dim]), name, other, aligned_shapes(def, {src.data(), src.size()}, dim).c_str());
}

// See broadcast_layout().
Extents broadcast_extents(const OpDef &def, std::span<Tensor *const> src, std::size_t into) {
    Extents ne = src[into]->layout.ne;
    for (std::size_t d = 0; d < max_dims; d++) {
        std::size_t from = into;
        for (std::size_t i = 0; i < src.size() && ne[d] == 1; i++) ne[d] = src[i]->layout.ne[d], from = i;
        for (std::size_t i = 0; i < src.size(); i++) {
            if (!repeats_to(src[i]->layout.ne[d], ne[d])) fail_to_broadcast(def, src, i, from, d);
        }
    }
    return ne;
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

void refuse_tiles(const OpDef &def, const Tensor &a, const Tensor &b) {
    for (std::size_t d = 0; d < max_dims; d++) {
        const std::int64_t n = a.layout.ne[d], m = b.layout.ne[d];
        if (m <= 1 || m == n || n == 1 || n % m != 0) continue;
        const Tensor *both[] = {&a, &b};
        fail(Status::shape_mismatch,
             "%s: a is %s, b is %s: in dimension %zu, b would repeat %lld times. Operators take equal extents and extents of 1. "
             "Repeat b with repeat(), or call the function of %s, which repeats it%s",
             def.name, tensor_text(a).c_str(), tensor_text(b).c_str(), d, static_cast<long long>(n / m), def.name,
             aligned_shapes(def, both, d).c_str());
    }
}

bool is_float(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

void check_floats(const OpFacts &def, std::span<Tensor *const> src) {
    const auto fits = [](const Tensor *source) { return is_float(source->layout.type); };
    if (std::ranges::all_of(src, fits)) return;
    fail(Status::type_mismatch, "%s: %s: %s must be f32, f16 or bf16", def.name, operands_text(def, src).c_str(),
         src.size() > 1 ? "each" : "it");
}

Layout broadcast_layout(const OpDef &def, std::span<Tensor *const> src, std::size_t into, DType type) {
    const Extents ne = broadcast_extents(def, src, into);
    const auto n_dims = [](const Tensor *t) { return t->layout.n_dims; };
    const int dims = n_dims(*std::ranges::max_element(src, {}, n_dims));
    return contiguous_layout(def.name, type, {ne.data(), static_cast<std::size_t>(dims)});
}

template <std::size_t into>
void elementwise_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const bool numbers = has_numbers(result.op, src);
    if (numbers) {
        check_numbers(def, src, given);
    } else {
        check_floats(def, src);
    }
    const bool tests = numbers && is_comparison(static_cast<NumberOp>(number_op(result.op)));
    result.layout = broadcast_layout(def, src, into, tests ? DType::f32 : src[into]->layout.type);
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
