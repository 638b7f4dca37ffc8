// The parts of attention, described in attention.toml: checks, shapes and costs.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/indices.hpp"
#include "ops/masks.hpp"
#include "ops/rotation.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace tensorlib::core::ops {

namespace {

// Without n_dims, all elements from `offset` on.
std::int64_t turned_elements(const Tensor &a, const RopeAttrs &attrs) noexcept {
    if (attrs.n_dims == 0) return a.layout.ne[0] - attrs.offset;
    return attrs.mode == RopeMode::vision ? 2 * attrs.n_dims : attrs.n_dims;
}

bool has_sections(RopeMode mode) noexcept { return mode == RopeMode::mrope || mode == RopeMode::imrope || mode == RopeMode::vision; }

void check_rope_attrs(const Tensor &a, const RopeAttrs &attrs) {
    const std::int64_t n = turned_elements(a, attrs), row = a.layout.ne[0];
    const auto number = [](std::int64_t x) { return static_cast<long long>(x); };
    if (n < 0 || n > row - attrs.offset || n % 2 != 0) {
        fail(Status::invalid_argument,
             "rope: a is %s, mode is %s, n_dims is %lld, offset is %lld: an even number of elements to rotate, up to %lld, is valid, or "
             "n_dims 0 "
             "for all of an even number",
             tensor_text(a).c_str(), facts::rope_mode_values[static_cast<std::size_t>(attrs.mode)], number(attrs.n_dims),
             number(attrs.offset), number(std::max<std::int64_t>(row - attrs.offset, 0)));
    }
    const auto sections = attrs.sections.span();
    const bool any = std::ranges::any_of(sections, [](std::int64_t s) { return s > 0; });
    if (any != has_sections(attrs.mode)) {
        fail(Status::invalid_argument,
             "rope: mode is %s, sections are %s: mrope, imrope and vision must have some that are above 0, and no other mode",
             facts::rope_mode_values[static_cast<std::size_t>(attrs.mode)], any ? "given" : "not given");
    }
    if (attrs.ext_factor > 0 && (attrs.n_ctx_orig == 0 || attrs.freq_base == 1)) {
        fail(Status::invalid_argument,
             "rope: ext_factor is %.12g, n_ctx_orig is %lld, freq_base is %.12g: with ext_factor n_ctx_orig must be above 0 and "
             "freq_base not 1",
             attrs.ext_factor, number(attrs.n_ctx_orig), attrs.freq_base);
    }
}

void rope_infer(std::span<Tensor *const> src, const RopeAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], &positions = *src[1], *factors = src[2];
    const auto operands = [&] { return operands_text(facts::rope, src); };
    check_floats(facts::rope, src.first(1));
    check_rope_attrs(a, attrs);
    const DType type = positions.layout.type;
    if (type != DType::i32 && type != DType::i64) fail(Status::type_mismatch, "rope: %s: positions must be i32 or i64", operands().c_str());
    const Extents &na = a.layout.ne, &np = positions.layout.ne;
    const std::int64_t each = has_sections(attrs.mode) ? max_dims : 1;
    // A product that wraps is no tensor's size, so it fails the comparison.
    const auto wanted = static_cast<std::int64_t>(static_cast<std::uint64_t>(na[2]) * static_cast<std::uint64_t>(each));
    if (np[0] != wanted || (np[1] != 1 && np[1] != na[3]) || np[2] != 1 || np[3] != 1) {
        fail(Status::shape_mismatch, "rope: %s: positions {%lld} or {%lld, %lld} are valid, %s for each of a's dimension 2",
             operands().c_str(), static_cast<long long>(wanted), static_cast<long long>(wanted), static_cast<long long>(na[3]),
             each == 1 ? "one" : "four");
    }
    const std::int64_t pairs = turned_elements(a, attrs) / 2;
    if (factors) {
        if (factors->layout.type != DType::f32) fail(Status::type_mismatch, "rope: %s: freq_factors must be f32", operands().c_str());
        if (factors->layout.ne != Extents{pairs, 1, 1, 1})
            fail(Status::shape_mismatch, "rope: %s: freq_factors {%lld} are valid, one for each pair", operands().c_str(),
                 static_cast<long long>(pairs));
    }
    result.layout = contiguous_layout("rope", a.layout.type, {na.data(), static_cast<std::size_t>(a.layout.n_dims)});
}

Cost rope_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = 3 * static_cast<double>(node.layout.n_elements());
    return cost;
}

}  // namespace

Rotation rotation_of(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<RopeAttrs>(node);
    Rotation rotation;
    rotation.pairs = turned_elements(node, attrs) / 2;
    rotation.neighbours = attrs.mode == RopeMode::normal;
    rotation.direction = attrs.inverse ? -1 : 1;
    rotation.size = static_cast<float>(attrs.attn_factor * (attrs.ext_factor > 0 ? 1 + 0.1 * std::log(1 / attrs.freq_scale) : 1));
    rotation.first = attrs.offset;
    if (has_sections(attrs.mode)) std::ranges::copy(attrs.sections.span(), rotation.sections);
    rotation.interleaved = attrs.mode == RopeMode::imrope;
    rotation.restarts = attrs.mode == RopeMode::vision;
    const auto n = static_cast<double>((attrs.mode == RopeMode::vision ? 1 : 2) * rotation.pairs);
    rotation.step = std::pow(attrs.freq_base, -2 / std::max(n, 1.0));
    rotation.scale = attrs.freq_scale;
    rotation.extended = attrs.ext_factor;
    if (attrs.ext_factor > 0) {
        const auto pair_with = [&](double turns) {
            return n * std::log(static_cast<double>(attrs.n_ctx_orig) / (turns * 2 * std::numbers::pi)) / (2 * std::log(attrs.freq_base));
        };
        rotation.low = std::max(0.0, std::floor(pair_with(attrs.beta_fast)));
        rotation.high = std::min(n - 1, std::ceil(pair_with(attrs.beta_slow)));
    }
    return rotation;
}

namespace {

void check_weights_or_floats(const OpFacts &def, std::span<Tensor *const> src, std::size_t operand) {
    const Kind kind = traits(src[operand]->layout.type).kind;
    if (kind == Kind::floating || kind == Kind::weight) return;
    fail(Status::type_mismatch, "%s: %s: %s must be of a float type or a format with blocks", def.name, operands_text(def, src).c_str(),
         def.operands[operand].name);
}

void flash_attn_ext_infer(std::span<Tensor *const> src, const FlashAttnExtAttrs &attrs, NodeSpec &result) {
    const Extents &nq = src[0]->layout.ne, &nk = src[1]->layout.ne, &nv = src[2]->layout.ne;
    const Tensor *mask = src[3];
    const auto operands = [&] { return operands_text(facts::flash_attn_ext, src); };
    for (const std::size_t i : {0u, 3u}) {
        if (src[i] && !is_float(src[i]->layout.type))
            fail(Status::type_mismatch, "flash_attn_ext: %s: %s must be f32, f16 or bf16", operands().c_str(),
                 facts::flash_attn_ext.operands[i].name);
    }
    check_weights_or_floats(facts::flash_attn_ext, src, 1);
    check_weights_or_floats(facts::flash_attn_ext, src, 2);
    if (nk[0] != nq[0]) {
        fail(Status::shape_mismatch, "flash_attn_ext: %s: q and k must have as many elements in dimension 0", operands().c_str());
    }
    if (nv[1] != nk[1] || nv[2] != nk[2] || nv[3] != nk[3]) {
        fail(Status::shape_mismatch, "flash_attn_ext: %s: v {m, %lld, %lld, %lld} is valid, of any m", operands().c_str(),
             static_cast<long long>(nk[1]), static_cast<long long>(nk[2]), static_cast<long long>(nk[3]));
    }
    if (!divides(nk[2], nq[2]) || !divides(nk[3], nq[3])) {
        fail(Status::shape_mismatch, "flash_attn_ext: %s: k's dimensions 2 and 3 must divide q's, %lld and %lld", operands().c_str(),
             static_cast<long long>(nq[2]), static_cast<long long>(nq[3]));
    }
    check_mask(facts::flash_attn_ext, src,
               {.mask = mask, .sinks = src[4], .columns = nk[1], .rows = nq[1], .heads = nq[2], .batches = nq[3]}, attrs.max_bias);
    const Extents ne{nv[0], nq[2], nq[1], nq[3]};
    result.layout = contiguous_layout("flash_attn_ext", DType::f32, {ne.data(), ne[3] == 1 ? 3u : 4u});
}

// Reads all operands once and writes the result. Each element of a key or value that a query meets takes two
// operations.
Cost flash_attn_ext_cost(const Tensor &node) {
    const Extents &nq = node.src[0]->layout.ne;
    const Layout &k = node.src[1]->layout, &v = node.src[2]->layout;
    const double pairs =
        static_cast<double>(nq[1]) * static_cast<double>(nq[2]) * static_cast<double>(nq[3]) * static_cast<double>(k.ne[1]);
    Cost cost{2 * pairs * static_cast<double>(k.ne[0] + v.ne[0]), static_cast<double>(node.layout.nbytes())};
    for (std::size_t i = 0; i < node.n_src; i++) {
        if (node.src[i]) cost.bytes += static_cast<double>(node.src[i]->layout.nbytes());
    }
    return cost;
}

void paged_attention_infer(std::span<Tensor *const> src, const PagedAttentionAttrs &attrs, NodeSpec &result) {
    const OpFacts &def = facts::paged_attention;
    const Extents &nq = src[0]->layout.ne, &nk = src[1]->layout.ne, &nv = src[2]->layout.ne, &np = src[3]->layout.ne;
    const auto operands = [&] { return operands_text(def, src); };
    const auto refuse = [&](const std::string &valid) {
        fail(Status::shape_mismatch, "%s: %s: %s", def.name, operands().c_str(), valid.c_str());
    };
    if (!is_float(src[0]->layout.type)) fail(Status::type_mismatch, "%s: %s: q must be f32, f16 or bf16", def.name, operands().c_str());
    check_weights_or_floats(def, src, 1);
    check_weights_or_floats(def, src, 2);
    for (const std::size_t i : {3u, 4u, 5u}) check_indices(def, src, i);
    if (nq[3] != 1) refuse("q {n, tokens, heads} is valid");
    if (nk[0] != nq[0] || nk[3] != 1) refuse(format_text("k {%lld, heads', rows} is valid", shown(nq[0])));
    if (nv[1] != nk[1] || nv[2] != nk[2] || nv[3] != 1)
        refuse(format_text("v {m, %lld, %lld} is valid, of any m", shown(nk[1]), shown(nk[2])));
    if (!divides(nk[1], nq[2])) refuse(format_text("k's dimension 1 must divide q's heads, %lld", shown(nq[2])));
    if (nk[2] % attrs.page != 0) {
        fail(Status::shape_mismatch, "%s: %s, page is %lld: it must divide the rows of k, its dimension 2", def.name, operands().c_str(),
             shown(attrs.page));
    }
    if (np[2] != 1 || np[3] != 1) refuse("pages {most, n_sequences} are valid");
    // So that positions are exact in any kind of number.
    if (constexpr std::int64_t most = std::int64_t{1} << 53; np[0] > most / attrs.page)
        refuse(format_text("pages of up to %lld positions are valid", shown(most)));
    for (const std::size_t i : {4u, 5u}) {
        if (src[i]->layout.ne != Extents{nq[1], 1, 1, 1})
            refuse(format_text("%s {%lld} are valid, one for each token", def.operands[i].name, shown(nq[1])));
    }
    check_mask(def, src, {.mask = nullptr, .sinks = src[6], .columns = 0, .rows = nq[1], .heads = nq[2], .batches = 1}, 0);
    result.layout = contiguous_layout(def.name, DType::f32, {std::array{nv[0], nq[2], nq[1]}.data(), 3});
}

// As many keys as a sequence can have, at most as many as there are rows: how many a token sees is known when it is computed.
Cost paged_attention_cost(const Tensor &node) {
    const auto &attrs = attrs_of<PagedAttentionAttrs>(node);
    const Extents &nq = node.src[0]->layout.ne;
    const Layout &k = node.src[1]->layout, &v = node.src[2]->layout;
    double keys = std::min(static_cast<double>(node.src[3]->layout.ne[0]) * static_cast<double>(attrs.page), static_cast<double>(k.ne[2]));
    if (attrs.window > 0) keys = std::min(keys, static_cast<double>(attrs.window));
    const double pairs = static_cast<double>(nq[1]) * static_cast<double>(nq[2]) * keys;
    Cost cost{2 * pairs * static_cast<double>(k.ne[0] + v.ne[0]), static_cast<double>(node.layout.nbytes())};
    for (std::size_t i = 0; i < node.n_src; i++) {
        if (node.src[i]) cost.bytes += static_cast<double>(node.src[i]->layout.nbytes());
    }
    return cost;
}

unsigned paged_attention_checked(const Tensor &) noexcept { return 1u << 3 | 1u << 4 | 1u << 5; }

std::string paged_attention_valid(const Tensor &node, int operand) {
    const std::int64_t page = attrs_of<PagedAttentionAttrs>(node).page;
    const Extents &pages = node.src[3]->layout.ne;
    if (operand == 3) return valid_indices("pages", node.src[1]->layout.ne[2] / page);
    return operand == 4 ? valid_indices("positions", pages[0] * page) : valid_indices("sequences", pages[1]);
}

}  // namespace

constexpr OpDef rope{facts::rope, {.infer = with_attrs<RopeAttrs, rope_infer>, .cost = rope_cost}};
constexpr OpDef flash_attn_ext{facts::flash_attn_ext,
                               {.infer = with_attrs<FlashAttnExtAttrs, flash_attn_ext_infer>, .cost = flash_attn_ext_cost}};

constexpr OpDef paged_attention{facts::paged_attention,
                                {.infer = with_attrs<PagedAttentionAttrs, paged_attention_infer>,
                                 .cost = paged_attention_cost,
                                 .checked_operands = paged_attention_checked,
                                 .valid_values = paged_attention_valid}};

}  // namespace tensorlib::core::ops
