// Matrix products, products with a matrix that is chosen for each column, and outer products: the operations of
// mul_mat.toml.
#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <array>

namespace tensorlib::core::ops {

namespace {

// Checks the operands' types, for all products.
template <class Text>
void check_types(const char *op, const Tensor &a, const Tensor &b, const Text &all) {
    const Kind kind = traits(a.layout.type).kind;
    if (kind != Kind::floating && kind != Kind::weight) {
        fail(Status::type_mismatch, "%s: %s: a must be of a float type or a weight format", op, all().c_str());
    }
    if (b.layout.type != DType::f32 && b.layout.type != DType::f16 && b.layout.type != DType::bf16) {
        fail(Status::type_mismatch, "%s: %s: b must be f32, f16 or bf16", op, all().c_str());
    }
}

// Checks that a and b agree in dimension `dim`, which the product sums over.
template <class Text>
void check_k(const char *op, const Tensor &a, const Tensor &b, int dim, const Text &all) {
    const Extents &na = a.layout.ne, &nb = b.layout.ne;
    if (na[dim] == nb[dim]) return;
    fail(Status::shape_mismatch, "%s: %s: the %s dimensions must be equal (%lld and %lld)", op, all().c_str(),
         dim == 0 ? "first" : "second", static_cast<long long>(na[dim]), static_cast<long long>(nb[dim]));
}

// Consecutive slices of b share one of a.
template <class Text>
void check_slices(const char *op, const Tensor &a, const Tensor &b, const Text &all) {
    const Extents &na = a.layout.ne, &nb = b.layout.ne;
    for (int d = 2; d < max_dims; d++) {
        if (na[d] == 0 ? nb[d] == 0 : nb[d] % na[d] == 0) continue;
        fail(Status::shape_mismatch, "%s: %s: dimension %d of b must be a multiple of a's (%lld and %lld)", op, all().c_str(), d,
             static_cast<long long>(nb[d]), static_cast<long long>(na[d]));
    }
}

// The layout of a product with `rows` rows and `columns` columns for each slice of b.
Layout product_layout(const char *op, std::int64_t rows, std::int64_t columns, const Layout &b) {
    const std::array<std::int64_t, max_dims> ne{rows, columns, b.ne[2], b.ne[3]};
    return contiguous_layout(op, DType::f32, {ne.data(), static_cast<std::size_t>(std::max(2, b.n_dims))});
}

// A multiplication and an addition for each of the k terms of each element of the result.
Cost product_cost(const Tensor &node, std::int64_t k) {
    Cost cost = copy_cost(node);
    cost.flops = 2.0 * static_cast<double>(k) * static_cast<double>(node.layout.n_elements());
    return cost;
}

void mul_mat_infer(std::span<Tensor *const> src, const MulMatAttrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1];
    const auto both = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b); };
    check_types("mul_mat", a, b, both);
    check_k("mul_mat", a, b, 0, both);
    check_slices("mul_mat", a, b, both);
    result.layout = product_layout("mul_mat", a.layout.ne[1], b.layout.ne[1], b.layout);
}

Cost mul_mat_cost(const Tensor &node) { return product_cost(node, node.src[0]->layout.ne[0]); }

void out_prod_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1];
    const auto both = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b); };
    check_types("out_prod", a, b, both);
    check_k("out_prod", a, b, 1, both);
    check_slices("out_prod", a, b, both);
    result.layout = product_layout("out_prod", a.layout.ne[0], b.layout.ne[0], b.layout);
}

Cost out_prod_cost(const Tensor &node) { return product_cost(node, node.src[0]->layout.ne[1]); }

// Columns by number: `repeated` {., x, tokens} has one column for x of a token's indices, ids is {used, tokens}.
template <class Text>
void check_numbers(const char *op, const char *name, const Tensor &repeated, const Tensor &ids, const Text &all) {
    const Extents &n = repeated.layout.ne, &ni = ids.layout.ne;
    if (n[2] != ni[1]) {
        fail(Status::shape_mismatch, "%s: %s: %s and ids must be of as many tokens (%lld and %lld)", op, all().c_str(), name,
             static_cast<long long>(n[2]), static_cast<long long>(ni[1]));
    }
    if (n[1] == 0 ? ni[0] != 0 : ni[0] % n[1] != 0) {
        fail(Status::shape_mismatch, "%s: %s: dimension 1 of %s must divide dimension 0 of ids (%lld and %lld)", op, all().c_str(), name,
             static_cast<long long>(n[1]), static_cast<long long>(ni[0]));
    }
}

template <class Text>
void check_type_of_ids(const char *op, const Tensor &ids, const Text &all) {
    if (ids.layout.type == DType::i32 || ids.layout.type == DType::i64) return;
    fail(Status::type_mismatch, "%s: %s: ids must be i32 or i64", op, all().c_str());
}

void mul_mat_id_infer(std::span<Tensor *const> src, const MulMatIdAttrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1], &ids = *src[2];
    const Extents &na = a.layout.ne, &nb = b.layout.ne, &ni = ids.layout.ne;
    const auto all = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b) + ", ids is " + tensor_text(ids); };
    check_type_of_ids("mul_mat_id", ids, all);
    check_types("mul_mat_id", a, b, all);
    check_k("mul_mat_id", a, b, 0, all);
    if (na[3] != 1 || nb[3] != 1 || ni[2] != 1 || ni[3] != 1) {
        fail(Status::shape_mismatch, "mul_mat_id: %s: a {k, m, experts}, b {k, used or 1, tokens} and ids {used, tokens} are valid",
             all().c_str());
    }
    check_numbers("mul_mat_id", "b", b, ids, all);
    const std::array<std::int64_t, 3> ne{na[1], ni[0], ni[1]};
    result.layout = contiguous_layout("mul_mat_id", DType::f32, ne);
}

void out_prod_id_infer(std::span<Tensor *const> src, const OutProdIdAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1], &ids = *src[2];
    const Extents &na = a.layout.ne, &nb = b.layout.ne, &ni = ids.layout.ne;
    const auto all = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b) + ", ids is " + tensor_text(ids); };
    check_type_of_ids("out_prod_id", ids, all);
    for (const Tensor *t : {&a, &b}) {
        const DType type = t->layout.type;
        if (type != DType::f32 && type != DType::f16 && type != DType::bf16)
            fail(Status::type_mismatch, "out_prod_id: %s: a and b must be f32, f16 or bf16", all().c_str());
    }
    if (na[3] != 1 || nb[1] != ni[0] || nb[2] != ni[1] || nb[3] != 1 || ni[2] != 1 || ni[3] != 1) {
        fail(Status::shape_mismatch, "out_prod_id: %s: a {n, used or 1, tokens}, b {m, used, tokens} and ids {used, tokens} are valid",
             all().c_str());
    }
    check_numbers("out_prod_id", "a", a, ids, all);
    const std::array<std::int64_t, 3> ne{na[0], nb[0], attrs.experts};
    result.layout = contiguous_layout("out_prod_id", DType::f32, ne);
}

Cost out_prod_id_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = 2.0 * static_cast<double>(node.src[2]->layout.n_elements()) * static_cast<double>(node.layout.ne[0]) *
                 static_cast<double>(node.layout.ne[1]);
    return cost;
}

unsigned by_id_checked(const Tensor &) noexcept { return 1u << 2; }
std::string experts_text(std::int64_t experts, const char *what) {
    if (experts == 0) return format_text("%s no experts; -1 stands for none", what);
    return format_text("experts 0 to %lld are there; -1 stands for none", static_cast<long long>(experts - 1));
}
std::string mul_mat_id_valid(const Tensor &node, int) { return experts_text(node.src[0]->layout.ne[2], "a has"); }
std::string out_prod_id_valid(const Tensor &node, int) { return experts_text(node.layout.ne[2], "there are"); }

// Reads no more experts of a than there are indices.
Cost mul_mat_id_cost(const Tensor &node) {
    const Layout &a = node.src[0]->layout, &b = node.src[1]->layout, &ids = node.src[2]->layout;
    const double experts = static_cast<double>(a.ne[2]), used = std::min(experts, static_cast<double>(ids.n_elements()));
    const double weights = experts == 0 ? 0 : static_cast<double>(a.nbytes()) / experts * used;
    return {product_cost(node, a.ne[0]).flops, weights + static_cast<double>(b.nbytes() + ids.nbytes() + node.layout.nbytes())};
}

}  // namespace

bool is_exact(const Tensor &product) noexcept {
    if (product.op == Op::mul_mat_sparse) return attrs_of<MulMatSparseAttrs>(product).exact;
    return product.op == Op::mul_mat ? attrs_of<MulMatAttrs>(product).exact : attrs_of<MulMatIdAttrs>(product).exact;
}

constexpr OpDef mul_mat{facts::mul_mat, {.infer = with_attrs<MulMatAttrs, mul_mat_infer>, .cost = mul_mat_cost}};

constexpr OpDef out_prod{facts::out_prod, {.infer = out_prod_infer, .cost = out_prod_cost}};

constexpr OpDef mul_mat_id{facts::mul_mat_id,
                           {.infer = with_attrs<MulMatIdAttrs, mul_mat_id_infer>,
                            .cost = mul_mat_id_cost,
                            .checked_operands = by_id_checked,
                            .valid_values = mul_mat_id_valid}};

constexpr OpDef out_prod_id{facts::out_prod_id,
                            {.infer = with_attrs<OutProdIdAttrs, out_prod_id_infer>,
                             .cost = out_prod_id_cost,
                             .checked_operands = by_id_checked,
                             .valid_values = out_prod_id_valid}};

}  // namespace tensorlib::core::ops
