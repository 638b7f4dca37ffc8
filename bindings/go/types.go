package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// Type is how elements are stored; the numbers are GGUF's. There may be more
// types than the constants below: ask for their traits.
type Type int32

const (
	F32  Type = C.TL_TYPE_F32  // IEEE 754 binary32
	F16  Type = C.TL_TYPE_F16  // IEEE 754 binary16
	I8   Type = C.TL_TYPE_I8   // 8-bit signed integer
	I16  Type = C.TL_TYPE_I16  // 16-bit signed integer
	I32  Type = C.TL_TYPE_I32  // 32-bit signed integer
	I64  Type = C.TL_TYPE_I64  // 64-bit signed integer
	F64  Type = C.TL_TYPE_F64  // IEEE 754 binary64
	BF16 Type = C.TL_TYPE_BF16 // the upper half of an F32
)

// ParseType finds a type by its name, in upper or lower case. The error for an
// unknown one has [StatusInvalidArgument] and lists all names.
func ParseType(name string) (Type, error) {
	cname, err := cstring("type name", name)
	if err != nil {
		return 0, err
	}
	defer C.free(unsafe.Pointer(cname))
	var typ C.tl_type
	cerr := newCError()
	err = check(C.tl_type_from_name(cname, &typ, &cerr), &cerr)
	return Type(typ), err
}

// String gives the type's name, "f32"; "type 99" where there is no such type.
func (t Type) String() string {
	name := C.tl_type_name(C.tl_type(t))
	if name == nil {
		return fmt.Sprintf("type %d", int32(t))
	}
	return C.GoString(name)
}

// BlockSize is the number of elements per block, 1 for plain types; 0 where
// there is no such type.
func (t Type) BlockSize() int { return int(C.tl_type_block_size(C.tl_type(t))) }

// Size is the number of bytes per block; 0 where there is no such type.
func (t Type) Size() int { return int(C.tl_type_size(C.tl_type(t))) }

// Element is a Go type whose values are stored as they are in tensors of one
// [Type]. Other types are reached by the F32 methods, which convert, or by bytes.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64
}

// TypeOf is the tensor type that stores T: F32 for float32.
func TypeOf[T Element]() Type {
	var zero T
	switch any(zero).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	default:
		return I64
	}
}

// bytesOf is the memory of a slice, not a copy.
func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// cstring copies a string to C memory, which the caller frees. A NUL would cut
// it short in silence, so it is an error.
func cstring(what, s string) (*C.char, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return nil, invalid("%s %q has a NUL at byte %d", what, s, i)
	}
	return C.CString(s), nil
}
