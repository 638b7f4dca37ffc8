package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// GGUFWriter is a GGUF file being written: first declare keys and tensors, then
// write the data. The file appears under its name only in [GGUFWriter.Finish];
// closing the writer earlier leaves an existing file as it was.
type GGUFWriter struct {
	h   *handle
	ptr *C.tl_gguf_writer
	mu  sync.Mutex // the library allows one caller at a time
}

// GGUFOption is an option of [NewGGUFWriter].
type GGUFOption func(*C.tl_gguf_writer_params)

// WithGGUFVersion sets the version of the format: 2, or 3, the default.
func WithGGUFVersion(version int) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.version = C.uint32_t(version) }
}

// WithGGUFAlignment sets the alignment of tensors: their offsets become multiples
// of it. A power of two, at least 8; the default is 32.
func WithGGUFAlignment(bytes int) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.alignment = C.uint32_t(bytes) }
}

// WithGGUFSplitSize sets the most bytes per file: more data go to further shards,
// NAME-00001-of-00003.gguf. No tensor is split. The default, 0, means one file.
func WithGGUFSplitSize(bytes uint64) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.split_size = C.uint64_t(bytes) }
}

// NewGGUFWriter begins a file. Close the writer after use.
//
// Errors: [StatusIO] if no file can be made in that folder,
// [StatusInvalidArgument] for invalid options.
func NewGGUFWriter(path string, options ...GGUFOption) (*GGUFWriter, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	cpath, err := cstring("path", path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(cpath))
	var params C.tl_gguf_writer_params
	C.tl_gguf_writer_params_init(&params, C.sizeof_tl_gguf_writer_params)
	for i, option := range options {
		if option == nil {
			return nil, invalid("gguf writer: option %d is nil", i)
		}
		option(&params)
	}
	var ptr *C.tl_gguf_writer
	cerr := newCError()
	if err := check(C.tl_gguf_writer_create(cpath, &params, &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	w := &GGUFWriter{h: &handle{what: "GGUF writer", free: func() { C.tl_gguf_writer_free(ptr) }}, ptr: ptr}
	runtime.AddCleanup(w, (*handle).close, w.h)
	return w, nil
}

// Close releases the writer; without an earlier Finish there is no file.
func (w *GGUFWriter) Close() {
	if w != nil {
		w.h.close()
	}
}

// Set sets a key to a value: uint8 to int64, float32, float64, bool, string, or a
// slice of one of these.
//
// Errors: [StatusTypeMismatch] for another Go type; [StatusInvalidArgument] if
// the key is already set, has an invalid name, or belongs to the writer
// (general.alignment, split.*), if data were already written, or after Close.
func (w *GGUFWriter) Set(key string, value any) error {
	ckey, err := cstring("key", key)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(ckey))
	return w.call(func(cerr *C.tl_error) C.tl_status {
		switch v := value.(type) {
		case uint8:
			return C.tl_gguf_writer_set_u8(w.ptr, ckey, C.uint8_t(v), cerr)
		case int8:
			return C.tl_gguf_writer_set_i8(w.ptr, ckey, C.int8_t(v), cerr)
		case uint16:
			return C.tl_gguf_writer_set_u16(w.ptr, ckey, C.uint16_t(v), cerr)
		case int16:
			return C.tl_gguf_writer_set_i16(w.ptr, ckey, C.int16_t(v), cerr)
		case uint32:
			return C.tl_gguf_writer_set_u32(w.ptr, ckey, C.uint32_t(v), cerr)
		case int32:
			return C.tl_gguf_writer_set_i32(w.ptr, ckey, C.int32_t(v), cerr)
		case uint64:
			return C.tl_gguf_writer_set_u64(w.ptr, ckey, C.uint64_t(v), cerr)
		case int64:
			return C.tl_gguf_writer_set_i64(w.ptr, ckey, C.int64_t(v), cerr)
		case float32:
			return C.tl_gguf_writer_set_f32(w.ptr, ckey, C.float(v), cerr)
		case float64:
			return C.tl_gguf_writer_set_f64(w.ptr, ckey, C.double(v), cerr)
		case bool:
			return C.tl_gguf_writer_set_bool(w.ptr, ckey, C.bool(v), cerr)
		case string:
			text := C.CString(v) // passed with its length: a NUL in it is part of it
			defer C.free(unsafe.Pointer(text))
			return C.tl_gguf_writer_set_string(w.ptr, ckey, text, C.size_t(len(v)), cerr)
		}
		if status, known := w.setSlice(ckey, value, cerr); known {
			return status
		}
		err = errorf(StatusTypeMismatch, "gguf_writer: %q: a %T: numbers of a fixed size, bool, string and slices of these are valid", key, value)
		return C.TL_STATUS_TYPE_MISMATCH
	}, &err)
}

// setSlice sets a key to a slice; false for other values.
func (w *GGUFWriter) setSlice(key *C.char, value any, cerr *C.tl_error) (C.tl_status, bool) {
	switch v := value.(type) {
	case []uint8:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_U8, v, cerr), true
	case []int8:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_I8, v, cerr), true
	case []uint16:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_U16, v, cerr), true
	case []int16:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_I16, v, cerr), true
	case []uint32:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_U32, v, cerr), true
	case []int32:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_I32, v, cerr), true
	case []uint64:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_U64, v, cerr), true
	case []int64:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_I64, v, cerr), true
	case []float32:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_F32, v, cerr), true
	case []float64:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_F64, v, cerr), true
	case []bool:
		return setGGUFArray(w, key, C.TL_GGUF_TYPE_BOOL, v, cerr), true
	case []string:
		return w.setStrings(key, v, cerr), true
	}
	return C.TL_STATUS_TYPE_MISMATCH, false
}

func setGGUFArray[T number | bool](w *GGUFWriter, key *C.char, kind C.tl_gguf_type, values []T, cerr *C.tl_error) C.tl_status {
	return C.tl_gguf_writer_set_array(w.ptr, key, kind, unsafe.Pointer(unsafe.SliceData(values)), C.uint64_t(len(values)), cerr)
}

func (w *GGUFWriter) setStrings(key *C.char, texts []string, cerr *C.tl_error) C.tl_status {
	// cgo does not allow passing a Go slice of Go pointers.
	ctexts := (**C.char)(C.calloc(C.size_t(len(texts)+1), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	defer C.free(unsafe.Pointer(ctexts))
	list := unsafe.Slice(ctexts, len(texts))
	sizes := make([]C.size_t, len(texts))
	for i, text := range texts {
		list[i] = C.CString(text)
		defer C.free(unsafe.Pointer(list[i]))
		sizes[i] = C.size_t(len(text))
	}
	return C.tl_gguf_writer_set_string_array(w.ptr, key, ctexts, unsafe.SliceData(sizes), C.size_t(len(texts)), cerr)
}

// CopyKeys copies all keys of a file except those that are already set,
// general.alignment and split.*.
//
// Errors: [StatusInvalidArgument] if data were already written or after Close.
func (w *GGUFWriter) CopyKeys(g *GGUF) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_copy_kv(w.ptr, g.ptr, cerr) }, nil)
}

// Add adds a tensor under its own name. Its data are read by Finish, or earlier
// by a Write for a tensor after it; the writer keeps the memory of its context
// until then.
//
// Errors: [StatusInvalidArgument] for a name that is already used, empty or
// longer than 64 bytes, if data were already written, or after Close.
func (w *GGUFWriter) Add(t *Tensor) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_add_tensor(w.ptr, t.ptr, cerr) }, nil)
}

// Declare declares a tensor whose data Write supplies, after the data of earlier
// ones. Without ne it is a scalar. Errors: as [GGUFWriter.Add], and for an
// invalid shape or type.
func (w *GGUFWriter) Declare(name string, typ Type, ne ...int64) error {
	cname, err := cstring("tensor name", name)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(cname))
	return w.call(func(cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_writer_declare_tensor(w.ptr, cname, C.tl_type(typ), C.int32_t(len(ne)), dims(ne), cerr)
	}, nil)
}

// Write writes the next bytes of the first declared tensor that is incomplete;
// within a tensor it works as an io.Writer.
//
// Errors: [StatusInvalidArgument] for more bytes than the tensor lacks,
// [StatusIO].
func (w *GGUFWriter) Write(data []byte) (int, error) {
	err := w.call(func(cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_writer_write_data(w.ptr, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), cerr)
	}, nil)
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// Finish writes the remaining data, flushes them to the disk and gives the file
// its name.
//
// Errors: [StatusInvalidArgument] if a tensor lacks data or is not computed,
// [StatusBusy] if one is in use; Finish may be called again after either. After
// [StatusIO] there is no file.
func (w *GGUFWriter) Finish() error {
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_finish(w.ptr, cerr) }, nil)
}

// Parts returns the number of shards; 0 before data were written and after Close.
func (w *GGUFWriter) Parts() int {
	if w == nil || w.h.enter("GGUF writer") != nil {
		return 0
	}
	defer w.h.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(C.tl_gguf_writer_n_parts(w.ptr))
}

// call runs f; an error that f has put into own takes precedence over the
// library's.
func (w *GGUFWriter) call(f func(cerr *C.tl_error) C.tl_status, own *error) error {
	if w == nil {
		return invalid("GGUF writer is nil: make one first")
	}
	if err := w.h.enter("GGUF writer"); err != nil {
		return err
	}
	defer runtime.KeepAlive(w)
	defer w.h.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	cerr := newCError()
	err := check(f(&cerr), &cerr)
	if own != nil && *own != nil {
		return *own
	}
	return err
}
