package tensorlib

// #include <stdbool.h>
// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
//
// // A pointer that is volatile keeps compilers from leaving both calls out.
// static bool tlgo_can_take(size_t size) {
// 	void *volatile memory = malloc(size);
// 	free(memory);
// 	return memory != NULL;
// }
import "C"

import (
	"math"
	"unsafe"
)

// The functions of this file have these rules in common:
//
// Data are in ne order, dimension 0 fastest, whatever the strides: reading
// gathers a transposed view, writing scatters it. Leafs, outputs of a graph that
// was computed without error, and views of either are readable; leafs and views
// of leafs are writable. Other accesses, and those to a constant or a leaf
// without data, return StatusInvalidArgument with a message that says what to do.
// StatusBusy: the context is in use. Nothing is written on failure.

// ReadAll reads a whole tensor of T's type into a new slice. Errors: see [Read];
// [StatusOutOfMemory] if there is no memory for the values (a view can repeat its
// elements any number of times).
func ReadAll[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, invalid("read: tensor is nil")
	}
	// Checked before memory is allocated: a tensor that cannot be read may have any
	// size.
	if err := ReadAt(t, 0, []T(nil)); err != nil {
		return nil, err
	}
	var one T
	if !fits(t.n, unsafe.Sizeof(one)) {
		return nil, errorf(StatusOutOfMemory, "read: %d values of %s %s: the machine has no memory for them", t.n, shapeText(t.Shape()), t.typ)
	}
	dst := make([]T, t.n)
	if err := Read(t, dst); err != nil {
		return nil, err
	}
	return dst, nil
}

// fits tells whether there is memory for n values. Go ends the process if the
// system refuses make, so C is asked first.
func fits(n int64, size uintptr) bool {
	const unasked = 16 << 20 // every machine has this many bytes
	if uint64(n) > uint64(math.MaxInt64)/uint64(size) {
		return false
	}
	bytes := uint64(n) * uint64(size)
	return bytes <= unasked || bool(C.tlgo_can_take(C.size_t(bytes)))
}

// Read reads a whole tensor of T's type; dst must have [Tensor.Len] elements.
//
// Errors: [StatusTypeMismatch] if the tensor's type is not T's,
// [StatusInvalidArgument] for a wrong length and for data that cannot be read
// (the message says what to do), [StatusBusy].
func Read[T Element](t *Tensor, dst []T) error {
	if err := wholeLength("read", t, len(dst)); err != nil {
		return err
	}
	return ReadAt(t, 0, dst)
}

// ReadAt reads len(dst) elements, starting at the element first in ne order.
// Errors: see [Read].
func ReadAt[T Element](t *Tensor, first int64, dst []T) error {
	size, err := elementSize[T]("read", t)
	if err != nil {
		return err
	}
	return t.ReadBytes(scaled(first, size), bytesOf(dst))
}

// Write overwrites a whole tensor of T's type; src must have [Tensor.Len]
// elements.
//
// Errors: [StatusTypeMismatch] if the tensor's type is not T's,
// [StatusInvalidArgument] for a wrong length and for tensors that cannot be
// written (a node's result, a constant, a leaf without data), [StatusBusy].
func Write[T Element](t *Tensor, src []T) error {
	if err := wholeLength("write", t, len(src)); err != nil {
		return err
	}
	return WriteAt(t, 0, src)
}

// WriteAt overwrites len(src) elements, starting at the element first in ne
// order. Errors: see [Write].
func WriteAt[T Element](t *Tensor, first int64, src []T) error {
	size, err := elementSize[T]("write", t)
	if err != nil {
		return err
	}
	return t.WriteBytes(scaled(first, size), bytesOf(src))
}

// ReadBytes reads len(dst) stored bytes of the elements, starting at a byte
// offset into the packed elements. Errors: see [Read].
func (t *Tensor) ReadBytes(offset int64, dst []byte) error {
	if offset < 0 {
		return invalid("read: the offset %d is negative", offset)
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_read(t.ptr, unsafe.Pointer(unsafe.SliceData(dst)), C.size_t(offset), C.size_t(len(dst)), cerr)
	})
}

// WriteBytes overwrites len(src) stored bytes of the elements, starting at a byte
// offset into the packed elements. Errors: see [Write].
func (t *Tensor) WriteBytes(offset int64, src []byte) error {
	if offset < 0 {
		return invalid("write: the offset %d is negative", offset)
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_write(t.ptr, unsafe.Pointer(unsafe.SliceData(src)), C.size_t(offset), C.size_t(len(src)), cerr)
	})
}

// ReadF32 reads a whole tensor of any type, converted to float32 and rounded to
// nearest even if the type is wider; dst must have [Tensor.Len] elements. Errors:
// see [Read].
func (t *Tensor) ReadF32(dst []float32) error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_read_f32(t.ptr, (*C.float)(unsafe.SliceData(dst)), C.size_t(len(dst)), cerr)
	})
}

// WriteF32 overwrites a whole tensor of any type with float32 values; src must
// have [Tensor.Len] elements. Integer types round to the nearest integer, ties to
// even; a value out of range or NaN is [StatusInvalidArgument] naming its
// position. Other errors: see [Write].
func (t *Tensor) WriteF32(src []float32) error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_write_f32(t.ptr, (*C.float)(unsafe.SliceData(src)), C.size_t(len(src)), cerr)
	})
}

// GetF32 reads one element, converted to float32. Missing indices are 0;
// [StatusInvalidArgument] for an index outside the shape. Other errors: see
// [Read].
func (t *Tensor) GetF32(index ...int64) (float32, error) {
	i, err := index4(index)
	if err != nil {
		return 0, err
	}
	var value C.float
	err = t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_get_f32(t.ptr, i[0], i[1], i[2], i[3], &value, cerr)
	})
	return float32(value), err
}

// SetF32 overwrites one element, converted as by [Tensor.WriteF32]. Missing
// indices are 0.
func (t *Tensor) SetF32(value float32, index ...int64) error {
	i, err := index4(index)
	if err != nil {
		return err
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_set_f32(t.ptr, i[0], i[1], i[2], i[3], C.float(value), cerr)
	})
}

// Access is the purpose of a mapping.
type Access int32

const (
	AccessRead  Access = C.TL_ACCESS_READ  // others may read at the same time
	AccessWrite Access = C.TL_ACCESS_WRITE // nobody else reads, writes or computes in this context
)

// Map calls use with the tensor's own memory, without a copy: all bytes from the
// first element to the end of the last, including gaps; walk it with
// [Tensor.Strides]. The slice must not be kept, and must not be changed under
// [AccessRead]. Map returns use's error, or its own.
//
// Errors: [StatusBusy] if another use of the context excludes the access,
// [StatusUnavailable] if the data is not in host memory or was dropped,
// [StatusInvalidArgument] if use is nil; otherwise as [Read] and [Write].
func (t *Tensor) Map(access Access, use func(data []byte) error) error {
	if use == nil {
		return invalid("map: use is nil: a function is valid")
	}
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	var data unsafe.Pointer
	if err := t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_map(t.ptr, C.tl_access(access), &data, cerr)
	}); err != nil {
		return err
	}
	defer C.tl_tensor_unmap(t.ptr, C.tl_access(access))
	return use(unsafe.Slice((*byte)(data), t.span()))
}

// span returns the number of bytes from the first element to the end of the last.
func (t *Tensor) span() int64 {
	if t.n == 0 {
		return 0
	}
	// Dimension 0 counts blocks: nb[0] is the distance from one to the next.
	blocks := t.ne[0] / int64(t.typ.BlockSize())
	span := int64(t.typ.Size()) + (blocks-1)*t.nb[0]
	for i := 1; i < 4; i++ {
		span += (t.ne[i] - 1) * t.nb[i]
	}
	return span
}

func elementSize[T Element](verb string, t *Tensor) (int64, error) {
	if t == nil {
		return 0, invalid("%s: tensor is nil", verb)
	}
	if want := TypeOf[T](); t.typ != want {
		var zero T
		return 0, errorf(StatusTypeMismatch, "%s: the tensor is %v, %T is %v: the F32 methods convert",
			verb, t.typ, zero, want)
	}
	var zero T
	return int64(unsafe.Sizeof(zero)), nil
}

func wholeLength(verb string, t *Tensor, n int) error {
	if t == nil {
		return invalid("%s: tensor is nil", verb)
	}
	if int64(n) != t.n {
		return invalid("%s: the slice has %d elements, the tensor %s has %d", verb, n, shapeText(t.ne[:t.nDims]), t.n)
	}
	return nil
}

// scaled returns first * size without wrapping around, so that positions far
// outside are still refused.
func scaled(first, size int64) int64 {
	switch {
	case first < 0:
		return -1
	case first > (1<<62)/size:
		return 1 << 62
	}
	return first * size
}

func index4(index []int64) (i [4]C.int64_t, err error) {
	if len(index) > len(i) {
		return i, invalid("index %v has %d dimensions: at most 4", index, len(index))
	}
	for d, v := range index {
		i[d] = C.int64_t(v)
	}
	return i, nil
}
