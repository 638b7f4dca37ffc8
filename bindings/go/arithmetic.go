package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

import (
	"math"
	"unsafe"
)

// Arithmetic of a tensor with another one, or with a number. Each method makes a
// node in the context of its operands, or in the one that was made last if these
// differ.
//
// Two tensors are broadcast: in each dimension their extents are equal or one of
// them is 1. The functions of a [Context] also repeat a b whose extent divides
// that of a, as tiles; these methods refuse that with [StatusShapeMismatch],
// because it is rarely meant. A number counts as F32, or as I32, I64 or F64 with
// a tensor of such a type. The result has the tensor's type. The other errors are
// those of the functions.

// Add makes t + b.
func (t *Tensor) Add(b *Tensor) (*Tensor, error) { return untiled("add\x00", (*Context).Add, t, b) }

// Sub makes t - b.
func (t *Tensor) Sub(b *Tensor) (*Tensor, error) { return untiled("sub\x00", (*Context).Sub, t, b) }

// Mul makes t * b, element by element.
func (t *Tensor) Mul(b *Tensor) (*Tensor, error) { return untiled("mul\x00", (*Context).Mul, t, b) }

// Div makes t / b.
func (t *Tensor) Div(b *Tensor) (*Tensor, error) { return untiled("div\x00", (*Context).Div, t, b) }

// Neg makes -t.
func (t *Tensor) Neg() (*Tensor, error) { return t.orNil().ctx.Neg(t) }

// AddNumber makes t + number.
func (t *Tensor) AddNumber(number float64) (*Tensor, error) { return timesPlus(t, 1, number) }

// SubNumber makes t - number.
func (t *Tensor) SubNumber(number float64) (*Tensor, error) { return timesPlus(t, 1, -number) }

// SubFrom makes number - t.
func (t *Tensor) SubFrom(number float64) (*Tensor, error) { return timesPlus(t, -1, number) }

// MulNumber makes t * number.
func (t *Tensor) MulNumber(number float64) (*Tensor, error) {
	// An addend of -0 changes nothing, not even the sign of a 0.
	return timesPlus(t, number, math.Copysign(0, -1))
}

// DivNumber makes t / number.
func (t *Tensor) DivNumber(number float64) (*Tensor, error) {
	// Not a product with 1 / number, which would be rounded twice.
	divisor, err := operandOf(t, number)
	if err != nil {
		return nil, err
	}
	return t.orNil().ctx.Div(t, divisor)
}

// DivInto makes number / t.
func (t *Tensor) DivInto(number float64) (*Tensor, error) {
	c := t.orNil().ctx
	dividend, err := operandOf(t, number)
	if err != nil {
		return nil, err
	}
	quotient, err := c.Div(dividend, t)
	if err != nil || t.Type() == quotient.Type() {
		return quotient, err
	}
	// Rounds to the type as an operation that computes it in F32 would.
	return c.Cast(quotient, t.Type())
}

// Eval computes t and returns it, so that it can be read. A [Graph] computes
// several tensors at once, and the same ones again without planning. The errors
// are those of [Backend.Compute].
func (t *Tensor) Eval(b *Backend) (*Tensor, error) {
	if t == nil {
		return nil, invalid("eval: tensor is nil")
	}
	if err := b.Compute(t); err != nil {
		return nil, err
	}
	return t, nil
}

// isWide tells whether the tensor's elements are computed with as they are. All
// others are computed with in F32.
func (t *Tensor) isWide() bool {
	return t != nil && (t.Type() == I32 || t.Type() == I64 || t.Type() == F64)
}

// operandOf makes a number an operand: a leaf with one element, in the tensor's
// context; of a wide type, a node, which refuses what the type cannot hold.
func operandOf(t *Tensor, number float64) (*Tensor, error) {
	if t.isWide() {
		return t.ctx.Fill(t, number)
	}
	return NewTensorFrom(t.orNil().ctx, []float32{float32(number)}, 1)
}

// timesPlus makes t * factor + addend, each rounded once. Numbers beyond F32 are
// infinite.
func timesPlus(t *Tensor, factor, addend float64) (*Tensor, error) {
	c := t.orNil().ctx
	if math.IsNaN(factor) || math.IsNaN(addend) {
		nan, err := operandOf(t, math.NaN())
		if err != nil {
			return nil, err
		}
		return c.Mul(t, nan)
	}
	if t.isWide() {
		return c.Scale(t, factor, &ScaleOptions{Bias: addend})
	}
	return c.Scale(t, float64(float32(factor)), &ScaleOptions{Bias: float64(float32(addend))})
}

// untiled makes the node of two tensors unless b would repeat as tiles. The
// engine checks everything else. op ends with a NUL.
func untiled(op string, make func(c *Context, a, b *Tensor) (*Tensor, error), a, b *Tensor) (*Tensor, error) {
	c := a.orNil().ctx
	if c == nil || b.orNil().ctx == nil {
		return make(younger(c, b.orNil().ctx), a, b)
	}
	if err := refuseTiles(op, a, b); err != nil {
		return nil, err
	}
	return make(younger(c, b.ctx), a, b)
}

// refuseTiles returns an error if b would repeat as tiles. op ends with a NUL.
func refuseTiles(op string, a, b *Tensor) error {
	for _, t := range []*Tensor{a, b} {
		if err := t.enter(); err != nil {
			return err
		}
		defer t.leave()
	}
	name := (*C.char)(unsafe.Pointer(unsafe.StringData(op)))
	cerr := newCError()
	return check(C.tl_refuse_tiles(name, a.ptr, b.ptr, &cerr), &cerr)
}

// younger returns the context of the two that was made last, or the one that is
// not nil.
func younger(a, b *Context) *Context {
	if b == nil || (a != nil && (a == b || a.ID() > b.ID())) {
		return a
	}
	return b
}
