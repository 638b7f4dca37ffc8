package tensorlib

import "math"

// Arithmetic of a tensor with another one, or with a number. Each method makes a
// node in the context of its operands, or in the one that was made last if these
// differ.
//
// Two tensors are broadcast: in each dimension their extents are equal or one of
// them is 1. The functions of a [Context] also repeat a b whose extent divides
// that of a, as tiles; these methods refuse that with [StatusShapeMismatch],
// because it is rarely meant. A number counts as F32, and the result has the
// tensor's type. The other errors are those of the functions.

// Add makes t + b.
func (t *Tensor) Add(b *Tensor) (*Tensor, error) { return untiled("add", (*Context).Add, t, b) }

// Sub makes t - b.
func (t *Tensor) Sub(b *Tensor) (*Tensor, error) { return untiled("sub", (*Context).Sub, t, b) }

// Mul makes t * b, element by element.
func (t *Tensor) Mul(b *Tensor) (*Tensor, error) { return untiled("mul", (*Context).Mul, t, b) }

// Div makes t / b.
func (t *Tensor) Div(b *Tensor) (*Tensor, error) { return untiled("div", (*Context).Div, t, b) }

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
	c := t.orNil().ctx
	divisor, err := NewTensorFrom(c, []float32{float32(number)}, 1)
	if err != nil {
		return nil, err
	}
	return c.Div(t, divisor)
}

// DivInto makes number / t.
func (t *Tensor) DivInto(number float64) (*Tensor, error) {
	c := t.orNil().ctx
	dividend, err := NewTensorFrom(c, []float32{float32(number)}, 1)
	if err != nil {
		return nil, err
	}
	quotient, err := c.Div(dividend, t)
	if err != nil || t.Type() == F32 {
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

// timesPlus makes t * factor + addend, each rounded once. Numbers beyond F32 are
// infinite.
func timesPlus(t *Tensor, factor, addend float64) (*Tensor, error) {
	c := t.orNil().ctx
	if math.IsNaN(factor) || math.IsNaN(addend) {
		nan, err := NewTensorFrom(c, []float32{float32(math.NaN())}, 1)
		if err != nil {
			return nil, err
		}
		return c.Mul(t, nan)
	}
	return c.Scale(t, float64(float32(factor)), &ScaleOptions{Bias: float64(float32(addend))})
}

// untiled makes the node of two tensors unless b would repeat as tiles. The
// engine checks everything else.
func untiled(op string, make func(c *Context, a, b *Tensor) (*Tensor, error), a, b *Tensor) (*Tensor, error) {
	c := a.orNil().ctx
	if c == nil || b.orNil().ctx == nil {
		return make(younger(c, b.orNil().ctx), a, b)
	}
	for d := range a.ne {
		n, m := a.ne[d], b.ne[d]
		if m > 1 && m != n && n != 1 && n%m == 0 {
			return nil, errorf(StatusShapeMismatch, "%s: a is %s, b is %s: in dimension %d, b would repeat %d times. The method takes equal extents and extents of 1. Repeat b with Context.Repeat, or call the context's function, which does", op, shapeText(a.Shape()), shapeText(b.Shape()), d, n/m)
		}
	}
	return make(younger(c, b.ctx), a, b)
}

// younger returns the context of the two that was made last, or the one that is
// not nil.
func younger(a, b *Context) *Context {
	if b == nil || (a != nil && (a == b || a.ID() > b.ID())) {
		return a
	}
	return b
}
