// Elements moved to other places: what layout.toml describes.
#include "base/fail.hpp"
#include "ops/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

long long shown(std::int64_t n) { return static_cast<long long>(n); }

// Of `least` dimensions or more: those behind it that have one element are not counted.
Layout contiguous_like(const char *op, DType type, const Extents &ne, std::int32_t least) {
    auto n_dims = static_cast<std::size_t>(least);
    for (std::size_t d = n_dims; d < max_dims; d++) {
        if (ne[d] != 1) n_dims = d + 1;
    }
    return contiguous_layout(op, type, std::span(ne).first(n_dims));
}

// a + b, of which neither is negative; refused where an integer has not so many.
std::int64_t extent_sum(const OpFacts &def, std::span<Tensor *const> src, std::int64_t a, std::int64_t b) {
    if (b <= INT64_MAX - a) return a + b;
    fail(Status::invalid_argument, "%s: %s: an extent of %lld and %lld more is beyond 2^63 - 1", def.name, operands_text(def, src).c_str(),
         shown(a), shown(b));
}

void check_without_blocks(const OpFacts &def, std::span<Tensor *const> src) {
    if (traits(src[0]->layout.type).block_size == 1) return;
    fail(Status::type_mismatch, "%s: %s: a type without blocks is valid, as those would be taken apart", def.name,
         operands_text(def, src).c_str());
}

void repeat_infer(std::span<Tensor *const> src, const RepeatAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const Extents &ne = attrs.ne.values;
    for (std::size_t d = 0; d < max_dims; d++) {
        const std::int64_t n = a.layout.ne[d];
        if (ne[d] >= 0 && (n == 0 ? ne[d] == 0 : ne[d] % n == 0)) continue;
        fail(Status::shape_mismatch, "repeat: a is %s, ne[%zu] is %lld: a multiple of %lld is valid", tensor_text(a).c_str(), d,
             shown(ne[d]), shown(n));
    }
    result.layout = contiguous_like("repeat", a.layout.type, ne, a.layout.n_dims);
}

void concat_infer(std::span<Tensor *const> src, const ConcatAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1];
    const auto dim = static_cast<std::size_t>(attrs.dim);
    const auto operands = [&] { return operands_text(facts::concat, src); };
    if (a.layout.type != b.layout.type) fail(Status::type_mismatch, "concat: %s: both must have one type", operands().c_str());
    Extents ne = a.layout.ne;
    for (std::size_t d = 0; d < max_dims; d++) {
        if (d == dim || ne[d] == b.layout.ne[d]) continue;
        fail(Status::shape_mismatch, "concat: %s, dim is %zu: dimension %zu has %lld and %lld elements, and must have as many",
             operands().c_str(), dim, d, shown(ne[d]), shown(b.layout.ne[d]));
    }
    ne[dim] = extent_sum(facts::concat, src, ne[dim], b.layout.ne[dim]);
    result.layout = contiguous_like("concat", a.layout.type, ne, std::max(a.layout.n_dims, b.layout.n_dims));
}

void pad_infer(std::span<Tensor *const> src, const PadAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    Extents ne = a.ne;
    for (std::size_t d = 0; d < max_dims; d++) ne[d] = extent_sum(facts::pad, src, ne[d], attrs.p.values[d]);
    result.layout = contiguous_like("pad", a.type, ne, a.n_dims);
}

void pad_reflect_1d_infer(std::span<Tensor *const> src, const PadReflect1dAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    check_without_blocks(facts::pad_reflect_1d, src);
    Extents ne = a.ne;
    for (const std::int64_t p : {attrs.p0, attrs.p1}) {
        if (p >= a.ne[0]) {
            fail(Status::invalid_argument,
                 "pad_reflect_1d: %s, p0 is %lld, p1 is %lld: less than %lld is valid, as the row's end is no part of its image",
                 operands_text(facts::pad_reflect_1d, src).c_str(), shown(attrs.p0), shown(attrs.p1), shown(a.ne[0]));
        }
        ne[0] = extent_sum(facts::pad_reflect_1d, src, ne[0], p);
    }
    result.layout = contiguous_like("pad_reflect_1d", a.type, ne, a.n_dims);
}

void roll_infer(std::span<Tensor *const> src, const RollAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    const std::int64_t block = traits(a.type).block_size;
    if (attrs.shift.values[0] % block != 0) {
        fail(Status::invalid_argument, "roll: %s, shift[0] is %lld: a multiple of its block size %lld is valid",
             operands_text(facts::roll, src).c_str(), shown(attrs.shift.values[0]), shown(block));
    }
    result.layout = contiguous_like("roll", a.type, a.ne, a.n_dims);
}

}  // namespace

constexpr OpDef repeat{facts::repeat, {.infer = with_attrs<RepeatAttrs, repeat_infer>, .cost = copy_cost}};

constexpr OpDef concat{facts::concat, {.infer = with_attrs<ConcatAttrs, concat_infer>, .cost = copy_cost}};

constexpr OpDef pad{facts::pad, {.infer = with_attrs<PadAttrs, pad_infer>, .cost = copy_cost}};

constexpr OpDef pad_reflect_1d{facts::pad_reflect_1d, {.infer = with_attrs<PadReflect1dAttrs, pad_reflect_1d_infer>, .cost = copy_cost}};

constexpr OpDef roll{facts::roll, {.infer = with_attrs<RollAttrs, roll_infer>, .cost = copy_cost}};

}  // namespace tensorlib::core::ops
