// Custom operations whose functions are Go's.
#ifndef TENSORLIB_GO_CUSTOM_H
#define TENSORLIB_GO_CUSTOM_H

#include <stdint.h>
#include <tensorlib/tensorlib.h>

// tl_custom_op_create() of functions that `data`, a cgo handle, stands for.
tl_status tlgo_custom_op_create(const char *name, uintptr_t data, bool has_shape, bool has_gradient, int64_t slice_unit, double cost,
				tl_custom_op **out, tl_error *err);

#endif
