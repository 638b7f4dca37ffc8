package tensorlib

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func double(s *CustomSlice) error {
	x, err := CustomInput[float32](s, 0)
	if err != nil {
		return err
	}
	y, err := CustomOutput[float32](s)
	begin, end := s.Range()
	for i, v := range x[begin:end] {
		y[i] = 2 * v
	}
	return err
}

func newCustomOp(t *testing.T, name string, compute func(*CustomSlice) error, options *CustomOptions) *CustomOp {
	t.Helper()
	op, err := NewCustomOp(name, compute, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(op.Close)
	return op
}

func computeOn(t *testing.T, threads int, outputs ...*Tensor) error {
	t.Helper()
	b := must(NewBackend("cpu", WithThreads(threads)))
	defer b.Close()
	g := must(NewGraph(outputs[0].Context(), outputs...))
	defer g.Close()
	return g.Compute(b)
}

func TestCustomSlicesCoverTheResult(t *testing.T) {
	for _, threads := range []int{1, 2, 8} {
		c := newContext(t)
		a := must(NewTensorFrom(c, make([]int64, 210), 7, 30))
		var calls atomic.Int64
		op := newCustomOp(t, "index", func(s *CustomSlice) error {
			calls.Add(1)
			begin, end := s.Range()
			if begin%10 != 0 || s.Thread() >= threads || s.Shape()[1] != 30 || s.NOperands() != 1 || s.Operand(0).Type != I64 {
				return errors.New("a wrong slice")
			}
			y, err := CustomOutput[int64](s)
			for i := range end - begin {
				y[i] = int64(begin + i)
			}
			return err
		}, &CustomOptions{SliceUnit: 10, Cost: 1e6})
		y := must(c.Custom(op, a))
		if err := computeOn(t, threads, y); err != nil {
			t.Fatal(err)
		}
		want := make([]int64, 210)
		for i := range want {
			want[i] = int64(i)
		}
		wantValues(t, y, want...)
		if threads > 1 && calls.Load() < 2 {
			t.Error("one call for several threads")
		}
	}
}

func TestCustomShapesAndFailures(t *testing.T) {
	c := newContext(t)
	a := must(c.Reshape(vector(c, 1, 2, 3, 4, 5, 6), 3, 2))
	var mode atomic.Int64
	op := newCustomOp(t, "unsure", func(s *CustomSlice) error {
		switch mode.Load() {
		case 1:
			return errors.New(strings.Repeat("é", 300))
		case 2:
			panic("at once")
		}
		return double(s)
	}, &CustomOptions{Shape: func(operands []CustomOperand) (Type, []int64, error) {
		if operands[0].Shape[0] == 2 {
			return 0, nil, &Error{Code: StatusShapeMismatch, Message: "no rows of 2"}
		}
		return F32, operands[0].Shape, nil
	}})
	y := must(c.Custom(op, a))
	mode.Store(1)
	err := computeOn(t, 2, y)
	wantError(t, err, StatusAborted, "custom 'unsure'", "[3, 2] f32", "éé")
	mode.Store(2)
	wantError(t, computeOn(t, 2, y), StatusAborted, "it panicked: at once")
	mode.Store(0)
	if err := computeOn(t, 2, y); err != nil {
		t.Fatal(err)
	}
	wantValues(t, y, float32(2), 4, 6, 8, 10, 12)

	turned := must(c.Transpose(a))
	_, err = c.Custom(op, turned)
	wantError(t, err, StatusShapeMismatch, "custom 'unsure'", "no rows of 2")
	plain := newCustomOp(t, "plain", double, nil)
	y = must(c.Custom(plain, turned))
	wantError(t, computeOn(t, 1, y), StatusInvalidArgument, "operand 0 is not contiguous")
	whole := must(NewTensorFrom(c, []int32{1, 2}, 2))
	y = must(c.Custom(plain, whole))
	wantError(t, computeOn(t, 1, y), StatusTypeMismatch, "operand 0 is i32, not f32")

	for _, call := range []func() error{
		func() error { _, err := NewCustomOp("", double, nil); return err },
		func() error { _, err := NewCustomOp("x", nil, nil); return err },
		func() error { _, err := NewCustomOp("x", double, &CustomOptions{SliceUnit: -2}); return err },
		func() error { _, err := NewCustomOp("x", double, &CustomOptions{Cost: -1}); return err },
		func() error { _, err := c.Custom(nil, a); return err },
		func() error { _, err := c.Custom(plain); return err },
		func() error { _, err := c.Custom(plain, nil); return err },
		func() error { plain.Close(); plain.Close(); _, err := c.Custom(plain, a); return err },
	} {
		if err := call(); !errors.Is(err, &Error{Code: StatusInvalidArgument}) {
			t.Error(err)
		}
	}
}

func TestCustomCallsThatNeedTheRunAreRefused(t *testing.T) {
	c, other := newContext(t), newContext(t)
	elsewhere := vector(other, 1, 2)
	g := must(NewGraph(other, elsewhere))
	defer g.Close()
	b := must(NewBackend("cpu", WithThreads(1)))
	defer b.Close()
	op := newCustomOp(t, "curious", func(s *CustomSlice) error {
		_, read := ReadAll[float32](elsewhere)
		_, leaf := NewTensorFrom(other, []float32{1}, 1)
		_, node := other.Sqr(elsewhere)
		for _, err := range []error{read, leaf, node, g.Compute(b)} {
			wantError(t, err, StatusInvalidArgument, "custom 'curious'")
		}
		return double(s)
	}, nil)
	y := must(c.Custom(op, vector(c, 3)))
	of := must(NewGraph(c, y))
	defer of.Close()
	if err := of.Compute(b); err != nil { // the backend that the function tries
		t.Fatal(err)
	}
	wantValues(t, y, float32(6))
}

func TestCustomGradients(t *testing.T) {
	c := newContext(t)
	square := newCustomOp(t, "square", func(s *CustomSlice) error {
		x, err := CustomInput[float32](s, 0)
		if err != nil {
			return err
		}
		y, err := CustomOutput[float32](s)
		begin, end := s.Range()
		for i, v := range x[begin:end] {
			y[i] = v * v
		}
		return err
	}, &CustomOptions{Gradient: func(c *Context, node, gradient *Tensor, operand int) (*Tensor, error) {
		g, err := c.Mul(gradient, node.Sources()[operand])
		if err != nil {
			return nil, err
		}
		return c.Scale(g, 2, nil)
	}})
	x := vector(c, 1, -2, 3)
	y := must(c.Custom(square, x))
	total := must(c.Sum(y, nil))
	gradients := must(total.Gradients(x))
	if err := computeOn(t, 1, gradients...); err != nil {
		t.Fatal(err)
	}
	wantValues(t, gradients[0], float32(2), -4, 6)

	type failure struct {
		code  Status
		words string
	}
	for want, gradient := range map[failure]func(*Context, *Tensor, *Tensor, int) (*Tensor, error){
		{StatusAborted, "it panicked: no"}:    func(*Context, *Tensor, *Tensor, int) (*Tensor, error) { panic("no") },
		{StatusAborted, "not today"}:          func(*Context, *Tensor, *Tensor, int) (*Tensor, error) { return nil, errors.New("not today") },
		{StatusInvalidArgument, "is [1] f32"}: func(c *Context, _, g *Tensor, _ int) (*Tensor, error) { return c.Sum(g, nil) },
		{StatusInvalidArgument, "is nil"}:     func(*Context, *Tensor, *Tensor, int) (*Tensor, error) { return nil, nil },
	} {
		op := newCustomOp(t, "wrong", double, &CustomOptions{Gradient: gradient})
		y := must(c.Custom(op, x))
		total := must(c.Sum(y, nil))
		_, err := total.Gradients(x)
		wantError(t, err, want.code, want.words)
	}
}

// The functions live until the context is closed, and no longer.
func TestCustomFunctionsLiveAsLongAsTheirNodes(t *testing.T) {
	c := must(NewContext())
	freed := make(chan bool)
	make1 := func() *Tensor {
		held := new([64]byte)
		runtime.SetFinalizer(held, func(*[64]byte) { close(freed) })
		op, err := NewCustomOp("held", func(s *CustomSlice) error { held[0]++; return double(s) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer op.Close()
		y := must(c.Custom(op, vector(c, 4)))
		return y
	}
	y := make1()
	runtime.GC()
	if err := computeOn(t, 1, y); err != nil {
		t.Fatal(err)
	}
	wantValues(t, y, float32(8))
	c.Close()
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Error("the function is kept for ever")
}
