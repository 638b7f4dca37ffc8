package tensorlib

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func evaluated(t *testing.T, cpu *Backend, made *Tensor, err error) []float32 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return must(ReadAll[float32](must(made.Eval(cpu))))
}

func TestArithmeticBroadcastsBothSides(t *testing.T) {
	c, cpu := newContext(t), newCPU(t)
	row := must(NewTensorFrom(c, []float32{1, 2, 4}, 3))
	column := must(NewTensorFrom(c, []float32{8, 16}, 1, 2))
	for name, tc := range map[string]struct {
		method func(a, b *Tensor) (*Tensor, error)
		want   [6]float32
	}{
		"add": {(*Tensor).Add, [6]float32{9, 10, 12, 17, 18, 20}},
		"sub": {(*Tensor).Sub, [6]float32{-7, -6, -4, -15, -14, -12}},
		"mul": {(*Tensor).Mul, [6]float32{8, 16, 32, 16, 32, 64}},
		"div": {(*Tensor).Div, [6]float32{0.125, 0.25, 0.5, 0.0625, 0.125, 0.25}},
	} {
		made := must(tc.method(row, column))
		if made.Op() != name || shapeText(made.Shape()) != "[3, 2]" {
			t.Errorf("%s gives %s %s", name, made.Op(), shapeText(made.Shape()))
		}
		wantValues(t, must(made.Eval(cpu)), tc.want[:]...)
	}
	wantValues(t, must(must(row.Neg()).Eval(cpu)), float32(-1), -2, -4)
}

func TestArithmeticWithNumbers(t *testing.T) {
	c, cpu := newContext(t), newCPU(t)
	x := []float32{1, -2.5, 0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), 3e38, 1e-45, 7}
	tensor := must(NewTensorFrom(c, x, 8))
	for _, number := range []float64{3, -0.1, 1e-3, 1e30, 0.5} {
		n := float32(number)
		for name, tc := range map[string]struct {
			method  func(t *Tensor, number float64) (*Tensor, error)
			formula func(x float32) float32
		}{
			"AddNumber": {(*Tensor).AddNumber, func(x float32) float32 { return x + n }},
			"SubNumber": {(*Tensor).SubNumber, func(x float32) float32 { return x - n }},
			"SubFrom":   {(*Tensor).SubFrom, func(x float32) float32 { return n - x }},
			"MulNumber": {(*Tensor).MulNumber, func(x float32) float32 { return x * n }},
			"DivNumber": {(*Tensor).DivNumber, func(x float32) float32 { return x / n }},
			"DivInto":   {(*Tensor).DivInto, func(x float32) float32 { return n / x }},
		} {
			made, err := tc.method(tensor, number)
			for i, got := range evaluated(t, cpu, made, err) {
				if want := tc.formula(x[i]); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
					t.Errorf("%s of %g and %g is %g: %g is right", name, x[i], number, got, want)
				}
			}
		}
	}
	made, err := tensor.MulNumber(math.NaN())
	for _, got := range evaluated(t, cpu, made, err) {
		if got == got {
			t.Errorf("a product with NaN is %g", got)
		}
	}
	half := must(c.Cast(tensor, F16))
	if made := must(half.DivInto(2)); made.Type() != F16 {
		t.Errorf("2 / F16 is %s", made.Type())
	}
}

func TestArithmeticOfIntegersAndDoubles(t *testing.T) {
	ctx := must(NewContext())
	cpu := must(NewBackend("cpu"))
	a := must(NewTensorFrom(ctx, []int32{7, -7, math.MaxInt32, 0}, 4))
	for _, c := range []struct {
		got  *Tensor
		want []int32
	}{
		{must(a.AddNumber(1)), []int32{8, -6, math.MinInt32, 1}},
		{must(a.SubFrom(1)), []int32{-6, 8, 1 - math.MaxInt32, 1}},
		{must(a.MulNumber(3)), []int32{21, -21, math.MaxInt32 - 2, 0}},
		{must(a.DivNumber(2)), []int32{3, -3, math.MaxInt32 / 2, 0}},
	} {
		if got := must(ReadAll[int32](must(c.got.Eval(cpu)))); !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
	if _, err := a.MulNumber(0.5); !strings.Contains(err.Error(), "scale is 0.5") {
		t.Error(err)
	}
	if _, err := must(a.DivInto(7)).Eval(cpu); err == nil || !strings.Contains(err.Error(), "element 3 of b is 0") {
		t.Error(err)
	}
	d := must(NewTensorFrom(ctx, []float64{0.1, 1}, 2))
	quotients := must(ReadAll[float64](must(must(d.DivInto(0.3)).Eval(cpu))))
	if tenth := 0.1; quotients[0] != 0.3/tenth {
		t.Error(quotients)
	}
}

func TestArithmeticRefusals(t *testing.T) {
	c, cpu := newContext(t), newCPU(t)
	a, b := f32(c, 4), f32(c, 2)
	for _, method := range []func(a, b *Tensor) (*Tensor, error){(*Tensor).Add, (*Tensor).Sub, (*Tensor).Mul, (*Tensor).Div} {
		_, err := method(a, b)
		wantError(t, err, StatusShapeMismatch, "[4]", "[2]", "repeat 2 times", "repeat()", "\n  a  4\n  b  2\n     ^")
		_, err = method(a, f32(c, 3))
		wantError(t, err, StatusShapeMismatch, "do not broadcast")
		_, err = method(a, nil)
		wantError(t, err, StatusInvalidArgument, "nil")
		_, err = method(nil, a)
		wantError(t, err, StatusInvalidArgument, "nil")
		_, err = method(nil, nil)
		wantError(t, err, StatusInvalidArgument, "nil")
	}
	var none *Tensor
	for _, method := range []func(t *Tensor, number float64) (*Tensor, error){
		(*Tensor).AddNumber, (*Tensor).SubNumber, (*Tensor).SubFrom, (*Tensor).MulNumber, (*Tensor).DivNumber, (*Tensor).DivInto,
	} {
		_, err := method(none, 2)
		wantError(t, err, StatusInvalidArgument, "nil")
		_, err = method(must(NewTensorFrom(c, []int8{1}, 1)), 2)
		wantError(t, err, StatusTypeMismatch, "i8")
	}
	_, err := none.Neg()
	wantError(t, err, StatusInvalidArgument, "nil")
	_, err = none.Eval(cpu)
	wantError(t, err, StatusInvalidArgument, "nil")
	_, err = a.Eval(nil)
	wantError(t, err, StatusInvalidArgument, "nil")
	// The node goes into the context that was made last.
	young := newContext(t)
	if made := must(a.Add(f32(young, 4))); made.ctx.ID() != young.ID() {
		t.Error("the node is in the older context")
	}
	if made := must(f32(young, 4).Add(a)); made.ctx.ID() != young.ID() {
		t.Error("the node is in the older context")
	}
}
