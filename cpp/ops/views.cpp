// Operations that only describe memory, as views.toml says.
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "ops/composed.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <array>

namespace tensorlib::core::ops {

namespace {

void slice_infer(const Tensor &a, const ViewAttrs &attrs, NodeSpec &result) {
    const auto ne = attrs.ne.span(), start = attrs.start.span();
    if (attrs.nb.n != 0 || attrs.offset != 0) {
        fail(Status::invalid_argument, "view: start is given, and so is nb or offset: a slice has a's strides, and start alone says where");
    }
    if (start.size() != ne.size() || ne.size() < static_cast<std::size_t>(a.layout.n_dims)) {
        fail(Status::invalid_argument, "view: start has %zu values, ne %zu: one for each of a's %d dimensions is valid (a is %s)",
             start.size(), ne.size(), a.layout.n_dims, tensor_text(a).c_str());
    }
    Layout layout = a.layout;
    layout.n_dims = static_cast<std::int32_t>(ne.size());
    std::size_t offset = 0;
    for (std::size_t d = 0; d < ne.size(); d++) {
        const std::int64_t size = a.layout.ne[d], block = d == 0 ? traits(layout.type).block_size : 1;
        if (start[d] < 0 || ne[d] < 0 || start[d] > size || ne[d] > size - start[d]) {
            fail(Status::invalid_argument, "view: %lld elements from %lld on in dimension %zu of a, which is %s: 0 to %lld are there",
                 static_cast<long long>(ne[d]), static_cast<long long>(start[d]), d, tensor_text(a).c_str(), static_cast<long long>(size));
        }
        if (start[d] % block != 0 || ne[d] % block != 0) {
            fail(Status::invalid_argument,
                 "view: %lld elements from %lld on in dimension 0 of a, which is %s: multiples of its block size %lld are valid",
                 static_cast<long long>(ne[d]), static_cast<long long>(start[d]), tensor_text(a).c_str(), static_cast<long long>(block));
        }
        layout.ne[d] = ne[d];
        offset += static_cast<std::size_t>(start[d] / block) * a.layout.nb[d];
    }
    result.layout = layout;
    // An empty slice lies where a does, because its own offset may be past the end.
    result.view_offset = layout.n_elements() == 0 ? 0 : offset;
}

void view_infer(std::span<Tensor *const> src, const ViewAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    if (attrs.start.n != 0) return slice_infer(a, attrs, result);
    const auto ne = attrs.ne.span(), nb = attrs.nb.span();
    const std::int64_t offset = attrs.offset;
    Layout layout = contiguous_layout("view", a.layout.type, ne);
    if (!nb.empty() && nb.size() + 1 != ne.size()) {
        fail(Status::invalid_argument, "view: nb has %zu strides: one less than ne has dimensions (%zu) is valid", nb.size(), ne.size());
    }
    for (std::size_t d = 0; d < nb.size(); d++) {
        const auto size = static_cast<std::int64_t>(traits(a.layout.type).size);
        // Kernels load whole elements, so a stride must keep elements aligned for their type.
        if (nb[d] < 0 || nb[d] % size != 0) {
            fail(Status::invalid_argument, "view: nb[%zu] is %lld: a multiple of %s's size %lld is valid", d + 1,
                 static_cast<long long>(nb[d]), traits(a.layout.type).name, static_cast<long long>(size));
        }
        layout.nb[d + 1] = static_cast<std::size_t>(nb[d]);
    }
    if (!nb.empty()) {
        // Unused dimensions continue the last given stride.
        for (std::size_t d = ne.size(); d < max_dims; d++) {
            std::size_t next = 0;
            if (!checked_mul(layout.nb[d - 1], static_cast<std::size_t>(layout.ne[d - 1]), next)) next = layout.nb[d - 1];
            layout.nb[d] = next;
        }
    }
    const auto unit = static_cast<std::int64_t>(traits(a.layout.type).size);
    if (offset < 0 || offset % unit != 0) {
        fail(Status::invalid_argument, "view: offset is %lld: a multiple of %s's size %lld is valid", static_cast<long long>(offset),
             traits(a.layout.type).name, static_cast<long long>(unit));
    }
    const std::size_t available = a.root->layout.nbytes() - a.root_offset;
    std::size_t end;
    if (!layout.end_from(static_cast<std::size_t>(offset), end) || end > available) {
        fail(Status::invalid_argument,
             "view: shape %s with strides %zu, %zu, %zu at offset %lld ends past %s, which has %zu bytes from there",
             shape_text(layout.ne).c_str(), layout.nb[1], layout.nb[2], layout.nb[3], static_cast<long long>(offset),
             tensor_text(a).c_str(), available);
    }
    result.layout = layout;
    result.view_offset = static_cast<std::size_t>(offset);
}

// Replaces -1 by the extent that the other extents leave of a's elements.
Extents with_open_extent(const Tensor &a, std::span<const std::int64_t> asked) {
    Extents ne{1, 1, 1, 1};
    std::copy(asked.begin(), asked.end(), ne.begin());
    const auto open = std::find(ne.begin(), ne.end(), -1);
    if (open == ne.end()) return ne;
    const std::int64_t n = a.layout.n_elements();
    std::size_t others = 1;
    bool fits = std::count(ne.begin(), ne.end(), -1) == 1;
    for (auto at = ne.begin(); at != ne.end(); ++at) {
        if (at != open) fits = fits && *at >= 0 && checked_mul(others, static_cast<std::size_t>(*at), others);
    }
    if (!fits || others == 0 || static_cast<std::uint64_t>(n) % others != 0) {
        fail(Status::shape_mismatch,
             "reshape: a is %s, with %lld elements, the new shape %s: one -1 is valid, where the other extents divide that",
             tensor_text(a).c_str(), static_cast<long long>(n), shape_text(ne).c_str());
    }
    *open = n / static_cast<std::int64_t>(others);
    return ne;
}

// Sets the strides with which the memory of `a` has its elements in the shape of `layout`; false if none do. Both have as
// many elements. Dimension 0 counts blocks, which stay whole.
bool set_strides(const Layout &a, Layout &layout) noexcept {
    if (a.n_elements() == 0) return true;
    const std::int64_t block = traits(a.type).block_size;
    const auto blocks = [&](const Extents &ne, std::size_t d) { return d == 0 ? ne[d] / block : ne[d]; };
    // Dimension d of a, and the elements of it and of those that continue its stride which are not in the new shape yet.
    std::size_t from = 0, stride = 0;
    std::int64_t left = 1;
    for (std::size_t d = 0; d < max_dims; d++) {
        std::int64_t n = blocks(layout.ne, d);
        if (left == 1 && n != 1) {
            while (blocks(a.ne, from) == 1) from++;
            stride = a.nb[from];
            left = blocks(a.ne, from++);
            for (; from < max_dims && (a.ne[from] == 1 || a.nb[from] == stride * static_cast<std::size_t>(left)); from++)
                left *= a.ne[from];
        }
        if (left % n != 0) return false;
        layout.nb[d] = d == 0 && n == 1 ? traits(a.type).size : stride;
        left /= n;
        stride = layout.nb[d] * static_cast<std::size_t>(n);
    }
    return true;
}

void reshape_infer(std::span<Tensor *const> src, const ReshapeAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const Extents ne = with_open_extent(a, attrs.ne.span());
    Layout layout = contiguous_layout("reshape", a.layout.type, std::span(ne).first(attrs.ne.span().size()));
    if (layout.n_elements() != a.layout.n_elements()) {
        fail(Status::shape_mismatch, "reshape: a is %s, with %lld elements, the new shape %s has %lld: they must be equal",
             tensor_text(a).c_str(), static_cast<long long>(a.layout.n_elements()), shape_text(layout.ne).c_str(),
             static_cast<long long>(layout.n_elements()));
    }
    if (!set_strides(a.layout, layout)) {
        fail(Status::invalid_argument, "reshape: a is %s and so not contiguous: no strides give it the shape %s: apply cont first",
             strided_text(a).c_str(), shape_text(layout.ne).c_str());
    }
    result.layout = layout;
}

void permute_layout(const char *op, const Tensor &a, std::span<const std::int64_t> axes, Layout &layout) {
    if (traits(a.layout.type).block_size != 1 && axes[0] != 0) {
        fail(Status::type_mismatch, "%s: a is %s: the blocks of its rows cannot be taken apart", op, tensor_text(a).c_str());
    }
    layout.type = a.layout.type;
    layout.n_dims = a.layout.n_dims;
    for (std::size_t d = 0; d < max_dims; d++) {
        const auto to = static_cast<std::size_t>(axes[d]);
        layout.ne[to] = a.layout.ne[d];
        layout.nb[to] = a.layout.nb[d];
        if (a.layout.ne[d] != 1 && static_cast<std::int32_t>(to) >= layout.n_dims) layout.n_dims = static_cast<std::int32_t>(to) + 1;
    }
}

void permute_infer(std::span<Tensor *const> src, const PermuteAttrs &attrs, NodeSpec &result) {
    const auto axes = attrs.axes.span();
    unsigned seen = 0;
    for (const std::int64_t axis : axes) {
        if (axis >= 0 && axis < max_dims) seen |= 1u << axis;
    }
    if (seen != 0xf) {
        fail(Status::invalid_argument, "permute: axes are %lld, %lld, %lld, %lld: a permutation of 0, 1, 2, 3 is valid",
             static_cast<long long>(axes[0]), static_cast<long long>(axes[1]), static_cast<long long>(axes[2]),
             static_cast<long long>(axes[3]));
    }
    permute_layout("permute", *src[0], axes, result.layout);
}

void transpose_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    constexpr std::array<std::int64_t, max_dims> axes{1, 0, 2, 3};
    permute_layout("transpose", *src[0], axes, result.layout);
}

void expand_infer(std::span<Tensor *const> src, const ExpandAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0];
    const Extents ne = attrs.ne.extents();
    // For its checks of the number of elements.
    contiguous_layout("expand", DType::i8, ne);
    result.layout = a.layout;
    for (std::size_t d = 0; d < max_dims; d++) {
        if (ne[d] == a.layout.ne[d]) continue;
        if (a.layout.ne[d] != 1) {
            fail(Status::shape_mismatch,
                 "expand: a is %s, ne[%zu] is %lld: %lld is valid, because only dimensions of 1 element are repeated",
                 tensor_text(a).c_str(), d, static_cast<long long>(ne[d]), static_cast<long long>(a.layout.ne[d]));
        }
        result.layout.ne[d] = ne[d];
        result.layout.nb[d] = 0;
        result.layout.n_dims = std::max(result.layout.n_dims, static_cast<std::int32_t>(d) + 1);
    }
}

// The operation with several results whose first one this is, or null.
const Tensor *several(const Tensor &a) noexcept {
    const Tensor *made = a.op == Op::view ? a.src[0] : nullptr;
    return made && op_def(made->op).n_results > 1 ? made : nullptr;
}

void result_infer(std::span<Tensor *const> src, const ResultAttrs &attrs, NodeSpec &result) {
    const Tensor *made = several(*src[0]);
    const int n_results = made ? op_def(made->op).n_results : 1;
    if (attrs.number >= n_results) {
        fail(Status::invalid_argument, "result: a is %s, number is %lld: %s has the results 0 to %d", tensor_text(*src[0]).c_str(),
             static_cast<long long>(attrs.number), made ? op_name(made->op) : op_name(src[0]->op), n_results - 1);
    }
    if (!made || attrs.number == 0) {
        result.layout = src[0]->layout;
        return;
    }
    const ResultPart part = op_def(made->op).part(*made, static_cast<int>(attrs.number));
    result.layout = part.layout;
    result.view_offset = part.offset;
}

void stop_gradient_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) { result.layout = src[0]->layout; }

}  // namespace

constexpr OpDef view{facts::view, {.infer = with_attrs<ViewAttrs, view_infer>, .cost = no_cost}};

constexpr OpDef reshape{facts::reshape, {.infer = with_attrs<ReshapeAttrs, reshape_infer>, .cost = no_cost}};

constexpr OpDef permute{facts::permute, {.infer = with_attrs<PermuteAttrs, permute_infer>, .cost = no_cost}};

constexpr OpDef transpose{facts::transpose, {.infer = transpose_infer, .cost = no_cost}};

constexpr OpDef expand{facts::expand, {.infer = with_attrs<ExpandAttrs, expand_infer>, .cost = no_cost}};

bool can_reshape(const Layout &a, const Extents &ne) noexcept {
    Layout layout;
    layout.ne = ne;
    return set_strides(a, layout);
}

constexpr OpDef result{facts::result, {.infer = with_attrs<ResultAttrs, result_infer>, .cost = no_cost}};

constexpr OpDef stop_gradient{facts::stop_gradient, {.infer = stop_gradient_infer, .cost = no_cost}};

}  // namespace tensorlib::core::ops

namespace tensorlib::core {

Tensor *build_narrow(Context &context, Tensor *a, std::int32_t dim, std::int64_t start, std::int64_t length) {
    if (!a) fail(Status::invalid_argument, "narrow: a is NULL");
    if (dim < 0 || dim >= max_dims) fail(Status::invalid_argument, "narrow: dim is %d: 0 to 3 are valid", dim);
    const auto d = static_cast<std::size_t>(dim), n_dims = std::max(d + 1, static_cast<std::size_t>(a->layout.n_dims));
    Extents starts{}, ne = a->layout.ne;
    starts[d] = start;
    ne[d] = length;
    const std::array<Attr, 2> attrs{Attr::of_ints("ne", std::span(ne).first(n_dims)),
                                    Attr::of_ints("start", std::span(starts).first(n_dims))};
    return build_node(context, Op::view, {&a, 1}, attrs);
}

}  // namespace tensorlib::core
