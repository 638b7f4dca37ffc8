#include "api/dlpack.hpp"

#include "handles.hpp"

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::required_tensor;

tl_status tl_tensor_to_dlpack(tl_tensor *t, DLManagedTensorVersioned **out, tl_error *err) {
    constexpr const char *function = "tensor_to_dlpack";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        core::Tensor &tensor = required_tensor(t, function, "t");
        required(out, function, "out");
        *out = core::to_dlpack(tensor);
    });
}

tl_tensor *tl_tensor_from_dlpack(tl_context *ctx, DLManagedTensorVersioned *managed) {
    return capi::constructed(ctx, [&](core::Context &context) { return core::from_dlpack(context, managed); });
}
