// Operations that move elements, described in layout.toml.
#include "base/fail.hpp"
#include "graph/overlap.hpp"
#include "ops/elementwise.hpp"
#include "ops/indices.hpp"
#include "ops/numbers.hpp"
#include "ops/window.hpp"

#include <algorithm>
#include <cmath>

namespace tensorlib::core::ops {

namespace {

// At least `least` dimensions; trailing dimensions of one element beyond these are not counted.
Layout contiguous_like(const char *op, DType type, const Extents &ne, std::int32_t least) {
    auto n_dims = static_cast<std::size_t>(least);
    for (std::size_t d = n_dims; d < max_dims; d++) {
        if (ne[d] != 1) n_dims = d + 1;
    }
    return contiguous_layout(op, type, std::span(ne).first(n_dims));
}

// a + b for non-negative a and b; fails if the sum overflows.
std::int64_t extent_sum(const OpFacts &def, std::span<Tensor *const> src, std::int64_t a, std::int64_t b) {
    if (b <= INT64_MAX - a) return a + b;
    fail(Status::invalid_argument, "%s: %s: an extent of %lld and %lld more is beyond 2^63 - 1", def.name, operands_text(def, src).c_str(),
         shown(a), shown(b));
}

void repeat_infer(std::span<Tensor *const> src, const RepeatAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const Extents ne = attrs.ne.extents();
    for (std::size_t d = 0; d < max_dims; d++) {
        const std::int64_t n = a.layout.ne[d];
        if (n == 0 ? ne[d] == 0 : ne[d] % n == 0) continue;
        fail(Status::shape_mismatch, "repeat: a is %s, ne[%zu] is %lld: a multiple of %lld is valid", tensor_text(a).c_str(), d,
             shown(ne[d]), shown(n));
    }
    result.layout = contiguous_like("repeat", a.layout.type, ne, a.layout.n_dims);
}

void concat_infer(std::span<Tensor *const> src, const ConcatAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    const auto dim = static_cast<std::size_t>(attrs.dim);
    const auto operands = [&] { return operands_text(facts::concat, src); };
    Extents ne = a.ne;
    std::int32_t n_dims = a.n_dims;
    for (const Tensor *part : src.subspan(1)) {
        const Layout &b = part->layout;
        if (a.type != b.type) fail(Status::type_mismatch, "concat: %s: both must have one type", operands().c_str());
        for (std::size_t d = 0; d < max_dims; d++) {
            if (d == dim || ne[d] == b.ne[d]) continue;
            fail(Status::shape_mismatch, "concat: %s, dim is %zu: dimension %zu has %lld and %lld elements, and must have as many",
                 operands().c_str(), dim, d, shown(ne[d]), shown(b.ne[d]));
        }
        ne[dim] = extent_sum(facts::concat, src, ne[dim], b.ne[dim]);
        n_dims = std::max(n_dims, b.n_dims);
    }
    result.layout = contiguous_like("concat", a.type, ne, n_dims);
}

void flip_infer(std::span<Tensor *const> src, const FlipAttrs &attrs, NodeSpec &result) {
    if (attrs.dim == 0) check_without_blocks(facts::flip, src);
    const Layout &a = src[0]->layout;
    result.layout = contiguous_like("flip", a.type, a.ne, a.n_dims);
}

void pad_infer(std::span<Tensor *const> src, const PadAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    const std::int64_t block = traits(a.type).block_size;
    Extents ne = a.ne;
    for (std::size_t d = 0; d < max_dims; d++) {
        const std::int64_t before = attrs.lp.values[d], behind = attrs.p.values[d];
        if (d == 0 && (before % block != 0 || behind % block != 0)) {
            fail(Status::invalid_argument, "pad: %s, lp[0] is %lld, p[0] is %lld: multiples of its block size %lld are valid",
                 operands_text(facts::pad, src).c_str(), shown(before), shown(behind), shown(block));
        }
        if (attrs.circular && ne[d] == 0 && (before > 0 || behind > 0)) {
            fail(Status::shape_mismatch,
                 "pad: %s, circular, lp[%zu] is %lld, p[%zu] is %lld: a dimension with an element is valid, which repeats",
                 operands_text(facts::pad, src).c_str(), d, shown(before), d, shown(behind));
        }
        ne[d] = extent_sum(facts::pad, src, extent_sum(facts::pad, src, ne[d], before), behind);
    }
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

void diag_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    check_without_blocks(facts::diag, src);
    if (a.ne[1] != 1) {
        fail(Status::shape_mismatch, "diag: %s: dimension 1 must have one element, as a is rows that become diagonals",
             operands_text(facts::diag, src).c_str());
    }
    result.layout = contiguous_like("diag", a.type, {a.ne[0], a.ne[0], a.ne[2], a.ne[3]}, std::max(2, a.n_dims));
}

void tri_infer(std::span<Tensor *const> src, const TriAttrs &, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    check_without_blocks(facts::tri, src);
    result.layout = contiguous_like("tri", a.type, a.ne, a.n_dims);
}

template <class A>
void mask_infer(std::span<Tensor *const> src, const A &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const Layout &a = src[0]->layout;
    check_floats(def, src);
    result.layout = contiguous_like(def.name, a.type, a.ne, a.n_dims);
}

// The window that b occupies in a result. Strides that are left out are the result's.
template <class A>
Window window_in(const Layout &result, const Tensor &b, const A &attrs) noexcept {
    Window window{b.layout, static_cast<std::size_t>(attrs.offset)};
    window.layout.type = result.type;
    window.layout.nb[0] = result.nb[0];
    const std::int64_t strides[] = {attrs.nb1, attrs.nb2, attrs.nb3};
    for (std::size_t d = 1; d < max_dims; d++)
        window.layout.nb[d] = strides[d - 1] ? static_cast<std::size_t>(strides[d - 1]) : result.nb[d];
    return window;
}

// Shared by acc and set, after they have checked the types.
template <class A>
void window_infer(const OpFacts &def, std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    result.layout = contiguous_like(def.name, a.type, a.ne, a.n_dims);
    const Window window = window_in(result.layout, *src[1], attrs);
    const Strides &nb = window.layout.nb;
    const auto given = [&] {
        return operands_text(def, src) +
               format_text(", the window's strides are %zu, %zu, %zu, its offset is %zu", nb[1], nb[2], nb[3], window.offset);
    };
    const std::size_t size = traits(a.type).size;
    if (window.offset % size != 0 || nb[1] % size != 0 || nb[2] % size != 0 || nb[3] % size != 0)
        fail(Status::invalid_argument, "%s: %s: multiples of %s's size %zu are valid", def.name, given().c_str(), traits(a.type).name,
             size);
    std::size_t end;
    if (!window.layout.end_from(window.offset, end) || end > result.layout.nbytes())
        fail(Status::invalid_argument, "%s: %s: it ends past the result, which has %zu bytes", def.name, given().c_str(),
             result.layout.nbytes());
    if (overlaps_itself(window.layout) != Overlap::no) {
        fail(Status::invalid_argument,
             "%s: %s: two of its elements share memory; strides where each is at least the extent of those below it are valid", def.name,
             given().c_str());
    }
}

void acc_infer(std::span<Tensor *const> src, const AccAttrs &attrs, NodeSpec &result) {
    check_floats(facts::acc, src);
    window_infer(facts::acc, src, attrs, result);
}

void set_infer(std::span<Tensor *const> src, const SetAttrs &attrs, NodeSpec &result) {
    if (src[0]->layout.type != src[1]->layout.type)
        fail(Status::type_mismatch, "set: %s: both must have one type", operands_text(facts::set, src).c_str());
    window_infer(facts::set, src, attrs, result);
}

void gather_infer(std::span<Tensor *const> src, const GatherAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout, &indices = src[1]->layout;
    check_without_blocks(facts::gather, src);
    check_indices(facts::gather, src, 1);
    for (std::size_t d = 0; d < max_dims; d++) {
        if (d == static_cast<std::size_t>(attrs.dim) || indices.ne[d] <= a.ne[d]) continue;
        fail(Status::shape_mismatch, "gather: %s, dim is %lld: in dimension %zu indices must have no more elements than a, %lld",
             operands_text(facts::gather, src).c_str(), shown(attrs.dim), d, shown(a.ne[d]));
    }
    result.layout = contiguous_like("gather", a.type, indices.ne, indices.n_dims);
}

unsigned gather_checked(const Tensor &) noexcept { return 1u << 1; }
std::string gather_valid(const Tensor &node, int) {
    return valid_indices("indices", node.src[0]->layout.ne[static_cast<std::size_t>(attrs_of<GatherAttrs>(node).dim)]);
}

// Writes the result, reads as many bytes of a, and reads the indices.
Cost gather_cost(const Tensor &node) { return {0, static_cast<double>(2 * node.layout.nbytes() + node.src[1]->layout.nbytes())}; }

void scatter_add_infer(std::span<Tensor *const> src, const ScatterAddAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout, &b = src[1]->layout, &indices = src[2]->layout;
    const bool numbers = is_number(a.type) && b.type == a.type, floats = a.type == DType::f32 && is_float(b.type);
    if (!numbers && !floats) {
        fail(Status::type_mismatch,
             "scatter_add: %s: a f32 and b f32, f16 or bf16, or both i32, i64 or f64 are valid: sums of many elements have more digits "
             "than 16 bits hold",
             operands_text(facts::scatter_add, src).c_str());
    }
    check_indices(facts::scatter_add, src, 2);
    for (std::size_t d = 0; d < max_dims; d++) {
        if (d != static_cast<std::size_t>(attrs.dim) && b.ne[d] > a.ne[d]) {
            fail(Status::shape_mismatch, "scatter_add: %s, dim is %lld: in dimension %zu b must have no more elements than a, %lld",
                 operands_text(facts::scatter_add, src).c_str(), shown(attrs.dim), d, shown(a.ne[d]));
        }
        if (indices.ne[d] == 0 ? b.ne[d] != 0 : b.ne[d] % indices.ne[d] != 0) {
            fail(Status::shape_mismatch, "scatter_add: %s: dimension %zu of indices must be 1 or divide that of b",
                 operands_text(facts::scatter_add, src).c_str(), d);
        }
    }
    result.layout = contiguous_like("scatter_add", a.type, a.ne, a.n_dims);
}

unsigned scatter_add_checked(const Tensor &) noexcept { return 1u << 2; }
std::string scatter_add_valid(const Tensor &node, int) {
    return valid_indices("indices", node.layout.ne[static_cast<std::size_t>(attrs_of<ScatterAddAttrs>(node).dim)]);
}

// Copies a to the result, reads b and the indices, then reads and writes an element of the result for each element of
// b.
Cost scatter_add_cost(const Tensor &node) {
    const auto n = static_cast<double>(node.src[1]->layout.n_elements());
    return {n, copy_cost(node).bytes + 2 * n * static_cast<double>(traits(node.layout.type).size)};
}

void add_id_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Extents &na = src[0]->layout.ne, &nb = src[1]->layout.ne, &ni = src[2]->layout.ne;
    check_floats(facts::add_id, src.first(2));
    check_indices(facts::add_id, src, 2);
    if (nb[0] != na[0] || nb[2] != 1 || nb[3] != 1 || ni[0] != na[1] || ni[1] != na[2] || ni[2] != 1 || ni[3] != 1 || na[3] != 1) {
        fail(Status::shape_mismatch, "add_id: %s: a {n, used, tokens}, b {n, experts} and ids {used, tokens} are valid",
             operands_text(facts::add_id, src).c_str());
    }
    result.layout = contiguous_like("add_id", src[0]->layout.type, na, src[0]->layout.n_dims);
}

unsigned add_id_checked(const Tensor &) noexcept { return 1u << 2; }
std::string add_id_valid(const Tensor &node, int) { return valid_indices("rows of b", node.src[1]->layout.ne[1]); }

// Reads a, a row of b for each row, and the indices; writes the result.
Cost add_id_cost(const Tensor &node) {
    const double rows = static_cast<double>(node.layout.n_rows()), b_row = static_cast<double>(node.src[1]->layout.row_bytes());
    return {static_cast<double>(node.layout.n_elements()),
            static_cast<double>(node.layout.nbytes() + node.src[0]->layout.nbytes() + node.src[2]->layout.nbytes()) + rows * b_row};
}

// The number of elements: fewer than 2^53, where doubles represent every integer.
std::int64_t count_of(const ArangeAttrs &attrs) {
    const auto given = [&] { return format_text("start is %.12g, stop is %.12g, step is %.12g", attrs.start, attrs.stop, attrs.step); };
    if (!std::isfinite(attrs.start) || !std::isfinite(attrs.stop) || !std::isfinite(attrs.step))
        fail(Status::invalid_argument, "arange: %s: finite numbers are valid", given().c_str());
    if (attrs.step == 0 || (attrs.stop - attrs.start) / attrs.step < 0)
        fail(Status::invalid_argument, "arange: %s: a step that leads from start to stop is valid", given().c_str());
    const double n = std::ceil((attrs.stop - attrs.start) / attrs.step);
    constexpr double most = 9007199254740992.0;
    if (!(n < most)) fail(Status::invalid_argument, "arange: %s: that are %.12g numbers: fewer than 2^53 are valid", given().c_str(), n);
    return static_cast<std::int64_t>(n);
}

void arange_infer(std::span<Tensor *const>, const ArangeAttrs &attrs, NodeSpec &result) {
    const std::int64_t n = count_of(attrs);
    result.layout = contiguous_layout("arange", DType::f32, {&n, 1});
}

Cost arange_cost(const Tensor &node) {
    return {2 * static_cast<double>(node.layout.n_elements()), static_cast<double>(node.layout.nbytes())};
}

// Copies a to the result, reads b, then reads and writes the window.
Cost acc_cost(const Tensor &node) {
    const auto n = static_cast<double>(node.src[1]->layout.n_elements()), size = static_cast<double>(traits(node.layout.type).size);
    return {n, copy_cost(node).bytes + 2 * n * size};
}

Cost set_cost(const Tensor &node) { return {0, copy_cost(node).bytes + static_cast<double>(node.src[1]->layout.nbytes())}; }

}  // namespace

Window window_of(const Tensor &node) noexcept {
    if (node.op == Op::acc) return window_in(node.layout, *node.src[1], attrs_of<AccAttrs>(node));
    return window_in(node.layout, *node.src[1], attrs_of<SetAttrs>(node));
}

constexpr OpDef repeat{facts::repeat, {.infer = with_attrs<RepeatAttrs, repeat_infer>, .cost = copy_cost}};

constexpr OpDef concat{facts::concat, {.infer = with_attrs<ConcatAttrs, concat_infer>, .cost = copy_cost}};

constexpr OpDef flip{facts::flip, {.infer = with_attrs<FlipAttrs, flip_infer>, .cost = copy_cost}};

constexpr OpDef pad{facts::pad, {.infer = with_attrs<PadAttrs, pad_infer>, .cost = copy_cost}};

constexpr OpDef pad_reflect_1d{facts::pad_reflect_1d, {.infer = with_attrs<PadReflect1dAttrs, pad_reflect_1d_infer>, .cost = copy_cost}};

constexpr OpDef roll{facts::roll, {.infer = with_attrs<RollAttrs, roll_infer>, .cost = copy_cost}};

constexpr OpDef diag{facts::diag, {.infer = diag_infer, .cost = copy_cost}};

constexpr OpDef tri{facts::tri, {.infer = with_attrs<TriAttrs, tri_infer>, .cost = copy_cost}};

constexpr OpDef diag_mask_inf{facts::diag_mask_inf,
                              {.infer = with_attrs<DiagMaskInfAttrs, mask_infer<DiagMaskInfAttrs>>, .cost = copy_cost}};

constexpr OpDef diag_mask_zero{facts::diag_mask_zero,
                               {.infer = with_attrs<DiagMaskZeroAttrs, mask_infer<DiagMaskZeroAttrs>>, .cost = copy_cost}};

constexpr OpDef acc{facts::acc, {.infer = with_attrs<AccAttrs, acc_infer>, .cost = acc_cost}};

constexpr OpDef set{facts::set, {.infer = with_attrs<SetAttrs, set_infer>, .cost = set_cost}};

constexpr OpDef gather{facts::gather,
                       {.infer = with_attrs<GatherAttrs, gather_infer>,
                        .cost = gather_cost,
                        .checked_operands = gather_checked,
                        .valid_values = gather_valid}};

constexpr OpDef scatter_add{facts::scatter_add,
                            {.infer = with_attrs<ScatterAddAttrs, scatter_add_infer>,
                             .cost = scatter_add_cost,
                             .checked_operands = scatter_add_checked,
                             .valid_values = scatter_add_valid}};

constexpr OpDef add_id{facts::add_id,
                       {.infer = add_id_infer, .cost = add_id_cost, .checked_operands = add_id_checked, .valid_values = add_id_valid}};

constexpr OpDef arange{facts::arange, {.infer = with_attrs<ArangeAttrs, arange_infer>, .cost = arange_cost}};

}  // namespace tensorlib::core::ops
