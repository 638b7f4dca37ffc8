#include "gradients/gradients.hpp"

#include "handles.hpp"

#include <algorithm>
#include <vector>

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

namespace {

constexpr const char *function = "gradients";

std::vector<core::Tensor *> all_of(tl_tensor *const *tensors, size_t n, const char *name) {
    if (n > 0) required(tensors, function, name);
    std::vector<core::Tensor *> all;
    for (size_t i = 0; i < n; i++) {
        all.push_back(&capi::required_tensor(tensors[i], function, core::format_text("%s[%zu]", name, i).c_str()));
    }
    return all;
}

}  // namespace

tl_status tl_gradients(tl_context *ctx, tl_tensor *const *ys, tl_tensor *const *seeds, size_t n_ys, tl_tensor *const *wrt, size_t n_wrt,
                       tl_tensor **grads, tl_error *err) {
    if (grads) std::fill_n(grads, n_wrt, nullptr);
    return guarded(err, [&] {
        core::Context &context = *unwrap(required(ctx, function, "ctx"));
        // Checked first: a NULL output is usually the result of an earlier failure, whose message
        // says more.
        if (const auto pending = context.take_error()) throw *pending;
        const std::vector<core::Tensor *> outputs = all_of(ys, n_ys, "ys"), tensors = all_of(wrt, n_wrt, "wrt");
        required(grads, function, "grads");
        std::vector<core::Tensor *> given;
        // NULL and tl_none() mean the same here.
        for (size_t i = 0; seeds && i < n_ys; i++) given.push_back(unwrap(seeds[i]));
        std::vector<core::Tensor *> made(n_wrt);
        core::gradients::append(context, outputs, given, tensors, made);
        std::ranges::transform(made, grads, [](core::Tensor *t) { return wrap(t); });
    });
}

tl_status tl_gradients_reach(tl_tensor *y, tl_tensor *t, bool *out, tl_error *err) {
    if (out) *out = false;
    return guarded(err, [&] {
        constexpr const char *name = "gradients_reach";
        core::Tensor &output = capi::required_tensor(y, name, "y"), &tensor = capi::required_tensor(t, name, "t");
        *required(out, name, "out") = core::gradients::reach(output, tensor);
    });
}
