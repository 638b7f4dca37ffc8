package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// Type is how elements are stored; the numbers are those of GGUF, and
// from 1000 on those of types that GGUF does not have. There may be more types
// than the constants below: ask for their traits.
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
	U8   Type = C.TL_TYPE_U8   // 8-bit unsigned integer
	Bool Type = C.TL_TYPE_BOOL // a byte that is 0 or 1; whatever is not 0 converts to 1

	// Quantised types: rows are whole blocks.
	Q4_0    Type = C.TL_TYPE_Q4_0    // 4-bit codes around zero, an F16 scale per 32: 4.5 bits an element
	Q4_1    Type = C.TL_TYPE_Q4_1    // 4-bit codes, an F16 step and minimum per 32: 5 bits
	Q5_0    Type = C.TL_TYPE_Q5_0    // 5-bit codes around zero, an F16 scale per 32: 5.5 bits
	Q5_1    Type = C.TL_TYPE_Q5_1    // 5-bit codes, an F16 step and minimum per 32: 6 bits
	Q8_0    Type = C.TL_TYPE_Q8_0    // 8-bit codes, an F16 scale per 32: 8.5 bits
	Q8_1    Type = C.TL_TYPE_Q8_1    // Q8_0 with the sum of its codes; for activations only
	Q2_K    Type = C.TL_TYPE_Q2_K    // 2-bit codes, 4-bit scales and minimums per 16 of 256: 2.625 bits
	Q3_K    Type = C.TL_TYPE_Q3_K    // 3-bit codes, 6-bit scales per 16 of 256: 3.4375 bits
	Q4_K    Type = C.TL_TYPE_Q4_K    // 4-bit codes, 6-bit scales and minimums per 32 of 256: 4.5 bits
	Q5_K    Type = C.TL_TYPE_Q5_K    // 5-bit codes, 6-bit scales and minimums per 32 of 256: 5.5 bits
	Q6_K    Type = C.TL_TYPE_Q6_K    // 6-bit codes, 8-bit scales per 16 of 256: 6.5625 bits
	Q8_K    Type = C.TL_TYPE_Q8_K    // 8-bit codes, an F32 scale per 256; for activations only
	IQ2_XXS Type = C.TL_TYPE_IQ2_XXS // runs of 8 from a grid of 256: 2.0625 bits
	IQ2_XS  Type = C.TL_TYPE_IQ2_XS  // runs of 8 from a grid of 512: 2.3125 bits
	IQ3_XXS Type = C.TL_TYPE_IQ3_XXS // runs of 4 from a grid of 256: 3.0625 bits
	IQ1_S   Type = C.TL_TYPE_IQ1_S   // runs of 8 from a grid of 2048 of -1, 0, 1: 1.5625 bits
	IQ4_NL  Type = C.TL_TYPE_IQ4_NL  // 4-bit codes into a table, an F16 scale per 32: 4.5 bits
	IQ3_S   Type = C.TL_TYPE_IQ3_S   // runs of 4 from a grid of 512: 3.4375 bits
	IQ2_S   Type = C.TL_TYPE_IQ2_S   // runs of 8 from a grid of 1024: 2.5625 bits
	IQ4_XS  Type = C.TL_TYPE_IQ4_XS  // IQ4_NL's codes, 6-bit scales per 32 of 256: 4.25 bits
	IQ1_M   Type = C.TL_TYPE_IQ1_M   // IQ1_S's grid, 3-bit scales per 16 of 256: 1.75 bits
	TQ1_0   Type = C.TL_TYPE_TQ1_0   // -1, 0, 1, five digits a byte, an F16 scale per 256: 1.6875 bits
	TQ2_0   Type = C.TL_TYPE_TQ2_0   // -1, 0, 1, two bits each, an F16 scale per 256: 2.0625 bits
	MXFP4   Type = C.TL_TYPE_MXFP4   // 4-bit floats, a power of two per 32: 4.25 bits (OCP Microscaling)
	NVFP4   Type = C.TL_TYPE_NVFP4   // 4-bit floats, an 8-bit float as the scale of each 16: 4.5 bits
	Q1_0    Type = C.TL_TYPE_Q1_0    // signs, an F16 scale per 128: 1.125 bits
	Q2_0    Type = C.TL_TYPE_Q2_0    // -1, 0, 1, 2 in two bits, an F16 scale per 64: 2.25 bits
)

// Kind is the possible use of a type.
type Kind int32

const (
	KindFloating   Kind = C.TL_KIND_FLOATING   // a plain float
	KindInteger    Kind = C.TL_KIND_INTEGER    // an integer, or BOOL
	KindWeight     Kind = C.TL_KIND_WEIGHT     // a quantised type for weights
	KindActivation Kind = C.TL_KIND_ACTIVATION // a quantised type that products convert activations to
)

// Types lists all types in the order of their numbers.
func Types() []Type {
	types := make([]Type, C.tl_type_count())
	for i := range types {
		types[i] = Type(C.tl_type_at(C.size_t(i)))
	}
	return types
}

// ParseType finds a type by its name, in upper or lower case. The error for an
// unknown name has [StatusInvalidArgument] and lists all names.
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

// String returns the type's name, "f32"; "type 99" for an unknown type.
func (t Type) String() string {
	name := C.tl_type_name(C.tl_type(t))
	if name == nil {
		return fmt.Sprintf("type %d", int32(t))
	}
	return C.GoString(name)
}

// BlockSize returns the number of elements per block, 1 for plain types; 0 for an
// unknown type.
func (t Type) BlockSize() int { return int(C.tl_type_block_size(C.tl_type(t))) }

// Size returns the number of bytes per block; 0 for an unknown type.
func (t Type) Size() int { return int(C.tl_type_size(C.tl_type(t))) }

// Kind returns what the type may be used for; -1 for an unknown type.
func (t Type) Kind() Kind { return Kind(C.tl_type_kind(C.tl_type(t))) }

// Partner returns the type that the reference implementation rounds activations
// to in products with weights of this type, for comparisons with it; -1 for an
// unknown type. Products of this library round as [Context.MulMat] says, whatever
// the partner.
func (t Type) Partner() Type { return Type(C.tl_type_partner(C.tl_type(t))) }

// Element is a Go type whose values are stored unchanged in tensors of one
// [Type]. Use the F32 methods, which convert, or bytes for other types.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | bool
}

// TypeOf returns the tensor type that stores T: F32 for float32.
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
	case uint8:
		return U8
	case bool:
		return Bool
	default:
		return I64
	}
}

// bytesOf returns the memory of a slice, not a copy.
func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// cstring copies a string to C memory, which the caller frees. A NUL would
// silently cut it short, so it is an error.
func cstring(what, s string) (*C.char, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return nil, invalid("%s %q has a NUL at byte %d", what, s, i)
	}
	return C.CString(s), nil
}
