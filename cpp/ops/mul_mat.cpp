// The matrix product.
#include "base/fail.hpp"
#include "ops/op_def.hpp"

#include <array>

namespace tensorlib::core::ops {

namespace {

constexpr const char *operands[] = {"a", "b"};
constexpr AttrDef mul_mat_attrs[] = {{"exact", AttrKind::ints, false}};

// mul_mat: c[m, n, i2, i3] = sum over k of a[k, m, i2 / (X/x), i3 / (Y/y)] * b[k, n, i2, i3]
//
// a {k, m, x, y}, b {k, n, X, Y} -> F32 {m, n, X, Y}; x divides X, y divides Y: X/x consecutive slices of b share
// one of a. Both operands have k as their dimension 0, so with rows of a as weights and rows of b as inputs both
// are read along memory. k = 0 gives zeros.
// Where a is of a weight format, kernels may round b to 8 bits with a scale for each 256 of k, largest / 127: an element is then
// off by up to sum |a| * scale / 2 over its k (normally 0.7 % of it). With exact = 1 all operands are taken as they are.
// Derivative: da[k, m] = sum over n of b[k, n] g[m, n] (and over the slices that share a);
//             db[k, n] = sum over m of a[k, m] g[m, n].
void mul_mat_infer(std::span<Tensor *const> src, const Attrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1];
    const Extents &na = a.layout.ne, &nb = b.layout.ne;
    const auto both = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b); };
    const Kind kind = traits(a.layout.type).kind;
    if (kind != Kind::floating && kind != Kind::weight) {
        fail(Status::type_mismatch, "mul_mat: %s: a must be of a float type or a weight format", both().c_str());
    }
    if (b.layout.type != DType::f32 && b.layout.type != DType::f16 && b.layout.type != DType::bf16) {
        fail(Status::type_mismatch, "mul_mat: %s: b must be f32, f16 or bf16", both().c_str());
    }
    if (na[0] != nb[0]) {
        fail(Status::shape_mismatch, "mul_mat: %s: the first dimensions must be equal (%lld and %lld)", both().c_str(),
             static_cast<long long>(na[0]), static_cast<long long>(nb[0]));
    }
    for (int d = 2; d < max_dims; d++) {
        if (na[d] == 0 ? nb[d] != 0 : nb[d] % na[d] != 0) {
            fail(Status::shape_mismatch, "mul_mat: %s: dimension %d of b must be a multiple of a's (%lld and %lld)", both().c_str(), d,
                 static_cast<long long>(nb[d]), static_cast<long long>(na[d]));
        }
    }
    const std::int64_t exact = attrs.integer("exact", 0);
    if (exact != 0 && exact != 1) fail(Status::invalid_argument, "mul_mat: exact is %lld: 0 or 1 is valid", static_cast<long long>(exact));
    result.exact = exact == 1;
    const std::array<std::int64_t, max_dims> ne{na[1], nb[1], nb[2], nb[3]};
    const auto n_dims = static_cast<std::size_t>(b.layout.n_dims < 2 ? 2 : b.layout.n_dims);
    result.layout = contiguous_layout("mul_mat", DType::f32, {ne.data(), n_dims});
}

// A multiplication and an addition for each k of each result.
Cost mul_mat_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = 2.0 * static_cast<double>(node.src[0]->layout.ne[0]) * static_cast<double>(node.layout.n_elements());
    return cost;
}

}  // namespace

constexpr OpDef mul_mat{Op::mul_mat,   "mul_mat",
                        operands,      mul_mat_attrs,
                        mul_mat_infer, "da = sum over n of b g; db = sum over m of a g",
                        mul_mat_cost,  "matrix product of a's rows and b's rows"};

}  // namespace tensorlib::core::ops
