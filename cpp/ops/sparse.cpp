// Products that compute only the active neurons, described in sparse.toml.
#include "ops/sparse.hpp"

#include "base/fail.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <array>

namespace tensorlib::core::ops {

namespace {

using By = SparseRule::By;
static_assert(static_cast<int>(SparseBy::magnitude) == static_cast<int>(By::magnitude) &&
              static_cast<int>(SparseBy::positive) == static_cast<int>(By::positive));

// The checks of one call. Each error names the operation and all operands.
class Checks {
public:
    Checks(const OpFacts &facts, std::span<Tensor *const> src) noexcept : facts_(facts), src_(src) {}

    template <class... A>
    [[noreturn]] void fail_as(Status status, const char *format, A... a) const {
        const std::string what = format_text(format, a...);
        fail(status, "%s: %s: %s", facts_.name, operands_text(facts_, src_).c_str(), what.c_str());
    }

    const Layout &layout(int operand) const noexcept { return src_[static_cast<std::size_t>(operand)]->layout; }
    const char *name(int operand) const noexcept { return facts_.operands[static_cast<std::size_t>(operand)].name; }
    bool has(int operand) const noexcept { return src_[static_cast<std::size_t>(operand)] != nullptr; }

    void weights(int operand) const {
        const Kind kind = traits(layout(operand).type).kind;
        if (kind != Kind::floating && kind != Kind::weight) {
            fail_as(Status::type_mismatch, "%s must be of a float type or a weight format", name(operand));
        }
    }
    void activations(int operand) const {
        const DType type = layout(operand).type;
        if (type != DType::f32 && type != DType::f16 && type != DType::bf16) {
            fail_as(Status::type_mismatch, "%s must be f32, f16 or bf16", name(operand));
        }
    }
    void is(int operand, DType type) const {
        if (layout(operand).type != type) fail_as(Status::type_mismatch, "%s must be %s", name(operand), traits(type).name);
    }
    void dims(int operand, int most) const {
        const Extents &ne = layout(operand).ne;
        for (int d = most; d < max_dims; d++) {
            if (ne[static_cast<std::size_t>(d)] != 1) {
                fail_as(Status::shape_mismatch, "%s must have %d %s at most", name(operand), most, most == 1 ? "dimension" : "dimensions");
            }
        }
    }
    // Requires dimension d of an operand to be `want`; `why` says what that extent is.
    void extent(int operand, std::size_t d, std::int64_t want, const char *why) const {
        if (layout(operand).ne[d] == want) return;
        fail_as(Status::shape_mismatch, "dimension %d of %s must be %lld, %s", static_cast<int>(d), name(operand),
                static_cast<long long>(want), why);
    }
    void rule(By by, double threshold) const {
        if (by == By::positive && threshold != 0) {
            fail_as(Status::invalid_argument, "threshold is %g, and by is positive, which has none: 0 is valid", threshold);
        }
    }
    // Requires the operand to have an index for each row of `a`, and no more of them than there are neurons.
    void rows(int operand, int a, std::int64_t neurons) const {
        is(operand, DType::i32);
        dims(operand, 1);
        extent(operand, 0, layout(a).ne[1], format_text("a number for each row of %s", name(a)).c_str());
        if (layout(operand).ne[0] > neurons) {
            fail_as(Status::shape_mismatch, "rows has %lld numbers of %lld neurons: each may be there once",
                    static_cast<long long>(layout(operand).ne[0]), static_cast<long long>(neurons));
        }
    }
    void scores(int operand, std::int64_t tokens, const char *of) const {
        is(operand, DType::f32);
        dims(operand, 2);
        extent(operand, 1, tokens, format_text("a column for each of %s", of).c_str());
    }

private:
    const OpFacts &facts_;
    std::span<Tensor *const> src_;
};

// The number of neurons of a mul_mat_sparse: that of scores, or the attribute's, or the number of rows of a.
std::int64_t neurons_of(const Checks &check, const MulMatSparseAttrs &attrs) {
    const auto [scores, rows] = sparse_operands;
    if (!check.has(scores)) {
        if (!check.has(rows)) check.fail_as(Status::invalid_argument, "scores, rows or both must be there: else it is mul_mat");
        if (attrs.by != SparseBy::score || attrs.threshold != 0) {
            check.fail_as(Status::invalid_argument, "by and threshold are a rule for scores, which are left out: then all rows are active");
        }
        if (attrs.n == 0 && check.layout(rows).ne[0] > 0) {
            check.fail_as(Status::invalid_argument,
                          "with rows and without scores the attribute n must say how many neurons there are, %lld or more",
                          static_cast<long long>(check.layout(rows).ne[0]));
        }
        return attrs.n;
    }
    const std::int64_t n = check.layout(scores).ne[0];
    if (attrs.n != 0 && attrs.n != n) {
        check.fail_as(Status::invalid_argument, "n is %lld, and scores has %lld neurons: leave n out", static_cast<long long>(attrs.n),
                      static_cast<long long>(n));
    }
    return n;
}

void mul_mat_sparse_infer(std::span<Tensor *const> src, const MulMatSparseAttrs &attrs, NodeSpec &result) {
    const Checks check(facts::mul_mat_sparse, src);
    const auto [scores, rows] = sparse_operands;
    const Layout &a = src[0]->layout, &b = src[1]->layout;
    check.weights(0);
    check.activations(1);
    check.dims(0, 2);
    check.dims(1, 2);
    check.extent(1, 0, a.ne[0], "as of a");
    if (check.has(scores)) check.scores(scores, b.ne[1], "b");
    check.rule(static_cast<By>(attrs.by), attrs.threshold);
    const std::int64_t n = neurons_of(check, attrs);
    if (check.has(rows)) {
        check.rows(rows, 0, n);
    } else {
        check.extent(scores, 0, a.ne[1], "a score for each row of a, where there are no rows");
    }
    const std::array<std::int64_t, 2> ne{n, b.ne[1]};
    result.layout = contiguous_layout("mul_mat_sparse", DType::f32, ne);
}

void axpy_infer(std::span<Tensor *const> src, const AxpyAttrs &attrs, NodeSpec &result) {
    const Checks check(facts::axpy, src);
    const auto [scores, rows] = sparse_operands;
    const Layout &a = src[0]->layout, &h = src[1]->layout;
    check.weights(0);
    check.activations(1);
    check.dims(0, 2);
    check.dims(1, 2);
    check.rule(static_cast<By>(attrs.by), attrs.threshold);
    if (check.has(scores)) {
        check.scores(scores, h.ne[1], "h");
        check.extent(scores, 0, h.ne[0], "as of h");
    }
    if (check.has(rows)) {
        check.rows(rows, 0, h.ne[0]);
    } else {
        check.extent(0, 1, h.ne[0], "a row for each neuron of h, where there are no rows");
    }
    const std::array<std::int64_t, 2> ne{a.ne[0], h.ne[1]};
    result.layout = contiguous_layout("axpy", DType::f32, ne);
}

void sparse_ffn_infer(std::span<Tensor *const> src, const SparseFfnAttrs &attrs, NodeSpec &result) {
    const Checks check(facts::sparse_ffn, src);
    const auto [scores, rows] = ffn_operands;
    const Layout &x = src[0]->layout, &gate = src[1]->layout, &down = src[3]->layout;
    check.activations(0);
    check.dims(0, 2);
    for (int matrix = 1; matrix <= 3; matrix++) {
        check.weights(matrix);
        check.dims(matrix, 2);
    }
    check.extent(1, 0, x.ne[0], "as of x");
    check.extent(2, 0, x.ne[0], "as of x");
    check.extent(2, 1, gate.ne[1], "as many neurons as of gate");
    check.extent(3, 1, gate.ne[1], "as many neurons as of gate");
    check.rule(static_cast<By>(attrs.by), attrs.threshold);
    if (check.has(scores)) {
        check.scores(scores, x.ne[1], "x");
        if (attrs.first != SparseFfnFirst::gate) {
            check.fail_as(Status::invalid_argument, "first says what is tested without scores: leave it out, or scores");
        }
    }
    if (check.has(rows)) {
        if (!check.has(scores)) {
            check.fail_as(Status::invalid_argument,
                          "rows number neurons of scores, which are left out: without them there are no other neurons");
        }
        check.rows(rows, 1, check.layout(scores).ne[0]);
    } else if (check.has(scores)) {
        check.extent(scores, 0, gate.ne[1], "a score for each neuron, where there are no rows");
    }
    const std::array<std::int64_t, 2> ne{down.ne[0], x.ne[1]};
    result.layout = contiguous_layout("sparse_ffn", DType::f32, ne);
}

// The cost of three dense products.
Cost sparse_ffn_cost(const Tensor &node) {
    const Layout &gate = node.src[1]->layout;
    Cost cost = copy_cost(node);
    cost.flops = 2.0 * static_cast<double>(gate.ne[1]) * static_cast<double>(2 * gate.ne[0] + node.layout.ne[0]) *
                 static_cast<double>(node.layout.ne[1]);
    return cost;
}

// The cost of the dense product. How much less a sparse one takes depends on the values.
Cost sparse_cost(const Tensor &node) {
    const Layout &a = node.src[0]->layout;
    Cost cost = copy_cost(node);
    cost.flops = 2.0 * static_cast<double>(a.ne[0]) * static_cast<double>(a.ne[1]) * static_cast<double>(node.src[1]->layout.ne[1]);
    return cost;
}

unsigned checked_rows(const Tensor &node) noexcept {
    const int rows = sparse_operands_of(node.op).rows;
    return node.src[static_cast<std::size_t>(rows)] ? 1u << rows : 0;
}
std::string valid_rows(const Tensor &node, int) {
    return format_text("rows must ascend, each number once, from 0 to %lld", static_cast<long long>(sparse_neurons(node) - 1));
}

}  // namespace

SparseOperands sparse_operands_of(Op op) noexcept { return op == Op::sparse_ffn ? ffn_operands : sparse_operands; }

SparseRule sparse_rule(const Tensor &node) noexcept {
    const bool scored = node.src[static_cast<std::size_t>(sparse_operands_of(node.op).scores)] != nullptr;
    if (node.op == Op::sparse_ffn) {
        const auto &attrs = attrs_of<SparseFfnAttrs>(node);
        return {static_cast<By>(attrs.by), static_cast<float>(attrs.threshold), !scored};
    }
    if (node.op == Op::axpy) {
        const auto &attrs = attrs_of<AxpyAttrs>(node);
        return {static_cast<By>(attrs.by), static_cast<float>(attrs.threshold), !scored};
    }
    const auto &attrs = attrs_of<MulMatSparseAttrs>(node);
    return {static_cast<By>(attrs.by), static_cast<float>(attrs.threshold), false};
}

std::int64_t sparse_neurons(const Tensor &node) noexcept {
    if (node.op == Op::sparse_ffn) {
        const Tensor *scores = node.src[static_cast<std::size_t>(ffn_operands.scores)];
        return scores ? scores->layout.ne[0] : node.src[1]->layout.ne[1];
    }
    return node.op == Op::axpy ? node.src[1]->layout.ne[0] : node.layout.ne[0];
}

constexpr OpDef mul_mat_sparse{facts::mul_mat_sparse,
                               {.infer = with_attrs<MulMatSparseAttrs, mul_mat_sparse_infer>,
                                .cost = sparse_cost,
                                .checked_operands = checked_rows,
                                .valid_values = valid_rows}};

constexpr OpDef axpy{
    facts::axpy,
    {.infer = with_attrs<AxpyAttrs, axpy_infer>, .cost = sparse_cost, .checked_operands = checked_rows, .valid_values = valid_rows}};

constexpr OpDef sparse_ffn{facts::sparse_ffn,
                           {.infer = with_attrs<SparseFfnAttrs, sparse_ffn_infer>,
                            .cost = sparse_ffn_cost,
                            .checked_operands = checked_rows,
                            .valid_values = valid_rows}};

}  // namespace tensorlib::core::ops
