// Package tensorlib builds and computes graphs of tensors: contexts own
// tensors, operations make new ones, graphs compute them on a backend.
//
// # Shapes
//
// A shape lists the contiguous dimension first: 4 rows of 2 are (2, 4). That is
// the order of the C library and of GGUF files, and the reverse of NumPy's.
//
// # Operations
//
// Operations take operands, then required attributes, then a pointer to a struct
// of options, whose zero values are the defaults: c.Scale(a, 2,
// &ScaleOptions{Bias: 1}), c.Scale(a, 2, nil). An operand that may be left out is
// nil: c.Glu(a, nil, GluOpSwiglu, nil).
//
// # Errors
//
// Everything that can fail returns an error, and each error of this package is an
// *[Error] with a [Status] that programs can test and a message that names the
// operation, the shapes or values, and what would be valid. No input ends the
// process. Nothing panics, except that a panic in a progress callback continues
// in the caller of [Graph.Compute]. A nil handle returns an error, or the result
// of an empty one: no name, no dimensions.
//
// # Ownership
//
// [Context], [Backend] and [Graph] hold memory of the C library, which Close
// releases. They may be closed in any order and more than once; a handle that is
// used after its Close returns an error with [StatusInvalidArgument]. The garbage
// collector closes forgotten handles, but it does not see how much memory they
// hold, so do not rely on it. A [Tensor] belongs to its context and keeps the
// Context object from being collected; it has no Close of its own, and returns an
// error once its context was closed or reset.
//
// Slices that you pass are read or filled during the call and never kept.
//
// # Goroutines
//
// Every function and method may be called from any goroutine, including Close: a
// Close while other calls are active takes effect when the last of them returns.
// Computing, reading and writing in one context exclude each other without
// waiting: the second caller gets [StatusBusy]. Building tensors may go on
// meanwhile. A [Backend] runs one graph at a time: further goroutines wait their
// turn, in the order of arrival, without holding a thread of the system.
// [Graph.ComputeContext] stops waiting and computing when a context ends.
package tensorlib
