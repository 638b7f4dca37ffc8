#include "base/utf8.hpp"
#include "nodes.hpp"
#include "ops/elementwise.hpp"

#include <array>
#include <vector>

using namespace tensorlib;
using capi::build;
using capi::constructed;
using capi::guarded;
using capi::operands_of;
using capi::required;
using capi::required_tensor;
using capi::shape_of;
using capi::unwrap_operand;
using core::Attr;
using core::Op;

namespace {

// A size as an attribute; a size that does not fit an integer is too large for any view.
int64_t to_integer(const char *op, const char *name, size_t value) {
    if (value > static_cast<size_t>(INT64_MAX))
        core::fail(Status::invalid_argument, "%s: %s is %zu: more than memory has", op, name, value);
    return static_cast<int64_t>(value);
}

// The whole function of an operation on a list of tensors, with one attribute.
tl_tensor *of_list(tl_context *ctx, Op op, tl_tensor *const *tensors, size_t n_tensors, const Attr &attr) {
    return constructed(ctx, [&](core::Context &context) {
        return core::build_node(context, op, operands_of(core::op_def(op), "tensors", tensors, n_tensors), {&attr, 1});
    });
}

// Converts a tl_attr to the engine's attribute, whose pointers remain the caller's.
Attr converted(const char *op, const tl_attr &given) {
    Attr attr;
    attr.name = required(given.name, op, "an attribute's name");
    switch (given.kind) {
        case TL_ATTR_INTS:
            attr.kind = core::AttrKind::ints;
            if (given.n_ints < 1 || given.n_ints > Attr::max_ints) {
                core::fail(Status::invalid_argument, "%s: attribute %s has n_ints %d: 1 to %d are valid", op,
                           core::shown(attr.name).c_str(), given.n_ints, Attr::max_ints);
            }
            attr.n_ints = given.n_ints;
            for (int i = 0; i < given.n_ints; i++) attr.ints[static_cast<std::size_t>(i)] = given.ints[i];
            break;
        case TL_ATTR_NUMBER:
            attr.kind = core::AttrKind::number;
            attr.number = given.number;
            break;
        case TL_ATTR_TEXT:
            attr.kind = core::AttrKind::text;
            attr.text = required(given.text, op, "an attribute's text");
            break;
        default:
            core::fail(Status::invalid_argument, "%s: attribute %s has kind %d: TL_ATTR_INTS, _NUMBER and _TEXT are valid", op,
                       core::shown(attr.name).c_str(), given.kind);
    }
    return attr;
}

}  // namespace

tl_tensor *tl_mul_mat(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::mul_mat, {a, b}); }

tl_tensor *tl_mul_mat_exact(tl_context *ctx, tl_tensor *a, tl_tensor *b) {
    const Attr exact = Attr::of_int("exact", 1);
    return build<2>(ctx, Op::mul_mat, {a, b}, {&exact, 1});
}

tl_tensor *tl_mul_mat_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids) { return build<3>(ctx, Op::mul_mat_id, {a, b, ids}); }

tl_tensor *tl_view(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne, const size_t *nb, size_t offset) {
    return constructed(ctx, [&](core::Context &context) {
        std::array<Attr, 3> attrs{Attr::of_ints("ne", shape_of("view", n_dims, ne)),
                                  Attr::of_int("offset", to_integer("view", "offset", offset))};
        std::size_t n_attrs = 2;
        if (nb && n_dims > 1) {
            std::array<int64_t, core::max_dims> strides{};
            const auto n = static_cast<std::size_t>(n_dims - 1);
            for (std::size_t i = 0; i < n; i++) strides[i] = to_integer("view", "a stride", nb[i]);
            attrs[n_attrs++] = Attr::of_ints("nb", {strides.data(), n});
        }
        core::Tensor *src[] = {unwrap_operand(a)};
        return core::build_node(context, Op::view, src, {attrs.data(), n_attrs});
    });
}

tl_tensor *tl_slice(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *start, const int64_t *ne) {
    return constructed(ctx, [&](core::Context &context) {
        required(start, "slice", "start");
        const std::array<Attr, 2> attrs{Attr::of_ints("ne", shape_of("slice", n_dims, ne)),
                                        Attr::of_ints("start", shape_of("slice", n_dims, start))};
        core::Tensor *src[] = {unwrap_operand(a)};
        return core::build_node(context, Op::view, src, attrs);
    });
}

tl_tensor *tl_narrow(tl_context *ctx, tl_tensor *a, int32_t dim, int64_t start, int64_t length) {
    return constructed(ctx, [&](core::Context &context) { return core::build_narrow(context, unwrap_operand(a), dim, start, length); });
}

tl_tensor *tl_index(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *begin, const int64_t *end, uint32_t dropped) {
    return constructed(ctx, [&](core::Context &context) {
        if (n_dims < 0 || n_dims > core::max_dims) core::fail(Status::invalid_argument, "index: n_dims is %d: 0 to 4 are valid", n_dims);
        if (n_dims > 0) required(begin, "index", "begin"), required(end, "index", "end");
        if (dropped >> n_dims != 0) {
            core::fail(Status::invalid_argument, "index: dropped is %u, n_dims is %d: bits of the first n_dims dimensions are valid",
                       dropped, n_dims);
        }
        std::vector<core::IndexRange> ranges;
        for (int d = 0; d < n_dims; d++) ranges.push_back({begin[d], end[d], (dropped >> d & 1) != 0});
        return core::build_index(context, unwrap_operand(a), ranges);
    });
}

tl_tensor *tl_reshape(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attr = Attr::of_ints("ne", shape_of("reshape", n_dims, ne));
        core::Tensor *src[] = {unwrap_operand(a)};
        return core::build_node(context, Op::reshape, src, {&attr, 1});
    });
}

tl_tensor *tl_permute(tl_context *ctx, tl_tensor *a, const int32_t *axes) {
    return constructed(ctx, [&](core::Context &context) {
        required(axes, "permute", "axes");
        const std::array<int64_t, core::max_dims> wide{axes[0], axes[1], axes[2], axes[3]};
        const Attr attr = Attr::of_ints("axes", wide);
        core::Tensor *src[] = {unwrap_operand(a)};
        return core::build_node(context, Op::permute, src, {&attr, 1});
    });
}

tl_tensor *tl_cast(tl_context *ctx, tl_tensor *a, tl_type type) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attr = Attr::of_text("to", core::traits_numbered("cast", type).name);
        core::Tensor *src[] = {unwrap_operand(a)};
        return core::build_node(context, Op::cast, src, {&attr, 1});
    });
}

tl_tensor *tl_cat(tl_context *ctx, tl_tensor *const *tensors, size_t n_tensors, int64_t dim) {
    return of_list(ctx, Op::cat, tensors, n_tensors, Attr::of_int("dim", dim));
}

tl_tensor *tl_stack(tl_context *ctx, tl_tensor *const *tensors, size_t n_tensors, int64_t dim) {
    return of_list(ctx, Op::stack, tensors, n_tensors, Attr::of_int("dim", dim));
}

tl_tensor *tl_einsum(tl_context *ctx, const char *equation, tl_tensor *const *tensors, size_t n_tensors) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attr = Attr::of_text("equation", required(equation, "einsum", "equation"));
        return core::build_node(context, Op::einsum, operands_of(core::op_def(Op::einsum), "tensors", tensors, n_tensors), {&attr, 1});
    });
}

tl_status tl_refuse_tiles(const char *op, const tl_tensor *a, const tl_tensor *b, tl_error *err) {
    return guarded(err, [&] {
        const core::OpDef &def = core::op_named(required(op, "refuse_tiles", "op"));
        if (def.operands.size() != 2)
            core::fail(Status::invalid_argument, "refuse_tiles: op is %s: an operation with operands a and b is valid, such as add",
                       def.name);
        core::ops::refuse_tiles(def, required_tensor(a, def.name, "a"), required_tensor(b, def.name, "b"));
    });
}

tl_tensor *tl_op(tl_context *ctx, const char *op, tl_tensor *const *src, size_t n_src, const tl_attr *attrs, size_t n_attrs) {
    return constructed(ctx, [&](core::Context &context) {
        const core::OpDef &def = core::op_named(required(op, "op", "op"));
        const std::vector<core::Tensor *> operands = operands_of(def, "src", src, n_src);
        // No operation has more attributes, so one of them would be unknown or given twice.
        constexpr size_t most = core::Attrs::most;
        if (n_attrs > most)
            core::fail(Status::invalid_argument, "%s: %zu attributes: no operation has more than %zu", def.name, n_attrs, most);
        if (n_attrs > 0) required(attrs, def.name, "attrs");
        std::vector<Attr> known;
        for (size_t i = 0; i < n_attrs; i++) known.push_back(converted(def.name, attrs[i]));
        return core::build_node(context, def.op, operands, known);
    });
}

tl_tensor *tl_none(void) { return capi::wrap(core::left_out()); }

size_t tl_op_count(void) { return core::all_ops().size(); }

const char *tl_op_name(size_t index) { return index < core::all_ops().size() ? core::all_ops()[index]->name : nullptr; }
