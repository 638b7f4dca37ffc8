// Operations that are made of others, of all families (class = "composed" in *.toml). They check their operands first,
// so that errors name them and not what they are made of. einsum.cpp has einsum.
#include "ops/composed.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tensorlib::core::ops {

Tensor *shaped(NodeBatch &nodes, Tensor *t, std::span<const std::int64_t> ne) {
    Extents all{1, 1, 1, 1};
    std::ranges::copy(ne, all.begin());
    if (!can_reshape(t->layout, all)) t = nodes.make(Op::cont, {t});
    return nodes.make(Op::reshape, {t}, {Attr::of_ints("ne", ne)});
}

Tensor *permuted(NodeBatch &nodes, Tensor *t, const std::array<std::int64_t, max_dims> &axes) {
    return nodes.make(Op::permute, {t}, {Attr::of_ints("axes", axes)});
}

Tensor *numbers(NodeBatch &nodes, double start, double step, std::int64_t n) {
    // Between the last number and the next one, so that rounding does not change how many there are.
    const double stop = n == 0 ? start : start + (static_cast<double>(n) - 0.5) * step;
    return nodes.make(Op::arange, {}, {Attr::of_number("start", start), Attr::of_number("stop", stop), Attr::of_number("step", step)});
}

Tensor *joined(NodeBatch &nodes, std::vector<Tensor *> parts, std::int64_t dim) {
    if (parts.size() == 1) return nodes.make(Op::cont, {parts[0]});
    while (parts.size() > 1) {
        std::vector<Tensor *> longer;
        for (std::size_t i = 0; i < parts.size(); i += max_sources) {
            const std::span<Tensor *const> some = std::span(parts).subspan(i, std::min(max_sources, parts.size() - i));
            const Attr along = Attr::of_int("dim", dim);
            longer.push_back(some.size() == 1 ? some[0] : nodes.make(Op::concat, some, {&along, 1}));
        }
        parts = std::move(longer);
    }
    return parts[0];
}

namespace {

std::span<const std::int64_t> first_dims(const Extents &ne, std::int64_t n_dims) noexcept {
    return std::span(ne).first(static_cast<std::size_t>(std::clamp<std::int64_t>(n_dims, 1, max_dims)));
}

// The shape of `a` with a dimension of 1 element inserted.
Extents with_dim(const char *op, const Tensor &a, std::int64_t dim) {
    if (a.layout.ne[max_dims - 1] != 1)
        fail(Status::shape_mismatch, "%s: a tensor is %s: at most 3 dimensions are valid, to which one is added", op,
             tensor_text(a).c_str());
    Extents ne = a.layout.ne;
    std::copy_backward(ne.begin() + dim, ne.end() - 1, ne.end());
    ne[static_cast<std::size_t>(dim)] = 1;
    return ne;
}

// The shape of `a` without a dimension.
Extents without_dim(const Tensor &a, std::int64_t dim) noexcept {
    Extents ne = a.layout.ne;
    std::copy(ne.begin() + dim + 1, ne.end(), ne.begin() + dim);
    ne.back() = 1;
    return ne;
}

void check_whole_blocks(const char *op, const Tensor &a, std::int64_t dim) {
    if (dim == 0 && traits(a.layout.type).block_size != 1)
        fail(Status::type_mismatch, "%s: a is %s, dim is 0: the blocks of its rows cannot be taken apart", op, tensor_text(a).c_str());
}

void check_type(const OpFacts &def, std::span<Tensor *const> src, std::size_t i, bool valid, const char *types) {
    if (!valid)
        fail(Status::type_mismatch, "%s: %s: %s must be %s", def.name, operands_text(def, src).c_str(), operand_at(def, i).name, types);
}

Tensor *unsqueezed(NodeBatch &nodes, const char *op, Tensor *a, std::int64_t dim) {
    check_whole_blocks(op, *a, dim);
    const Extents ne = with_dim(op, *a, dim);
    return shaped(nodes, a, first_dims(ne, std::max<std::int64_t>(a->layout.n_dims, dim) + 1));
}

Tensor *unsqueeze_compose(NodeBatch &nodes, std::span<Tensor *const> src, const UnsqueezeAttrs &attrs) {
    return unsqueezed(nodes, "unsqueeze", src[0], attrs.dim);
}

Tensor *without(NodeBatch &nodes, Tensor *a, std::int64_t dim) {
    const Extents ne = without_dim(*a, dim);
    return shaped(nodes, a, first_dims(ne, a->layout.n_dims - (dim < a->layout.n_dims ? 1 : 0)));
}

Tensor *squeeze_compose(NodeBatch &nodes, std::span<Tensor *const> src, const SqueezeAttrs &attrs) {
    const std::int64_t n = src[0]->layout.ne[static_cast<std::size_t>(attrs.dim)];
    if (n != 1) {
        fail(Status::shape_mismatch, "squeeze: a is %s, with %lld elements in dimension %lld: a dimension of 1 element is valid",
             tensor_text(*src[0]).c_str(), shown(n), shown(attrs.dim));
    }
    return without(nodes, src[0], attrs.dim);
}

Tensor *flatten_compose(NodeBatch &nodes, std::span<Tensor *const> src, const FlattenAttrs &attrs) {
    if (attrs.first > attrs.last) {
        fail(Status::invalid_argument, "flatten: first is %lld, last is %lld: a last dimension that is not before the first is valid",
             shown(attrs.first), shown(attrs.last));
    }
    const Layout &a = src[0]->layout;
    Extents ne{1, 1, 1, 1};
    std::int64_t n_dims = 0;
    for (std::int64_t d = 0; d < max_dims; d++) {
        const bool joined = d > attrs.first && d <= attrs.last;
        if (!joined && (d <= attrs.first || d < a.n_dims)) n_dims++;
        ne[static_cast<std::size_t>(std::max<std::int64_t>(n_dims - 1, 0))] *= a.ne[static_cast<std::size_t>(d)];
    }
    return shaped(nodes, src[0], first_dims(ne, n_dims));
}

// Where a range begins and ends, and -1 and -1 if a dimension of n elements lacks it.
IndexRange resolved(const IndexRange &range, std::int64_t n) noexcept {
    const auto from_end = [n](std::int64_t i) { return i < 0 ? std::max<std::int64_t>(i, -n - 1) + n : i; };
    const std::int64_t begin = from_end(range.begin);
    const std::int64_t end = range.drops ? (begin < n ? begin + 1 : begin) : range.end == INT64_MAX ? n : from_end(range.end);
    const bool fits = begin >= 0 && begin <= end && end <= n && (!range.drops || begin < n);
    return fits ? IndexRange{begin, end, range.drops} : IndexRange{-1, -1, range.drops};
}

// A view of a part, without the dimensions of single elements.
Tensor *part_of(NodeBatch &nodes, const char *op, Tensor *a, std::span<const IndexRange> ranges) {
    Extents start{}, ne = a->layout.ne, kept{1, 1, 1, 1};
    const auto n_dims = std::max<std::size_t>(ranges.size(), static_cast<std::size_t>(a->layout.n_dims));
    std::int64_t n_kept = 0;
    for (std::size_t d = 0; d < n_dims; d++) {
        const IndexRange given = d < ranges.size() ? ranges[d] : IndexRange{0, ne[d], false}, range = resolved(given, ne[d]);
        if (range.begin < 0) {
            const std::string what = given.drops ? format_text("index %lld", shown(given.begin))
                                                 : format_text("elements %lld to %lld", shown(given.begin), shown(given.end));
            fail(Status::invalid_argument, "%s: %s of dimension %zu of a, which is %s: it has the elements 0 to %lld", op, what.c_str(), d,
                 tensor_text(*a).c_str(), shown(ne[d] - 1));
        }
        if (range.drops) check_whole_blocks(op, *a, static_cast<std::int64_t>(d));
        start[d] = range.begin;
        ne[d] = range.end - range.begin;
        if (!range.drops) kept[static_cast<std::size_t>(n_kept++)] = ne[d];
    }
    Tensor *part = nodes.make(Op::view, {a},
                              {Attr::of_ints("ne", std::span(ne).first(n_dims)), Attr::of_ints("start", std::span(start).first(n_dims))});
    return n_kept == static_cast<std::int64_t>(n_dims) ? part : shaped(nodes, part, first_dims(kept, n_kept));
}

Tensor *select_compose(NodeBatch &nodes, std::span<Tensor *const> src, const SelectAttrs &attrs) {
    std::array<IndexRange, max_dims> ranges;
    ranges.fill({0, INT64_MAX, false});
    ranges[static_cast<std::size_t>(attrs.dim)] = {attrs.index, attrs.index, true};
    const auto n = static_cast<std::size_t>(std::max<std::int64_t>(attrs.dim + 1, src[0]->layout.n_dims));
    return part_of(nodes, "select", src[0], std::span(ranges).first(n));
}

// Rows of a matrix are what get_rows takes, so the dimensions before `dim` are joined to rows.
Tensor *index_select_compose(NodeBatch &nodes, std::span<Tensor *const> src, const IndexSelectAttrs &attrs) {
    Tensor *a = src[0], *indices = src[1];
    const DType type = a->layout.type, index_type = indices->layout.type;
    check_type(facts::index_select, src, 1, index_type == DType::i32 || index_type == DType::i64, "i32 or i64");
    const std::int64_t n = indices->layout.n_elements();
    if (n != indices->layout.ne[0]) {
        fail(Status::shape_mismatch, "index_select: %s: indices of one dimension are valid",
             operands_text(facts::index_select, src).c_str());
    }
    check_whole_blocks("index_select", *a, attrs.dim);
    const auto dim = static_cast<std::size_t>(attrs.dim);
    const std::int64_t n_dims = std::max<std::int64_t>(a->layout.n_dims, attrs.dim + 1);
    Extents ne = a->layout.ne;
    ne[dim] = n;
    if (dim == 0 || type == DType::f64) {
        Extents place{1, 1, 1, 1};
        place[dim] = n;
        Tensor *spread =
            nodes.make(Op::expand, {shaped(nodes, indices, first_dims(place, n_dims))}, {Attr::of_ints("ne", first_dims(ne, n_dims))});
        return nodes.make(Op::gather, {a, spread}, {Attr::of_int("dim", attrs.dim)});
    }
    Extents rows{1, a->layout.ne[dim], 1, 1};
    for (std::size_t d = 0; d < max_dims; d++) {
        if (d != dim) rows[d < dim ? 0 : 2] *= a->layout.ne[d];
    }
    // Dimensions after `dim` stay apart if they can.
    if (dim == 1) rows = a->layout.ne;
    Tensor *spread =
        nodes.make(Op::expand, {shaped(nodes, indices, Extents{n, 1, 1, 1})}, {Attr::of_ints("ne", Extents{n, rows[2], rows[3], 1})});
    Tensor *taken = nodes.make(Op::get_rows, {dim == 1 ? a : shaped(nodes, a, rows), spread});
    if (type == DType::f16 || type == DType::bf16) taken = nodes.make(Op::cast, {taken}, {Attr::of_text("to", traits(type).name)});
    return shaped(nodes, taken, first_dims(ne, n_dims));
}

// A tensor of the type of `a`, whose elements are the value, that broadcasts to the shape of `a`.
Tensor *filler(NodeBatch &nodes, Tensor *a, double value) {
    const DType type = a->layout.type;
    if (is_float(type) || is_number(type)) return nodes.make(Op::fill, {a}, {Attr::of_number("value", value)});
    // F32 represents all numbers of the integer types that have no arithmetic.
    return nodes.make(Op::cast, {numbers(nodes, value, 1, 1)}, {Attr::of_text("to", traits(type).name)});
}

Tensor *masked_fill_compose(NodeBatch &nodes, std::span<Tensor *const> src, const MaskedFillAttrs &attrs) {
    Tensor *a = src[0], *mask = src[1];
    const auto is_plain = [](const Tensor *t) {
        const Kind kind = traits(t->layout.type).kind;
        return kind == Kind::floating || kind == Kind::integer;
    };
    check_type(facts::masked_fill, src, 0, is_plain(a), "a float, an integer or bool");
    check_type(facts::masked_fill, src, 1, is_plain(mask), "a float, an integer or bool");
    check_represented(facts::masked_fill, *a, "value", attrs.value);
    for (std::size_t d = 0; d < max_dims; d++) {
        if (mask->layout.ne[d] == 1 || mask->layout.ne[d] == a->layout.ne[d]) continue;
        fail(Status::shape_mismatch, "masked_fill: %s: each extent of mask is that of a, or 1",
             operands_text(facts::masked_fill, src).c_str());
    }
    return nodes.make(Op::where, {mask, filler(nodes, a, attrs.value), a});
}

Tensor *one_hot_compose(NodeBatch &nodes, std::span<Tensor *const> src, const OneHotAttrs &attrs) {
    Tensor *indices = src[0];
    const DType type = indices->layout.type;
    check_type(facts::one_hot, src, 0, traits(type).kind == Kind::integer, "i8, i16, i32, i64, u8 or bool");
    // F32 represents all classes, and no other integer is rounded to one of them.
    Tensor *as_f32 = nodes.make(Op::cast, {indices}, {Attr::of_text("to", "f32")});
    return nodes.make(Op::eq, {numbers(nodes, 0, 1, attrs.classes), unsqueezed(nodes, "one_hot", as_f32, 0)});
}

// 1 where an element is not 0, otherwise 0; or the opposite.
Tensor *compared_with_0(NodeBatch &nodes, Tensor *a, Op op) {
    const DType type = a->layout.type;
    // All integers of smaller types have a number in F32.
    if (!is_number(type) && traits(type).kind == Kind::integer) a = nodes.make(Op::cast, {a}, {Attr::of_text("to", "f32")});
    return nodes.make(op, {a, nodes.make(Op::fill, {a}, {Attr::of_number("value", 0)})});
}

bool are_bools(std::span<Tensor *const> src) noexcept {
    return std::ranges::all_of(src, [](const Tensor *t) { return t->layout.type == DType::boolean; });
}

template <Op joined, Op bits>
Tensor *logical_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Attrs &) {
    if (are_bools(src)) return nodes.make(bits, {src[0], src[1]});
    Tensor *a = compared_with_0(nodes, src[0], Op::ne), *b = compared_with_0(nodes, src[1], Op::ne);
    return nodes.make(joined, {a, b});
}

Tensor *logical_not_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Attrs &) {
    if (are_bools(src)) return nodes.make(Op::bitwise_not, {src[0]});
    return compared_with_0(nodes, src[0], Op::eq);
}

Tensor *eye_compose(NodeBatch &nodes, std::span<Tensor *const>, const EyeAttrs &attrs) {
    Tensor *column = numbers(nodes, 0, 1, attrs.n);
    return nodes.make(Op::eq, {column, shaped(nodes, column, std::array<std::int64_t, 2>{1, attrs.n})});
}

Tensor *linspace_compose(NodeBatch &nodes, std::span<Tensor *const>, const LinspaceAttrs &attrs) {
    if (!std::isfinite(attrs.start) || !std::isfinite(attrs.stop))
        fail(Status::invalid_argument, "linspace: start is %.12g, stop is %.12g: finite numbers are valid", attrs.start, attrs.stop);
    const auto n = static_cast<double>(attrs.n);
    const double step = attrs.n > 1 ? attrs.stop / (n - 1) - attrs.start / (n - 1) : 0, stop = attrs.start + (n - 0.5) * step;
    // Where F64 cannot tell neighbours apart, all numbers are the same.
    if (step != 0 && std::isfinite(stop) && std::ceil((stop - attrs.start) / step) == n) return numbers(nodes, attrs.start, step, attrs.n);
    return nodes.make(Op::fill, {numbers(nodes, 0, 1, attrs.n)}, {Attr::of_number("value", attrs.start)});
}

// Fails if a tensor has another type than the first one, or another extent in a dimension other than `dim`.
void check_alike(const OpFacts &def, std::span<Tensor *const> src, std::int64_t dim) {
    const Layout &first = src[0]->layout;
    for (std::size_t i = 1; i < src.size(); i++) {
        const Layout &layout = src[i]->layout;
        if (layout.type != first.type) {
            fail(Status::type_mismatch, "%s: tensor 1 is %s, tensor %zu is %s: all must have one type", def.name,
                 tensor_text(*src[0]).c_str(), i + 1, tensor_text(*src[i]).c_str());
        }
        for (std::size_t d = 0; d < max_dims; d++) {
            if (static_cast<std::int64_t>(d) == dim || layout.ne[d] == first.ne[d]) continue;
            fail(Status::shape_mismatch,
                 "%s: tensor 1 is %s, tensor %zu is %s: dimension %zu has %lld and %lld elements, and must have as many", def.name,
                 tensor_text(*src[0]).c_str(), i + 1, tensor_text(*src[i]).c_str(), d, shown(first.ne[d]), shown(layout.ne[d]));
        }
    }
}

Tensor *cat_compose(NodeBatch &nodes, std::span<Tensor *const> src, const CatAttrs &attrs) {
    check_alike(facts::cat, src, attrs.dim);
    return joined(nodes, {src.begin(), src.end()}, attrs.dim);
}

Tensor *stack_compose(NodeBatch &nodes, std::span<Tensor *const> src, const StackAttrs &attrs) {
    check_alike(facts::stack, src, -1);
    std::vector<Tensor *> parts;
    for (Tensor *tensor : src) parts.push_back(unsqueezed(nodes, "stack", tensor, attrs.dim));
    return joined(nodes, std::move(parts), attrs.dim);
}

Tensor *timestep_embedding_compose(NodeBatch &nodes, std::span<Tensor *const> src, const TimestepEmbeddingAttrs &attrs) {
    check_floats(facts::timestep_embedding, src);
    const std::int64_t n = src[0]->layout.ne[0], half = attrs.dim / 2;
    if (src[0]->layout.n_elements() != n)
        fail(Status::shape_mismatch, "timestep_embedding: timesteps is %s: one dimension is valid", tensor_text(*src[0]).c_str());
    Tensor *times = nodes.make(Op::cast, {src[0]}, {Attr::of_text("to", "f32")});
    const double slope = half == 0 ? 0 : -std::log(static_cast<double>(attrs.max_period)) / static_cast<double>(half);
    Tensor *frequencies = nodes.make(Op::exp, {nodes.make(Op::scale, {numbers(nodes, 0, 1, half)}, {Attr::of_number("scale", slope)})});
    Tensor *angles = nodes.make(Op::mul, {frequencies, shaped(nodes, times, Extents{1, n, 1, 1})});
    const Attr along = Attr::of_int("dim", 0);
    const std::array waves{nodes.make(Op::cos, {angles}), nodes.make(Op::sin, {angles})};
    Tensor *rows = nodes.make(Op::concat, waves, {&along, 1});
    if (attrs.dim % 2 == 0) return rows;
    return nodes.make(Op::pad, {rows}, {Attr::of_ints("p", Extents{1, 0, 0, 0})});
}

}  // namespace

constexpr OpDef unsqueeze{facts::unsqueeze, {.compose = composed<UnsqueezeAttrs, unsqueeze_compose>}};

constexpr OpDef squeeze{facts::squeeze, {.compose = composed<SqueezeAttrs, squeeze_compose>}};

constexpr OpDef flatten{facts::flatten, {.compose = composed<FlattenAttrs, flatten_compose>}};

constexpr OpDef select{facts::select, {.compose = composed<SelectAttrs, select_compose>}};

constexpr OpDef index_select{facts::index_select, {.compose = composed<IndexSelectAttrs, index_select_compose>}};

constexpr OpDef masked_fill{facts::masked_fill, {.compose = composed<MaskedFillAttrs, masked_fill_compose>}};

constexpr OpDef one_hot{facts::one_hot, {.compose = composed<OneHotAttrs, one_hot_compose>}};

constexpr OpDef logical_and{facts::logical_and, {.compose = logical_compose<Op::mul, Op::bitwise_and>}};

constexpr OpDef logical_or{facts::logical_or, {.compose = logical_compose<Op::maximum, Op::bitwise_or>}};

constexpr OpDef logical_xor{facts::logical_xor, {.compose = logical_compose<Op::ne, Op::bitwise_xor>}};

constexpr OpDef logical_not{facts::logical_not, {.compose = logical_not_compose}};

constexpr OpDef eye{facts::eye, {.compose = composed<EyeAttrs, eye_compose>}};

constexpr OpDef linspace{facts::linspace, {.compose = composed<LinspaceAttrs, linspace_compose>}};

constexpr OpDef timestep_embedding{facts::timestep_embedding, {.compose = composed<TimestepEmbeddingAttrs, timestep_embedding_compose>}};

constexpr OpDef cat{facts::cat, {.compose = composed<CatAttrs, cat_compose>}};

constexpr OpDef stack{facts::stack, {.compose = composed<StackAttrs, stack_compose>}};

}  // namespace tensorlib::core::ops

namespace tensorlib::core {

Tensor *build_index(Context &context, Tensor *a, std::span<const IndexRange> ranges) {
    if (!a || a == left_out()) fail(Status::invalid_argument, "index: a is %s", a ? "left out" : "NULL");
    if (ranges.size() > max_dims)
        fail(Status::invalid_argument, "index: %zu ranges: up to 4 are valid, one for each dimension", ranges.size());
    NodeBatch nodes(context);
    Tensor *part = ops::part_of(nodes, "index", a, ranges);
    nodes.keep();
    return part;
}

}  // namespace tensorlib::core
