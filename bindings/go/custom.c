#include "custom.h"

#include "progress.h"

#include "_cgo_export.h"

static tl_status on_shape(void *data, tl_tensor *const *src, size_t n_src, tl_custom_result *result, tl_error *err) {
	return tlgoCustomShape((uintptr_t)data, (tl_tensor **)src, n_src, result, err);
}

static tl_status on_slice(void *data, const tl_custom_slice *slice, tl_error *err) {
	tlgo_callbacks++;
	const tl_status status = tlgoCustomCompute((uintptr_t)data, (tl_custom_slice *)slice, err);
	tlgo_callbacks--;
	return status;
}

static tl_tensor *on_gradient(void *data, tl_context *ctx, tl_tensor *node, tl_tensor *gradient, size_t operand, tl_error *err) {
	(void)ctx;
	return tlgoCustomGradient((uintptr_t)data, node, gradient, operand, err);
}

static void on_destroy(void *data) { tlgoCustomDestroy((uintptr_t)data); }

tl_status tlgo_custom_op_create(const char *name, uintptr_t data, bool has_shape, bool has_gradient, int64_t slice_unit, double cost,
				tl_custom_op **out, tl_error *err) {
	tl_custom_params params;
	tl_custom_params_init(&params, sizeof params);
	params.name = name;
	params.shape = has_shape ? on_shape : NULL;
	params.compute = on_slice;
	params.gradient = has_gradient ? on_gradient : NULL;
	params.user_data = (void *)data;
	params.destroy = on_destroy;
	params.slice_unit = slice_unit;
	params.cost = cost;
	return tl_custom_op_create(&params, out, err);
}
