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
// They take operands, then what must be given, then a pointer to a struct of
// options, of which zeros are the defaults: c.Scale(a, 2, &ScaleOptions{Bias: 1}),
// c.Scale(a, 2, nil). An operand that may be left out is nil:
// c.Glu(a, nil, GluOpSwiglu, nil).
//
// # Errors
//
// Whatever can fail returns an error, and each error of this package is an
// *[Error] with a [Status] that programs can test and a message that names the
// operation, the shapes or values, and what would be valid. No input ends the
// process. Nothing panics, except that a panic in a progress callback goes on
// in the caller of [Graph.Compute]. A nil handle gives an error, or what an empty
// one would: no name, no dimensions.
//
// # Ownership
//
// [Context], [Backend] and [Graph] hold memory of the C library: Close gives it
// back. They may be closed in any order and more than once; whatever is used
// after its Close gives an error with [StatusInvalidArgument]. The garbage
// collector closes what was forgotten, but it does not see how much memory that
// is, so do not wait for it. A [Tensor] belongs to its context and keeps the
// Context object from being collected; it has no Close of its own, and gives an
// error once its context was closed or reset.
//
// Slices that you pass are read or filled during the call and never kept.
//
// # Goroutines
//
// Every function and method may be called from any goroutine, Close included:
// a Close while other calls are at work takes effect when the last of them
// returns. Computing, reading and writing in one context exclude each other
// without waiting: who comes second gets [StatusBusy]. Building tensors may go on
// meanwhile. A [Backend] runs one graph at a time: further goroutines wait their
// turn, in the order in which they came, without a thread of the system each.
// [Graph.ComputeContext] waits and computes no longer than a context lasts.
package tensorlib
