#include "handles.hpp"

#include "cpu/quantize.hpp"

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;

namespace {

core::DType known_type(const char *function, tl_type type) { return core::traits_numbered(function, type).type; }

}  // namespace

tl_status tl_quantize(tl_type type, const float *src, void *dst, int64_t n_rows, int64_t n_per_row, const float *importance,
                      tl_error *err) {
    constexpr const char *function = "quantize";
    return guarded(err, [&] { core::quantize(function, {known_type(function, type), src, dst, n_rows, n_per_row, importance}); });
}

tl_status tl_backend_quantize(tl_backend *backend, tl_type type, const float *src, void *dst, int64_t n_rows, int64_t n_per_row,
                              const float *importance, tl_error *err) {
    constexpr const char *function = "backend_quantize";
    return guarded(err, [&] {
        required(backend, function, "backend");
        core::quantize(function, *unwrap(backend), {known_type(function, type), src, dst, n_rows, n_per_row, importance});
    });
}

tl_status tl_dequantize(tl_type type, const void *src, float *dst, int64_t n, tl_error *err) {
    constexpr const char *function = "dequantize";
    return guarded(err, [&] { core::dequantize(function, known_type(function, type), src, dst, n); });
}
