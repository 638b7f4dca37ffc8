// Gradient rules of attention.
#include "gradients/masks.hpp"
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core::gradients::rules {

// Rotates back by the same angles.
constexpr GradientRule rope{[](Rule &r) {
    const auto &attrs = r.attrs<ops::RopeAttrs>();
    r.give(0, [&] {
        std::vector<Attr> back{Attr::of_int("mode", static_cast<std::int64_t>(attrs.mode)),
                               Attr::of_int("n_dims", attrs.n_dims),
                               Attr::of_int("offset", attrs.offset),
                               Attr::of_int("n_ctx_orig", attrs.n_ctx_orig),
                               Attr::of_number("freq_base", attrs.freq_base),
                               Attr::of_number("freq_scale", attrs.freq_scale),
                               Attr::of_number("ext_factor", attrs.ext_factor),
                               Attr::of_number("attn_factor", attrs.attn_factor),
                               Attr::of_number("beta_fast", attrs.beta_fast),
                               Attr::of_number("beta_slow", attrs.beta_slow),
                               Attr::of_int("inverse", attrs.inverse ? 0 : 1)};
        if (attrs.sections.n != 0) back.push_back(Attr::of_ints("sections", attrs.sections.span()));
        Tensor *factors = r.has(2) ? r.source(2) : left_out();
        Tensor *src[] = {&r.g().tensor(), r.source(1), factors};
        return Value(r.nodes(), *r.nodes().make(Op::rope, src, back));
    });
}};

// Computes the scores and weights again, completely, with the operations that attention fuses: {keys, tokens, heads,
// batch}.
constexpr GradientRule flash_attn_ext{[](Rule &r) {
    const auto &attrs = r.attrs<ops::FlashAttnExtAttrs>();
    const Attr exact = Attr::of_int("exact", 1);
    const Value q = r[0], k(r.nodes(), *r.source(1)), v(r.nodes(), *r.source(2));
    Tensor *mask = r.source(3), *sinks = r.source(4);
    const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(q.ne()[0]));
    Value scores = k.op(Op::mul_mat, q, {exact}) * scale;
    // s tanh(x / s), whose derivative is 1 - tanh^2.
    const double cap = attrs.logit_softcap;
    const Value bent = cap > 0 ? (scores * (1 / cap)).op(Op::tanh) : scores;
    if (cap > 0) scores = bent * cap;
    const Value weights = scores.op(Op::soft_max_ext, {mask, sinks}, {Attr::of_number("max_bias", attrs.max_bias)});
    const Value g = r.g().permuted({0, 2, 1, 3}), d_weights = v.op(Op::mul_mat, g, {exact});
    const Value d_scores = weights * (d_weights - (d_weights * weights).sum_rows());
    const Value d_products = (cap > 0 ? d_scores * bent.op(Op::sqr).scaled(-1, 1) : d_scores) * scale;
    r.give(0, [&] { return k.op(Op::out_prod, d_products.transposed()); });
    r.give(1, [&] { return q.op(Op::out_prod, d_products).slices_summed_to(r.ne(1)); });
    r.give(2, [&] { return g.op(Op::out_prod, weights).slices_summed_to(r.ne(2)); });
    if (mask) r.give(3, [&] { return mask_gradient(d_scores, r.ne(3), attrs.max_bias); });
    if (sinks) r.give(4, [&] { return sinks_gradient(d_weights, weights); });
}};

// Keys and values are rows of a cache.
constexpr GradientRule paged_attention = no_gradient;
constexpr GradientRule gated_delta_net = no_gradient, ssm_scan = no_gradient, rwkv_wkv6 = no_gradient, rwkv_wkv7 = no_gradient,
                       gated_linear_attn = no_gradient, result = no_gradient;

}  // namespace tensorlib::core::gradients::rules
