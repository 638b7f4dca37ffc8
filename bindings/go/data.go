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

// What the functions of this file have in common:
//
// Data go in ne order, dimension 0 fastest, whatever the strides: a transposed
// view is gathered and scattered. Readable are leafs, the outputs of a graph that
// was computed without error, and views of either; leafs and views of leafs
// may be written. Else, or where the tensor is constant or a leaf without data,
// the error is StatusInvalidArgument and its message says what to do. StatusBusy:
// the context is at work. Nothing is written on failure.

// ReadAll reads a whole tensor of T's type into a new slice. Errors: see [Read];
// [StatusOutOfMemory] where there is no memory for the values (a view can repeat
// its elements any number of times).
func ReadAll[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, invalid("read: tensor is nil")
	}
	// Before memory is asked for: what cannot be read may be of any size.
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

// fits says whether there is memory for n values. Go ends the process where make
// is refused by the system, so C is asked first.
func fits(n int64, size uintptr) bool {
	const unasked = 16 << 20 // bytes that any machine has
	if uint64(n) > uint64(math.MaxInt64)/uint64(size) {
		return false
	}
	bytes := uint64(n) * uint64(size)
	return bytes <= unasked || bool(C.tlgo_can_take(C.size_t(bytes)))
}

// Read reads a whole tensor of T's type; dst must have [Tensor.Len] elements.
//
// Errors: [StatusTypeMismatch] where the tensor's type is not T's,
// [StatusInvalidArgument] for another length and where the data cannot be read
// (the message says what to do), [StatusBusy].
func Read[T Element](t *Tensor, dst []T) error {
	if err := wholeLength("read", t, len(dst)); err != nil {
		return err
	}
	return ReadAt(t, 0, dst)
}

// ReadAt reads len(dst) elements from the element at first on, counted in ne
// order. Errors: see [Read].
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
// Errors: [StatusTypeMismatch] where the tensor's type is not T's,
// [StatusInvalidArgument] for another length and for what cannot be written (a
// node's result, a constant, a leaf without data), [StatusBusy].
func Write[T Element](t *Tensor, src []T) error {
	if err := wholeLength("write", t, len(src)); err != nil {
		return err
	}
	return WriteAt(t, 0, src)
}

// WriteAt overwrites len(src) elements from the element at first on, counted in
// ne order. Errors: see [Write].
func WriteAt[T Element](t *Tensor, first int64, src []T) error {
	size, err := elementSize[T]("write", t)
	if err != nil {
		return err
	}
	return t.WriteBytes(scaled(first, size), bytesOf(src))
}

// ReadBytes reads len(dst) bytes of the elements as they are stored, from a byte
// offset into the packed elements on. Errors: see [Read].
func (t *Tensor) ReadBytes(offset int64, dst []byte) error {
	if offset < 0 {
		return invalid("read: the offset %d is negative", offset)
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_read(t.ptr, unsafe.Pointer(unsafe.SliceData(dst)), C.size_t(offset), C.size_t(len(dst)), cerr)
	})
}

// WriteBytes overwrites len(src) bytes of the elements as they are stored, from a
// byte offset into the packed elements on. Errors: see [Write].
func (t *Tensor) WriteBytes(offset int64, src []byte) error {
	if offset < 0 {
		return invalid("write: the offset %d is negative", offset)
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_write(t.ptr, unsafe.Pointer(unsafe.SliceData(src)), C.size_t(offset), C.size_t(len(src)), cerr)
	})
}

// ReadF32 reads a whole tensor of any type converted to float32, rounded to
// nearest even where the type is wider; dst must have [Tensor.Len] elements.
// Errors: see [Read].
func (t *Tensor) ReadF32(dst []float32) error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_read_f32(t.ptr, (*C.float)(unsafe.SliceData(dst)), C.size_t(len(dst)), cerr)
	})
}

// WriteF32 overwrites a whole tensor of any type from float32 values; src must
// have [Tensor.Len] elements. Integer types take the nearest integer, ties to
// even; a value out of range or NaN is [StatusInvalidArgument] naming its
// position. Errors otherwise: see [Write].
func (t *Tensor) WriteF32(src []float32) error {
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_write_f32(t.ptr, (*C.float)(unsafe.SliceData(src)), C.size_t(len(src)), cerr)
	})
}

// GetF32 reads one element converted to float32. Indices that are left out are
// 0; [StatusInvalidArgument] for one outside the shape. Errors otherwise: see
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

// SetF32 overwrites one element, converted as by [Tensor.WriteF32]. Indices that
// are left out are 0.
func (t *Tensor) SetF32(value float32, index ...int64) error {
	i, err := index4(index)
	if err != nil {
		return err
	}
	return t.patiently(func(cerr *C.tl_error) C.tl_status {
		return C.tl_tensor_set_f32(t.ptr, i[0], i[1], i[2], i[3], C.float(value), cerr)
	})
}

// Access is what a mapping is for.
type Access int32

const (
	AccessRead  Access = C.TL_ACCESS_READ  // others may read at the same time
	AccessWrite Access = C.TL_ACCESS_WRITE // nobody else reads, writes or computes in this context
)

// Map calls use with the tensor's own memory, without a copy: from the first to
// behind the last element, to be walked with [Tensor.Strides], gaps included. The
// slice must not be kept, and not be changed under [AccessRead]; Map gives use's
// error back, or its own.
//
// Errors: [StatusBusy] where the context is in use in a way that excludes the
// access, [StatusUnavailable] where the data is not in host memory or was dropped,
// [StatusInvalidArgument] where use is nil, and otherwise as [Read] and [Write].
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

// span is the number of bytes from the first to behind the last element.
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

// scaled is first * size, kept from wrapping around: what is far outside stays
// far outside and is refused.
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
