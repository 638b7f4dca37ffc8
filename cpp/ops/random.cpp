// Counter-based random numbers, described in random.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"

#include <cfloat>
#include <cmath>

namespace tensorlib::core::ops {

namespace {

// Each element has its own word, and blocks of 4 words are numbered in 32 bits.
constexpr std::int64_t most_elements = std::int64_t{1} << 34;

void check_state(const OpFacts &def, std::span<Tensor *const> src, std::size_t operand) {
    const Layout &state = src[operand]->layout;
    const auto wrong = [&](Status status) {
        fail(status, "%s: %s: a state of [2] i64, a seed and a counter, is valid", def.name, operands_text(def, src).c_str());
    };
    if (state.type != DType::i64) wrong(Status::type_mismatch);
    if (state.ne != Extents{2, 1, 1, 1}) wrong(Status::shape_mismatch);
}

void check_count(const OpFacts &def, std::span<Tensor *const> src, const Layout &c) {
    if (c.n_elements() <= most_elements) return;
    fail(Status::invalid_argument, "%s: %s: the result has %lld elements: up to 2^34 are valid, as many as have random words of their own",
         def.name, operands_text(def, src).c_str(), static_cast<long long>(c.n_elements()));
}

// A contiguous F32 result with these extents; trailing extents of 1 are not counted as dimensions.
void drawn_layout(const OpFacts &def, std::span<Tensor *const> src, const Extents &ne, NodeSpec &result) {
    check_state(def, src, 0);
    std::size_t n_dims = max_dims;
    while (n_dims > 1 && ne[n_dims - 1] == 1) n_dims--;
    result.layout = contiguous_layout(def.name, DType::f32, std::span(ne).first(n_dims));
    check_count(def, src, result.layout);
}

bool is_f32(double value) { return std::fabs(value) <= double{FLT_MAX}; }

void random_uniform_infer(std::span<Tensor *const> src, const RandomUniformAttrs &attrs, NodeSpec &result) {
    drawn_layout(facts::random_uniform, src, attrs.ne.extents(), result);
    const double low = attrs.low, high = attrs.high;
    const auto refuse = [&](const char *valid) {
        fail(Status::invalid_argument, "random_uniform: low is %.12g, high is %.12g: %s", low, high, valid);
    };
    if (!is_f32(low) || !is_f32(high)) refuse("finite numbers that F32 has are valid");
    if (high < low) refuse("a high that is no less than low is valid");
    if (!is_f32(double{static_cast<float>(high)} - double{static_cast<float>(low)})) refuse("a difference that F32 has is valid");
}

void random_normal_infer(std::span<Tensor *const> src, const RandomNormalAttrs &attrs, NodeSpec &result) {
    drawn_layout(facts::random_normal, src, attrs.ne.extents(), result);
    constexpr double largest = 6.4;  // larger than any |z|
    if (is_f32(std::fabs(attrs.mean) + largest * attrs.deviation)) return;
    fail(Status::invalid_argument, "random_normal: mean is %.12g, deviation is %.12g: finite numbers whose results F32 has are valid",
         attrs.mean, attrs.deviation);
}

void dropout_infer(std::span<Tensor *const> src, const DropoutAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    check_floats(facts::dropout, src.first(1));
    check_state(facts::dropout, src, 1);
    if (!(attrs.p >= 0 && attrs.p < 1))
        fail(Status::invalid_argument, "dropout: %s, p is %.12g: 0 or more and less than 1 is valid",
             operands_text(facts::dropout, src).c_str(), attrs.p);
    result.layout = contiguous_layout("dropout", a.type, std::span(a.ne).first(static_cast<std::size_t>(a.n_dims)));
    check_count(facts::dropout, src, result.layout);
}

// A block of 4 words takes 20 integer products. `operations` counts the floating-point operations per element on top of
// these.
template <int operations>
Cost drawn_cost(const Tensor &node) {
    return {operations * static_cast<double>(node.layout.n_elements()), static_cast<double>(node.layout.nbytes())};
}

Cost dropout_cost(const Tensor &node) {
    return {static_cast<double>(node.layout.n_elements()), static_cast<double>(2 * node.layout.nbytes())};
}

}  // namespace

constexpr OpDef random_uniform{facts::random_uniform,
                               {.infer = with_attrs<RandomUniformAttrs, random_uniform_infer>, .cost = drawn_cost<3>}};

constexpr OpDef random_normal{facts::random_normal, {.infer = with_attrs<RandomNormalAttrs, random_normal_infer>, .cost = drawn_cost<40>}};

constexpr OpDef dropout{facts::dropout, {.infer = with_attrs<DropoutAttrs, dropout_infer>, .cost = dropout_cost}};

}  // namespace tensorlib::core::ops
