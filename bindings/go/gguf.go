package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// GGUF is a file of metadata and tensors, checked when it is opened. Opening any
// shard of a split file, NAME-00001-of-00003.gguf, opens all of them. Tensors
// made from it keep the bytes that they need, so it may be closed before them.
type GGUF struct {
	h   *handle
	ptr *C.tl_gguf
}

// GGUFTensor describes a tensor of a file.
type GGUFTensor struct {
	Name  string
	Type  Type
	Ne    []int64 // elements per dimension, the contiguous one first; empty for a scalar
	Bytes int64
}

// OpenGGUF maps a file: its pages are loaded when they are touched. Nobody may
// change or truncate it while it, or a context with tensors over it, is open;
// [ReadGGUF] reads the file once instead. Close it after use.
//
// Errors: [StatusIO] with the path and the system's reason, [StatusFormat] with
// the offset of the byte that violates the format.
func OpenGGUF(path string) (*GGUF, error) {
	return openGGUFPath(path, func(path *C.char, out **C.tl_gguf, cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_open(path, out, cerr)
	})
}

// ReadGGUF is [OpenGGUF] for a file that is read into memory and may change
// afterwards.
func ReadGGUF(path string) (*GGUF, error) {
	return openGGUFPath(path, func(path *C.char, out **C.tl_gguf, cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_open_copy(path, out, cerr)
	})
}

// ParseGGUF is [OpenGGUF] for a file's bytes, which are copied.
func ParseGGUF(data []byte) (*GGUF, error) {
	return openGGUF(func(out **C.tl_gguf, cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_open_memory_copy(unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), out, cerr)
	})
}

func openGGUFPath(path string, open func(*C.char, **C.tl_gguf, *C.tl_error) C.tl_status) (*GGUF, error) {
	cpath, err := cstring("path", path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cpath))
	return openGGUF(func(out **C.tl_gguf, cerr *C.tl_error) C.tl_status { return open(cpath, out, cerr) })
}

func openGGUF(open func(out **C.tl_gguf, cerr *C.tl_error) C.tl_status) (*GGUF, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	var ptr *C.tl_gguf
	cerr := newCError()
	if err := check(open(&ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	g := &GGUF{h: &handle{what: "GGUF file", free: func() { C.tl_gguf_free(ptr) }}, ptr: ptr}
	runtime.AddCleanup(g, (*handle).close, g.h)
	return g, nil
}

// Close releases the file; its bytes stay as long as a context has tensors over
// them. A second Close does nothing.
func (g *GGUF) Close() {
	if g != nil {
		g.h.close()
	}
}

// Version returns the version of the format, 2 or 3; 0 after Close.
func (g *GGUF) Version() int {
	if g.enter() != nil {
		return 0
	}
	defer g.leave()
	return int(C.tl_gguf_version(g.ptr))
}

// Alignment returns the alignment of tensors: their offsets are multiples of it.
// 0 after Close.
func (g *GGUF) Alignment() int {
	if g.enter() != nil {
		return 0
	}
	defer g.leave()
	return int(C.tl_gguf_alignment(g.ptr))
}

// Parts returns the number of shards, 1 for a file that is not split; 0 after
// Close.
func (g *GGUF) Parts() int {
	if g.enter() != nil {
		return 0
	}
	defer g.leave()
	return int(C.tl_gguf_n_parts(g.ptr))
}

// Keys returns all metadata keys in the file's order; nil after Close.
func (g *GGUF) Keys() []string {
	if g.enter() != nil {
		return nil
	}
	defer g.leave()
	keys := make([]string, C.tl_gguf_n_kv(g.ptr))
	for i := range keys {
		keys[i] = C.GoString(C.tl_gguf_key(g.ptr, C.size_t(i)))
	}
	return keys
}

// Value returns a key's value as it is stored: uint8 to int64, float32, float64,
// bool, string, or a slice of one of these for an array. Arrays of arrays are
// [StatusUnsupported].
//
// Errors: [StatusInvalidArgument] if the key does not exist or after Close.
func (g *GGUF) Value(key string) (any, error) {
	index, err := g.find(key)
	if err != nil {
		return nil, err
	}
	defer g.leave()
	switch kind := C.tl_gguf_kv_type(g.ptr, index); kind {
	case C.TL_GGUF_TYPE_ARRAY:
		return g.array(key, index)
	case C.TL_GGUF_TYPE_STRING:
		return string(g.data(index)), nil
	case C.TL_GGUF_TYPE_U8:
		return first[uint8](g.data(index)), nil
	case C.TL_GGUF_TYPE_I8:
		return first[int8](g.data(index)), nil
	case C.TL_GGUF_TYPE_U16:
		return first[uint16](g.data(index)), nil
	case C.TL_GGUF_TYPE_I16:
		return first[int16](g.data(index)), nil
	case C.TL_GGUF_TYPE_U32:
		return first[uint32](g.data(index)), nil
	case C.TL_GGUF_TYPE_I32:
		return first[int32](g.data(index)), nil
	case C.TL_GGUF_TYPE_U64:
		return first[uint64](g.data(index)), nil
	case C.TL_GGUF_TYPE_I64:
		return first[int64](g.data(index)), nil
	case C.TL_GGUF_TYPE_F32:
		return first[float32](g.data(index)), nil
	case C.TL_GGUF_TYPE_F64:
		return first[float64](g.data(index)), nil
	case C.TL_GGUF_TYPE_BOOL:
		return g.data(index)[0] != 0, nil
	default:
		return nil, errorf(StatusUnsupported, "gguf: %q has a value of type %d, which this binding does not know", key, int32(kind))
	}
}

func (g *GGUF) array(key string, index C.size_t) (any, error) {
	n := int(C.tl_gguf_array_n(g.ptr, index))
	switch kind := C.tl_gguf_array_type(g.ptr, index); kind {
	case C.TL_GGUF_TYPE_STRING:
		texts := make([]string, n)
		for i := range texts {
			var text *C.char
			var size C.size_t
			cerr := newCError()
			if err := check(C.tl_gguf_array_string(g.ptr, index, C.uint64_t(i), &text, &size, &cerr), &cerr); err != nil {
				return nil, err
			}
			texts[i] = string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size)))
		}
		return texts, nil
	case C.TL_GGUF_TYPE_BOOL:
		bools := make([]bool, n)
		for i, b := range g.data(index) {
			bools[i] = b != 0
		}
		return bools, nil
	case C.TL_GGUF_TYPE_U8:
		return all[uint8](g.data(index)), nil
	case C.TL_GGUF_TYPE_I8:
		return all[int8](g.data(index)), nil
	case C.TL_GGUF_TYPE_U16:
		return all[uint16](g.data(index)), nil
	case C.TL_GGUF_TYPE_I16:
		return all[int16](g.data(index)), nil
	case C.TL_GGUF_TYPE_U32:
		return all[uint32](g.data(index)), nil
	case C.TL_GGUF_TYPE_I32:
		return all[int32](g.data(index)), nil
	case C.TL_GGUF_TYPE_U64:
		return all[uint64](g.data(index)), nil
	case C.TL_GGUF_TYPE_I64:
		return all[int64](g.data(index)), nil
	case C.TL_GGUF_TYPE_F32:
		return all[float32](g.data(index)), nil
	case C.TL_GGUF_TYPE_F64:
		return all[float64](g.data(index)), nil
	default:
		return nil, errorf(StatusUnsupported, "gguf: %q is an array of arrays: arrays of numbers, bools and strings are valid here", key)
	}
}

// data returns a value's bytes, in the memory of the C library.
func (g *GGUF) data(index C.size_t) []byte {
	var size C.size_t
	data := C.tl_gguf_kv_data(g.ptr, index, &size)
	return unsafe.Slice((*byte)(data), int(size))
}

type number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

// all copies numbers, which may lie at any address.
func all[T number](data []byte) []T {
	var zero T
	out := make([]T, len(data)/int(unsafe.Sizeof(zero)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(data)), data)
	return out
}

func first[T number](data []byte) T { return all[T](data)[0] }

// Uint returns a key's value as an unsigned integer; any stored integer type that
// holds 0 or more.
//
// Errors: [StatusTypeMismatch] for another value (the message shows it),
// [StatusInvalidArgument] if the key does not exist or after Close.
func (g *GGUF) Uint(key string) (uint64, error) {
	var out C.uint64_t
	err := g.get(key, func(index C.size_t, cerr *C.tl_error) C.tl_status { return C.tl_gguf_get_u64(g.ptr, index, &out, cerr) })
	return uint64(out), err
}

// Int returns a key's value as an integer; any stored integer type with a value
// below 1<<63. Errors: as [GGUF.Uint].
func (g *GGUF) Int(key string) (int64, error) {
	var out C.int64_t
	err := g.get(key, func(index C.size_t, cerr *C.tl_error) C.tl_status { return C.tl_gguf_get_i64(g.ptr, index, &out, cerr) })
	return int64(out), err
}

// Float returns a float, or an integer that a float64 represents exactly. Errors:
// as [GGUF.Uint].
func (g *GGUF) Float(key string) (float64, error) {
	var out C.double
	err := g.get(key, func(index C.size_t, cerr *C.tl_error) C.tl_status { return C.tl_gguf_get_f64(g.ptr, index, &out, cerr) })
	return float64(out), err
}

// Bool returns a bool. Errors: as [GGUF.Uint].
func (g *GGUF) Bool(key string) (bool, error) {
	var out C.bool
	err := g.get(key, func(index C.size_t, cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_get_bool(g.ptr, index, &out, cerr)
	})
	return bool(out), err
}

// Text returns a string. Errors: as [GGUF.Uint].
func (g *GGUF) Text(key string) (string, error) {
	var text string
	err := g.get(key, func(index C.size_t, cerr *C.tl_error) C.tl_status {
		var out *C.char
		var size C.size_t
		status := C.tl_gguf_get_string(g.ptr, index, &out, &size, cerr)
		text = string(unsafe.Slice((*byte)(unsafe.Pointer(out)), int(size)))
		return status
	})
	return text, err
}

func (g *GGUF) get(key string, get func(index C.size_t, cerr *C.tl_error) C.tl_status) error {
	index, err := g.find(key)
	if err != nil {
		return err
	}
	defer g.leave()
	cerr := newCError()
	return check(get(index, &cerr), &cerr)
}

// find returns a key's index and leaves the file entered, unless it fails.
func (g *GGUF) find(key string) (C.size_t, error) {
	ckey, err := cstring("key", key)
	if err != nil {
		return 0, err
	}
	defer C.free(unsafe.Pointer(ckey))
	if err := g.enter(); err != nil {
		return 0, err
	}
	index := C.tl_gguf_find(g.ptr, ckey)
	if index < 0 {
		g.leave()
		return 0, invalid("gguf: no key %q", key)
	}
	return C.size_t(index), nil
}

// Tensors describes all tensors; nil after Close.
func (g *GGUF) Tensors() []GGUFTensor {
	if g.enter() != nil {
		return nil
	}
	defer g.leave()
	tensors := make([]GGUFTensor, C.tl_gguf_n_tensors(g.ptr))
	for i := range tensors {
		index := C.size_t(i)
		ne := make([]int64, C.tl_gguf_tensor_n_dims(g.ptr, index))
		for d := range ne {
			ne[d] = int64(C.tl_gguf_tensor_ne(g.ptr, index, C.int32_t(d)))
		}
		tensors[i] = GGUFTensor{
			Name:  C.GoString(C.tl_gguf_tensor_name(g.ptr, index)),
			Type:  Type(C.tl_gguf_tensor_type(g.ptr, index)),
			Ne:    ne,
			Bytes: int64(C.tl_gguf_tensor_nbytes(g.ptr, index)),
		}
	}
	return tensors
}

// TensorBytes copies the bytes of a tensor from the file.
//
// Errors: [StatusInvalidArgument] if the tensor does not exist or after Close.
func (g *GGUF) TensorBytes(name string) ([]byte, error) {
	cname, err := cstring("tensor name", name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cname))
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	index := C.tl_gguf_tensor_find(g.ptr, cname)
	if index < 0 {
		return nil, invalid("gguf: no tensor %q", name)
	}
	size := int(C.tl_gguf_tensor_nbytes(g.ptr, C.size_t(index)))
	out := make([]byte, size)
	copy(out, unsafe.Slice((*byte)(C.tl_gguf_tensor_data(g.ptr, C.size_t(index))), size))
	return out, nil
}

// GGUFTensor makes a read-only leaf with the contents and the name of a file's
// tensor. In host memory it uses the file's bytes; on a device it is a copy.
//
// Errors: [StatusInvalidArgument] if the tensor does not exist,
// [StatusOutOfMemory], [StatusDevice].
func (c *Context) GGUFTensor(g *GGUF, name string) (*Tensor, error) {
	cname, err := cstring("tensor name", name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cname))
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	return c.construct("gguf_tensor", nil, func() *C.tl_tensor { return C.tl_gguf_tensor(g.ptr, c.ptr, cname) })
}

// String describes the file in a few words.
func (g *GGUF) String() string {
	return fmt.Sprintf("GGUF(version %d, %d keys, %d tensors)", g.Version(), len(g.Keys()), len(g.Tensors()))
}

func (g *GGUF) enter() error {
	if g == nil {
		return invalid("GGUF file is nil: open one first")
	}
	return g.h.enter("GGUF file")
}

func (g *GGUF) leave() {
	g.h.leave()
	runtime.KeepAlive(g)
}
