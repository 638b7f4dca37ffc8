package tensorlib

// #cgo pkg-config: tensorlib
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"strings"
)

// Status is the kind of a failure. The numbers never change; treat one that you
// do not know as a failure.
type Status int32

const (
	StatusOK              Status = C.TL_STATUS_OK
	StatusInvalidArgument Status = C.TL_STATUS_INVALID_ARGUMENT // nil, out of range, unknown, closed, or contradictory
	StatusShapeMismatch   Status = C.TL_STATUS_SHAPE_MISMATCH   // the operands' shapes do not fit the operation
	StatusTypeMismatch    Status = C.TL_STATUS_TYPE_MISMATCH    // the operands' types do not fit the operation
	StatusContextMismatch Status = C.TL_STATUS_CONTEXT_MISMATCH // different devices, or contexts in a circle
	StatusUnsupported     Status = C.TL_STATUS_UNSUPPORTED      // valid, but no kernel of this backend does it
	StatusUnavailable     Status = C.TL_STATUS_UNAVAILABLE      // the device or instruction set is not there
	StatusOutOfMemory     Status = C.TL_STATUS_OUT_OF_MEMORY    // a limit or the machine's memory is exhausted
	StatusBusy            Status = C.TL_STATUS_BUSY             // the context is in use; try again later
	StatusAborted         Status = C.TL_STATUS_ABORTED          // a progress callback stopped the run
	StatusIO              Status = C.TL_STATUS_IO               // the operating system refused a file operation
	StatusFormat          Status = C.TL_STATUS_FORMAT           // a file's contents are not what its format allows
	StatusDevice          Status = C.TL_STATUS_DEVICE           // the device failed
	StatusInternal        Status = C.TL_STATUS_INTERNAL         // a defect of the library: please report it
)

// String gives the C constant's name, "TL_STATUS_SHAPE_MISMATCH"; for a number
// that the library does not know, "unknown status" and the number.
func (s Status) String() string {
	name := C.GoString(C.tl_status_name(C.tl_status(s)))
	if !strings.HasPrefix(name, "TL_") {
		return fmt.Sprintf("%s %d", name, int32(s))
	}
	return name
}

// Error is every error of this package. Get at it with errors.As:
//
//	var e *tensorlib.Error
//	if errors.As(err, &e) && e.Code == tensorlib.StatusBusy { ... }
type Error struct {
	Code    Status
	Message string

	cause error
}

// Unwrap is what ended the context of a [Graph.ComputeContext]; nil of every other
// error.
func (e *Error) Unwrap() error { return e.cause }

// Error gives the message alone; it names the operation by itself.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Message
}

// Is reports whether target is an *Error of the same code and either the same
// message or none, so that errors.Is(err, &Error{Code: StatusBusy}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

func errorf(code Status, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return errorf(StatusInvalidArgument, format, args...)
}

// newCError gives an error struct that the library accepts: it writes nothing
// where struct_size is not set.
func newCError() C.tl_error {
	return C.tl_error{struct_size: C.sizeof_tl_error}
}

// check turns a status and the error struct that belongs to it into an error.
func check(status C.tl_status, cerr *C.tl_error) error {
	if status == C.TL_STATUS_OK {
		return nil
	}
	message := C.GoString(&cerr.message[0])
	if cerr.text != 0 { // what did not fit is kept elsewhere
		message = cText(func(buf *C.char, size C.size_t) C.size_t { return C.tl_error_text(cerr, buf, size) })
	}
	return &Error{Code: Status(status), Message: message}
}
