#include "handles.hpp"

#include "api/devices.hpp"
#include "graph/constants.hpp"
#include "graph/tensor_data.hpp"
#include "runtime/executor.hpp"
#include "runtime/memory_budget.hpp"

#include <span>

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::required_tensor;
using capi::unwrap;
using capi::wrap;

tl_tensor *tl_tensor_new(tl_context *ctx, tl_type type, int32_t n_dims, const int64_t *ne) {
    constexpr const char *function = "tensor_new";
    return capi::constructed(ctx, [&](core::Context &context) {
        const core::DTypeTraits &traits = core::traits_numbered(function, type);
        required(ne, function, "ne");
        if (n_dims < 1 || n_dims > core::max_dims)
            core::fail(Status::invalid_argument, "%s: n_dims is %d: 1 to 4 are valid", function, n_dims);
        return context.new_leaf(core::contiguous_layout(function, traits.type, {ne, static_cast<std::size_t>(n_dims)}));
    });
}

tl_tensor *tl_tensor_new_1d(tl_context *ctx, tl_type type, int64_t ne0) { return tl_tensor_new(ctx, type, 1, &ne0); }

tl_tensor *tl_tensor_new_2d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1) {
    const int64_t ne[] = {ne0, ne1};
    return tl_tensor_new(ctx, type, 2, ne);
}

tl_tensor *tl_tensor_new_3d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1, int64_t ne2) {
    const int64_t ne[] = {ne0, ne1, ne2};
    return tl_tensor_new(ctx, type, 3, ne);
}

tl_tensor *tl_tensor_new_4d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    const int64_t ne[] = {ne0, ne1, ne2, ne3};
    return tl_tensor_new(ctx, type, 4, ne);
}

tl_type tl_tensor_type(const tl_tensor *t) { return unwrap(t) ? static_cast<tl_type>(unwrap(t)->layout.type) : -1; }

int32_t tl_tensor_n_dims(const tl_tensor *t) { return unwrap(t) ? unwrap(t)->layout.n_dims : 0; }

int64_t tl_tensor_ne(const tl_tensor *t, int32_t dim) {
    return unwrap(t) && dim >= 0 && dim < core::max_dims ? unwrap(t)->layout.ne[static_cast<std::size_t>(dim)] : 0;
}

size_t tl_tensor_nb(const tl_tensor *t, int32_t dim) {
    return unwrap(t) && dim >= 0 && dim < core::max_dims ? unwrap(t)->layout.nb[static_cast<std::size_t>(dim)] : 0;
}

size_t tl_tensor_nbytes(const tl_tensor *t) { return unwrap(t) ? unwrap(t)->layout.nbytes() : 0; }

int64_t tl_tensor_n_elements(const tl_tensor *t) { return unwrap(t) ? unwrap(t)->layout.n_elements() : 0; }

const char *tl_tensor_op(const tl_tensor *t) { return unwrap(t) ? core::op_name(unwrap(t)->op) : nullptr; }

size_t tl_context_tensors(const tl_context *ctx, tl_tensor **tensors, size_t n) {
    if (!ctx) return 0;
    // A tl_tensor is the engine's object.
    return unwrap(ctx)->list({reinterpret_cast<core::Tensor **>(tensors), tensors ? n : 0});
}

tl_tensor *tl_context_find(const tl_context *ctx, const char *name) {
    return ctx && name && *name ? wrap(unwrap(ctx)->find(name)) : nullptr;
}

size_t tl_tensor_sources(const tl_tensor *t, tl_tensor **sources, size_t n) {
    return unwrap(t) ? capi::copy_tensors({unwrap(t)->src, unwrap(t)->n_src}, sources, n) : 0;
}

tl_context *tl_tensor_context(const tl_tensor *t) {
    return unwrap(t) ? wrap(core::Ref<core::Context>(unwrap(t)->context).release()) : nullptr;
}

const char *tl_tensor_name(const tl_tensor *t) { return unwrap(t) ? unwrap(t)->name.load(std::memory_order_acquire) : nullptr; }

size_t tl_tensor_copy_name(const tl_tensor *t, char *buf, size_t size) {
    return capi::copied_text(buf, size, [&] { return unwrap(t) ? unwrap(t)->context->name_of(*unwrap(t)) : std::string(); });
}

tl_status tl_tensor_set_name(tl_tensor *t, const char *name, tl_error *err) {
    return guarded(err, [&] {
        core::Tensor &tensor = required_tensor(t, "tensor_set_name", "t");
        tensor.context->set_name(tensor, name);
    });
}

void *tl_tensor_data(tl_tensor *t) {
    if (!unwrap(t)) return nullptr;
    const core::Tensor &tensor = *unwrap(t);
    const core::Tensor &root = *tensor.root;
    if (!root.context->memory().host_accessible() || core::read_only_text(root)) return nullptr;
    if (!root.is_leaf() && !root.storage.computed.load(std::memory_order_acquire)) return nullptr;
    return tensor.address();
}

tl_status tl_tensor_map(tl_tensor *t, tl_access access, void **out, tl_error *err) {
    constexpr const char *function = "tensor_map";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        core::Tensor &tensor = required_tensor(t, function, "t");
        required(out, function, "out");
        if (access != TL_ACCESS_READ && access != TL_ACCESS_WRITE) {
            core::fail(Status::invalid_argument, "%s: access is %d: TL_ACCESS_READ and TL_ACCESS_WRITE are valid", function, access);
        }
        *out = core::map(tensor, access == TL_ACCESS_WRITE);
    });
}

void tl_tensor_unmap(tl_tensor *t, tl_access access) {
    if (unwrap(t)) core::unmap(*unwrap(t), access == TL_ACCESS_WRITE);
}

tl_status tl_tensor_write(tl_tensor *t, const void *data, size_t offset, size_t size, tl_error *err) {
    return guarded(err, [&] { core::write_bytes(required_tensor(t, "tensor_write", "t"), data, offset, size); });
}

tl_status tl_tensor_read(const tl_tensor *t, void *data, size_t offset, size_t size, tl_error *err) {
    return guarded(err, [&] { core::read_bytes(required_tensor(t, "tensor_read", "t"), data, offset, size); });
}

tl_status tl_tensor_set_constant(tl_tensor *t, tl_error *err) {
    return guarded(err, [&] { core::set_constant(required_tensor(t, "tensor_set_constant", "t")); });
}

tl_status tl_tensor_place(tl_tensor *t, const char *device, tl_error *err) {
    constexpr const char *function = "tensor_place";
    return guarded(err, [&] {
        core::Tensor &tensor = required_tensor(t, function, "t");
        core::place(tensor, device && *device ? &core::device_named(function, device).memory() : nullptr);
    });
}

tl_status tl_tensor_set_recompute(tl_tensor *t, bool recompute, tl_error *err) {
    return guarded(err, [&] { core::set_recompute(required_tensor(t, "tensor_set_recompute", "t"), recompute); });
}

tl_status tl_tensor_drop_original(tl_tensor *t, tl_error *err) {
    return guarded(err, [&] { core::drop_original(required_tensor(t, "tensor_drop_original", "t")); });
}

tl_status tl_tensor_write_f32(tl_tensor *t, const float *data, size_t n, tl_error *err) {
    return guarded(err, [&] { core::write_f32(required_tensor(t, "tensor_write_f32", "t"), data, n); });
}

tl_status tl_tensor_read_f32(const tl_tensor *t, float *data, size_t n, tl_error *err) {
    return guarded(err, [&] { core::read_f32(required_tensor(t, "tensor_read_f32", "t"), data, n); });
}

tl_status tl_tensor_get_f32(const tl_tensor *t, int64_t i0, int64_t i1, int64_t i2, int64_t i3, float *out, tl_error *err) {
    constexpr const char *function = "tensor_get_f32";
    return guarded(err, [&] {
        const core::Tensor &tensor = required_tensor(t, function, "t");
        *required(out, function, "out") = core::get_f32(tensor, {i0, i1, i2, i3});
    });
}

tl_status tl_tensor_set_f32(tl_tensor *t, int64_t i0, int64_t i1, int64_t i2, int64_t i3, float value, tl_error *err) {
    return guarded(err, [&] { core::set_f32(required_tensor(t, "tensor_set_f32", "t"), {i0, i1, i2, i3}, value); });
}
