// Recurrent layers, described in recurrent.toml: checks, shapes and costs.
#include "ops/recurrent.hpp"

#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

void check_f32(const OpFacts &def, std::span<Tensor *const> src) {
    for (std::size_t i = 0; i < src.size(); i++) {
        if (src[i]->layout.type != DType::f32)
            fail(Status::type_mismatch, "%s: %s: %s must be f32", def.name, operands_text(def, src).c_str(), operand_at(def, i).name);
    }
}

[[noreturn]] void refuse(const OpFacts &def, std::span<Tensor *const> src, const char *valid) {
    fail(Status::shape_mismatch, "%s: %s: %s are valid", def.name, operands_text(def, src).c_str(), valid);
}

bool divides(std::int64_t part, std::int64_t all) noexcept { return part == 0 ? all == 0 : all % part == 0; }

// All results, one after the other.
void set_layout(const OpFacts &def, std::span<Tensor *const> src, const Recurrent &sizes, NodeSpec &result) {
    std::int64_t states, all;
    const std::int64_t factors[] = {sizes.columns, sizes.heads, sizes.sequences, sizes.n_states};
    bool fits = true;
    states = sizes.rows;
    for (const std::int64_t factor : factors) fits = fits && !__builtin_mul_overflow(states, factor, &states);
    if (!fits || __builtin_add_overflow(states, sizes.results(), &all))
        fail(Status::invalid_argument, "%s: %s: more than 2^63 - 1 elements", def.name, operands_text(def, src).c_str());
    result.layout = contiguous_layout(def.name, DType::f32, std::span(&all, 1));
}

Recurrent sizes_of(Op op, const Tensor *const *src) noexcept {
    switch (op) {
        case Op::gated_delta_net: {
            const Extents &v = src[2]->layout.ne;
            return {v[2], v[3], v[1], v[0], v[0]};
        }
        case Op::ssm_scan: {
            const Extents &x = src[1]->layout.ne, &state = src[0]->layout.ne;
            return {x[2], x[3], x[1], x[0], state[0]};
        }
        default: {
            const Extents &k = src[0]->layout.ne, &state = src[op == Op::rwkv_wkv7 ? 6 : op == Op::rwkv_wkv6 ? 5 : 4]->layout.ne;
            const std::int64_t sequences = state[1];
            return {sequences == 0 ? 0 : k[2] / sequences, sequences, k[1], k[0], k[0], 1, op == Op::rwkv_wkv7};
        }
    }
}

void gated_delta_net_infer(std::span<Tensor *const> src, const GatedDeltaNetAttrs &attrs, NodeSpec &result) {
    const OpFacts &def = facts::gated_delta_net;
    check_f32(def, src);
    const Extents &q = src[0]->layout.ne, &k = src[1]->layout.ne, &v = src[2]->layout.ne, &g = src[3]->layout.ne, &beta = src[4]->layout.ne,
                  &state = src[5]->layout.ne;
    const bool fits = q == k && q[0] == v[0] && q[2] == v[2] && divides(q[1], v[1]) && divides(q[3], v[3]) && (g[0] == 1 || g[0] == v[0]) &&
                      std::equal(g.begin() + 1, g.end(), v.begin() + 1) && beta == Extents{1, v[1], v[2], v[3]} &&
                      state == Extents{v[0], v[0], v[1], v[3]};
    if (!fits) {
        refuse(
            def, src,
            "q and k {S, h, t, n}, v {S, H, t, N}, g {1 or S, H, t, N}, beta {1, H, t, N} and state {S, S, H, N}, where h divides H and n "
            "divides N,");
    }
    Recurrent sizes = sizes_of(def.op, src.data());
    sizes.n_states = attrs.n_states;
    set_layout(def, src, sizes, result);
}

void ssm_scan_infer(std::span<Tensor *const> src, const SsmScanAttrs &attrs, NodeSpec &result) {
    const OpFacts &def = facts::ssm_scan;
    check_f32(def, src.first(6));
    const DType type = src[6]->layout.type;
    if (type != DType::i32 && type != DType::i64)
        fail(Status::type_mismatch, "ssm_scan: %s: ids must be i32 or i64", operands_text(def, src).c_str());
    const Extents &state = src[0]->layout.ne, &x = src[1]->layout.ne, &dt = src[2]->layout.ne, &a = src[3]->layout.ne,
                  &b = src[4]->layout.ne, &c = src[5]->layout.ne, &ids = src[6]->layout.ne;
    const bool fits = state[1] == x[0] && state[2] == x[1] && dt == Extents{x[1], x[2], x[3], 1} && (a[0] == 1 || a[0] == state[0]) &&
                      a == Extents{a[0], x[1], 1, 1} && b == c && b[0] == state[0] && divides(b[1], x[1]) && b[2] == x[2] && b[3] == x[3] &&
                      ids == Extents{x[3], 1, 1, 1};
    if (!fits) {
        refuse(def, src,
               "state {S, D, H, any}, x {D, H, t, N}, dt {H, t, N}, a {1 or S, H}, b and c {S, G, t, N} and ids {N}, where G divides H,");
    }
    Recurrent sizes = sizes_of(def.op, src.data());
    sizes.n_states = attrs.n_states;
    set_layout(def, src, sizes, result);
}

// Operands of the shape {S, heads, tokens}, but for `first`, which is {S, heads} if it is there, and the last, the state.
void check_time_mixing(const OpFacts &def, std::span<Tensor *const> src, std::size_t first) {
    check_f32(def, src);
    const Extents &k = src[0]->layout.ne, &state = src[src.size() - 1]->layout.ne;
    bool fits = k[3] == 1 && state[2] == 1 && state[3] == 1 && divides(state[1], k[2]);
    std::int64_t elements;
    fits = fits && !__builtin_mul_overflow(k[0], k[0], &elements) && !__builtin_mul_overflow(elements, k[1], &elements) &&
           state[0] == elements;
    for (std::size_t i = 0; i + 1 < src.size(); i++) fits = fits && src[i]->layout.ne == (i == first ? Extents{k[0], k[1], 1, 1} : k);
    if (fits) return;
    refuse(def, src,
           first < src.size() ? "tf {S, heads}, state {S S heads, sequences} and all others {S, heads, tokens}"
                              : "state {S S heads, sequences} and all others {S, heads, tokens}");
}

template <const OpFacts &def, std::size_t first>
void time_mixing_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    check_time_mixing(def, src, first);
    set_layout(def, src, sizes_of(def.op, src.data()), result);
}

void gated_linear_attn_infer(std::span<Tensor *const> src, const GatedLinearAttnAttrs &, NodeSpec &result) {
    check_time_mixing(facts::gated_linear_attn, src, src.size());
    set_layout(facts::gated_linear_attn, src, sizes_of(Op::gated_linear_attn, src.data()), result);
}

ResultPart part_of(const Tensor &node, int i) {
    const Recurrent sizes = recurrent(node);
    const char *name = op_name(node.op);
    const std::size_t offset = i == 0 ? 0 : static_cast<std::size_t>(sizes.results()) * sizeof(float);
    if (node.op == Op::gated_delta_net || node.op == Op::ssm_scan) {
        const Extents ne = i == 0 ? Extents{sizes.rows, sizes.heads, sizes.tokens, sizes.sequences}
                                  : Extents{sizes.columns, sizes.rows, sizes.heads, sizes.sequences * sizes.n_states};
        return {contiguous_layout(name, DType::f32, ne), offset};
    }
    const Extents &state = node.src[node.n_src - 1]->layout.ne;
    const std::int64_t result[] = {sizes.result_elements() * sizes.heads, node.src[0]->layout.ne[2]};
    return {i == 0 ? contiguous_layout(name, DType::f32, result) : contiguous_layout(name, DType::f32, std::span(state).first(2)), offset};
}

// For each token and element of a state: the decay, what is added, and the sums of the result and of the rule.
Cost recurrent_cost(const Tensor &node) {
    const Recurrent sizes = recurrent(node);
    Cost cost = copy_cost(node);
    const double sums = node.op == Op::gated_delta_net || node.op == Op::rwkv_wkv7 ? 7 : 5;
    cost.flops = sums * static_cast<double>(sizes.results()) * static_cast<double>(sizes.results_are_rows ? sizes.columns : sizes.rows);
    return cost;
}

unsigned ids_are_checked(const Tensor &) noexcept { return 1u << 6; }
std::string valid_ids(const Tensor &node, int) {
    return format_text("states 0 to %lld are there", static_cast<long long>(node.src[0]->layout.ne[3] - 1));
}

}  // namespace

Recurrent recurrent(const Tensor &node) noexcept {
    Recurrent sizes = sizes_of(node.op, node.src);
    if (node.op == Op::gated_delta_net) sizes.n_states = attrs_of<GatedDeltaNetAttrs>(node).n_states;
    if (node.op == Op::ssm_scan) sizes.n_states = attrs_of<SsmScanAttrs>(node).n_states;
    return sizes;
}

constexpr OpDef gated_delta_net{facts::gated_delta_net,
                                {.infer = with_attrs<GatedDeltaNetAttrs, gated_delta_net_infer>, .cost = recurrent_cost, .part = part_of}};

constexpr OpDef ssm_scan{facts::ssm_scan,
                         {.infer = with_attrs<SsmScanAttrs, ssm_scan_infer>,
                          .cost = recurrent_cost,
                          .checked_operands = ids_are_checked,
                          .valid_values = valid_ids,
                          .part = part_of}};

constexpr OpDef rwkv_wkv6{facts::rwkv_wkv6, {.infer = time_mixing_infer<facts::rwkv_wkv6, 3>, .cost = recurrent_cost, .part = part_of}};

constexpr OpDef rwkv_wkv7{facts::rwkv_wkv7, {.infer = time_mixing_infer<facts::rwkv_wkv7, 99>, .cost = recurrent_cost, .part = part_of}};

constexpr OpDef gated_linear_attn{
    facts::gated_linear_attn,
    {.infer = with_attrs<GatedLinearAttnAttrs, gated_linear_attn_infer>, .cost = recurrent_cost, .part = part_of}};

}  // namespace tensorlib::core::ops
