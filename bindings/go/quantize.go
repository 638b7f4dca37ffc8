package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

import "unsafe"

// Quantize encodes rows of perRow floats as the type, with a small sum of squared
// errors, on the calling thread. importance is nil or has a weight for each
// column's squared error, finite and not negative. The same values give the same
// bytes on every CPU.
//
// Errors: [StatusInvalidArgument] if values are not whole rows, rows are not
// whole blocks, importance has a wrong length or an invalid weight, or a value
// does not fit the type: quantised types hold finite numbers only, and the
// message has the position of the value.
func (t Type) Quantize(values []float32, perRow int, importance []float32) ([]byte, error) {
	blocks, rows, err := quantization("quantize", t, values, perRow, importance)
	if err != nil {
		return nil, err
	}
	cerr := newCError()
	err = check(C.tl_quantize(C.tl_type(t), floats(values), bytesAt(blocks), rows, C.int64_t(perRow), floats(importance), &cerr), &cerr)
	if err != nil {
		return nil, err
	}
	return blocks, nil
}

// Quantize is [Type.Quantize] on the backend's threads. Also [StatusUnsupported]
// if the backend is not on the CPU, and [StatusBusy] in a callback of a graph
// that it is computing.
func (b *Backend) Quantize(t Type, values []float32, perRow int, importance []float32) ([]byte, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	blocks, rows, err := quantization("backend_quantize", t, values, perRow, importance)
	if err != nil {
		return nil, err
	}
	cerr := newCError()
	err = check(C.tl_backend_quantize(b.ptr, C.tl_type(t), floats(values), bytesAt(blocks), rows, C.int64_t(perRow), floats(importance), &cerr), &cerr)
	if err != nil {
		return nil, err
	}
	return blocks, nil
}

// Dequantize decodes blocks of the type to floats. The error is
// [StatusInvalidArgument] if the bytes are not whole blocks.
func (t Type) Dequantize(blocks []byte) ([]float32, error) {
	if t.Size() == 0 {
		return nil, invalid("dequantize: there is no type %d", int32(t))
	}
	if len(blocks)%t.Size() != 0 {
		return nil, invalid("dequantize: %d bytes: a multiple of %d is valid for %v", len(blocks), t.Size(), t)
	}
	values := make([]float32, len(blocks)/t.Size()*t.BlockSize())
	cerr := newCError()
	err := check(C.tl_dequantize(C.tl_type(t), bytesAt(blocks), floats(values), C.int64_t(len(values)), &cerr), &cerr)
	if err != nil {
		return nil, err
	}
	return values, nil
}

// quantization checks the lengths, which pointers do not carry, and returns
// memory for the blocks and the number of rows.
func quantization(what string, t Type, values []float32, perRow int, importance []float32) ([]byte, C.int64_t, error) {
	if t.Size() == 0 {
		return nil, 0, invalid("%s: there is no type %d", what, int32(t))
	}
	if perRow < 0 || perRow == 0 && len(values) > 0 || perRow > 0 && len(values)%perRow != 0 {
		return nil, 0, invalid("%s: %d values are no whole rows of %d", what, len(values), perRow)
	}
	if importance != nil && len(importance) != perRow {
		return nil, 0, invalid("%s: %d weights of importance for rows of %d: one for each column is valid", what, len(importance), perRow)
	}
	rows := 0
	if perRow > 0 {
		rows = len(values) / perRow
	}
	// The library refuses rows that are not whole blocks before it writes anything.
	return make([]byte, len(values)/t.BlockSize()*t.Size()), C.int64_t(rows), nil
}

// floats and bytesAt point at a slice's elements; nil if there are none.
func floats(values []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(values))) }
func bytesAt(bytes []byte) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(bytes))
}
