package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

// Dims is a set of dimensions that a reduction reduces. A nil *Dims stands for
// all dimensions, and so does an empty set.
type Dims struct {
	dims []int
	keep bool
}

// Along returns a set of dimensions: Along(0) for the rows of a tensor, and
// Along(0, 2) for two dimensions. Valid dimensions are 0 to 3; an operation
// refuses others.
func Along(dims ...int) *Dims {
	return &Dims{dims: dims}
}

// Keep returns the same dimensions, which stay in the result with 1 element
// each, so that the result is broadcast to the operand again.
func (d *Dims) Keep() *Dims {
	if d == nil {
		return &Dims{keep: true}
	}
	return &Dims{dims: d.dims, keep: true}
}

// params returns the dimensions as the C functions take them.
func (d *Dims) params(op string) (C.uint32_t, C.bool, error) {
	if d == nil {
		return 0, false, nil
	}
	var set C.uint32_t
	for _, dim := range d.dims {
		if dim < 0 || dim > 3 {
			return 0, false, errorf(StatusInvalidArgument, "%s: attribute dims is %d: 0 to 3 is valid", op, dim)
		}
		set |= 1 << dim
	}
	return set, C.bool(d.keep), nil
}
