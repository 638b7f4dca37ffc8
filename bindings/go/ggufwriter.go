package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// GGUFWriter is a GGUF file in the making: keys and tensors are declared, then
// data come. Nobody sees the file under its name before [GGUFWriter.Finish]; one
// that is closed before leaves what was there.
type GGUFWriter struct {
	h   *handle
	ptr *C.tl_gguf_writer
	mu  sync.Mutex // the library allows one caller at a time
}

// GGUFOption changes how [NewGGUFWriter] writes a file.
type GGUFOption func(*C.tl_gguf_writer_params)

// WithGGUFVersion chooses the format's version: 2, or 3, the default.
func WithGGUFVersion(version int) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.version = C.uint32_t(version) }
}

// WithGGUFAlignment sets what the offsets of tensors are multiples of: a power of
// two from 8 on. The default is 32.
func WithGGUFAlignment(bytes int) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.alignment = C.uint32_t(bytes) }
}

// WithGGUFSplitSize sets the most bytes that a file is to have: what is more goes
// to further parts, NAME-00001-of-00003.gguf. No tensor is cut. The default, 0,
// is one file.
func WithGGUFSplitSize(bytes uint64) GGUFOption {
	return func(p *C.tl_gguf_writer_params) { p.split_size = C.uint64_t(bytes) }
}

// NewGGUFWriter begins a file. Close the writer after use.
//
// Errors: [StatusIO] where no file can be made in that folder,
// [StatusInvalidArgument] for options that are none.
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

// Close gives the writer back; without a Finish before there is no file.
func (w *GGUFWriter) Close() {
	if w != nil {
		w.h.close()
	}
}

// Set sets a key to a value: uint8 to int64, float32, float64, bool, string, or a
// slice of one of these.
//
// Errors: [StatusTypeMismatch] for another Go type; [StatusInvalidArgument] where
// the key is set already, no name, or the writer's own (general.alignment,
// split.*), where data were written already, or after Close.
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
			text := C.CString(v) // with its length: a NUL in it is part of it
			defer C.free(unsafe.Pointer(text))
			return C.tl_gguf_writer_set_string(w.ptr, ckey, text, C.size_t(len(v)), cerr)
		case []uint8:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_U8, v, cerr)
		case []int8:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_I8, v, cerr)
		case []uint16:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_U16, v, cerr)
		case []int16:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_I16, v, cerr)
		case []uint32:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_U32, v, cerr)
		case []int32:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_I32, v, cerr)
		case []uint64:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_U64, v, cerr)
		case []int64:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_I64, v, cerr)
		case []float32:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_F32, v, cerr)
		case []float64:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_F64, v, cerr)
		case []bool:
			return setGGUFArray(w, ckey, C.TL_GGUF_TYPE_BOOL, v, cerr)
		case []string:
			return w.setStrings(ckey, v, cerr)
		}
		err = errorf(StatusTypeMismatch, "gguf_writer: %q: a %T: numbers of a fixed size, bool, string and slices of these are valid", key, value)
		return C.TL_STATUS_TYPE_MISMATCH
	}, &err)
}

func setGGUFArray[T number | bool](w *GGUFWriter, key *C.char, kind C.tl_gguf_type, values []T, cerr *C.tl_error) C.tl_status {
	return C.tl_gguf_writer_set_array(w.ptr, key, kind, unsafe.Pointer(unsafe.SliceData(values)), C.uint64_t(len(values)), cerr)
}

func (w *GGUFWriter) setStrings(key *C.char, texts []string, cerr *C.tl_error) C.tl_status {
	// C may not be given a Go list of Go pointers.
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

// CopyKeys copies all keys of a file but those that are set already,
// general.alignment and split.*.
//
// Errors: [StatusInvalidArgument] where data were written already or after Close.
func (w *GGUFWriter) CopyKeys(g *GGUF) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_copy_kv(w.ptr, g.ptr, cerr) }, nil)
}

// Add adds a tensor under its own name. Its data are read by Finish, or by Write
// for one behind it; the writer keeps the memory of its context until then.
//
// Errors: [StatusInvalidArgument] where the name is used already, empty or longer
// than 64 bytes, where data were written already, or after Close.
func (w *GGUFWriter) Add(t *Tensor) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_add_tensor(w.ptr, t.ptr, cerr) }, nil)
}

// Declare declares a tensor whose data come by Write, after those before it. No
// ne is a scalar. Errors: as [GGUFWriter.Add], and for a shape or type that is
// none.
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

// Write writes the next bytes of the first declared tensor that lacks some; it is
// an io.Writer within a tensor.
//
// Errors: [StatusInvalidArgument] for more bytes than it lacks, [StatusIO].
func (w *GGUFWriter) Write(data []byte) (int, error) {
	err := w.call(func(cerr *C.tl_error) C.tl_status {
		return C.tl_gguf_writer_write_data(w.ptr, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), cerr)
	}, nil)
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// Finish writes what is left, brings it to the disk and gives the file its name.
//
// Errors: [StatusInvalidArgument] where a tensor lacks data or is not computed,
// [StatusBusy] where one is in use: it may be called again. [StatusIO]: there is
// no file.
func (w *GGUFWriter) Finish() error {
	return w.call(func(cerr *C.tl_error) C.tl_status { return C.tl_gguf_writer_finish(w.ptr, cerr) }, nil)
}

// Parts is the number of files; 0 before data were written and after Close.
func (w *GGUFWriter) Parts() int {
	if w == nil || w.h.enter("GGUF writer") != nil {
		return 0
	}
	defer w.h.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(C.tl_gguf_writer_n_parts(w.ptr))
}

// call runs f; an error that f has put into own comes before the library's.
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
