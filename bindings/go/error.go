package tensorlib

// #cgo pkg-config: tensorlib
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"fmt"
	"strings"
)

// Status is the kind of a failure. The numbers never change; treat an unknown
// number as a failure.
type Status int32

const (
	StatusOK              Status = C.TL_STATUS_OK
	StatusInvalidArgument Status = C.TL_STATUS_INVALID_ARGUMENT // nil, out of range, unknown, closed, or contradictory
	StatusShapeMismatch   Status = C.TL_STATUS_SHAPE_MISMATCH   // the operands' shapes do not fit the operation
	StatusTypeMismatch    Status = C.TL_STATUS_TYPE_MISMATCH    // the operands' types do not fit the operation
	StatusContextMismatch Status = C.TL_STATUS_CONTEXT_MISMATCH // different devices, or contexts that refer to each other in a cycle
	StatusUnsupported     Status = C.TL_STATUS_UNSUPPORTED      // valid, but this backend has no kernel for it
	StatusUnavailable     Status = C.TL_STATUS_UNAVAILABLE      // the device or instruction set is missing
	StatusOutOfMemory     Status = C.TL_STATUS_OUT_OF_MEMORY    // a limit or the machine's memory is exhausted
	StatusBusy            Status = C.TL_STATUS_BUSY             // the context is in use; try again later
	StatusAborted         Status = C.TL_STATUS_ABORTED          // a callback stopped the run
	StatusIO              Status = C.TL_STATUS_IO               // the operating system refused a file operation
	StatusFormat          Status = C.TL_STATUS_FORMAT           // a file's contents violate its format
	StatusDevice          Status = C.TL_STATUS_DEVICE           // the device failed
	StatusInternal        Status = C.TL_STATUS_INTERNAL         // a defect of the library: please report it
	StatusGroup           Status = C.TL_STATUS_GROUP            // ranks of a group disagree, or one failed, left or missed the deadline
)

// String returns the C constant's name, "TL_STATUS_SHAPE_MISMATCH"; for a number
// that the library does not know, "unknown status" and the number.
func (s Status) String() string {
	name := C.GoString(C.tl_status_name(C.tl_status(s)))
	if !strings.HasPrefix(name, "TL_") {
		return fmt.Sprintf("%s %d", name, int32(s))
	}
	return name
}

// Error is the type of every error of this package. Get it with errors.As:
//
//	var e *tensorlib.Error
//	if errors.As(err, &e) && e.Code == tensorlib.StatusBusy { ... }
type Error struct {
	Code    Status
	Message string

	cause error
}

// Unwrap returns the error that ended the context of a [Graph.ComputeContext];
// nil for every other error.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the message, which names the operation itself.
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

// newCError returns an error struct that the library accepts: without struct_size
// it would write nothing.
func newCError() C.tl_error {
	return C.tl_error{struct_size: C.sizeof_tl_error}
}

// check converts a status and its error struct to an error.
func check(status C.tl_status, cerr *C.tl_error) error {
	if status == C.TL_STATUS_OK {
		return nil
	}
	message := C.GoString(&cerr.message[0])
	if cerr.text != 0 { // the whole message is kept elsewhere
		message = cText(func(buf *C.char, size C.size_t) C.size_t { return C.tl_error_text(cerr, buf, size) })
	}
	return &Error{Code: Status(status), Message: message}
}
